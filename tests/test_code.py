"Programs as answers: adapters, comparison, generator, and gold that stays out of the program's reach."
import json
import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Problem, Skip
from honest.tasks import code
from honest.tasks.code import from_apps, from_mbpp, generate, same_output, source, verify

pytestmark = pytest.mark.usefixtures('servers_end')

def asserts(*tests, setup='', **kw): return Problem('a', 'code', 1, '', dict(kind='asserts', setup=setup, tests=list(tests), **kw), 'code')
def stdin(**io): return Problem('s', 'code', 1, '', dict(kind='stdin', inputs=list(io), outputs=list(io.values())), 'code')
def call(fn, *pairs): return Problem('c', 'code', 1, '', dict(kind='call', fn_name=fn, inputs=[list(x) for x,_ in pairs], outputs=[y for _,y in pairs]), 'code')

rows = [ # problem, right programs, wrong programs
 (asserts('assert f(2) == 4'), ['def f(x): return 4', 'def f(x): return 4.0', 'f = lambda x: 2+2'], ['def f(x): return "4"', 'def f(x): return [4]', 'def f(x): print(4)', 'f = 4']),
 (asserts('assert 4 == f(2)'), ['def f(x): return 4'], ['def f(x): return 5']),
 (asserts('assert f(2) == (1, 2)'), ['def f(x): return 1, 2'], ['def f(x): return [1, 2]']),
 (asserts('assert set(f(2)) == set((1, 2))'), ['def f(x): return [2, 1, 1]'], ['def f(x): return [2]', 'def f(x): return []\nset = lambda x: 1', 'def f(x): return []\nset = list']),
 (asserts('assert sum(1, 2) == 3'), ['def sum(a, b): return a+b'], ['def sum(a, b): return a', 'x = 1']),
 (asserts('assert sorted(f(2)) == sorted([2, 1])'), ['def f(x): return [2, 1]'], ['def f(x): return [2, 2]', 'def f(x): return 0\nsorted = lambda x: 5']),
 (asserts('assert f(2) == g(2)'), ['def f(x): return x\ng = f'], ['def f(x): return x\ndef g(x): return 0', 'class Y:\n def __eq__(s, o): return True\ndef f(x): return Y()\ng = f']),
 (asserts('assert f(2)'), ['def f(x): return 1', 'import re\ndef f(x): return re.match("a", "a")'], ['def f(x): return 0', 'def f(x): pass']),
 (asserts('assert not f(2)'), ['def f(x): return []'], ['def f(x): return [0]']),
 (asserts('assert f(2) is True'), ['def f(x): return True'], ['def f(x): return 1']),
 (asserts('assert f(2) != 3'), ['def f(x): return 4'], ['def f(x): return 3']),
 (asserts('assert f(2) in (3, 4)'), ['def f(x): return 4'], ['def f(x): return 5', 'class Y:\n def __eq__(s, o): return True\ndef f(x): return Y()']),
 (asserts('assert abs(f(2)-.3) < 1e-6'), ['def f(x): return .1+.2'], ['def f(x): return .4', 'class Y:\n def __sub__(s, o): return 0\ndef f(x): return Y()']),
 (asserts('assert len(f(2)) == 3'), ['def f(x): return "abc"'], ['def f(x): return "ab"']),
 (asserts('t = T(1)', 'assert t.go(2) == 3'), ['class T:\n def __init__(s, x): s.x = x\n def go(s, y): return s.x+y'], ['class T:\n def __init__(s, x): s.x = x\n def go(s, y): return s.x-y']),
 (asserts('assert f(root) == 3', setup='root = Node(1)\nroot.next = Node(2)'), ['class Node:\n def __init__(s, v): s.v = v\ndef f(n): return n.v+n.next.v'], ['def f(n): return 3']),
 (asserts('assert f(4) == math.sqrt(16)', setup='import math'), ['def f(x): return x'], ['def f(x): return 5', 'class M:\n sqrt = lambda s, x: 5\nimport sys\nsys.modules["math"] = M()\ndef f(x): return 5']),
 (asserts('assert f(1) == 2', prefix='f=lambda x:'), ['x+1', ' x*2', '```\n2\n```'], ['x', 'x+', 'return 2']),
 (asserts('assert f(0) == 1', 'assert f(1) == 1', 'assert f(3) == 6'), ['def f(n): return n*f(n-1) if n else 1'], ['def f(n): return 1']),
 (asserts("assert f('a') == {'b': [1, None]}"), ["def f(x): return {'b': [True, None]}"], ["def f(x): return {'b': [1, 0]}"]),
 (asserts('assert f(9000) == 10**9000'), ['def f(x): return 10**x'], ['def f(x): return 10**(x-1)']),
 (stdin(**{'1 2\n':'3\n', '4 5':'9'}), ['print(sum(map(int, input().split())))', 'a, b = map(int, input().split()); print(f"{a+b}  "); print()'], ['print(3)', 'print("3 9")', 'x = 3', '1/0']),
 (stdin(**{'1\n':'0.333333333\n'}), ['print(1/3)', 'print("0.3333333")'], ['print(.334)', 'print("nan")', 'print("1/3")']),
 (stdin(**{'':'  *\n ***\n'}), ['print("  *\\n ***")', 'print("  * \\n ***\\n\\n")'], ['print("*\\n***")', 'print("  * ***")']),
 (stdin(**{'':'10000000000000001'}), ['print(10**16+1)'], ['print(10**16)', 'print(1e16)']),
 (call('add', ([1, 2], 3), ([2, 2], 4)), ['def add(a, b): return a+b', 'class Solution:\n def add(self, a: int, b: Optional[int]) -> List[int]: return a+b'], ['def add(a, b): return 3', 'class Solution:\n def sub(self, a, b): return a+b', '']),
 (call('f', ([[1, 2]], [1, 2])), ['def f(x): return tuple(x)'], ['def f(x): return set(x)', 'def f(x): return x[::-1]']),
 (call('f', ([1], [.5]), ([2], [1.0])), ['def f(x): return [x/2]', 'def f(x): return x/2', 'def f(x): return x/2+1e-9'], ['def f(x): return x/2+1e-3', 'def f(x): return str(x/2)']),
 (call('f', ([{'1':2}], True)), ['def f(x): return x["1"]==2'], ['def f(x): return False']),
 (call('f', ([1], {'1':'a'})), ['def f(x): return {1:"a"}'], ['def f(x): return {1:"b"}'])]
