"""The whole MATH data set against its own answers, their rewritings and their near misses.

HONEST_DATA names a folder with `math/train.jsonl.gz` and `math/test.jsonl.gz`; without it this file is skipped."""
import os, re
from collections import Counter
from pathlib import Path

import pytest

from honest.core import Skip, read_jsonl, rng_for
from honest.tasks.math import from_hendrycks_math, verify

folder = os.environ.get('HONEST_DATA')
pytestmark = pytest.mark.skipif(not folder, reason='HONEST_DATA is not set')

def load():
    probs,skips = [],Counter()
    for split in ('train', 'test'):
        for i,row in enumerate(read_jsonl(Path(folder)/'math'/f'{split}.jsonl.gz')):
            try: probs.append(from_hendrycks_math(row, i, split))
            except Skip as e: skips[str(e)] += 1
    return probs, skips

_typed = {r'\pi':'pi', r'\cdot':'*', r'\infty':'infinity', r'\cup':'∪', r'\left':'', r'\right':'', r'\!':'',
          r'\,':' ', r'\%':'%', r'\$':'$', r'^\circ':'°', r'^{\circ}':'°', r'\le ':'<= '}

def plain(s):
    "LaTeX as people type it"
    for _ in range(4): s = re.sub(r'\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}', r'((\1)/(\2))', s)
    for _ in range(3): s = re.sub(r'\\sqrt\s*\{([^{}]*)\}', r'sqrt(\1)', s)
    for a,b in _typed.items(): s = s.replace(a, b)
    for _ in range(3): s = re.sub(r'\^\{([^{}]*)\}', r'^(\1)', s)
    return s

def wrapped(g):
    "Spellings of any answer"
    yield from (f'${g}$', rf'\boxed{{{g}}}', f'**{g}**', f'{g}.', rf'\({g}\)', f'The answer is ${g}$.', rf'\[{g}\]',
                f'`{g}`', rf'\displaystyle {g}', f' {g}\n', rf'\text{{}}{g}', g.replace(r'\frac', r'\dfrac'),
                g.replace(r'\dfrac', r'\frac'), g.replace('+', ' + '))
    if not re.search(r'\d\s*\\[dt]?frac|\\frac\\|\\(?:sec|cos|tan) ', g): yield plain(g)
    if not re.search(r'\\text|\\mbox|\\ ', g): yield re.sub(r'(?<=[^a-zA-Z])\s+', '', g)
    if '[' not in g and ']' not in g and 'left' not in g and g.count('(')==g.count(')'):
        yield g.replace('(', r'\left(').replace(')', r'\right)')

def numbers(g):
    if re.fullmatch(r'-?\d+', g):
        n = int(g)
        yield from (f'{n}.0', f'{n:,}', f'{n:,}'.replace(',', '{,}'), f'x = {n}', f'{2*n}/2', rf'\frac{{{3*n}}}{{3}}',
                    f'{n}.00', rf'\text{{{n}}}', f'n={n}', f'{n+7} - 7', f'${n:,}')
    if m := re.fullmatch(r'(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}', g):
        s,a,b = m[1],int(m[2]),int(m[3])
        yield from (f'{s}{a}/{b}', rf'{s}\tfrac{{{a}}}{{{b}}}', rf'\frac{{{s}{a}}}{{{b}}}', f'{s}{2*a}/{2*b}',
                    f'x = {s}{a}/{b}', rf'{s}{a} \div {b}', f'{s}{a}⁄{b}')
        if 10**9%b==0: yield s+f'{a*10**9//b/10**9:.9f}'.rstrip('0')

def collections(g, rng):
    if re.fullmatch(r'[^\\{}()\[\]]*(,[^\\{}()\[\]]*)+', g) and not re.search(r'\d,\d{3}', g):
        parts = [o.strip() for o in g.split(',')]
        rng.shuffle(parts)
        yield from (', '.join(parts), r'\{'+', '.join(parts)+r'\}', ','.join(parts), '; '.join(parts))
        yield f'{", ".join(parts[:-1])} and {parts[-1]}'
    if m := re.fullmatch(r'(\[|\()([^,()\[\]]+),([^,()\[\]]+)(\]|\))', g):
        a,x,y,b = m.groups()
        yield from (f'{a}{x.strip()},{y.strip()}{b}', f'{a} {x} , {y} {b}')
        if {'[', ']'} & {a, b}: yield rf't \in {g}'
        if {'[', ']'} & {a, b} and 'infty' not in g:
            yield f'{x} {"<=" if a=="[" else "<"} x {"<=" if b=="]" else "<"} {y}'
    if 'pmatrix' in g:
        yield from (g.replace('pmatrix', 'bmatrix'), re.sub(r'\s*(&|\\\\)\s*', r'\1', g))
        yield g.replace(r'\begin{pmatrix}', r'\left(\begin{matrix}').replace(r'\end{pmatrix}', r'\end{matrix}\right)')

