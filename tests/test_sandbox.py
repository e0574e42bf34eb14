"Hostile programs: each gets the verdict it deserves, and leaves nothing behind."
import os, resource, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Problem
from honest.tasks import sandbox
from honest.tasks.code import verify
from honest.tasks.sandbox import canon, run

slow = os.environ.get('HONEST_SLOW')=='1'
good = 'def f(x): return 2*x\n'
calls = Problem('a', 'code', 1, '', dict(kind='asserts', setup='', tests=['assert f(2) == 4', 'assert f("a") == "aa"']), 'code')
words = Problem('s', 'code', 1, '', dict(kind='stdin', inputs=['1 2\n', '5 7\n'], outputs=['3\n', '12\n']), 'code')
close = Problem('c', 'code', 1, '', dict(kind='asserts', setup='import math', tests=['assert math.isclose(f(2), 4.0, rel_tol=.01)', 'assert not f(0)']), 'code')

def jailed():
    "Does this system have namespaces?"
    run('')
    return sandbox._level=='jail' and not any(o.lacks for o in sandbox._idle)

# name: (program, is it right, seconds)
asserts = {
 'right': (good, True), 'right with print': (good+'print("x"*100000)', True), 'right, sleeping child': (good+'import os\nif not os.fork(): import time; time.sleep(100)', True),
 'right, daemon thread': (good+'import threading, time\nthreading.Thread(target=time.sleep, args=(100,), daemon=True).start()', True),
 'wrong': ('def f(x): return 4', False), 'empty': ('', False), 'syntax': ('def f(x) return 2*x', False), 'no function': ('g = 1', False), 'raises': ('1/0', False),
 'printed PASSED': ('print("PASSED"); print("OK"); print("done")', False), 'exit 0': ('import os; os._exit(0)', False), 'sys.exit': (good+'import sys; sys.exit(0)', False),
 'exit inside': ('import os\ndef f(x): os._exit(0)', False), 'exit at exit': ('import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(0)', False),
 'SystemExit inside': ('def f(x): raise SystemExit(0)', False), 'kill self': ('import os\nos.kill(os.getpid(), 9)', False), 'abort': ('import os; os.abort()', False),
 'segfault': ('import ctypes; ctypes.string_at(0)', False), 'always equal': ('class Y:\n def __eq__(s, o): return True\n __hash__ = None\ndef f(x): return Y()', False),
 'equal int': ('class Y(int):\n def __eq__(s, o): return True\n def __ne__(s, o): return False\ndef f(x): return Y(3)', False),
 'equal str': ('class Y(str):\n def __eq__(s, o): return True\ndef f(x): return Y("b")', False), 'equal list': ('class Y(list):\n def __eq__(s, o): return True\ndef f(x): return Y()', False),
 'lying repr': ('class Y:\n def __repr__(s): return "4"\n def __str__(s): return "4"\ndef f(x): return Y()', False),
 'plain equal subclass': ('class Y(int): pass\ndef f(x): return Y(4) if x==2 else "aa"', True),
 'metaclass': ('class M(type):\n def __instancecheck__(s, o): return True\n def __eq__(s, o): return True\n __hash__ = type.__hash__\nclass Y(metaclass=M): pass\ndef f(x): return Y', False),
 'mock': ('from unittest.mock import MagicMock\nf = MagicMock()', False), 'patched builtins': ('import builtins\nbuiltins.eval = lambda *a: 4\nbuiltins.repr = lambda o: "4"\nbuiltins.str = lambda *a: "4"\ndef f(x): return 0', False),
 'patched assert': ('import builtins\nbuiltins.AssertionError = ValueError\ndef f(x): return 0', False), 'swallowed': ('try: f\nexcept BaseException: pass\ndef f(x):\n try: raise KeyError\n except BaseException: return None', False),
 'channel noise': ('import os\nfor i in range(3, 20):\n try: os.write(i, b"done\\n4\\n")\n except OSError: pass\ndef f(x): return 0', False),
 'channel closed': ('import os\nos.closerange(3, 100)\n'+good, False), 'frames': ('import sys\ng = sys._getframe\ndef f(x):\n fr = g()\n while fr:\n  for v in list(fr.f_locals.values()):\n   if callable(v) and getattr(v, "__name__", "")=="say": v("4"); v("\'aa\'"); v("done"); import os; os._exit(0)\n  fr = fr.f_back', None),
 'forged word': ('import sys, os\nfr = sys._getframe()\nwhile fr:\n w = fr.f_locals.get("say")\n if w: w("5"); w("done"); os._exit(0)\n fr = fr.f_back', False),
 'stdout closed': ('import os\nos.close(1); os.close(2)\n'+good, True), 'stdin read': ('x = input()\n'+good, False), 'stdin read caught': ('try: input()\nexcept EOFError: pass\n'+good, True),
 'deep recursion': ('def f(x): return f(x)', False), 'recursion bomb': ('import sys\nsys.setrecursionlimit(10**9)\ndef f(x): return f(x)+1', False, 1.),
 'C recursion': ('import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**6): x = [x]\ndef f(y): return repr(x)', False, 1.),
 'deep result': ('def f(x):\n y = []\n for _ in range(10**5): y = [y]\n return y', False), 'self in list': ('def f(x):\n y = []\n y.append(y)\n return y', False),
 'loop': ('while True: pass', False, .4), 'loop inside': ('def f(x):\n while True: pass', False, .4), 'sleep': ('import time; time.sleep(1e6)', False, .4), 'huge power': ('def f(x): return 9**9**9', False, .4),
 'ignores signals': ('import signal\nfor s in range(1, 65):\n try: signal.signal(s, signal.SIG_IGN)\n except (OSError, ValueError): pass\nwhile True: pass', False, .4),
 'catches all': ('while True:\n try:\n  while True: pass\n except BaseException: pass', False, .4), 'thread after end': (good+'import threading, time\nthreading.Thread(target=time.sleep, args=(1e6,)).start()', False, .4),
 'atexit loop': (good+'import atexit\n@atexit.register\ndef _():\n while True: pass', False, .4), 'del loop': ('class A:\n def __del__(s):\n  while True: pass\nA()', False, .4),
 'regex': ('import re\nre.match("(a+)+$", "a"*60+"b")', False, .4), 'memory': ('x = "a"*10**10', False), 'memory slowly': ('x = []\nwhile True: x.append(bytearray(10**7))', False, 3.),
 'memory map': ('import mmap\nx = mmap.mmap(-1, 8<<30)', False), 'huge result': ('def f(x): return "a"*10**8', False), 'endless result': ('def f(x): return list(range(10**7))', False, 2.),
 'prints for ever': ('while True: print("x"*10000)', False), 'errors for ever': ('import sys\nwhile True: sys.stderr.write("x"*10000)', False), 'prints 10 GB': ('import os\nb = b"x"*(1<<20)\nfor _ in range(10000): os.write(1, b)', False),
 'channel for ever': ('import os\nwhile True: os.write(3, b"x"*10000)', False), 'writes 10 GB': ('b = b"x"*(1<<20)\nwith open("x", "wb") as f:\n for _ in range(10000): f.write(b)', False),
 'many files': ('i = 0\nwhile True:\n open(str(i), "w").close(); i += 1', False) , 'open files': ('x = []\nwhile True: x.append(open("/dev/null"))', False),
 'fork bomb': ('import os\nwhile True: os.fork()', False, 2.), 'fork bomb, caught': ('import os\nwhile True:\n try: os.fork()\n except OSError: pass', False, .5),
 'setsid away': ('import os, time\nif not os.fork():\n os.setsid()\n if not os.fork(): time.sleep(1e6)\n os._exit(0)\n'+good, True), 'thread bomb': ('import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1e6,)).start()', False, 2.),
 'daemon loop': ('import os\nif os.fork()==0:\n os.setsid()\n while True: pass\nwhile True: pass', False, .4), 'null byte': ('x = 1\0', False), 'surrogate': ('x = "\ud800"\n'+good, None), 'bad encoding': ('# coding: none\n'+good, None),
 'huge source': ('x = 1\n'*300000, False), 'deep source': ('x = '+'('*100000, False), 'deep unary': ('x = '+'-'*100000+'1', False), 'kill all': ('import os\nos.kill(-1, 9)\n'+good, None), 'kill group': ('import os\nos.killpg(0, 9)\n', False),
 'reads shadow': ('open("/etc/shadow").read()\n'+good, False), 'subprocess': ('import subprocess\nsubprocess.run(["sh", "-c", "sleep 100"])\n', False), 'breaks json': ('import json, sys\nfor m in list(sys.modules.values()):\n for k in list(getattr(m, "__dict__", {})):\n  if k in ("canon", "_execute"):\n   setattr(m, k, lambda *a: "4")', False),
 'canon patched': ('import sys\nsys.modules["sandbox"].canon = lambda *a: "4"\ndef f(x): return 0', False)}
