"Mathematics: tables of right rewritings and near misses, and what must hold for any text at all."
import re, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Problem, Verdict
from honest.tasks import math as M
from honest.tasks.math import generate, verify

def judged(gold, answer, question='?', **kw):
    return verify(Problem('p', 'math', 1, question, gold, 'math'), answer, **kw).right

# gold answer | rewritings that are right, separated by two blanks
right = r'''
13 | \text{13}  13.  13.0  $13$  \(13\)  \boxed{13}  **13**  `13`  x = 13  x=13  +13  013  26/2  \frac{26}{2}
    \mathbf{13}  The answer is 13.  1.3e1
73 | **73**  *73*  **73.**  \textbf{73}  $73.00$  7.3e1
29 | $29.00  \$29  $29  29 dollars  29\text{ dollars}  29.00
70000 | 70,000  70{,}000  70,\!000  $70,000  \$70,000  70,000.00 dollars  7\cdot 10^4  7 \times 10^{4}
28\% | 28%  28 percent  28\text{ percent}  28  .28  0.28  7/25  28.0%
28 | 28%  28 percent  28\%
\frac{1}{2} | 1/2  0.5  .5  \frac12  \dfrac{1}{2}  \tfrac12  2/4  50%  2^{-1}  \frac{\frac{1}{1}}{2}  1 / 2  0.50
    ½
-\frac{3}{4} | -3/4  \frac{-3}{4}  \frac{3}{-4}  -0.75  −0.75  -(3/4)
11 \frac{2}{3} | 35/3  11 2/3  11\tfrac23  \frac{35}{3}  11+2/3
\frac{1}{3} | 0.333333  0.33333333  1/3  0.\overline{3}  3^{-1}
\pi | pi  π  \pi  3.14159265  3.14159
2\sqrt{3} | \sqrt{12}  2 sqrt(3)  2*sqrt(3)  2√3  sqrt(12)  12^{1/2}  12^(1/2)  \frac{6}{\sqrt{3}}  3.46410
4\sqrt{2} | 4\sqrt(2)  4\sqrt2  \sqrt{32}  \frac{8}{\sqrt 2}
\frac{\sqrt{3}}{3} | \frac{1}{\sqrt{3}}  1/\sqrt3  sqrt(3)/3  \sqrt{\frac{1}{3}}
\frac{1}{2004!} | 1/2004!  \dfrac{1}{2004!}  (2004!)^{-1}
2^{2007} | 2^2007  2**2007  4\cdot 2^{2005}  2^{2006}+2^{2006}
1 \pm \sqrt{19} | 1+\sqrt{19}, 1-\sqrt{19}  1-\sqrt{19}, 1+\sqrt{19}  1 ± √19  x = 1 \pm \sqrt{19}
-2, 5 | 5, -2  -2 and 5  \{-2, 5\}  x=-2, x=5  x = -2 or x = 5  -2,5  5,\,-2  -2\text{ and }5  -2;5
2, 3, \text{ and } 4 | 4, 3, 2  2,3,4  2, 3, and 4  2, 3 and 4
(3, -2) | (3,-2)  \left(3,-2\right)  (3.0, -4/2)  (x, y) = (3, -2)  ( 3 , -2 )
[-2, 7) | [-2,7)  \left[-2,7\right)  x \in [-2,7)  -2 \le x < 7  7 > x \geq -2  [-2, 14/2)
(3,\infty) | x>3  x > 3  3 < x  (3, infinity)  (3,+\infty)  (3, ∞)
(-\infty,0)\cup(2,\infty) | (2,\infty)\cup(-\infty,0)  (-∞,0)∪(2,∞)  (-\infty, 0) \cup (2, +\infty)
\{1,2,3\} | {1,2,3}  \{3,1,2\}  1,2,3  \{1, 2, 3, 3\}  \left\{1,2,3\right\}
x=5 | 5  x = 5  5=x  2x=10  x = 10/2
y = 2x + 3 | 2x+3  y=3+2x  y - 2x = 3  2x - y + 3 = 0  3 + 2x = y
x + 2y - 2z - 9 = 0 | x+2y-2z=9  2x+4y-4z-18=0  9 = x + 2y - 2z
10\text{ cm} | 10  10 cm  10cm  10\,\text{cm}  10\ \mathrm{cm}  10 centimeters  100 mm  0.1 m  10.0
144 \mbox{ m}^3 | 144  144 m^3  144\text{ m}^3  144 cubic meters
17\text{ meters} | 17 m  17m  17 meters  17
12 \text{ square units} | 12  12 square units  12\text{ sq units}  12 sq. units
45^\circ | 45  45°  45 degrees  45^{\circ}  45\text{ degrees}  \frac{\pi}{4}
10^\circ, 50^\circ | 50, 10  50°, 10°  10 degrees, 50 degrees
4210_{7} | 4210_7  4210  \text{4210}_7  4210_{\text{seven}}
25 | 25_{10}  5^2  \sqrt{625}
\text{Tuesday} | Tuesday  tuesday  \text{tuesday}  \mbox{Tuesday}  **Tuesday**  TUESDAY  \text{ Tuesday }
\text{(C)} | C  (C)  \text{C}  C.  \textbf{(C)}  \mathrm{(C)}
C | (C)  \text{C}  \textbf{C}
\text{A, C} | A, C  C, A  A and C  A,C
\text{odd} | odd  Odd  \text{odd}  \textit{odd}
\mbox{four} | 4  four  \text{four}
8\!:\!34 \text{ p.m.} | 8:34 p.m.  8:34 PM  8:34pm  8:34  08:34 PM  \text{8:34 PM}
1 : 2 | 1:2  1 : 2
\begin{pmatrix} 1 \\ -2 \end{pmatrix} | \begin{pmatrix}1\\-2\end{pmatrix}  \begin{bmatrix} 1 \\ -2 \end{bmatrix}
    \begin{pmatrix} 2/2 \\ -2 \\ \end{pmatrix}  \left(\begin{matrix} 1 \\ -2 \end{matrix}\right)
\begin{pmatrix} 1/2 & 0 \\ 0 & 1 \end{pmatrix} | \begin{pmatrix} \frac12 & 0 \\ 0 & 1 \end{pmatrix}
    \begin{pmatrix} 0.5 & 0 \\ 0 & 1 \end{pmatrix}
x^2 + 2x + 1 | (x+1)^2  1 + 2x + x^2  x^2+2x+1  (x+1)(x+1)  x*x + 2*x + 1
(x+1)(x-2) | (x-2)(x+1)  x^2 - x - 2
\frac{x+2}{7} | (x+2)/7  \frac{x}{7}+\frac{2}{7}  \frac17(x+2)
-1+i | i-1  i - 1  -1 + 1i  -(1-i)
\sin 3x | \sin(3x)  sin(3x)  3\sin x-4\sin^3 x
\tan \frac{x}{2} | \frac{\sin x}{1+\cos x}  \tan(x/2)
\cos 13^\circ | cos(13°)  \cos(13^{\circ})  \sin 77^\circ
\log\left(\frac{2007}{2006}\right) | \log 2007 - \log 2006  \log(2007/2006)
0 | 0.0  -0  0/7  \sqrt{2}\sqrt{3}-\sqrt{6}
0.00001 | 1/100000  10^{-5}  .00001
\frac{12}{5,\!525} | 12/5525  \frac{12}{5525}
\$\dfrac23 \approx \$0.67 | 2/3  \frac{2}{3}
0.56 = 56\% | 56%  0.56  14/25
152A_{11} | 152A_{11}  152A_11
\binom{10}{3} | 120  \dbinom{10}{3}  \frac{10!}{3!7!}
\text{June 20} | June 20  june 20  \text{June 20}
30p\sqrt{p} | 30\sqrt{p^3}  30p^{3/2}
e^2 | e^{2}  e \cdot e  7.389056
'''

