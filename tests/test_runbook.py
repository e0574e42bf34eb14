"""The runbook, line by line: every command, flag, default, artifact, JSON key, metric name, threshold and message is accepted or produced.
What is not built yet stands in `not_yet`, and a line of it that starts to hold fails here until it is taken out."""
import ast, importlib, json, os, re, shlex, subprocess, sys
from functools import lru_cache
from pathlib import Path
import pytest

root = Path(__file__).parent.parent
not_yet = set(filter(None, '''
'''.split('\n')))

# ---- what the checks look at

@lru_cache
def cli():
    "The `honest` command, as Click sees it"
    from typer.main import get_command
    return get_command(importlib.import_module('honest.cli').app)

def params(cmd): return {flag:p for p in cli().commands[cmd].params for flag in [*p.opts, *p.secondary_opts]}

def accepts(line):
    "The command line parses, and each of its flags is in `--help`"
    cmd,*args = shlex.split(line)
    sub = cli().commands[cmd]
    ctx = sub.make_context(cmd, list(args))
    loose = ctx.allow_extra_args or ctx.ignore_unknown_options
    for flag in (o for o in args if o.startswith('--')):
        if flag not in params(cmd) and loose: assert flag in params('train-grpo'), f'{flag} is passed on, but train-grpo has no such flag'
        else: assert not params(cmd)[flag].hidden, f'{flag} is hidden'

def default(cmd, flag, want):
    "A flag's default, as `--help` would show it"
    got = params(cmd)[flag].default
    assert str(getattr(got, 'value', got))==str(want), f'{cmd} {flag}: {got!r}'

