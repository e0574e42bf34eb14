"The wheel builds, holds what it should, says what it needs, and runs without the tools that made it."
import configparser, os, subprocess, sys, zipfile
from email.parser import Parser
from pathlib import Path
from shutil import copytree, ignore_patterns
import pytest

root = Path(__file__).parent.parent

@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    "The built wheel, made from a copy so that nothing is left in the tree"
    src,out = tmp_path_factory.mktemp('src')/'honest',tmp_path_factory.mktemp('wheel')
    skip = ignore_patterns('.git', 'venv', '_docs', '_proc', 'demo', 'data', 'eval', 'build', '*.egg-info', '__pycache__', 'wandb', 'models')
    copytree(root, src, ignore=skip)
    res = subprocess.run([sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps', '--no-build-isolation', '-w', out, src],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert res.returncode==0, res.stderr[-2000:]
    return next(out.glob('honest-*.whl'))

@pytest.fixture(scope='module')
def names(wheel): return set(zipfile.ZipFile(wheel).namelist())

@pytest.fixture(scope='module')
def meta(wheel, names):
    name = next(o for o in names if o.endswith('.dist-info/METADATA'))
    return Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())

@pytest.fixture(scope='module')
def site(wheel, tmp_path_factory):
    "The wheel unpacked, as installing it would"
    folder = tmp_path_factory.mktemp('site')
    zipfile.ZipFile(wheel).extractall(folder)
    return folder

def test_holds_package_and_assets(names):
    "Every module and every asset is in the wheel, and nothing but the package"
    def kept(p): return p.is_file() and '__pycache__' not in p.parts
    want = {p.relative_to(root).as_posix() for p in (root/'honest').rglob('*') if kept(p) and (p.suffix=='.py' or 'assets' in p.parts)}
    assert want<=names, want-names
    assert {o.split('/')[0] for o in names if '.dist-info' not in o}=={'honest'}

def test_metadata(meta, names, wheel):
    "Name, version, licence, Python, description, requirements and command are those of settings.ini"
    cfg = configparser.ConfigParser(delimiters=['='])
    cfg.read(root/'settings.ini', encoding='utf-8')
    c = cfg['DEFAULT']
    assert (meta['Name'], meta['Version'], meta['Summary'])==(c['lib_name'], c['version'], c['description'])
    assert meta['Requires-Python']=='>='+c['min_python']
    assert 'Apache-2.0' in (meta['License-Expression'] or meta['License'])
    assert meta['Description-Content-Type']=='text/markdown' and meta.get_payload().startswith('# HONEST')
    assert len([o for o in meta.get_all('Requires-Dist') if 'extra ==' not in o])==len(c['requirements'].split())
    assert 'dev' in meta.get_all('Provides-Extra')
    assert any(o.endswith('licenses/LICENSE') or o.endswith('dist-info/LICENSE') for o in names)
    entry = zipfile.ZipFile(wheel).read(next(o for o in names if o.endswith('entry_points.txt'))).decode()
    assert c['console_scripts'].replace('=', ' = ') in entry

def test_dev_tools_stay_out(meta):
    "No tool that makes or tests the package is a requirement of it"
    needs = {o.split(';')[0].strip().lower() for o in meta.get_all('Requires-Dist') if 'extra ==' not in o}
    assert not [o for o in needs if o.startswith(('nbdev', 'fastcore', 'execnb', 'ghapi', 'pytest', 'hypothesis', 'jupyter', 'smalldocs'))]

_guard = '''
import importlib, pkgutil, sys
for o in ('nbdev', 'fastcore', 'execnb', 'ghapi', 'pytest', 'hypothesis', 'wandb', 'smalldocs'): sys.modules[o] = None
import honest
assert sys.argv[1] in honest.__file__, honest.__file__
mods = [m.name for m in pkgutil.walk_packages(honest.__path__, 'honest.') if not m.name.endswith(('__main__', '_modidx'))]
late = 'honest.generate', 'honest.grpo'
for m in mods:
    if m not in late: importlib.import_module(m)
heavy = {'torch', 'transformers', 'trl', 'peft', 'datasets', 'sympy', 'matplotlib', 'sklearn', 'scipy', 'mcp'} & set(sys.modules)
print(len(mods), *sorted(heavy))
for m in late: importlib.import_module(m)
'''

def test_imports_without_dev_tools(site, tmp_path):
    "Every module of the wheel imports where no dev tool can be, and none but the generation engine's and the trainer's brings in a heavy library"
    res = subprocess.run([sys.executable, '-c', _guard, str(site)], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         env=os.environ | {'PYTHONPATH': str(site), 'PYTHONDONTWRITEBYTECODE': '1'})
    assert res.returncode==0, res.stderr[-2000:]
    n,*heavy = res.stdout.split()
    assert int(n)>=len(list((root/'honest').glob('[!_]*.py'))) and not heavy, res.stdout

def test_constraints_cover_requirements():
    "Every requirement, of users and of developers, is pinned to one version in constraints.txt"
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name
    cfg = configparser.ConfigParser(delimiters=['='])
    cfg.read(root/'settings.ini', encoding='utf-8')
    lines = [l for l in (root/'constraints.txt').read_text().splitlines() if l.strip() and l[0]!='#']
    pins = {canonicalize_name(r.name):r for r in map(Requirement, lines)}
    for o in (cfg['DEFAULT']['requirements']+' '+cfg['DEFAULT']['dev_requirements']).split():
        req = Requirement(o)
        spec = list(pins[canonicalize_name(req.name)].specifier)
        assert len(spec)==1 and spec[0].operator=='==' and '+' not in spec[0].version, spec
        assert req.specifier.contains(spec[0].version), f'{o} refuses {spec[0]}'