# gold answer | answers that are wrong, separated by two blanks
wrong = r'''
\frac{1}{2004!} | \frac{1}{2006!}  1/2005!  0  \frac{1}{2004}  2004!
(0,1.5) | (0,1)  D=(0,1)  [0,1.5]  (0,1.5]  0,1.5  \{0,1.5\}  (1.5,0)  (0,1.50001)
2021 | ±2021  \pm 2021  -2021  2021, -2021  2020  2021.000001  2021!  2,021.5  20.21
1:00 | 12:00  1:01  1  01:30  1:00:30
12:00 | 1:00  12:01
\{1,2,3\} | \{2,3,4\}  \{1,2\}  \{1,2,3,4\}  (1,2,3)  123  1,2  6
1331 \text{ and } 1728 | 1728  1331  1331, 1729  1728, 1728  (1331, 1728)
4\sqrt{2} | 4  \sqrt2  4\sqrt{3}  2\sqrt{4}  4\sqrt  4\sqrt{  42  5.65
4 | 4\sqrt(2)  4\sqrt{2}  4x  4/3  4!  4, 5  4^2  4 4  -4  4\foo{2}
28\% | 2.8%  0.28%  280  .028  29%  28.5  2800%
.28 | 28  .28%  2.8  -.28
28 | .28  0.28  .28%  2.8%
\frac{1}{2} | 0.5%  50  1/3  -1/2  0.51  0.4999999  0.5000001  2  \frac{2}{1}  \frac{1}{2  1/2, 1/2
\frac{1}{3} | 0.3333  0.33  0.333334  0.334  33%  .3
\pi | 3.14  22/7  3.1416  3.14160  3.14158  2\pi  p i!
29 | $29.01  $2.9  29,000  $29,29  -29
70000 | 70  70,001  7,000  70.000  70, 000.5  700,00
(3, -2) | (-2, 3)  3, -2  \{3, -2\}  [3, -2]  (3, 2)  (3, -2, 0)  3  (3)  (x,y) = (3,2)
[-2, 7) | [-2,7]  (-2,7)  (-2,7]  -2 < x < 7  x \ge -2  [-2, 7.01)  [2,7)
(3,\infty) | [3,\infty)  x \ge 3  x<3  (-\infty,3)  3  (3,4)  \infty
(-\infty,0)\cup(2,\infty) | (-\infty,0)  (-\infty,0)\cup[2,\infty)  (-\infty,0]\cup(2,\infty)  (2,\infty)
    (-\infty,\infty)
-2, 5 | 5  -2  2, 5  -2, 5, 0  (-2, 5)  -2, -2  -2, 5, 5  x=-2
1, 1, -2 | 1, -2  1, -2, -2
x=5 | y=5  x=-5  x>5  x \ge 5  x=5, x=6  x^2=25  x  0=0  x=x
y = 2x + 3 | y = 2x - 3  y=3x+2  2x  y  x = 2y + 3  0 = 0  y=y  2x+3=2x+3
x + y + z = 0 | x+y-z=0  x+y+z=1  0=0  x+y+z  x-x=0  x+y=0  (x+y+z)^2=1
10\text{ cm} | 10 mm  10 m  10 inches  10 cm^2  1  100 cm  11 cm
12\text{ square feet} | 12 feet  12 cubic feet  12 square inches
45^\circ | 46  45 radians  -45°  44.9  90°
\frac{\pi}{4} | 45.5°  \pi  4/\pi
221_3 | 221_4  25  212_3  221_{33}  22
\text{Tuesday} | Thursday  Monday, Tuesday  T  2  not Tuesday  Tuesdays  Tue sday
\text{(C)} | (B)  D  A, C  ABCD  c d
\text{A, C} | A  C  A, B  A, B, C  AC
\text{even} | odd  even or odd  not even
\text{CBAD} | CABD  ABCD  DABC
8\!:\!34 \text{ p.m.} | 8:34 a.m.  8:35 p.m.  8:43 PM  834
1 : 2 | 2:1  1:3  12
\begin{pmatrix} 1 \\ -2 \end{pmatrix} | \begin{pmatrix} 1 & -2 \end{pmatrix}
    \begin{pmatrix} -2 \\ 1 \end{pmatrix}  (1, -2)  \begin{pmatrix} 1 \\ 2 \end{pmatrix}
    \begin{pmatrix} 1 \\ -2 \\ 0 \end{pmatrix}  1  \begin{pmatrix} 1
x^2 + 2x + 1 | (x+1)^3  x^2+2x  (x-1)^2  (y+1)^2  x^2+2x+1.000001  4
-1+i | -1-i  1+i  -1  i  -1+2i
\sin 3x | 3\sin x  \sin^3 x  \sin 3  \cos 3x  \sin 3y
3 - 2f(x) | 3+2f(x)  3 - f(x)  3 - 2x
x | |x|  -x  y  x^2  \sqrt{x}  2x
2\pi | 6.28  6.2831  2  \pi  6.283186
0.00001 | 0.00002  0  0.000011  1e-6
0 | 0.0000001  1/2004!  10^{-300}  \sqrt{2}\sqrt{3}-\sqrt{6}+10^{-20}  (0,0)  -1  \emptyset
10^{20} | 10^{20}+1  10^{19}  100000000000000000001  10^{2}
2^{2007} | 2^{2006}  2^{2007}+1  2^{2007}-1  2007^2
\sqrt{2} | 1.41  1.4142  1.41422  2  \sqrt[3]{2}  -\sqrt{2}
11 \frac{2}{3} | 11  22/3  11.6  11.67  2/3
1 \pm \sqrt{19} | 1+\sqrt{19}  1-\sqrt{19}  \pm\sqrt{19}  1 \pm \sqrt{18}
5 | x=5, 6  5, 6  2x=5  3=5  5 or 6  6-1=4  5 and  9^9^9  5%5  (5,5)  five six
'''