stdin = {
 'right': ('print(sum(map(int, input().split())))', True), 'right, exits': ('print(sum(map(int, input().split()))); raise SystemExit', True), 'constant': ('print(3)', False), 'no output': ('', False),
 'exit 1 after right': ('print(sum(map(int, input().split())))\nraise SystemExit(1)', False), 'raises after right': ('print(sum(map(int, input().split())), flush=True)\n1/0', False),
 'right in a thread': ('import threading\ndef main(): print(sum(map(int, input().split())))\nthreading.Thread(target=main).start()', True), 'right by os': ('import os\nos.write(1, str(sum(map(int, os.read(0, 99).split()))).encode())', True),
 'os._exit unflushed': ('import os\nprint(sum(map(int, input().split())))\nos._exit(0)', False), 'too much': ('print(sum(map(int, input().split())), 0)', False), 'sys.stdin': ('import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))', True),
 'open 0': ('print(sum(map(int, open(0).read().split())))', True), 'guarded main': ('if __name__=="__main__": print(sum(map(int, input().split())))', True), 'binary noise': ('import os\nos.write(1, bytes(range(256)))', False)}
isclose = {'right': ('def f(x): return 2.*x', True), 'object': ('class Y(float):\n def __float__(s): return 4.\n def __bool__(s): return False\ndef f(x): return Y(9)', False), 'wrong': ('def f(x): return 5.', False),
 'patched': ('import math\nmath.isclose = lambda *a, **k: True\ndef f(x): return 0', False), 'text': ('def f(x): return "4.0"', False), 'code': ('class Y:\n def __repr__(s): return "__import__(\'os\')._exit(0)"\ndef f(x): return Y()', False)}
