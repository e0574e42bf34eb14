"The repo keeps its own rules: notebooks are ordered, clean, in sync and listed, and every public name is documented."
import ast, io, json, re, subprocess
from pathlib import Path
import pytest
from pyflakes.api import check
from pyflakes.reporter import Reporter

root = Path(__file__).parent.parent
mods = {p:p.read_text('utf-8') for p in sorted((root/'honest').rglob('*.py')) if p.name not in ('_modidx.py', '__init__.py')}
source = {p:m[1] for p,s in mods.items() if (m := re.search(r'File to edit: (?:\.\./)+(nbs/\S+\.ipynb)', s))}
nbs = [p for p in sorted((root/'nbs').rglob('*.ipynb')) if '.ipynb_checkpoints' not in p.parts]
numbered = [p for p in nbs if p.name[0].isdigit()]
sidebar = (root/'docs_src/_quarto.yml').read_text('utf-8')

def dotted(p): return '.'.join(p.relative_to(root/'honest').with_suffix('').parts)
def number(nb): return re.match(r'\d+[a-z]?', Path(nb).name)[0]  # `02` < `02a` < `03`
num = {dotted(p):number(nb) for p,nb in source.items()}
def cells(nb): return json.loads(nb.read_text('utf-8'))['cells']
def text(cell): return ''.join(cell['source'])
def tracked():
    out = subprocess.run(['git', 'ls-files', '-z'], cwd=root, capture_output=True, text=True)
    if out.returncode: pytest.skip('not a git clone')
    return [root/o for o in out.stdout.split('\0') if o and (root/o).is_file()]

each_module = pytest.mark.parametrize('fn', mods, ids=dotted)
each_notebook = pytest.mark.parametrize('nb', nbs, ids=lambda p: p.stem)

def imported(tree, here):
    "Names of `honest` modules that `tree`, the code of module `here`, imports anywhere in it"
    for o in ast.walk(tree):
        if isinstance(o, ast.Import): yield from (a.name.removeprefix('honest.') for a in o.names if a.name.startswith('honest.'))
        if not isinstance(o, ast.ImportFrom): continue
        base = here.split('.')[:-o.level] if o.level else (o.module or '').split('.')
        if not o.level and base[0]!='honest': continue
        base = (base if o.level else base[1:]) + ((o.module or '').split('.') if o.level and o.module else [])
        name = '.'.join(base)
        yield from [name] if name in num else ['.'.join([*base, a.name]) for a in o.names]

@each_module
def test_reads_only_earlier(fn):
    "A module imports only from notebooks numbered below its own"
    here = dotted(fn)
    if here=='__main__': return
    assert here in num, f'{fn} does not say which notebook it comes from'
    for name in imported(ast.parse(mods[fn]), here):
        assert name in num or name.split('.')[-1] in ('__version__', 'tasks', 'assets'), f'{here} imports {name}, which is no module'
        if name in num: assert num[name]<num[here], f'{here} imports {name}'