def table(s):
    for line in s.strip().replace('\n    ', '  ').splitlines():
        gold,answers = line.split(' | ', 1)
        for o in answers.split('  '):
            if o.strip(): yield gold.strip(), o.strip()

@pytest.mark.parametrize('gold,answer', list(table(right)))
def test_right(gold, answer): assert judged(gold, answer) is True

@pytest.mark.parametrize('gold,answer', list(table(wrong)))
def test_wrong(gold, answer): assert judged(gold, answer) is False

def test_table_sizes(): assert len(list(table(wrong)))>=120 and len(list(table(right)))>=60

def test_percent_follows_the_question():
    "A bare gold answer up to 1 takes a percent sign as a unit only where the question asks for percent"
    assert judged('0.5', '0.5%') is False and judged('0.5', '0.5%', 'What percent is it?') is True
    assert judged('0.5', '50%') is True and judged('0.5', '50', 'What percent is it?') is False

def test_words_in_order():
    "A list of words keeps its order where the question asks for one"
    gold = r'\text{Softball, Kickball, Picnic}'
    assert judged(gold, 'Kickball, Softball, Picnic', 'Who came?') is True
    assert judged(gold, 'Kickball, Softball, Picnic', 'Order them from least to greatest.') is False
    assert judged(gold, 'softball, kickball, picnic', 'Order them from least to greatest.') is True