def honest(*args, cwd, timeout=240, env=None, ok=True):
    "Run the command as a person would"
    e = {k:v for k,v in os.environ.items() if not k.startswith('HONEST_')} | {'OMP_NUM_THREADS': '1', 'WANDB_MODE': 'disabled'} | (env or {})
    res = subprocess.run([sys.executable, '-m', 'honest', *map(str, args)], cwd=cwd, env=e, timeout=timeout,
                         capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert not ok or res.returncode==0, f'honest {args}: {res.returncode}\n{res.stdout[-1500:]}\n{res.stderr[-1500:]}'
    return res

def summary(res):
    "The JSON on the last line of stdout"
    return json.loads(res.stdout.strip().splitlines()[-1])

def has(module, *names):
    "Each of `names` is in the module"
    m = importlib.import_module(f'honest.{module}')
    for o in names: assert hasattr(m, o), f'honest.{module}.{o}'

def constants(module):
    "Every string that stands as a literal in a module, docstrings left out"
    tree = ast.parse((root/'honest'/f'{module}.py').read_text('utf-8'))
    docs = {id(o.body[0].value) for o in ast.walk(tree) if isinstance(o, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and o.body and isinstance(o.body[0], ast.Expr) and isinstance(o.body[0].value, ast.Constant)}
    return [o.value for o in ast.walk(tree) if isinstance(o, ast.Constant) and isinstance(o.value, str) and id(o) not in docs]

def dry(target, *want, **kw):
    "`make -n target` would run a line that starts with each of `want`, and the command line accepts it"
    args = [f'{k}={v}' for k,v in kw.items()]
    res = subprocess.run(['make', '-n', target, *args], cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert res.returncode==0, res.stderr
    lines = [o.strip() for o in res.stdout.splitlines()]
    for w in want: assert any(l.startswith(w) for l in lines), f'{target} does not run {w!r}'
    return lines

# ---- small artifacts, made here

def sample(i, domain, difficulty, c, y, slice_=False):
    "One evaluated item, as the evaluation writes it"
    name = f'{domain}-{difficulty}-{i}'
    return dict(id=name, cluster=name, domain=domain, difficulty=difficulty, prompt_hash='p', text='', answer='1', reason='',
                verdict='right' if y else 'wrong', y=y, c=c, r=None, h=c, tokens=9, truncated=False)

def block(rows, **kw):
    "A block of a results file"
    from honest.metrics import summarize
    return {**summarize(rows), 'n': len(rows), **kw, 'samples': rows}

slices = dict(commonsense=.2, science_easy=.25, science_hard=.25, medical=.25, legal=.2)

def results(after):
    "A full_results.json: honest where `after`, sure of everything before; one slice at the floor, one that does not transfer"
    ind,ood = {},{}
    for d in ('math', 'code', 'logic'):
        for k in range(1, 6):
            ys = [int(i%10 < 9-1.5*k) for i in range(40)]
            cs = [(.9 if y else .12)+.002*(i%5) if after else .94+.01*(i%4) for i,y in enumerate(ys)]
            rows = [sample(i, d, k, c, y) for i,(c,y) in enumerate(zip(cs, ys))]
            if after and k==5: rows[0] |= dict(verdict='abstained', y=None, c=None, h=None, answer=None)
            ind[f'{d}_{k}'] = block(rows)
    for s,floor in slices.items():
        ys = [int(i%10 < (2 if s=='medical' else 6)) for i in range(200)]
        learnt = after and s in ('commonsense', 'science_easy', 'medical')
        cs = [(.9 if y else .1) if learnt else .99 if after and s=='legal' else .93 for y in ys]
        if after and s=='science_hard': cs = [.93-.02*(i%2) for i in range(200)]
        ood[s] = block([sample(i, s, 3, c, y, True) for i,(c,y) in enumerate(zip(cs, ys))], random_floor=floor)
    rows = [o for b in ind.values() for o in b['samples']]
    by = lambda key: {str(k):block([o for o in rows if o[key]==k]) for k in dict.fromkeys(o[key] for o in rows)}
    ind['metrics'] = {k:v for k,v in block(rows).items() if k!='samples'}
    return dict(schema_version=1, model_id='stub', adapter_path='run/final_adapters' if after else None, preset=None, tier='medium',
                reasoning_mode='required', n_samples=40, seed=42, seeds=[42], prompt_hash='p', manifest={}, ood_slices=list(slices),
                in_distribution=ind, ood=ood, overall=block(rows), per_domain=by('domain'), per_difficulty=by('difficulty'))

def trainer_state(hindsight=.1):
    "A trainer's log of 60 steps"
    rows = [{'step':i, 'loss':.1/i, 'reward':1-1/i, 'reward_std':.2, 'kl':.001*i, 'grad_norm':.5, 'rewards/calibration/mean':.8,
             'rewards/hindsight/mean':0. if callable(hindsight) and not hindsight(i) else .1 if callable(hindsight) else hindsight} for i in range(1, 61)]
    return dict(log_history=rows, global_step=60, max_steps=60)

def once(make):
    "A property that is made once; when making it fails, it is not tried again"
    def get(self):
        if make not in self.made:
            try: self.made[make] = make(self),None
            except Exception as e: self.made[make] = None,e
        got,e = self.made[make]
        if e: raise AssertionError(f'{make.__name__}: {e}') from e
        return got
    return property(get)

class Road:
    "A working folder in which each step is run once, when a check first asks for it"
    def __init__(self, folder): self.at,self.made = folder,{}
    def json(self, path): return json.loads((self.at/path).read_text('utf-8'))
    def put(self, path, o):
        (self.at/path).parent.mkdir(parents=True, exist_ok=True)
        (self.at/path).write_text(json.dumps(o))

    @once
    def data(self):
        "Processed problems and OOD slices, generated"
        from honest.core import write_jsonl
        from honest.tasks import choice, code, logic, math
        for name,task,ks in (('math', math, range(1, 6)), ('code_mbpp', code, [3]), ('code_apps', code, [4, 5]), ('logic', logic, range(1, 6))):
            rows = [task.generate(7, i, k, split) for split in ('train', 'test') for k in ks for i in range(6)]
            write_jsonl(self.at/f'data/processed/{name}.jsonl', rows)
        files = dict(commonsense='commonsense_qa', science_easy='arc_easy', science_hard='mmlu_astronomy', medical='medqa', legal='lsat')
        for s,name in files.items():
            opts = ['red', 'blue', 'green', 'black'] + ['white']*(slices[s]==.2)
            rows = [choice.from_mmlu(dict(question=f'Which is number {i}?', choices=opts, answer=i%len(opts)), i) for i in range(6)]
            from dataclasses import replace
            write_jsonl(self.at/f'eval/ood/{name}_sample.jsonl', [replace(o, domain=s) for o in rows])
        return self.at

    @once
    def summary(self): return honest('data-summary', cwd=self.data)
    @once
    def baseline(self):
        honest('baseline-eval', '--dry-run', '--model-preset', 'qwen3b', '--samples', 4, cwd=self.data)
        return self.json('eval/baseline_results.json')
    @once
    def full(self):
        "The last line and the file of an evaluation that only acts as if it had a model"
        res = honest('full-eval', '--dry-run', '--model-preset', 'qwen3b', '--samples', 4, cwd=self.data)
        return summary(res),self.json('eval/full_results.json')
    @once
    def compared(self):
        "comparison.md and .json of two made-up runs"
        self.put('c/before.json', results(False)); self.put('c/after.json', results(True))
        honest('compare-runs', '--baseline', 'c/before.json', '--after', 'c/after.json', '--plot', cwd=self.at)
        return (self.at/'eval/comparison.md').read_text('utf-8'),self.json('eval/comparison.json')
    @once
    def run(self):
        "A run folder: two steps on the embedded model with every pillar that leaves a file"
        honest('train-grpo', '--model-id', 'nano', '--max-steps', 2, '--num-generations', 4, '--hindsight', '--self-mutate', '--replay-priority',
               '--no-wandb', '--output-dir', 'run', cwd=self.data, timeout=300)
        return self.at/'run'
    @once
    def logged(self): return {k for row in json.loads((self.run/'trainer_state.json').read_text())['log_history'] for k in row}
    @once
    def plots(self):
        self.put('p/trainer_state.json', trainer_state())
        honest('plot-training-curves', '--trainer-state', 'p/trainer_state.json', '--out', 'p/out', '--label', 'x · 60 steps', cwd=self.at)
        return self.at/'p/out'
    def audit(self, hindsight):
        self.put('a/trainer_state.json', trainer_state(hindsight))
        return honest('audit-hindsight', '--trainer-state', 'a/trainer_state.json', cwd=self.at).stdout
    @once
    def verified(self):
        self.put('v/replay_state.json', dict(size=256, priority_entropy=4.2, top1_share=.01))
        self.put('v/smc_state.json', {'math': dict(max_unlocked_difficulty=6, episodes_at_max=12)})
        full = results(True)
        full['in_distribution']['metrics'] |= dict(hindsight_rate=.4, mean_calibration_error=.2, mean_hindsight_error=.1)
        self.put('v/full.json', full)
        return honest('verify-self-learning', 'v', '--full-results', 'v/full.json', cwd=self.at).stdout
    @once
    def healthy(self):
        "What the preflight says of a model, an adapter and a calibration that are there"
        adapter = self.at/'m/final_adapters'
        self.put('m/final_adapters/adapter_config.json', dict(base_model_name_or_path='stub', peft_type='LORA'))
        (adapter/'adapter_model.safetensors').write_bytes(b'')
        self.put('m/full_results.json', results(True) | dict(adapter_path=str(adapter)))
        return honest('mcp-server', '--health', cwd=self.at, ok=False, env=dict(
            HONEST_MODEL_ID='stub', HONEST_ADAPTER_PATH=str(adapter), HONEST_CALIBRATION_INFO=str(self.at/'m/full_results.json'))).stdout
    @once
    def config(self):
        env = dict(HONEST_MODEL_ID='Qwen/Qwen2.5-3B-Instruct', HONEST_ADAPTER_PATH='/x/final_adapters', HONEST_CALIBRATION_INFO='/x/full.json')
        return json.loads(honest('mcp-server', '--print-config', cwd=self.at, env=env).stdout)

@pytest.fixture(scope='module')
def road(tmp_path_factory): return Road(tmp_path_factory.mktemp('road'))

# ---- the table: name -> check

table = {}
def line(name, check):
    assert name not in table, name
    table[name] = check
def each(prefix, names, check):
    for o in names: line(f'{prefix}: {o}', lambda r, o=o: check(r, o))
def true(x, why=''): assert x, why

# §0
line('0 make test: notebooks, then pytest', lambda r: dry('test', 'nbdev_test', 'python -m pytest -q tests'))
line('0 make smoke-train', lambda r: [accepts(l[7:]) for l in dry('smoke-train', 'honest train-grpo --dry-run --hindsight --replay-priority --self-mutate --self-play')
                                      if l.startswith('honest ')])
line('0 smoke-train runs with nothing at hand', lambda r: honest(*'train-grpo --dry-run --hindsight --replay-priority --self-mutate --self-play'.split(), cwd=r.at))
line('0 make mcp-smoke', lambda r: [accepts(l[7:]) for l in dry('mcp-smoke', 'honest mcp-server --smoke-test') if l.startswith('honest ')])
line('0 wandb is optional', lambda r: accepts('train-grpo --no-wandb'))

def helped(r):
    "Nobody has to guess what a flag does"
    bare = [f'{cmd} {p.opts[0]}' for cmd,sub in cli().commands.items() for p in sub.params if p.opts[0][0]=='-' and not getattr(p, 'help', None)]
    assert not bare, bare
line('0 every flag has a line of help', helped)
def shown(r):
    res = honest('train-grpo', '--help', cwd=r.at)
    for flag in ('--model-preset', '--colab-profile', '--max-steps', '--output-dir'): assert flag in res.stdout
line('0 honest train-grpo --help', shown)

# §1
ingests = {'ingest-hendrycks-math':'math', 'ingest-mbpp':'code_mbpp', 'ingest-apps':'code_apps', 'regenerate-zebralogic':'logic'}
each('1 command', [*ingests, 'ingest-all', 'data-summary', 'fetch-ood-data'], lambda r, o: accepts(o))
def writes(r, cmd):
    "The command's own default, or that of the function it calls, is the runbook's file"
    import inspect
    fn = getattr(importlib.import_module('honest.data'), cmd.replace('-', '_'))
    shown = [str(p.default) for p in inspect.signature(fn).parameters.values()] + [str(p.default) for p in cli().commands[cmd].params]
    assert f'data/processed/{ingests[cmd]}.jsonl' in shown, shown
each('1 writes', ingests, writes)
def ingested(r, cmd):
    "Two rows in, the file out, and one JSON summary on the last line"
    rows = {'ingest-hendrycks-math': [dict(problem=f'What is $1+{i}$?', level=f'Level {i}', type='Algebra', solution=rf'It is $\boxed{{{1+i}}}$.') for i in (1, 2)],
            'ingest-mbpp': [dict(task_id=i, text='Add two numbers.', code='def add(a, b): return a+b', test_list=[f'assert add({i}, 2) == {i+2}'],
                                 test_setup_code='', challenge_test_list=[]) for i in (11, 700)],
            'ingest-apps': [dict(id=i, problem_id=i, question=f'Read n, print n+{i}.', solutions=json.dumps([f'print(int(input())+{i})']), difficulty='introductory', url='',
                                 input_output=json.dumps(dict(inputs=['1\n'], outputs=[f'{1+i}\n'])), starter_code='') for i in (1, 2)]}[cmd]
    src = r.at/f'src/{cmd}.jsonl'
    src.parent.mkdir(exist_ok=True)
    src.write_text('\n'.join(map(json.dumps, rows))+'\n')
    cwd = r.at/f'in-{cmd}'
    cwd.mkdir(exist_ok=True)
    s = summary(honest(cmd, '--source', src, cwd=cwd))
    assert isinstance(s, dict) and s
    assert sum(1 for _ in open(cwd/f'data/processed/{ingests[cmd]}.jsonl'))==2
each('1 ingests, and ends on a JSON summary', list(ingests)[:3], ingested)
each('1 missing file named at startup', ingests.values(), lambda r, o: missing(r, o))
def missing(r, name):
    cwd = r.at/f'without-{name}'
    cwd.mkdir()
    for o in set(ingests.values())-{name}: (cwd/f'data/processed/{o}.jsonl').parent.mkdir(parents=True, exist_ok=True); (cwd/f'data/processed/{o}.jsonl').write_text('')
    res = honest('train-grpo', '--model-preset', 'qwen3b', '--max-steps', 1, '--no-wandb', '--output-dir', 'x', cwd=cwd, ok=False)
    cmd = next(k for k,v in ingests.items() if v==name)
    assert res.returncode in (1, 2) and 'Traceback' not in res.stderr
    assert f'data/processed/{name}.jsonl not found: run "honest {cmd}"' in res.stderr, res.stderr
def sampler(r):
    from honest.data import get_sampler
    s = get_sampler(str(r.data/'data/processed'))
    counts = s.bucket_counts()
    assert s.total_count()==sum(counts.values())==156
    assert {k for k,v in counts.items() if v}=={(d, k) for d,ks in (('math', range(1, 6)), ('code', (3, 4, 5)), ('logic', range(1, 6))) for k in ks}
line('1 get_sampler: total_count and bucket_counts by (domain, difficulty)', sampler)
line('1 data-summary says the total', lambda r: true('156' in r.summary.stdout, r.summary.stdout))
def empty_bucket(r):
    "A bucket without a problem is no error"
    from honest.data import get_sampler
    assert get_sampler(str(r.data/'data/processed')).bucket_counts().get(('code', 1), 0)==0
line('1 an empty bucket is no error', empty_bucket)
each('1 flags', ['fetch-ood-data --tier tiny', 'fetch-ood-data --tier small', 'fetch-ood-data --tier medium', 'fetch-ood-data --tier all',
                 'fetch-ood-data --slices commonsense,science_easy --n 200', 'fetch-ood-data --n 200'], lambda r, o: accepts(o))
def slice_row(r, name):
    "The registry has the slice with its file, source, floor and tier"
    from honest.data import ood_slices
    file,source,floor,tiers = {'commonsense': ('commonsense_qa_sample.jsonl', 'tau/commonsense_qa', .2, 'tiny'), 'science_easy': ('arc_easy_sample.jsonl', 'allenai/ai2_arc', .25, 'tiny'),
        'science_hard': ('mmlu_astronomy_sample.jsonl', 'cais/mmlu', .25, 'tiny'), 'medical': ('medqa_sample.jsonl', 'cais/mmlu', .25, 'small'),
        'legal': ('lsat_sample.jsonl', '', .2, 'medium')}[name]
    shown = str(ood_slices[name])
    for o in (file, source, str(floor), tiers): assert o in shown, f'{o} is not in {shown}'
each('1 OOD slice', slices, slice_row)

# §2
model = '--model Qwen/Qwen2.5-3B-Instruct --model-preset qwen3b'
each('2 command', [f'baseline-eval {model} --output eval/baseline_results.json', f'baseline-eval {model} --samples 200 --output eval/baseline_results.json',
                   'baseline-eval --model-id x', 'full-eval --model x', 'format-sft --model-id Qwen/Qwen2.5-3B-Instruct --output-dir ./honest-qwen-3b-sft',
                   'train-grpo --resume-from ./honest-qwen-3b-sft'], lambda r, o: accepts(o))
line('2 default: 100 samples a condition', lambda r: default('baseline-eval', '--samples', 100))
line('2 default output', lambda r: default('baseline-eval', '--output', 'eval/baseline_results.json'))
each('2 key', ['model_id', 'preset', 'n_samples', 'metrics', 'per_domain', 'per_difficulty', 'schema_version', 'seed'], lambda r, o: true(o in r.baseline, list(r.baseline)))
each('2 metric', ['ece', 'ace', 'mce', 'brier', 'nll', 'auroc', 'auprc', 'format_rate', 'abstain_rate'], lambda r, o: true(o in r.baseline['metrics']))
line('2 values of model_id, preset and n_samples', lambda r: true((r.baseline['preset'], r.baseline['n_samples'])==('qwen3b', 4), r.baseline['preset']))
line('2 per_domain has the three', lambda r: true(set(r.baseline['per_domain'])=={'math', 'code', 'logic'}))
line('2 per_difficulty has 1 to 5', lambda r: true(set(r.baseline['per_difficulty'])==set('12345')))
line('2 format_rate under 0.70 points to format-sft', lambda r: true(any('format-sft' in o for o in constants('evaluate'))))

# §3
each('3 command', [
    'train-grpo --model-preset qwen3b --colab-profile l4 --max-steps 350 --output-dir ./honest-qwen-3b-grpo',
    'run-calibration-pipeline Qwen/Qwen2.5-0.5B-Instruct', 'run-calibration-pipeline meta-llama/Llama-3.2-1B-Instruct',
    'run-calibration-pipeline Qwen/Qwen2.5-0.5B-Instruct --max-steps 200 --replay-priority --self-mutate',
    'calibration-sft --model-id Qwen/Qwen2.5-0.5B-Instruct --output-dir ./sft-qwen-0.5b --n-examples 1500 --epochs 2 --hindsight-frac 0.5',
    'train-grpo --model-id Qwen/Qwen2.5-0.5B-Instruct --init-adapter ./sft-qwen-0.5b --hindsight --hindsight-mode legacy --max-steps 250 --output-dir ./honest-qwen-0-5b-grpo',
    'train-grpo --model-preset qwen3b --colab-profile l4 --max-steps 350 --hindsight --self-mutate --replay-priority --output-dir ./honest-qwen-3b-grpo',
    'train-grpo --self-play', 'audit-hindsight --trainer-state ./honest-qwen-1-5b-grpo/trainer_state.json',
    'train-grpo --model-preset qwen1.5b --colab-profile a100 --hindsight --hindsight-mode refined --max-steps 250 --output-dir ./honest-qwen-1-5b-grpo-refined',
    'train-grpo --reasoning-mode refined', 'train-grpo --colab-profile t4', 'train-grpo --colab-profile cpu',
    'plot-training-curves --trainer-state ./honest-qwen-3b-grpo/trainer_state.json --out docs_src/training --label "qwen3b · 350 steps · L4"',
    'train-grpo --model-preset llama3b --colab-profile l4 --max-steps 400 --hindsight --self-mutate --output-dir ./honest-llama-3b-grpo',
    'train-grpo --model-preset phi4mini --colab-profile l4 --max-steps 400 --hindsight --self-mutate --output-dir ./honest-phi4mini-grpo'], lambda r, o: accepts(o))
line('3 self-play is off by default', lambda r: default('train-grpo', '--self-play', False))
def preset(r, name):
    from honest.profiles import presets, tiers
    tier = {'qwen0.5b':'tiny', 'llama1b':'tiny', 'qwen1.5b':'small', 'qwen3b':'medium', 'llama3b':'medium', 'phi4mini':'medium', 'nano':'nano', 'smollm2':'tiny'}[name]
    assert presets[name].tier==tier and tier in tiers
each('3 preset', ['qwen0.5b', 'qwen1.5b', 'qwen3b', 'llama1b', 'llama3b', 'phi4mini', 'nano', 'smollm2'], preset)
def tiny_recipe(r):
    from honest.profiles import tiers
    sft = tiers['tiny']['sft']
    assert (sft['n_examples'], sft['epochs'], sft['max_difficulty'], sft['hindsight_frac'])==(1500, 2, 2, .5)
line('3 tiny recipe: 1500 examples, 2 epochs, difficulty 2, hindsight on half', tiny_recipe)
each('3 run folder has', ['final_adapters/adapter_config.json', 'difficulty_state.json', 'smc_state.json', 'replay_state.json', 'trainer_state.json', 'training_args.json',
                          'final_adapters/trainer_state.json', 'final_adapters/training_args.json'], lambda r, o: true((r.run/o).is_file(), sorted(os.listdir(r.run))))
line('3 checkpoints every 50 steps', lambda r: true(json.loads((r.run/'training_args.json').read_text()).get('save_steps')==50))
# TRL's own names: the `train/` prefix is put on by W&B and by the stdout log
each('3 logs', ['reward', 'reward_std', 'kl', 'grad_norm'], lambda r, o: true(o in r.logged or f'train/{o}' in r.logged, sorted(r.logged)))
each('3 logs', ['controller/math/target', 'controller/code/target', 'controller/logic/target', 'smc/math/max_unlocked', 'replay/buffer_size', 'replay/priority_entropy'],
     lambda r, o: true(o in r.logged, sorted(r.logged)))
line('3 reward_std over 1e-4, else RewardHealthCallback', lambda r: has('grpo', 'RewardHealthCallback'))
line('3 kl over 0.05, AdaptiveBetaCallback', lambda r: has('grpo', 'AdaptiveBetaCallback'))
line('3 max_grad_norm 1.0', lambda r: true(json.loads((r.run/'training_args.json').read_text()).get('max_grad_norm')==1.0))
def band(r):
    from honest.control import Band
    assert (Band().low, Band().high, Band().window, Band().cooldown)==(.3, .7, 20, 10)
line('3 accuracy band 0.30 to 0.70', band)
each('3 audit says', ['structurally silent', 'intermittent', 'healthy'],
     lambda r, o: true(o in r.audit({'structurally silent':0., 'intermittent':lambda i: i%4==0, 'healthy':.1}[o])))
line('3 audit counts the steps at exactly 0', lambda r: true(re.search(r'75(\.0)?\s?%|0?\.75\b', r.audit(lambda i: i%4==0))))
def promoted(r):
    "`--hindsight-mode refined` switches the prompt, too"
    out = honest('train-grpo', '--dry-run', '--hindsight', '--hindsight-mode', 'refined', cwd=r.at)
    assert re.search(r'reasoning[_-]mode\W+refined', out.stdout+out.stderr), out.stdout[-500:]
line('3 refined hindsight promotes the reasoning mode', promoted)
each('3 plot', ['loss_curve.png', 'reward_curve.png', 'kl_curve.png'], lambda r, o: true((r.plots/o).read_bytes()[:4]==b'\x89PNG'))
line('3 plots go to docs_src/training', lambda r: default('plot-training-curves', '--out', 'docs_src/training'))
line('3 make plots', lambda r: [accepts(l[7:]) for l in dry('plots', 'honest plot-training-curves', TRAINER_STATE='./x/trainer_state.json') if l.startswith('honest ')])
line('3 make plots says what it lacks', lambda r: true(b'TRAINER_STATE=' in subprocess.run(
    ['make', 'plots', f'VENV={r.at/"no"}', 'TRAINER_STATE=', '-o', str(r.at/'no/.runtime')], cwd=root, capture_output=True, stdin=subprocess.DEVNULL).stderr))

# §4
each('4 command', [
    'full-eval --model-id Qwen/Qwen2.5-3B-Instruct --adapter-path ./honest-qwen-3b-grpo/final_adapters --baseline-results eval/baseline_results.json '
    '--ood-dir eval/ood --ood-slices auto --samples 100 --output eval/full_results.json',
    'full-eval --model-id Qwen/Qwen2.5-0.5B-Instruct --adapter-path ./grpo-qwen-0.5b/final_adapters --ood-slices auto --output eval/full_results_qwen05b.json',
    'full-eval --model-id x --ood-slices all', 'full-eval --model-id x --ood-slices commonsense,science_easy', 'full-eval --skip-indist', 'full-eval --skip-ood',
    'full-eval --dry-run', 'full-eval --model-preset qwen3b', 'baseline-eval --dry-run'], lambda r, o: accepts(o))
line('4 default slices: auto', lambda r: default('full-eval', '--ood-slices', 'auto'))
line('4 default folder: eval/ood', lambda r: default('full-eval', '--ood-dir', 'eval/ood'))
line('4 default output', lambda r: default('full-eval', '--output', 'eval/full_results.json'))
line('4 default samples', lambda r: default('full-eval', '--samples', 100))
line('4 last line is a JSON summary', lambda r: true(isinstance(r.full[0], dict)))
each('4 key', ['model_id', 'adapter_path', 'preset', 'ood_slices', 'in_distribution', 'ood', 'overall', 'schema_version', 'seed'], lambda r, o: true(o in r.full[1]))
line('4 in_distribution: math_1 to logic_5', lambda r: true({f'{d}_{k}' for d,ks in (('math', range(1, 6)), ('code', (3, 4, 5)), ('logic', range(1, 6))) for k in ks}
                                                           <= set(r.full[1]['in_distribution'])))
line('4 five slices for a medium model', lambda r: true(list(r.full[1]['ood_slices'])==list(slices)))
each('4 slice key', ['ece', 'brier', 'random_floor', 'samples'], lambda r, o: [true(o in r.full[1]['ood'][s], s) for s in slices])
line('4 floors', lambda r: true({s:r.full[1]['ood'][s]['random_floor'] for s in slices}==slices))
each('4 overall key', ['ece', 'brier', 'auroc', 'accuracy'], lambda r, o: true(o in r.full[1]['overall']))
def skips(r, flag):
    honest('full-eval', '--dry-run', '--model-preset', 'qwen3b', '--samples', 2, flag, '--output', f'eval/{flag[2:]}.json', cwd=r.data)
    d = r.json(f'eval/{flag[2:]}.json')
    assert not (d['ood'] if flag=='--skip-ood' else [k for k in d['in_distribution'] if k!='metrics'])
each('4 leaves out', ['--skip-ood', '--skip-indist'], skips)
def tiny_slices(r):
    honest('full-eval', '--dry-run', '--model-preset', 'qwen0.5b', '--samples', 2, '--skip-indist', '--output', 'eval/tiny.json', cwd=r.data)
    assert list(r.json('eval/tiny.json')['ood_slices'])==['commonsense', 'science_easy', 'science_hard']
line('4 auto leaves medical and legal out for a tiny model', tiny_slices)

# §5
each('5 command', ['compare-runs --baseline eval/baseline_full.json --after eval/full_results.json --output eval/comparison.md --plot --plot-output eval/plots/comparison.png',
                   'compare-runs --baseline eval/baseline_results.json --after eval/full_results.json --output eval/comparison.md', 'compare-runs --baseline a --after b --strict'],
     lambda r, o: accepts(o))
line('5 default output', lambda r: default('compare-runs', '--output', 'eval/comparison.md'))
line('5 default plot', lambda r: true((r.compared and r.at/'eval/plots/comparison.png').read_bytes()[:4]==b'\x89PNG'))
def section(r, name):
    heads = [l.lower() for l in r.compared[0].splitlines() if l.startswith('#')]
    assert any(re.search(name, h) for h in heads), heads
each('5 section', ['headline', r'per[- ]domain|by domain', r'in-distribution.*(ood|out)', 'transfer', 'histogram', 'shift|mode', 'gate'], section)
each('5 headline row', ['ECE', 'Brier', 'AUROC'], lambda r, o: true(re.search(rf'^\|.*{o}.*\|', r.compared[0], re.M)))
line('5 interval of 95 %', lambda r: true(re.search(r'95\s?%', r.compared[0])))
each('5 status', ['✓ transferred', '~ partial', '⚠ at floor', '✗ no transfer'], lambda r, o: true(any(o in s for s in constants('compare'))))
each('5 status is given', ['✓ transferred', '⚠ at floor', '✗ no transfer'], lambda r, o: true(re.search(rf'^\|.*{o}', r.compared[0], re.M), r.compared[0][-3000:]))
line('5 transfer ratio', lambda r: true(re.search(r'transfer ratio\W+[\d.]+', r.compared[0], re.I)))
line('5 comparison.json says the same', lambda r: true(isinstance(r.compared[1], dict) and 'gates' in r.compared[1]))
gates = {'Δ ECE (in-distribution)':r'≤ -0\.03$', 'Δ Brier (in-distribution)':r'≤ -0\.02, 95 % interval below 0$', 'Calibration transfer ratio':r'≥ 0\.5 on slices clear of the floor$',
         'Δ ECE on ≥2 OOD slices':r'≥ 2 slices ✓ transferred$', 'AUROC (in-distribution)':r'≥ 0\.65$', 'AUROC interval':r'> 0\.5$', 'Format rate':r'≥ 0\.90$',
         'Abstain rate at d=5':r'> abstain rate at d=1', 'Δ accuracy':r'> -0\.05', 'Brier skill':r'> 0$'}
def gate(r, name):
    "The gate has the runbook's threshold, and stands with it in the report's table"
    g = next(o for o in r.compared[1]['gates'] if o['gate']==name)
    assert re.search(gates[name], g['threshold']), g
    assert isinstance(g['pass'], bool) and f'| {name} | {g["threshold"]} |' in r.compared[0]
each('5 gate', gates, gate)
def strict(r):
    "`--strict` exits 1 when a gate fails: a run compared with itself improves nothing"
    r.compared
    res = honest('compare-runs', '--baseline', 'c/before.json', '--after', 'c/before.json', '--output', 'c/same.md', '--strict', cwd=r.at, ok=False)
    assert res.returncode==1 and (r.at/'c/same.md').exists(), res.stderr[-500:]
line('5 --strict', strict)
def old_baseline(r):
    "A baseline without OOD samples still compares"
    r.compared
    before = results(False)
    del before['ood'], before['ood_slices']
    r.put('c/short.json', before)
    honest('compare-runs', '--baseline', 'c/short.json', '--after', 'c/after.json', '--output', 'c/short.md', cwd=r.at)
line('5 a baseline without OOD works', old_baseline)

# §6
line('6 make mcp-health', lambda r: [accepts(l[7:]) for l in dry('mcp-health', 'honest mcp-server --health') if l.startswith('honest ')])
line('6 make mcp-config', lambda r: [accepts(l[7:]) for l in dry('mcp-config', 'honest mcp-server --print-config') if l.startswith('honest ')])
line('6 smoke test passes offline', lambda r: honest('mcp-server', '--smoke-test', cwd=r.at))
each('6 health line', ['[ok] model_id stub', '[ok] adapter_path', '[ok] calibration_info'], lambda r, o: true(o in r.healthy, r.healthy))
each('6 command', ['mcp-server --model-id Qwen/Qwen2.5-3B-Instruct --adapter-path ./honest-qwen-3b-grpo/final_adapters --calibration-info eval/full_results.json', 'install-mcp'],
     lambda r, o: accepts(o))
def configured(r, name):
    server = next(iter(r.config['mcpServers'].values()))
    assert {'HONEST_MODEL_ID':'Qwen/Qwen2.5-3B-Instruct', 'HONEST_ADAPTER_PATH':'/x/final_adapters', 'HONEST_CALIBRATION_INFO':'/x/full.json'}[name] in json.dumps(server)
each('6 config carries', ['HONEST_MODEL_ID', 'HONEST_ADAPTER_PATH', 'HONEST_CALIBRATION_INFO'], configured)
line('6 config has a command', lambda r: true(all(o['command'] for o in r.config['mcpServers'].values())))
def served():
    "What the two tools answer, asked by a client over stdio"
    import asyncio
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    async def go():
        env = {k:v for k,v in os.environ.items() if not k.startswith('HONEST_')}
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=['-m', 'honest', 'mcp-server', '--model-id', 'stub'], env=env))) as c:
            names = {o.name for o in (await c.list_tools()).tools}
            ask = await c.call_tool('ask_with_calibrated_confidence', {'question': 'What is 6 times 7?'})
            info = await c.call_tool('get_calibration_info', {})
            return names,ask.structured_content,info.structured_content
    return asyncio.run(go())