cases = [pytest.param(p, *v, id=f'{p.id}-{k}') for p,table in ((calls, asserts), (words, stdin), (close, isclose)) for k,v in table.items()]


pytestmark = pytest.mark.usefixtures('servers_end')

def family(pid=None):
    "Process ids of all descendants"
    up = {}
    for o in os.listdir('/proc'):
        if o.isdecimal():
            try: up.setdefault(Path(f'/proc/{o}/stat').read_text().rsplit(')', 1)[1].split()[1], []).append(o)
            except OSError: pass
    out,todo = [],[str(pid or os.getpid())]
    while todo: out += (more := up.get(todo.pop(), [])); todo += more
    return out

def state():
    "Open files of this process, its descendants but for idle servers, and folders that a sandbox left"
    servers = {str(o.proc.pid) for o in sandbox._idle}
    inner = {k for o in servers for k in family(o)[:1]} if sandbox._level=='jail' else set()
    left = [o for o in os.listdir(tempfile.gettempdir()) if o.startswith('honest-program-')]
    return len(os.listdir('/proc/self/fd'))-len(servers), len(set(family())-servers-inner), left

linux = pytest.mark.skipif(sys.platform!='linux', reason='reads /proc')

def judged(cases):
    "What is judged otherwise than the table says"
    def one(c): return c.id, c.values[2], verify(c.values[0], c.values[1], timeout=c.values[3] if len(c.values)>3 else 20)
    with ThreadPoolExecutor(2) as ex: out = list(ex.map(one, cases))
    return [(name, want, got) for name,want,got in out if (got.right is not want if want is not None else got.right is None)]

@linux
def test_hostile():
    "Every program of the table gets its verdict; no process, file or folder stays, and this process does not grow"
    assert len(cases)>=60
    run('')
    with ThreadPoolExecutor(2) as ex: list(ex.map(run, ['import time; time.sleep(.2)']*2))
    before,size = state(),resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not judged(cases)
    assert state()==before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss-size < 100_000  # KiB

@pytest.mark.skipif(not slow, reason='set HONEST_SLOW=1')
@linux
def test_thousand():
    "A thousand hostile runs leave nothing"
    run('')
    with ThreadPoolExecutor(2) as ex: list(ex.map(run, ['import time; time.sleep(.2)']*2))
    before,size = state(),resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = [c for c in cases if c.values[2] is not True]
    assert not judged([many[i%len(many)] for i in range(1000)])
    assert state()==before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss-size < 100_000

@linux
def test_bare(monkeypatch):
    "Without namespaces: still a verdict, still nothing left"
    sandbox.close_servers()
    monkeypatch.setattr(sandbox, '_level', 'bare')
    run('')
    before = state()
    away = 'import os, time\nif not os.fork():\n os.setsid()\n if not os.fork(): time.sleep(1e6)\n os._exit(0)\n'
    assert verify(calls, away+good).right is True
    assert verify(calls, 'print("PASSED"); import os; os._exit(0)').right is False
    assert verify(calls, 'open("x", "w").write("x")\nimport os\nos.mkdir("d", 0)\n'+good).right is True
    assert verify(calls, 'while True: pass', timeout=.3).right is False
    assert 'Error' in run('import socket\nsocket.create_connection(("127.0.0.1", 9))').stderr
    assert state()==before
    sandbox.close_servers()

