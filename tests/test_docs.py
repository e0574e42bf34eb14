"The guides say what is so: every command line, flag, make target and file that they name is there, and the built site finds it."
import ast, importlib, inspect, json, re, shlex
from functools import lru_cache
from pathlib import Path
import pytest

root = Path(__file__).parent.parent
guides = [root/'README.md', *sorted((root/'docs_src').glob('*.md'))]
pages = sorted(o for o in (root/'nbs').rglob('*.ipynb') if '.ipynb_checkpoints' not in o.parts)
foreign = {'--flags', '--no-build-isolation', '--port', '--enable-lora', '--lora-modules', '--nproc_per_node', '--num_processes', '--renderer', '--local-dir', '--repo-type', '--private', '--constraint', '--help', '--path'}

@lru_cache
def commands():
    from typer.main import get_command
    from honest.cli import app
    return get_command(app).commands

def flags(cmd): return {f for p in commands()[cmd].params for f in [*p.opts, *p.secondary_opts]}
def all_flags(): return set().union(*map(flags, commands()))

def prose(fn):
    "The Markdown of a guide or of a notebook"
    if fn.suffix=='.md': return fn.read_text('utf-8')
    return '\n\n'.join(''.join(c['source']) for c in json.loads(fn.read_text('utf-8'))['cells'] if c['cell_type']=='markdown')

def lines(fn):
    "Command lines of the fenced blocks, continued lines joined, comments and variables before them gone"
    for block in re.findall(r'```(?:bash|sh)\n(.*?)```', prose(fn), re.S):
        for line in re.sub(r'\\\n\s*', ' ', block).splitlines():
            for part in re.split(r'&&|\|', line):
                words = shlex.split(part, comments=True)
                while words and re.fullmatch(r'[A-Z_]+=.*', words[0]): words = words[1:]
                if words: yield words

def honest_words(words):
    "What follows `honest` in a command line; None when it is another program's"
    if words[0]=='honest': return words[1:]
    if words[0] in ('accelerate', 'torchrun', 'python') and 'honest' in words: return words[words.index('honest')+1:]

@pytest.mark.parametrize('fn', [*guides, *pages], ids=lambda p: p.stem)
def test_command_lines(fn):
    "Each `honest` line parses, and each make target exists"
    targets = set(re.findall(r'^([\w-]+):', (root/'Makefile').read_text(), re.M))
    for words in lines(fn):
        if words[0]=='make': assert words[1] in targets, words
        said = honest_words(words)
        if not said or said[0] in ('…', '...', '--help', 'COMMAND'): continue
        name,*args = [o for o in said if o not in ('…', '...')]
        assert name in commands(), f'{fn.name}: honest {name} is no command'
        own,cmd = flags(name),commands()[name]
        loose = 'train-grpo' if name=='run-calibration-pipeline' else name
        for o in args:
            if o.startswith('--'): assert o.split('=')[0] in own|flags(loose), f'{fn.name}: honest {name} has no {o}'
        if not any(o.param_type_name=='argument' for o in cmd.params) or args: cmd.make_context(name, list(args))

@pytest.mark.parametrize('fn', [*guides, *pages], ids=lambda p: p.stem)
def test_inline_code(fn):
    "Each `honest command` and each `--flag` in running text is there"
    text = re.sub(r'```.*?```', '', prose(fn), flags=re.S)
    for code in re.findall(r'`([^`\n]+)`', text):
        if m := re.match(r'honest ([a-z][a-z-]+)', code): assert m[1] in commands(), f'{fn.name}: `{code}`'
        for o in re.findall(r'(?<![\w-])--[a-z][\w-]+', code):
            assert o in all_flags()|foreign, f'{fn.name}: {o} in `{code}` is a flag of no command'

@pytest.mark.parametrize('fn', [*guides, *pages], ids=lambda p: p.stem)
def test_python_blocks(fn):
    "Each Python block parses, each name that it imports from the library is there, and so is each keyword that it gives one"
    for block in re.findall(r'```python\n(.*?)```', prose(fn), re.S):
        tree,names = ast.parse(block),{}
        for o in ast.walk(tree):
            if isinstance(o, ast.ImportFrom) and (o.module or '').split('.')[0]=='honest':
                for a in o.names: names[a.asname or a.name] = getattr(importlib.import_module(o.module), a.name)
        for o in ast.walk(tree):
            if not isinstance(o, ast.Call) or not isinstance(o.func, ast.Name) or not callable(names.get(o.func.id)): continue
            asked = inspect.signature(names[o.func.id]).parameters
            if not any(p.kind==p.VAR_KEYWORD for p in asked.values()): assert {k.arg for k in o.keywords} <= {*asked, None}, f'{fn.name}: {ast.unparse(o)}'

@pytest.mark.parametrize('fn', guides, ids=lambda p: p.stem)
def test_files_named(fn):
    "Each page of the repository that a guide names in code is there"
    for o in re.findall(r'`((?:nbs|docs_src|tests|honest)/[\w./]+\.\w+)`', prose(fn)):
        made = ('docs_src/training/', 'nbs/05a_')
        assert (root/o).exists() or o.startswith(made), f'{fn.name}: {o}'

