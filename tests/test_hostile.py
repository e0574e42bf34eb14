"Attacks that once worked: a forged verdict, a hedged answer, an invented confidence, state left behind."
import time
import pytest

from honest.core import Problem, read_jsonl, write_jsonl
from honest.judge import judge, judge_all
from honest.protocol import parse_lenient, read_confidence, render
from honest.tasks import sandbox
from honest.tasks.code import verify as run_code
from honest.tasks.math import verify
from honest.tasks.sandbox import run

pytestmark = pytest.mark.usefixtures('servers_end')

frames = ('import sys, os\nfr = sys._getframe()\nwhile fr:\n job = fr.f_locals.get("job") or globals().get("job")\n'
          ' say = fr.f_locals.get("say") or globals().get("say")\n fr = fr.f_back\n')
golds = [dict(kind='asserts', setup='', tests=['assert f(2) == 4']), dict(kind='asserts', setup='', tests=['assert f(2)']),
         dict(kind='call', fn_name='f', inputs=[[2]], outputs=[4])]

@pytest.mark.parametrize('gold', golds)
@pytest.mark.parametrize('end', ['say("done"); os._exit(0)', 'job["ask"].clear()', 'del job["ask"][-1]'])
def test_no_verdict_without_values(gold, end):
    "A program that reaches the channel cannot say that it is done before the values are told"
    assert run_code(Problem('a', 'code', 1, '', gold, 'code'), frames+end).right is False

def test_nothing_is_kept_for_the_next_program():
    "No keys, no shared memory: they would outlive the program, and memory its limit"
    lib = 'import ctypes, os, platform\nL = ctypes.CDLL(None)\nx = platform.machine()=="x86_64"\n'
    if not run('import os').ok or sandbox.sys.platform!='linux': pytest.skip('no Linux')
    keys = 'print([L.syscall(248 if x else 217, b"user", b"k", b"v", 1, o) for o in (-3, -4, -5)])\n'
    assert run(lib+keys).stdout.strip()=='[-1, -1, -1]'
    assert run(lib+'print(L.shmget(0, ctypes.c_size_t(1<<20), 0o1600), L.msgget(0, 0o1600))').stdout.strip()=='-1 -1'

@pytest.mark.parametrize('gold,answer,right,asked', [
 ('21/2', '2 1/2', False, '?'), ('2 1/2', '21/2', False, '?'), ('12', '1 2', False, '?'), ('56', '5\n6', False, '?'), ('1000', '1 000', True, '?'),
 ('5', r'5\text{ or 6}', False, '?'), ('5', r'5\text{ is wrong}', False, '?'), ('5', '5 but maybe seven', False, '?'), ('5', '5 million', False, '?'),
 ('5', '5 over two', False, '?'), ('5', '5 halves', False, '?'), ('5', '5 million', True, 'How many million?'), ('5', '5 times', True, '?'),
 ('579', '123 + 456', False, 'What is 123 + 456?'), ('579', '456+123', False, 'What is 123 + 456?'), ('105', '945/9', False, 'What is 945 divided by 9?'),
 ('10', r'\binom{5}{3}', False, r'Compute $\binom{5}{3}$.'), (r'\frac{\sqrt{3}}{2}', r'\sin 60^\circ', False, r'Compute $\sin 60^\circ$.'),
 ('x^2-x-2', '(x+1)(x-2)', False, 'Expand $(x+1)(x-2)$.'), ('3/4', r'\frac{3}{4}', True, 'What is 3 divided by 4?'),
 ('0.5', '1/2', True, 'Which is less, 1/2 or 3/4?'), ('-3', '-3', True, 'Solve x + 3 = 0.'), ('579', '579.0', True, 'What is 123 + 456?')])
def test_math(gold, answer, right, asked): assert verify(Problem('p', 'math', 1, asked, gold, 'math'), answer).right is right

def test_same_id_is_not_same_problem():
    "Verdicts are shared between equal problems, not between equal names"
    probs = [Problem('a', 'math', 1, '?', o, 'math') for o in '45']
    assert [o.verdict for o in judge_all(probs, [render('x', '4', 1)]*2)]==['right', 'wrong']

@pytest.mark.parametrize('s', ['1.0000000000000000001', '1.00000000000000000000000000001', '10000000000000000001e-19'])
def test_no_rounding_into_range(s): assert read_confidence(s)==(None, 'out of range')

@pytest.mark.parametrize('said,c', [('<confidence>0/0</confidence>', None), ('<confidence>1/0</confidence>', None), ('<confidence>0 1</confidence>', None),
 ('<confidence>1,000</confidence>', None), ('<refined_confidence>0.3</refined_confidence>', None), ('refined confidence: 0.2', None),
 ('confidence: 1 in 10', .1), ('confidence: 1 out of 10', .1), ('confidence: 1 percent', .01), ('confidence: 9 out of 10', .9)])
def test_lenient_invents_nothing(said, c): assert parse_lenient('<answer>4</answer> '+said).c==c

@pytest.mark.parametrize('s', ['answer:'+'\n'*20000+'<', '<answer>'*5000, 'answer'+' '*50000, 'confidence 1'+' '*50000])
def test_long_texts_cost_little(s):
    start = time.process_time()
    parse_lenient(s)
    assert time.process_time()-start<2

def test_half_a_character_is_kept(tmp_path):
    "A lone surrogate (an endpoint may send one) neither stops the judge nor the file"
    rec = judge(Problem('a', 'math', 1, '?', '4', 'math'), render('\ud800', '4', 1))
    write_jsonl(tmp_path/'a.jsonl', [rec])
    assert rec.verdict=='right' and next(read_jsonl(tmp_path/'a.jsonl'))['text']==rec.text