unreadable = ['', ' ', '$$', r'\frac{1}{', '}{', None, {}, [], True, r'\foo{', r'\unknowncommand{3}{4}', '\\', '?!']

@pytest.mark.parametrize('gold', unreadable)
def test_unreadable_gold_is_unjudgeable(gold):
    for answer in ('5', '', r'\frac{1}{2}', r'\foo{1}'):
        assert verify(Problem('p', 'math', 1, '', gold, 'math'), answer).right is None

def test_gold_may_be_a_number(): assert judged(7, '7') is True and judged(.5, '1/2') is True and judged(7, '8') is False

hostile = ['9**9**9', '9^9^9^9', '9^{9^{9^9}}', '(9^9)^(9^9)', '100000!', '(9!)!', '((9!)!)!', '99999999999!',
           '{'*10_000, '}'*10_000, '('*5000+'1'+')'*5000, '\\frac'*2000, '\\frac{1}{'*900+'1'+'}'*900,
           '\\sqrt'*900+'2', '-'*3999+'1', '1+'*1999+'1', 'x^'*1500+'2', '2^{-'*500+'1'+'}'*500, '1'*3999,
           '1'*3000+'.'+'1'*900, '\\binom{100000}{50000}', '\\int_0^{\\infty} e^{-x^2}\\sin(x^{x^x})\\,dx',
           '\\sum_{n=1}^{10000000} \\frac{1}{n^n}', '\\prod_{k=1}^{99999999} k', '\\lim_{x\\to 0} x^{x^{x^x}}',
           '\\begin{pmatrix}'+'1&'*900+'1\\end{pmatrix}', ','*3000, '1,'*1500+'1', '\\text{'*500, '$'*3000,
           '__import__("os").system("touch /tmp/pwned")', 'eval("1")', 'lambda: 5', 'x.__class__', 'exec("a=1")',
           '\x00\x01\x02', '\ud800', '5\x00', '\\boxed{'*900, '\\boxed{5', '\u0665', '５', '\u202e5', 'nan', 'inf',
           '-inf', '\\int x^{9^{9^9}} dx', '\\operatorname{lcm}(9^{99999},7^{99999})', '\\left(\\left(\\left(',
           'tan(10^100000)', 'e^{e^{e^{e^e}}}', '10^{10^{10}}', '\\log(\\log(\\log(0)))', '1/0', '0^0', '0^{-1}',
           '\\sin('*300+'x'+')'*300, 'x'*2000, 'sin'*600, '|'*1000, "'"*1000, '!'*1000, '%'*1000, '2'+'!'*900,
           '2'+'%'*900, 'x'+"'"*900, '\\pm'*300, ' '*3999+'6', '\\cup'*500, '='*500, '<'*500, '\\'*999]