def test_commands_page():
    "The page of commands has each command with its flags and help: `make docs` writes it"
    parts = dict(re.findall(r'^## honest ([\w-]+)\n(.*?)(?=^## |\Z)', (root/'docs_src/commands.md').read_text('utf-8'), re.S | re.M))
    assert list(parts)==list(commands())
    def words(s): return re.sub(r'[`\\]', '', s)
    for k,o in commands().items():
        for p in o.params:
            if p.param_type_name=='option' and not p.hidden and p.name!='help': assert f'| `{p.opts[0]}' in parts[k] and words(p.help or '') in words(parts[k]), f'{k} {p.opts[0]}: run make docs'

# ---- the built site: `make docs` first

@lru_cache
def index():
    fn = root/'_docs/search.json'
    if not fn.exists(): pytest.skip('no site here: make docs')
    return json.loads(fn.read_text('utf-8'))

def found(word):
    "Pages on which the search index has `word`"
    return {o['href'].split('#')[0] for o in index() if word.lower() in f'{o["title"]} {o["section"]} {o["text"]}'.lower()}

def test_search_finds_each_command():
    "By its own section on the page of commands, and on a page that explains it"
    sections = {o['section'] for o in index() if o['href'].startswith('commands.html')}
    for o in commands():
        assert f'honest {o}' in sections, f'{o} has no section: run make docs again'
        assert found(o)-{'commands.html', 'cli.html', 'changelog.html'}, f'no page explains {o}'

terms = {'runbook.html': '''data/processed/math.jsonl|eval/ood|eval/baseline_results.json|eval/full_results.json|comparison.md|comparison.json|format_rate|final_adapters|difficulty_state.json|smc_state.json|
replay_state.json|trainer_state.json|training_args.json|eval_seeds.json|train/reward_std|train/kl|grad_norm|controller/|smc/|replay/buffer_size|priority_entropy|top1_share|RewardHealthCallback|AdaptiveBetaCallback|
Unified sampler is empty|structurally silent|transfer ratio|at floor|AUROC|commonsense|science_easy|science_hard|medical|legal|hindsight|replay|self-play|domain-weights|num-generations|max-completion-length|
smc-min-episodes-at-max|make mcp-health|ask_with_calibrated_confidence|get_calibration_info|loss_curve.png|qwen0.5b|llama1b|phi4mini|nano|t4|l4|a100''',
 'mcp.html': 'Claude Desktop|Cursor|LangGraph|tool not found', 'self_learning.html': 'hindsight|replay|mutation|self-play', 'theory.html': 'proper|abstain',
 'model_card.html': 'model card', 'endpoints.html': 'vLLM|OpenAI', 'gpus.html': 'torchrun|accelerate'}

@pytest.mark.parametrize('page', terms)
def test_search_finds_each_term(page):
    lost = [o for o in terms[page].replace('\n', '').split('|') if page not in found(o)]
    assert not lost, f'{page} is not found by: {lost}'

def test_site_needs_nothing_from_elsewhere():
    "No page and no style sheet loads a script, style, font or picture from another host"
    index()
    for fn in (root/'_docs').rglob('*.html'):
        for tag in re.findall(r'<(?:script|link|img|iframe|source)\b[^>]*>', fn.read_text('utf-8')):
            assert 'rel="canonical"' in tag or not re.search(r'(?:src|href)="(?:https?:)?//', tag), f'{fn.name}: {tag}'
    for fn in (root/'_docs').rglob('*.css'):
        assert not re.search(r'url\(["\']?(?:https?:)?//', fn.read_text('utf-8')), fn.name

# ---- the recipes of `extending`, followed

def snippets(lang): return re.findall(rf'```{lang}\n(.*?)```', prose(root/'docs_src/extending.md'), re.S)

def test_preset_and_machine(monkeypatch):
    from honest import profiles
    monkeypatch.setattr(profiles, 'presets', dict(profiles.presets))
    monkeypatch.setattr(profiles, 'hardware', dict(profiles.hardware))
    for o in snippets('python'):
        if re.match(r'(presets|hardware)\[', o): exec(o, vars(profiles))
    preset = profiles.find_preset('gemma1b')
    st,warn = profiles.resolve('grpo', preset.tier, preset, 'h100', prompts=64)
    assert st['learning_rate']==5e-6 and st['prompts']==64 and len(warn)==1
    assert profiles.resolve('sft', preset.tier, preset)[0]['n_examples']==2000

def test_domain_in_a_file(tmp_path):
    from honest.data import get_sampler
    from honest.judge import judge
    from honest.protocol import render
    (tmp_path/'units.jsonl').write_text(snippets('json')[0])
    problem = get_sampler(tmp_path, split='train').problems[0]
    assert judge(problem, render('times 1000', '3200', .9)).verdict=='right'

def test_metric(monkeypatch):
    from honest import metrics
    names = dict(vars(metrics))
    exec(next(o for o in snippets('python') if 'overshoot' in o), names)
    monkeypatch.setitem(metrics.metrics, 'overshoot', names['overshoot'])
    assert abs(metrics.battery([.9, .9, .5], [1, 0, 1])['overshoot']-.3)<1e-9
    assert 'overshoot' in metrics.intervals([.9, .9, .5], [1, 0, 1], n_resamples=20)