@each_module
def test_documented(fn):
    "Every public function and class has a docstring"
    bare = [o.name for o in ast.parse(mods[fn]).body
            if isinstance(o, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and o.name[0]!='_' and not ast.get_docstring(o)]
    assert not bare, f'without a docstring: {bare}'

@each_module
def test_short(fn):
    "Functions stay under 41 lines"
    long = [f'{o.name}: {n} lines' for o in ast.walk(ast.parse(mods[fn])) if isinstance(o, (ast.FunctionDef, ast.AsyncFunctionDef))
            and (n := o.end_lineno-o.lineno+1)>40]
    assert not long

@each_module
def test_free_of_dev_tools(fn):
    "The exported package needs none of the tools that export it"
    for o in ast.walk(ast.parse(mods[fn])):
        names = [a.name for a in o.names] if isinstance(o, ast.Import) else [o.module or ''] if isinstance(o, ast.ImportFrom) else []
        assert not {n.split('.')[0] for n in names} & {'nbdev', 'fastcore', 'execnb', 'IPython', 'pytest', 'hypothesis'}, names

def code_of(p):
    "Python text of a file, or of all code cells of a notebook"
    if p.suffix=='.py': return p.read_text('utf-8')
    return '\n'.join(re.sub(r'^\s*[!%].*', '', text(c), flags=re.M) for c in cells(p) if c['cell_type']=='code')+'\n'

@pytest.mark.parametrize('p', [*mods, *sorted((root/'tests').glob('*.py')), *sorted((root/'docs_src').glob('*.py')), *numbered],
                         ids=lambda p: p.relative_to(root).as_posix())
def test_nothing_left_over(p):
    "No import and no local name without use, none defined twice before it is used, none undefined"
    out = io.StringIO()
    check(code_of(p), p.name, Reporter(out, out))
    assert not out.getvalue()

def test_one_module_each():
    "Each number stands once, and each numbered notebook exports the module it is named after"
    assert len({number(o) for o in numbered})==len(numbered)
    made = {Path(nb).name for nb in source.values()}
    assert {o.name for o in numbered}==made, {o.name for o in numbered} ^ made
    for p,nb in source.items(): assert re.sub(r'^\d+[a-z]?_', '', Path(nb).stem)==dotted(p)

@each_module
def test_in_sync(fn):
    "Each exported cell of the notebook stands in the module as it is, in order"
    if dotted(fn)=='__main__': return
    want = [text(c) for c in cells(root/source[fn])
            if c['cell_type']=='code' and re.match(r'#\|\s*exports?\b', text(c)) and not re.match(r'#\|\s*exports?[ \t]+\S', text(c))]
    got = [s.split('\n', 1)[1].strip() for s in re.split(r'^# %% ', mods[fn], flags=re.M)[1:]]
    def plain(s): return re.sub(r'^(\s*from )(?:honest|\.)[\w.]* import', r'\1 import', re.sub(r'^(#\|.*\n)+', '', s).strip(), flags=re.M)
    assert [plain(o) for o in want]==[plain(o) for o in got if not o.startswith('__all__')]

@each_notebook
def test_notebook_clean(nb):
    "No execution counts, no cell metadata, cell ids that are words, no NaN or address among the outputs"
    d = json.loads(nb.read_text('utf-8'))
    assert set(d['metadata'])<={'kernelspec'}
    ids = [c['id'] for c in d['cells']]
    assert len(ids)==len(set(ids))
    for c in d['cells']:
        assert re.fullmatch(r'[a-z][a-z0-9]*(-[a-z0-9]+)*', c['id']) and not re.fullmatch(r'[0-9a-f]{8}', c['id']), f'id {c["id"]!r} is no words'
        assert not c['metadata'] and c.get('execution_count') is None, c['id']
        for o in c.get('outputs', []):
            assert o['output_type']!='error' and o.get('execution_count') is None, c['id']
            shown = json.dumps({k:v for k,v in o.get('data', {}).items() if 'image/png' not in k} | {'text': o.get('text', '')})
            assert not re.search(r'\bnan\b|\bNaN\b| at 0x[0-9a-f]{6,}', shown), f'{c["id"]}: {shown[:200]}'

@each_notebook
def test_notebook_opens_well(nb):
    "A title with one line under it comes first; imports stand alone in their cells"
    first = cells(nb)[0]
    assert first['cell_type']=='markdown' and re.match(r'# \S.*\n+> \S', text(first)), 'a page opens with "# name" and "> one line"'
    for c in cells(nb):
        if c['cell_type']!='code' or re.search(r'^\s*[!%]', text(c), re.M): continue
        body = ast.parse(text(c)).body
        kinds = {isinstance(o, (ast.Import, ast.ImportFrom)) for o in body}
        assert len(kinds)<2, f'{c["id"]}: imports share a cell with code'

@pytest.mark.parametrize('nb', numbered, ids=lambda p: p.stem)
def test_page_reads_only_earlier(nb):
    "The cells that show and test a page read only lower-numbered ones, too"
    here = re.sub(r'^\d+[a-z]?_', '', nb.stem)
    for c in cells(nb):
        if c['cell_type']!='code' or re.search(r'^\s*[!%]', text(c), re.M): continue
        for name in imported(ast.parse(text(c)), here):
            if name in num: assert num[name]<=number(nb), f'{nb.stem}, cell {c["id"]}: imports {name}'

def test_in_sidebar():
    "Each notebook and guide is in the sidebar: numbered ones by their span, others by name; and what is listed exists"
    spans = re.findall(r'contents: (\d\d)-(\d\d)$', sidebar, re.M)
    for o in numbered: assert sum(a<=o.name[:2]<=b for a,b in spans)==1, o.name
    pages = {p.relative_to(root/'nbs').as_posix() for p in nbs if p not in numbered} | {p.name for p in (root/'docs_src').glob('*.md')} | {'changelog.md'}  # that one build.py copies
    bar = sidebar[sidebar.index('sidebar:'):]
    listed = set(re.findall(r'[\w./-]+\.(?:ipynb|md)', bar))
    assert listed==pages, f'listed but missing: {listed-pages}; there but not listed: {pages-listed}'

machine = re.compile(r'(?<![\w.~-])/(?:(?:work|root|opt)/\w|tmp/(?:tmp|pytest))')
indexes = re.compile('|'.join(['pypi'+r'\.org', 'files.python'+'hosted', 'download.py'+'torch', 'index'+'-url=', 'find'+'-links']))
texts = {'.py', '.ipynb', '.md', '.ini', '.txt', '.yml', '.toml', '.in', '.css', '.svg', '.json', '.jsonl', '.csv', '.sh', ''}

def test_tracked_text():
    "Text files have LF endings and UTF-8, and name no machine's folders nor package indexes"
    wrong = []
    for p in tracked():
        if p.suffix not in texts: continue
        b,name = p.read_bytes(),p.relative_to(root).as_posix()
        if b'\r\n' in b: wrong.append(f'{name}: CRLF')
        s = re.sub(r'"image/png": "[^"]*"', '', b.decode('utf-8'))
        wrong += [f'{name}: {m[0]} in …{s[max(0, m.start()-30):m.end()+20]!r}' for m in [*machine.finditer(s), *indexes.finditer(s)]]
    assert not wrong, '\n'.join(wrong)

def test_size():
    "The repository stays small enough to clone: no tracked file over 20 MB, no notebook over 1 MB"
    for p in tracked(): assert p.stat().st_size < (1e6 if p.suffix=='.ipynb' else 20e6), p

def test_readme_is_the_index():
    "README.md is made from the index: each of its headings and code lines stands there"
    readme = (root/'README.md').read_text('utf-8')
    for c in cells(root/'nbs/index.ipynb'):
        want = [l for l in text(c).splitlines() if l.strip()] if c['cell_type']=='code' else re.findall(r'^#+ .*$', text(c), re.M)
        for l in want: assert l in readme, f'{l!r} is not in README.md: run make docs'

def test_version():
    "The package and its metadata say the same version, and the changelog has it"
    v = re.search(r'^version = (.+)$', (root/'settings.ini').read_text(), re.M)[1]
    assert f'"{v}"' in (root/'honest/__init__.py').read_text()
    assert f'## {v}' in (root/'CHANGELOG.md').read_text()

@each_notebook
def test_figures_have_captions(nb):
    "A cell that shows a picture says what is to be seen on it"
    for c in cells(nb):
        pictures = [o for o in c.get('outputs', []) if {'image/png', 'image/svg+xml'} & set(o.get('data', {}))]
        assert not pictures or re.search(r'^#\| fig-cap: "\S', text(c), re.M), f'{c["id"]}: a picture without #| fig-cap'

@each_module
def test_tables_are_named(fn):
    "Every public name that is no function and no class is named in the prose of its page"
    if fn not in source: return
    tree = ast.parse(mods[fn]).body
    public = next((ast.literal_eval(o.value) for o in tree if isinstance(o, ast.Assign) and getattr(o.targets[0], 'id', '')=='__all__'), [])
    made = {o.name for o in tree if isinstance(o, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    said = re.findall(r'`([^`]+)`', '\n'.join(text(c) for c in cells(root/source[fn]) if c['cell_type']=='markdown'))
    lost = [o for o in public if o not in made and not any(re.search(rf'\b{re.escape(o)}\b', s) for s in said)]
    assert not lost, f'{source[fn]} says nothing of {", ".join(lost)}'