def words(g):
    if m := re.fullmatch(r'(.*\d)\s*\\(?:text|mbox)\s*\{\s*([^{}]*)\}', g):
        yield from (m[1], f'{m[1]} {m[2]}', rf'{m[1]}\,\mathrm{{{m[2]}}}', rf'{m[1]} \text{{ {m[2]}}}')
    if m := re.fullmatch(r'\\text\{\(?([^{}()]*)\)?\}', g):
        yield from (m[1], rf'\textbf{{{m[1]}}}', rf'\mbox{{{m[1]}}}', rf'\mathrm{{{m[1]}}}')
    if g.endswith(r'\%'): yield from (g[:-2], g[:-2].strip()+'%', g[:-2].strip()+' percent')
    if m := re.fullmatch(r'(-?[\d.]+)\^\{?\\circ\}?', g):
        yield from (m[1]+o for o in ('', '°', ' degrees', r'\text{ degrees}'))

def algebra(g):
    if m := re.fullmatch(r'([a-z]) = ([^=]+)', g): yield from (f'{m[2]} = {m[1]}', m[2], f'{m[1]}={m[2]}')
    if re.search(r'\\(?:text|mbox|pm|triangle)|[_<>=,]|\\le|\d\s*\\[dt]?frac', g): return
    if (m := re.fullmatch(r'([\w^\\ ]+) \+ ([\w^\\ ]+)', g)): yield from (f'{m[2]} + {m[1]}', f'({m[1]}) + ({m[2]})')
    if re.fullmatch(r'[\w^{}\\ +-]+', g) and re.search(r'\d|\\pi', g):
        yield from (f'({g})', f'1*({g})', f'({g})/1', rf'\left({g}\right)')

def rewritings(gold, rng):
    "Ten spellings of `gold` that mean the same, or as many as there are"
    g = gold.strip().rstrip('.,')
    out = sorted({o for o in [*wrapped(g), *numbers(g), *collections(g, rng), *words(g), *algebra(g)] if o!=gold})
    return rng.sample(out, min(10, len(out)))

def near(gold, rng):
    "`gold` with one digit changed, or None"
    at = [m.start() for m in re.finditer(r'\d', gold)]
    if not at: return None
    k = rng.choice(at)
    return gold[:k]+str((int(gold[k])+rng.randint(1, 8))%10)+gold[k+1:]

def test_every_gold_answer_is_itself():
    probs,skips = load()
    assert dict(skips)=={'no level':2, 'empty box':2} and len(probs)==12_496 and len({o.id for o in probs})==12_496
    assert not [o.gold for o in probs if verify(o, o.gold).right is not True]
    for form in ('{} ', r'so \boxed{{{}}}'):
        assert not [o.gold for o in probs if verify(o, form.format(o.gold)).right is not True]

@pytest.mark.parametrize('odd', [False, True], ids=['all', 'not a plain number'])
def test_rewritings(odd):
    probs = [o for o in load()[0] if not odd or not re.fullmatch(r'-?\d+|-?\\[dt]?frac\{\d+\}\{\d+\}', o.gold)]
    pick,missed,n = rng_for('rewritings', odd).sample(probs, 200),[],0
    for p in pick:
        for o in rewritings(p.gold, rng_for('rewriting', p.id)):
            n += 1
            if verify(p, o).right is not True: missed.append((p.gold, o, verify(p, o).note))
    print(f'{n} rewritings, {n-len(missed)} judged right ({1-len(missed)/n:.2%})', *missed, sep='\n')
    assert len(missed)<=.005*n

def test_near_misses():
    probs = [o for o in load()[0] if near(o.gold, rng_for(0))]
    passed,n = [],0
    for p in rng_for('near').sample(probs, 3000):
        o = near(p.gold, rng_for('near', p.id))
        n += 1
        if verify(p, o).right is not False: passed.append((p.gold, o))
    print(f'{n} near misses, {len(passed)} judged right', *passed, sep='\n')
    assert len(passed)<=.005*n