served = lru_cache(served)
each('6 tool', ['ask_with_calibrated_confidence', 'get_calibration_info'], lambda r, o: true(o in served()[0]))
each('6 answer field', ['answer', 'confidence', 'calibration_note', 'abstained', 'malformed', 'raw'], lambda r, o: true(o in served()[1], served()[1]))
each('6 calibration field', ['available', 'model', 'preset', 'metrics', 'ood'], lambda r, o: true(o in served()[2], served()[2]))

# §7
line('7 command', lambda r: accepts('verify-self-learning run --full-results f'))
each('7 key of in_distribution.metrics', ['hindsight_rate', 'mean_calibration_error', 'mean_hindsight_error'], lambda r, o: true(o in r.full[1]['in_distribution']['metrics']))
each('7 key of replay_state', ['size', 'priority_entropy', 'top1_share'], lambda r, o: true(o in json.loads((r.run/'replay_state.json').read_text())))
each('7 key of smc_state', ['max_unlocked_difficulty', 'episodes_at_max'],
     lambda r, o: [true(o in s) for d,s in json.loads((r.run/'smc_state.json').read_text()).items()])
each('7 reports', ['0.4', '4.2', '0.01', '6'], lambda r, o: true(o in r.verified, r.verified))

# §8, §9, §10
def colab(r):
    "The notebook's `args` cell is near its top, and the command accepts what stands there"
    src = [''.join(c['source']) for c in json.loads((root/'nbs/tutorials/train_colab.ipynb').read_text())['cells'] if c['cell_type']=='code'][:4]
    accepts('train-grpo '+next(m[2] for o in src if (m := re.search(r'''^args = (["'])(.*)\1''', o, re.M))))