@pytest.fixture(scope='module')
def warm(): assert judged(r'\int_0^1 2x\,dx', '1', timeout=20) is True

@pytest.mark.parametrize('answer', hostile, ids=range(len(hostile)))
def test_hostile(answer, warm):
    "Never right, on time, and without an exception; unjudgeable only on a machine too busy to tell"
    for gold in ('5', r'x^2+\sqrt{2}'):
        start = time.monotonic()
        assert judged(gold, answer, timeout=.3) is not True
        assert time.monotonic()-start<1

def test_late_work_is_cut_off(warm):
    "The LaTeX worker's child dies on time, and the next request finds the server alive"
    start = time.monotonic()
    out = judged(r'\int_0^1 2x\,dx', r'\sum_{n=1}^{99999999} \frac{\sin(n^n)}{n}')
    assert out is not True and time.monotonic()-start<2
    assert judged(r'\int_0^1 2x\,dx', r'\int_0^1 1\,dx', timeout=20) is True

pieces = [r'\frac', '{', '}', '1', '2', 'x', r'\sqrt', '^', '(', ')', ',', r'\pi', r'\text', '!', '%', r'\cup',
          '=', '<', r'\pm', ' ', '-', r'\infty', r'\{', r'\}', '[', ']', '_', ':', '3.5']
text = st.one_of(st.text(max_size=60), st.text('0123456789+-*/^(){}[]\\,.xyi %$!_=<>|&', max_size=40),
                 st.lists(st.sampled_from(pieces), max_size=20).map(''.join))