table = [pytest.param(p, a, want, id=f'{i}-{want}-{j}') for i,(p,*both) in enumerate(rows) for want,answers in zip((True, False), both) for j,a in enumerate(answers)]

@pytest.mark.parametrize('problem,answer,want', table)
def test_verdicts(problem, answer, want):
    got = verify(problem, answer, timeout=20)
    assert got.right is want, got
    if not want: assert got.note

def test_expected_stays_out(monkeypatch):
    "What is expected is never in the text that goes to the program's process"
    seen = []
    real = code.run
    monkeypatch.setattr(code, 'run', lambda program, *a, **kw: seen.append((program, a, kw)) or real(program, *a, **kw))
    for p in (asserts('assert f(2) == 987654321', 'assert set(f(3)) == set((987654321,))'), call('f', ([1], 987654321)), stdin(**{'1':'987654321'})): verify(p, 'def f(x): return 0')
    assert len(seen)>=3 and not any('987654321' in repr(o) for o in seen if o[0])

def test_fences():
    for s in ('```python\nx = 1\n```', '```\nx = 1```', '  ```py\nx = 1\n```\n\n', '```python\r\nx = 1\r\n```'): assert source(s).strip()=='x = 1'
    for s in ('Here:\n```python\nx = 1\n```', '```python\nx = 1\n```\n```python\ny = 1\n```', '```'): assert source(s)==s

mbpp = dict(task_id=11, text='Double it.', code='def f(x):\r\n  return 2*x', test_list=['assert f(1) == 2', 'assert f(2) == 4'], test_setup_code='', challenge_test_list=[])
def test_mbpp():
    for k,want in ((1, 'train'), (10, 'train'), (11, 'test'), (510, 'test'), (511, 'train'), (974, 'train')): assert from_mbpp(mbpp | {'task_id':k}, 0).split==want
    p = from_mbpp(mbpp, 0)
    assert (p.id, p.difficulty, p.domain, p.task, p.source) == ('mbpp-11', 3, 'code', 'code', 'mbpp') and 'f(1) == 2' in p.question and 'f(2)' not in p.question
    clean = dict(source_file='x', task_id=11, prompt='Double it.', code=mbpp['code'], test_imports=['import math'], test_list=['assert math.isclose(f(1), 2.0)'])
    q = from_mbpp(clean, 0)
    assert q.cluster==p.cluster and verify(q, q.meta['solution']).right is True and from_mbpp(mbpp, 0, 'train').split=='train'
    assert json.loads(json.dumps(p.gold))==p.gold
    for bad in ({'text':''}, {'test_list':[]}, {'test_list':None}, {'test_list':['assert (']}):
        with pytest.raises(Skip): from_mbpp(mbpp | bad, 0)