line('8 train_colab has an args cell', colab)
line('9 seed 42', lambda r: default('train-grpo', '--seed', 42))
line('9 eval_seeds.json is written when missing', lambda r: true(r.full and (r.at/'eval/eval_seeds.json').is_file()))
line('9 training_args.json has the flags', lambda r: true(json.loads((r.run/'training_args.json').read_text()).get('num_generations')==4))
def empty_sampler(r):
    cwd = r.at/'empty'
    for o in ingests.values(): (cwd/f'data/processed/{o}.jsonl').parent.mkdir(parents=True, exist_ok=True); (cwd/f'data/processed/{o}.jsonl').write_text('')
    res = honest('train-grpo', '--model-preset', 'qwen3b', '--max-steps', 1, '--no-wandb', '--output-dir', 'x', cwd=cwd, ok=False)
    assert res.returncode in (1, 2) and 'Unified sampler is empty' in res.stderr and 'Traceback' not in res.stderr, res.stderr[-500:]
line('10 Unified sampler is empty', empty_sampler)
each('10 flag', ['train-grpo --learning-rate 1e-6', 'train-grpo --num-generations 6', 'train-grpo --max-completion-length 256', 'train-grpo --domain-weights 0.5,0.35,0.15',
                 'train-grpo --smc-min-episodes-at-max 40'], lambda r, o: accepts(o))
