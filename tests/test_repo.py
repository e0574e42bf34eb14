"The repo keeps its own rules: notebooks are ordered, and every public name is documented."
import ast, re
from pathlib import Path
import pytest

root = Path(__file__).parent.parent
mods = {p:re.search(r'File to edit: \.\./(?:\.\./)?nbs/(\d+)', p.read_text()) for p in (root/"honest").rglob('*.py') if p.name[0]!='_'}
num = {p.stem:int(m[1]) for p,m in mods.items()}

@pytest.mark.parametrize('fn', mods, ids=lambda p: p.stem)
def test_reads_only_earlier(fn):
    "A module imports only from notebooks numbered below its own"
    for o in ast.walk(ast.parse(fn.read_text())):
        if isinstance(o, ast.ImportFrom) and o.level and o.module: assert num[o.module.split('.')[-1]] < num[fn.stem], o.module

@pytest.mark.parametrize('fn', mods, ids=lambda p: p.stem)
def test_documented(fn):
    "Every public function and class has a docstring"
    for o in ast.parse(fn.read_text()).body:
        if isinstance(o, (ast.FunctionDef,ast.ClassDef)) and o.name[0]!='_': assert ast.get_docstring(o), o.name
