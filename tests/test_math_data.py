"The whole MATH data set against its own answers, their rewritings and their near misses. Set HONEST_DATA to a folder with `math/train.jsonl.gz` and `math/test.jsonl.gz`."
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

def plain(s):
    "LaTeX as people type it"
    for _ in range(4): s = re.sub(r'\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}', r'((\1)/(\2))', s)
    for _ in range(3): s = re.sub(r'\\sqrt\s*\{([^{}]*)\}', r'sqrt(\1)', s)
    for _ in range(3): s = re.sub(r'\^\{([^{}]*)\}', r'^(\1)', s)
    for a,b in {r'\pi':'pi', r'\cdot':'*', r'\infty':'infinity', r'\cup':'∪', r'\left':'', r'\right':'', r'\!':'', r'\,':' ', r'\%':'%', r'\$':'$', r'^\circ':'°', r'^{\circ}':'°', r'\le ':'<= '}.items(): s = s.replace(a, b)
    return s

def rewritings(gold, rng):
    "Ten spellings of `gold` that mean the same"
    g = gold.strip().rstrip('.,')
    out = [f'${g}$', rf'\boxed{{{g}}}', f'**{g}**', f'{g}.', rf'\({g}\)', f'The answer is ${g}$.', rf'\displaystyle {g}', f' {g}\n', g.replace(r'\frac', r'\dfrac'), g.replace(r'\dfrac', r'\frac'), plain(g),
           re.sub(r'(?<=[^a-zA-Z])\s+(?=\S)', '', g) if r'\text' not in g else g, re.sub(r'(?<=[\w})])\s*([+])\s*', r' \1 ', g), rf'\[{g}\]', f'`{g}`', rf'\text{{}}{g}',
           g.replace('(', r'\left(').replace(')', r'\right)').replace(r'\left\left', r'\left').replace(r'\right\right', r'\right') if g.count('(')==g.count(')') and '[' not in g and ']' not in g else g]
    if re.fullmatch(r'-?\d+', g):
        n = int(g)
        out += [f'{n}.0', f'{n:,}', f'{n:,}'.replace(',', '{,}'), f'x = {n}', f'{n}.00', f'{2*n}/2', rf'\frac{{{3*n}}}{{3}}', f'\\text{{{n}}}', f'n={n}', f'{n+7} - 7', f'${n:,}']
    if m := re.fullmatch(r'(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}', g):
        s,a,b = m[1],int(m[2]),int(m[3])
        out += [f'{s}{a}/{b}', rf'{s}\tfrac{{{a}}}{{{b}}}', rf'\frac{{{s}{a}}}{{{b}}}', f'{s}{2*a}/{2*b}', f'x = {s}{a}/{b}', rf'{s}{a} \div {b}', f'{s}{a}⁄{b}']
        if 10**12%b==0: out.append(s+f'{a*10**12//b/10**12:.12f}'.rstrip('0'))
    if re.fullmatch(r'[^\\{}()\[\]]*(,[^\\{}()\[\]]*)+', g) and not re.search(r'\d,\d{3}', g):
        parts = [o.strip() for o in g.split(',')]
        rng.shuffle(parts)
        out += [', '.join(parts), r'\{'+', '.join(parts)+r'\}', ' and '.join([', '.join(parts[:-1]), parts[-1]]), ','.join(parts), '; '.join(parts)]
    if m := re.fullmatch(r'(\[|\()([^,()\[\]]+),([^,()\[\]]+)(\]|\))', g):
        if '[' in g or ']' in g: out += [f'{m[2]} {"<=" if m[1]=="[" else "<"} x {"<=" if m[4]=="]" else "<"} {m[3]}', rf'x \in {g}'] if 'infty' not in g else [rf'x \in {g}']
        out += [f'{m[1]}{m[2].strip()},{m[3].strip()}{m[4]}', f'{m[1]} {m[2]} , {m[3]} {m[4]}']
    if 'pmatrix' in g: out += [g.replace('pmatrix', 'bmatrix'), re.sub(r'\s*(&|\\\\)\s*', r'\1', g), g.replace(r'\begin{pmatrix}', r'\left(\begin{matrix}').replace(r'\end{pmatrix}', r'\end{matrix}\right)')]
    if m := re.fullmatch(r'(.*\d)\s*\\(?:text|mbox)\s*\{\s*([^{}]*)\}', g): out += [m[1], f'{m[1]} {m[2]}', rf'{m[1]}\,\mathrm{{{m[2]}}}', rf'{m[1]} \text{{ {m[2]}}}']
    if m := re.fullmatch(r'\\text\{\(?([^{}()]*)\)?\}', g): out += [m[1], rf'\textbf{{{m[1]}}}', rf'\mbox{{{m[1]}}}', rf'\mathrm{{{m[1]}}}']
    if m := re.fullmatch(r'([a-z]) = ([^=]+)', g): out += [f'{m[2]} = {m[1]}', m[2], f'{m[1]}={m[2]}']
    if m := re.fullmatch(r'([\w^{}\\ ]+) \+ ([\w^{}\\ ]+)', g): out += [f'{m[2]} + {m[1]}', f'({m[1]}) + ({m[2]})'] if r'\text' not in g else []
    if re.fullmatch(r'[\w^{}\\ +-]+', g) and not re.search(r'\\(?:text|mbox|pm)|_', g) and re.search(r'\d|\\pi', g): out += [f'({g})', f'1*({g})', f'({g})/1', rf'\left({g}\right)']
    if g.endswith(r'\%'): out += [g[:-2], g[:-2].strip()+'%', g[:-2].strip()+' percent']
    if re.search(r'\^\{?\\circ\}?$', g): out += [re.sub(r'\^\{?\\circ\}?$', lambda _: o, g) for o in ('', '°', ' degrees', r'\text{ degrees}')]
    if re.search(r'\d\s*\\[dt]?frac', g): out = [o for o in out if o!=plain(g)]
    out = sorted({o for o in out if o!=gold and all(p.count('{')==p.count('}') for p in re.split('[(), ]', o) if 'begin' not in o) and r'^(\circ)' not in o and r'\1' not in o})
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
    assert not [o.gold for o in probs if verify(o, f'{o.gold} ').right is not True or verify(o, rf'so \boxed{{{o.gold}}}').right is not True]

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