line('10 SMC waits for 20 episodes', lambda r: default('train-grpo', '--smc-min-episodes-at-max', 20))
line('10 KL over 0.2 warns', lambda r: true(any(isinstance(o, ast.Constant) and o.value==.2 for o in ast.walk(ast.parse((root/'honest/grpo.py').read_text())))))
line('10 replay pauses for 50 steps under log 2', lambda r: true({50} <= {o.value for o in ast.walk(ast.parse((root/'honest/replay.py').read_text())) if isinstance(o, ast.Constant)}))

# The guides' own commands
def commands(md):
    "The `honest` command lines in the bash blocks of a page"
    for block in re.findall(r'```bash\n(.*?)```', md, re.S):
        for l in block.replace('\\\n', ' ').splitlines():
            for o in l.split('&&'):
                if (args := shlex.split(o, comments=True))[:1]==['honest']: yield shlex.join(args[1:])
for _page in ('docs_src/runbook.md', 'README.md'):
    each(f'guide {_page}', dict.fromkeys(commands((root/_page).read_text('utf-8'))), lambda r, o: accepts(o))

def test_table_is_whole():
    "Nothing that is put off is unknown"
    assert not_yet<=set(table)|{''}, not_yet-set(table)-{''}

def test_guide_names_every_flag():
    "Each command and flag of the table stands in the guide"
    guide = (root/'docs_src/runbook.md').read_text('utf-8')
    for name in table:
        for flag in re.findall(r'--[a-z][\w-]*', name): assert re.search(rf'{flag}(?![\w-])', guide), f'{flag} ({name})'
        if m := re.match(r'\d command: (\S+)', name): assert f'honest {m[1]}' in guide, name

@pytest.mark.parametrize('name', table)
def test_line(name, road, request):
    "One line of the runbook holds"
    if name in not_yet: request.applymarker(pytest.mark.xfail(strict=True, reason='not built yet'))
    table[name](road)