apps = dict(problem_id=5, question='Add.', solutions=json.dumps(['return 1', 'print(1)']), difficulty='interview', url='', starter_code='', input_output='')
def io(**kw): return apps | {'input_output':json.dumps(kw)}
def test_apps():
    p = from_apps(io(inputs=['1\n', '2\n', '3\n'], outputs=['1\n', '', '1 '*100+'...']), 0, 'test')
    assert (p.difficulty, p.split, p.meta['empty'], p.meta['cut'], p.meta['solution'], p.gold['outputs']) == (4, 'test', 1, 1, 'print(1)', ['1\n'])
    assert verify(p, 'print(1)').right is True
    assert from_apps(io(inputs=[['1', '2'], 3], outputs=[['1', '2'], 3]), 0).gold == dict(kind='stdin', inputs=['1\n2', '3'], outputs=['1\n2', '3'])
    board = '.'*120+'\n'+'....\n'
    assert from_apps(io(inputs=[board], outputs=[board]), 0).meta['cut']==0
    long = apps | {'input_output':'{"inputs": ["1"], "outputs": [%s]}' % ('9'*6000)}
    assert verify(from_apps(long, 0), 'print("9"*6000)').right is True and verify(from_apps(long, 0), 'print(10**6000-1)').right is True
    assert [from_apps(apps | {'difficulty':d, 'input_output':json.dumps(dict(inputs=['1'], outputs=['1']))}, 0).difficulty for d in ('introductory', 'interview', 'competition')] == [3, 4, 5]

@pytest.mark.parametrize('row,why', [
    (apps, 'no tests'), (apps | {'input_output':'{'}, 'not JSON'), (io(), 'no tests'), (io(inputs=[], outputs=[]), 'no tests'), (io(inputs=['1'], outputs=['1', '2']), 'pair'), (io(inputs=['1'], outputs=['']), 'no expected output'),
    (io(inputs=['1'], outputs=['ab '*99+'a...']), 'all tests cut'), (io(inputs=['1'], outputs='1'), 'pair'), (io(fn_name='f', inputs=['1'], outputs=[1]), 'not lists'), (io(inputs=['1'], outputs=['1']) | {'difficulty':None}, 'no difficulty'),
    (io(inputs=['1'], outputs=['1']) | {'question':' '}, 'no text'), (apps | {'input_output':'{"fn_name": "f", "inputs": [[[%s]]], "outputs": [1]}' % ('9'*5000)}, 'integer too long'), (apps | {'input_output':'[1]'}, 'no tests'),
    (apps | {'input_output':'['*100000}, 'not JSON')])
def test_apps_skips(row, why):
    with pytest.raises(Skip, match=why): from_apps(row, 0)

def test_several():
    yes = ['If there are multiple answers, print any of them.', 'You may output the edges in any order.', 'If there are many solutions, any of them is acceptable.', 'Find any position p.', 'You can print each letter in any case.']
    no = ['He can move any number of times.', 'There are multiple test cases.', 'The visitors come in any order.', "There aren't multiple answers: it is unique for any input."]
    assert all(map(code._several.search, yes)) and not any(map(code._several.search, no))

def test_generate():
    "Gold passes, an empty function fails, items are reproducible and differ"
    for d in range(1, 6):
        items = [generate(7, i, d, split) for i in range(12) for split in ('train', 'test')]
        assert len({o.question for o in items})>=8 and items[3]==generate(7, 1, d, 'test')
        for o in items[:6]:
            assert verify(o, o.meta['solution']).right is True and o.difficulty==d and json.loads(json.dumps(o.gold))==o.gold
            assert verify(o, 'def f(*a): pass').right is False

@given(st.text(max_size=200), st.text(max_size=200))
def test_same_output_never_raises(a, b): assert same_output(a, a) and isinstance(same_output(a, b), bool)

@settings(max_examples=30)
@given(st.one_of(st.none(), st.integers(), st.binary(max_size=5), st.text(max_size=30), st.lists(st.text(max_size=3), max_size=2)))
def test_verify_never_raises(answer): assert verify(stdin(**{'1':'2'}), answer, timeout=5).right in (None, False)