def test_jail():
    "No network, no files of this machine, no rights, a small empty folder that is gone the next time"
    if not jailed(): pytest.skip('no namespaces here')
    root = Path(__file__).parents[1]
    assert run(f'import os\nprint(os.path.exists({str(root)!r}), os.path.exists("/etc"), os.path.exists("/proc/self"), os.listdir("."), os.getcwd())').stdout=='False False False [] /tmp\n'
    assert run('open("a", "w").write("x"); import os; print(os.listdir("."))').stdout=="['a']\n"
    assert run('import os; print(os.listdir("."))').stdout=='[]\n'
    assert 'unreachable' in run('import socket\nsocket.create_connection(("1.1.1.1", 80), timeout=2)').stderr
    assert 'Read-only' in run('import os\nopen(os.path.join(os.path.dirname(os.__file__), "x.py"), "w")').stderr
    lib = 'import ctypes\nl = ctypes.CDLL(None)\n'
    assert run(lib+'print([l.mount(b"t", b"/tmp", b"tmpfs", 0, None), l.unshare(0x10000000), l.unshare(0x20000), l.setuid(0), l.chroot(b"/tmp")])').stdout==f'{[-1]*5}\n'
    assert run('import os\nprint(os.getpid(), sorted(os.environ), os.getuid())').stdout=="1 ['HOME', 'LANG'] 1000\n"

def test_threads():
    "Many threads at once, each with its own answer"
    with ThreadPoolExecutor(8) as ex: out = list(ex.map(lambda i: run('print(int(input())**2)', stdin=str(i), timeout=30).stdout, range(40)))
    assert out==[f'{i*i}\n' for i in range(40)]

def test_failing_sandbox(monkeypatch):
    "A sandbox that does not start, or whose server dies, is nobody's wrong answer"
    run('')
    os.kill(sandbox._idle[-1].proc.pid, 9)
    assert verify(calls, good).right is True
    sandbox.close_servers()
    def fails(level): raise OSError('no process')
    monkeypatch.setattr(sandbox, '_Server', fails)
    got = verify(calls, good)
    assert got.right is None and 'no process' in got.note

def test_server_dies_inside():
    "A server that is killed while it works: unjudgeable, or judged anew"
    run('')
    pid = sandbox._idle[-1].proc.pid
    threading.Timer(.3, os.kill, (pid, 9)).start()
    assert run('import time; time.sleep(.8); print(1)', timeout=5).ok is not False

@linux
def test_forked_host():
    "A forked process gets servers of its own"
    run('')
    if not (pid := os.fork()): os._exit(0 if run('print(2)').stdout=='2\n' else 1)
    assert os.waitpid(pid, 0)[1]==0 and run('print(3)').stdout=='3\n'

def test_streams_and_limits():
    "Output is capped while it is drained; limits say what they were"
    assert run('print("x"*1000)', output=100).why=='output'
    assert run('while True: pass', timeout=.3).why=='timeout'
    assert run('x = bytearray(10**9)', memory=200).stderr.endswith('MemoryError\n')
    assert run('raise SystemExit(3)').code==3 and run('raise SystemExit(3)').why=='exit 3'
    assert run('print("\u00e9\ud83d\ude00")'.encode('utf-16', 'surrogatepass').decode('utf-16')).stdout=='\u00e9\U0001f600\n'
    assert run('print(len(str(10**6000)))').stdout=='6001\n'
    big = 'a'*3_000_000
    assert run('print(len(input()))', stdin=big).stdout=='3000000\n'
    assert run('import time; time.sleep(0)', stdin=big).ok

plain = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda o: st.lists(o, max_size=3) | st.tuples(o, o) | st.dictionaries(st.text(max_size=3), o, max_size=3), max_leaves=8)

@given(plain, plain)
def test_canon_is_equality(a, b):
    "Two plain values have one text exactly when they are equal (`nan` apart)"
    assert 'nan' in canon(a) or (canon(a)==canon(b))==(a==b)

@given(st.integers(-10**30, 10**30), st.sampled_from([float, Decimal, Fraction, complex, int]))
def test_canon_numbers(n, kind): assert canon(kind(n))==canon(int(kind(n).real))

@settings(max_examples=40)
@given(st.text(max_size=60))
def test_never_raises(text):
    "No text is too strange for a verdict"
    assert verify(calls, text, timeout=5).right in (False, None) or 'f' in text

@pytest.mark.parametrize('gold', [None, 3, {}, {'kind':'asserts'}, {'kind':'asserts', 'tests':['assert (']}, {'kind':'call', 'fn_name':'1', 'inputs':[[]], 'outputs':[1]}, {'kind':'x', 'tests':['assert 1']},
    {'kind':'stdin', 'inputs':['1'], 'outputs':[]}, {'kind':'asserts', 'tests':[], 'setup':''}, {'kind':'asserts', 'tests':[3]}])
def test_bad_gold(gold): assert verify(Problem('b', 'code', 1, '', gold, 'code'), good).right is None