@settings(max_examples=250)
@given(text, text)
def test_never_raises(gold, answer):
    out = verify(Problem('p', 'math', 1, '', gold, 'math'), answer)
    assert isinstance(out, Verdict) and out.right in (True, False, None)

pairs = st.tuples(st.integers(-99, 99), st.integers(2, 99))
numbers = st.one_of(st.integers(-10**6, 10**6).map(str), st.fractions(-1000, 1000, max_denominator=99).map(str),
                    st.decimals(-1000, 1000, places=3).map(str), pairs.map(lambda o: rf'\frac{{{o[0]}}}{{{o[1]}}}'),
                    st.integers(2, 99).map(lambda o: rf'{o}\sqrt{{{o+1}}}'))
several = st.lists(numbers, min_size=2, max_size=4).map(', '.join)
golds = st.one_of(numbers, several, several.map('({})'.format), several.map(r'\{{{}\}}'.format),
                  st.tuples(numbers, numbers).map(lambda o: f'{o[0]} x^2 - ({o[1]}) y'))

@settings(max_examples=150)
@given(golds)
def test_gold_is_itself(gold):
    for o in (gold, f'${gold}$', rf'\boxed{{{gold}}}', f'**{gold}**', f' {gold} .', gold.replace(' ', '')):
        assert judged(gold, o) is True, o

@settings(max_examples=150)
@given(numbers, numbers, numbers, st.sampled_from(['+1', '+10^{-9}', r'\cdot 1.0000001+10^{-12}', '-1/7']))
def test_near_miss(a, b, c, change):
    near = f'({a}){change}'
    assert judged(a, near) is False
    assert judged(f'({a}, {b})', f'({near}, {b})') is False
    assert judged(f'{a}, {b}, {c}', f'{near}, {b}, {c}') is False
    assert judged(f'{a} x + {b}', f'({near}) x + {b}') is False

def test_every_thread_gets_the_same_verdict():
    cases = [*table(right), *table(wrong), (r'\int_0^1 2x\,dx', '1'), (r'\int_0^1 2x\,dx', '2')]
    here = [judged(*o, timeout=20) for o in cases]
    with ThreadPoolExecutor(8) as ex: assert list(ex.map(lambda o: judged(*o, timeout=20), cases))==here

def test_worker_ends_with_its_parent():
    code = r"""
from honest.core import Problem
from honest.tasks import math as M
assert M.verify(Problem('p', 'math', 1, '', r'\int_0^1 2x\,dx', 'math'), '1').right is True
print(M._worker.p.pid)
"""
    pid = int(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60).stdout)
    for _ in range(50):
        if not _alive(pid): return
        time.sleep(.1)
    assert False, 'the worker outlived its parent'

def _alive(pid):
    try: stat = open(f'/proc/{pid}/stat').read()
    except OSError: return False
    return stat.rsplit(')', 1)[1].split()[0]!='Z'

def test_no_evaluation_in_the_module():
    source = open(M.__file__, encoding='utf-8').read()
    for o in (r'(?<!\w)eval\(', 'sympify', 'parse_expr', r'(?<!\w)exec\(', 'ExprExtractionConfig'):
        assert not re.search(o, source)

@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 8), st.sampled_from(['train', 'test']))
def test_generated(seed, i, difficulty, split):
    p = generate(seed, i, difficulty, split)
    assert p==generate(seed, i, difficulty, split) and p.split==split and p.difficulty==difficulty
    assert judged(p.gold, p.gold) is True
    assert '+ -' not in p.question and not re.search(r'(?<!\d)1x|--|\b0x|  ', p.question)

def test_streams_do_not_meet():
    train,test = ({generate(k, i, d, s).question for k in range(2) for d in range(1, 9) for i in range(150)}
                  for s in ('train', 'test'))
    assert not train & test

def test_speed():
    "Thousands of verdicts a second where the answers are numbers"
    start = time.monotonic()
    for k in range(2000): judged('123', str(k))
    assert time.monotonic()-start<2
