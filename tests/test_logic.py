"Logic: puzzles are unique, minimal and deterministic, and an answer is right only when it is the whole solution."
import json, random, re, time
from itertools import permutations, product

from hypothesis import example, given, settings, strategies as st
import pytest

from honest.core import Problem, Skip, digest, make, plain
from honest.tasks.logic import (difficulty_of, draw, from_zebralogic, generate, hear, holds, order_puzzle, phrase_book,
    relations,
                                say, sizes, solutions, verify, vocabulary, words)

splits = st.sampled_from(['train', 'test'])
mine = {f:o for f,(o,_) in vocabulary.items()}

def sentences(p): return re.findall(r'^\d+\. (.*)$', p.question, re.M)
def lines(rows): return '\n'.join(f'House {o[0]}: {", ".join(o[1:])}' for o in rows)
def answer(p): return ' '.join(p.gold['order']) if 'order' in p.gold else lines(p.gold['rows'])
def rows_of(p, where):
    at = {(f,h):v for (f,v),h in where.items()}
    return [[str(h), *(at[f,h] for f in p.gold['header'][1:])] for h in range(1, len(p.gold['rows'])+1)]

# Puzzles

@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(0, 10**6), st.integers(1, 8), splits)
def test_generated(seed, i, d, split):
    "Same arguments, same puzzle; one solution; every clue needed; the English says the clues; the gold passes"
    p = generate(seed, i, d, split)
    fs,cs = p.meta['features'],p.meta['clues']
    assert p==generate(seed, i, d, split) and p==make(Problem, json.loads(json.dumps(plain(p))))
    assert (p.difficulty, p.split, p.task)==(d, split, 'logic') and difficulty_of(len(p.gold['rows']), len(fs))==d
    found = solutions(fs, cs)
    assert [rows_of(p, o) for o in found]==[p.gold['rows']] and all(holds(c, found[0]) for c in cs)
    assert [rows_of(p, o) for o in solutions(fs, hear(sentences(p), phrase_book(fs, mine)))]==[p.gold['rows']]
    for c in cs: assert len(solutions(fs, [o for o in cs if o!=c]))==2
    assert verify(p, answer(p)).right is True

@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(0, 10**6), st.integers(2, 8), splits, st.sampled_from(['line', 'short']))
def test_orders(seed, i, n, split, style):
    p = order_puzzle(seed, i, n, split, style=style, kinds=['left', 'just_left', 'at', 'not_at', 'next', 'between',
    'one_of'])
    fs,cs = p.meta['features'],p.meta['clues']
    assert p==order_puzzle(seed, i, n, split, style=style, kinds=['left', 'just_left', 'at', 'not_at', 'next',
        'between', 'one_of'])
    assert [sorted(o, key=o.get) for o in solutions(fs, cs)]==[[('Name',o) for o in p.gold['order']]]
    for c in cs: assert len(solutions(fs, [o for o in cs if o!=c]))==2
    for s in (answer(p), ''.join(p.gold['order']), ' > '.join(p.gold['order']),
        json.dumps(p.gold['order'])): assert verify(p, s).right is True
    a,b = random.Random(seed).sample(range(n), 2)
    bad = list(p.gold['order'])
    bad[a],bad[b] = bad[b],bad[a]
    for s in (' '.join(bad), ''.join(bad), ', '.join(bad[:-1])): assert verify(p, s).right is False

@settings(max_examples=80)
@given(st.integers(0, 10**6), st.integers(1, 5), st.randoms(use_true_random=False))
def test_swapping_two_cells_is_wrong(i, d, rng):
    p = generate(7, i, d)
    rows = [list(o) for o in p.gold['rows']]
    a,b = rng.sample(range(len(rows)), 2)
    j = rng.randrange(1, len(rows[0]))
    rows[a][j],rows[b][j] = rows[b][j],rows[a][j]
    assert verify(p, lines(rows)).right is False and verify(p, json.dumps({'header':p.gold['header'],
        'rows':rows})).right is False

def test_brute_force_agrees():
    "The solver finds what trying every arrangement finds, with all clues and with fewer"
    for i in range(30):
        p = generate(5, i, 2, size=(3, 3))
        fs,cs = p.meta['features'],p.meta['clues']
        deals = product(permutations((1, 2, 3)), repeat=3)
        every = [{(f,v):h for (f,vs),o in zip(fs.items(), d) for v,h in zip(vs, o)} for d in deals]
        for keep in (cs, cs[1:], cs[2:], []):
            true = [o for o in every if all(holds(c, o) for c in keep)]
            found = solutions(fs, keep, limit=999)
            assert len(found)==len(true) and all(o in true for o in found) and (keep is not cs or len(true)==1)

def test_any_solver_makes_the_same_puzzle(monkeypatch):
    "Only yes-or-no answers decide what a puzzle is, and it stays what it is"
    import pysat.solvers
    args = [(42, i, d, o) for i in range(3) for d in (1, 3, 5) for o in ('train', 'test')]
    before,real = [generate(*o) for o in args],pysat.solvers.Solver
    monkeypatch.setattr(pysat.solvers, 'Solver', lambda name, **kw: real('cadical153', **kw))
    assert [generate(*o) for o in args]==before
    assert digest(plain(before), plain(order_puzzle(42, 0, 5)))=='74330193d240ec7c'

def test_streams():
    "Train and test share no solution and no text, whatever the seed; ids differ; every size and kind of clue turns up"
    ps = [generate(s, i, d, o) for o in ('train', 'test') for s in (1, 2) for d in range(1, 6) for i in range(20)]
    tr,te = ([p for p in ps if p.split==o] for o in ('train', 'test'))
    solved = lambda p: tuple(sorted(zip(*p.gold['rows'])))
    assert not {solved(p) for p in tr} & {solved(p) for p in te} and not {p.question for p in tr} & {p.question for p in te}
    assert len({p.id for p in ps})==len(ps)
    assert {c[0] for p in ps for c in p.meta['clues']}=={*relations}
    assert {(len(p.gold['rows']), len(p.meta['features'])) for p in ps}=={o for d in range(1, 6) for o in sizes[d]}
    short = [[order_puzzle(s, i, 3, o, names='ABC') for s in (1, 2) for i in range(60)] for o in ('train', 'test')]
    tr,te = ({frozenset(map(json.dumps, p.meta['clues'])) for p in ps} for ps in short)
    assert not tr & te

@settings(max_examples=100)
@given(st.sampled_from([*relations]), st.integers(3, 8), st.integers(2, 6), st.randoms(use_true_random=False))
def test_what_is_said_is_heard(kind, n, m, rng):
    "Every wording reads back as the clue it says, up to the order of a symmetric clue"
    fs = {f:vocabulary[f][1].split()[:n] for f in rng.sample([*vocabulary], m)}
    where = {(f,v):h for f,vs in fs.items() for h,v in enumerate(rng.sample(vs, n), 1)}
    if (c := draw(rng, kind, where, n)) is None: return
    for t in words[kind]:
        got = hear([say(c, rng, {kind:[t]})], phrase_book(fs, mine), words)[0]
        assert got==c or kind=='xor' and got==(kind, c[1][::-1], c[2][::-1])

@pytest.mark.parametrize('kind', relations)
def test_said_and_denied_alike(kind):
    "A clue rules out exactly the arrangements in which it is false"
    fs = {'Name':['Ann', 'Ben', 'Cleo'], 'Drink':['tea', 'milk', 'water']}
    rng,all_ = random.Random(kind),solutions(fs, [], limit=99)
    assert len(all_)==36
    for _ in range(20):
        c = draw(rng, kind, rng.choice(all_), 3)
        if c: assert len(solutions(fs, [c], 99))==sum(holds(c, o) for o in all_)

@pytest.mark.parametrize('d', [0, 9, -1, 1.5, '3', None])
def test_bad_difficulty(d):
    with pytest.raises(ValueError, match='choose 1 to 8'): generate(1, 0, d)

# Answers

gold = {'header':['House', 'Name', 'FavoriteSport', 'Drink'],
        'rows':[['1', 'Ann', 'table tennis', 'tea'], ['2', 'Ben', 'hip-hop', 'root beer'], ['3', 'Cleo', 'golf',
        'milk']]}
prob = Problem('p', 'logic', 2, '', gold, 'logic')
body = [o[1:] for o in gold['rows']]
names = gold['header'][1:]
dicts = [dict(zip(names, o)) for o in body]
text = lines(gold['rows'])
md = '| House | Name | FavoriteSport | Drink |\n|---|---|---|---|\n'+'\n'.join(f'| {" | ".join(o)} |' for o in gold['rows'])

forms = {
    'lines': text, 'lower': text.lower(), 'upper': text.upper(), 'spaces': text.replace(', ', ' ,   '),
    'no space': text.replace(', ', ','), 'crlf': text.replace('\n', '\r\n'),
    'blank lines': text.replace('\n', '\n\n'), 'padded': f'\n\n  {text}  \n', 'fence': f'```\n{text}\n```',
    'fence text': f'```text\n{text}\n```', 'dots': text.replace('\n', '.\n')+'.',
    'one line ;': text.replace('\n', '; '), 'one line .': text.replace('\n', '. '), 'one line ,': text.replace('\n',
    ', '), 'bullets': '- '+text.replace('\n', '\n- '),
    'stars': '* '+text.replace('\n', '\n* '), 'bold': re.sub(r'(House \d):', r'**\1:**', text),
    'bold 2': re.sub(r'(House \d):', r'**\1**:', text), 'dash': text.replace(':', ' -'),
    'en dash': text.replace(':', ' \u2013'), 'hash': text.replace('House ', 'House #'), 'h1': text.replace('House ',
    'H'), 'number': text.replace('House ', ''),
    'numbered': re.sub(r'House (\d):', r'\1.', text), 'paren': re.sub(r'House (\d):', r'\1)', text),
    'reversed': '\n'.join(text.split('\n')[::-1]), 'intro': 'Answer:\n'+text,
    'the solution is': 'The solution is:\n'+text, 'words': text.replace('House 1', 'House one').replace('House 2',
    'House two').replace('House 3', 'House three'),
    'ordinals': text.replace('House 1', 'First house').replace('House 2', 'Second house').replace('House 3',
    'Third house'), 'pipes': text.replace(', ', ' | '),
    'semicolons': text.replace(', ', '; '), 'no colon': text.replace(':', ''),
    'bare rows': '\n'.join(', '.join(o) for o in body), 'csv': '\n'.join(','.join(o) for o in [gold['header'],
    *gold['rows']]),
    'csv no house': '\n'.join(','.join(o) for o in [names, *body]),
    'csv no header': '\n'.join(','.join(o) for o in gold['rows']),
    'tsv': '\n'.join('\t'.join(o) for o in [gold['header'], *gold['rows']]),
    'columns': '\n'.join('   '.join(o) for o in gold['rows']),
    'columns head': '\n'.join('   '.join(o) for o in [gold['header'], *gold['rows']]), 'markdown': md,
    'markdown colons': md.replace('---', ':---:'),
    'markdown house': re.sub(r'\| (\d)', r'| House \1', md), 'markdown spaced': md.replace('FavoriteSport',
    'Favorite Sport'), 'markdown bare': md.replace('|\n|', '\n').strip('|'),
    'across': '| | House 1 | House 2 | House 3 |\n|---|---|---|---|\n'+'\n'.join(f'| {n} | {" | ".join(o[i] for o in body)} |' for i,
    n in enumerate(names)),
    '=': '\n'.join(f'{i}: '+', '.join(f'{k}={v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'label :': '\n'.join(f'House {i}: '+', '.join(f'{k}: {v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'label ;': '\n'.join(f'House {i}: '+'; '.join(f'{k}: {v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'label is': '\n'.join(f'House {i}: '+', '.join(f'{k} is {v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'label shuffled': '\n'.join(f'House {i}: '+', '.join(f'{k}={v}' for k,v in [*o.items()][::-1]) for i,
    o in enumerate(dicts, 1)),
    'block': '\n'.join(f'House {i}:\n'+'\n'.join(f'  {k}: {v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'block bullets': '\n\n'.join(f'**House {i}**\n'+'\n'.join(f'- {k}: {v}' for k,v in o.items()) for i,
    o in enumerate(dicts, 1)),
    'block heading': '\n'.join(f'### House {i}\n'+'\n'.join(f'* **{k}**: {v}' for k,v in o.items()) for i,
    o in enumerate(dicts, 1)), 'block values': '\n'.join(f'House {i}:\n'+'\n'.join(o) for i,o in enumerate(body, 1)),
    'yaml': '\n'.join(f'- House: {i}\n'+'\n'.join(f'  {k}: {v}' for k,v in o.items()) for i,o in enumerate(dicts, 1)),
    'house label': '\n'.join(f'House: {i}, '+', '.join(f'{k}: {v}' for k,v in o.items()) for i,o in enumerate(dicts,
    1)),
    'json gold': json.dumps(gold), 'json rows': json.dumps(gold['rows']), 'json head': json.dumps([gold['header'],
    *gold['rows']]), 'json body': json.dumps(body), 'json dicts': json.dumps(dicts),
    'json numbered': json.dumps([{'House':i, **o} for i,o in enumerate(dicts, 1)]),
    'json "1"': json.dumps([{'house':str(i), **o} for i,o in enumerate(dicts, 1)]),
    'json reversed': json.dumps([{'House':i, **o} for i,o in enumerate(dicts, 1)][::-1]),
    'json houses': json.dumps({f'House {i}':o for i,o in enumerate(dicts, 1)}), 'json 1': json.dumps({str(i):o for i,
    o in enumerate(dicts, 1)}), 'json house_1': json.dumps({f'house_{i}':o for i,o in enumerate(dicts, 1)}),
    'json lists': json.dumps({f'House {i}':o for i,o in enumerate(body, 1)}),
    'json strings': json.dumps({f'House {i}':', '.join(o) for i,o in enumerate(body, 1)}),
    'json columns': json.dumps({n:[o[n] for o in dicts] for n in names}),
    'json house column': json.dumps({'House':[1, 2, 3], **{n:[o[n] for o in dicts] for n in names}}),
    'json solution': json.dumps({'solution':{f'House {i}':o for i,o in enumerate(dicts, 1)}}),
    'json nested': json.dumps({'answer':{'houses':dicts}}),
    'json fence': f'```json\n{json.dumps(dicts, indent=2)}\n```', 'json lower': json.dumps(dicts).lower(),
    'json single': str(dicts), 'json lines': '\n'.join(map(json.dumps, dicts)),
    'json header no house': json.dumps({'header':names, 'rows':body}),
    'json spaced label': json.dumps(dicts).replace('FavoriteSport', 'favorite_sport'),
    'json columns key': json.dumps({'columns':gold['header'], 'rows':gold['rows']}), 'quotes': re.sub(r': (\w+)',
    r": '\1'", text), 'hyphens': text.replace('table tennis', 'table-tennis').replace('hip-hop', 'hip hop')}

@pytest.mark.parametrize('k', forms)
def test_forms(k): assert verify(prob, forms[k]).right is True, forms[k]
def test_many_forms(): assert len(forms)>=60

def _swap(a, b): return text.replace(a, '\0').replace(b, a).replace('\0', b)
def _dict(f): return json.dumps([f(i, dict(o)) for i,o in enumerate(dicts)])
one,two,three = text.split('\n')
misses = [
    *(_swap(body[a][j], body[b][j]) for a in range(3) for b in range(a) for j in range(3)), *(_swap(body[a][0],
    body[a][j]) for a in range(3) for j in (1, 2)),
    f'```text not\n{text}\n```', f'```\n{text}\n```\nor not',
    _swap('House 1', 'House 2'), _swap('House 2', 'House 3'), one, two, one+'\n'+two, two+'\n'+three, text+'\n'+one,
    text+'\n'+one.replace('Ann', 'Ben'), text+'\nHouse 4: Dan, chess, gin',
    text+', and so on', text+'\nSo the answer is clear.', 'I think that\n'+text, text.replace(', tea', ''),
    text.replace('Ann, ', ''), text.replace('tea', 'tea, milk'), text.replace('tea', 'tea or milk'), text.replace('tea',
    'not tea'),
    text.replace('tea', ''), text.replace('tea', '?'), text.replace('tea', '___'), text.replace('table tennis',
    'tennis'), text.replace('root beer', 'beer'), text.replace('root beer', 'rootbeer'), text.replace('Ann', 'Anne'),
    text.replace('milk', 'mil'),
    text.replace('House 3', 'House 4'), text.replace('House 3', 'House 2'), text.replace('House 3', 'House 0'),
    text.replace('House 3', 'House 33'), text.replace('House 1', 'House 1 or 2'), text.replace(', ', ' '),
    text.replace('\n', ' '),
    text.replace('House 1: ', ''), 'House 1: Ann\nHouse 2: Ben\nHouse 3: Cleo', 'Ann, Ben, Cleo', 'Ann drinks tea', '',
    ' ', '\n', '```\n```', '[]', '{}', 'null', '0', '[[]]', '[{}, {}, {}]', 'House 1:\nHouse 2:\nHouse 3:', 'House',
    'True', 'nan',
    md.replace('| tea |', '|'), md.replace('Drink', 'Pet'), md.replace('| House | Name', '| Name | House'),
    md+'\n| 4 | Dan | chess | gin |', md.replace('| tea |', '| tea | x |'), md.replace('FavoriteSport', 'Name'),
    _dict(lambda i, o: {k:v for k,v in o.items() if k!='Drink'}), _dict(lambda i, o: o | {'Pet':'cat'}), _dict(lambda i,
    o: o | {'House':1}), _dict(lambda i, o: o | {'House':3-i}), _dict(lambda i, o: o | {'Drink':['tea', 'root beer',
    'milk'][i:i+1]}),
    _dict(lambda i, o: o | {'Drink':None}), _dict(lambda i, o: o | {'Drink':True}), _dict(lambda i,
    o: o | {'House':True}), _dict(lambda i, o: o | {'House':i+.5}), _dict(lambda i,
    o: o | ({'House':1} if i==0 else {})), json.dumps(dicts[::-1]), json.dumps(dicts[:2]),
    json.dumps(dicts+dicts[:1]), json.dumps({f'House {i}':o for i,o in enumerate(dicts)}),
    '{"House 1": 1, "House 1": 2}', json.dumps(dicts)[:-1], json.dumps(dicts)+' done',
    '['+json.dumps(dicts[0])[:-1]+', "Name": "Ben"}, '+json.dumps(dicts[1])+', '+json.dumps(dicts[2])+']',
    json.dumps({'header':names, 'rows':gold['rows']}), json.dumps({'header':['Name', 'Drink', 'FavoriteSport'],
    'rows':body}), json.dumps({'rows':body, 'header':['Name', 'Name', 'Drink']}), json.dumps({'solution':dicts,
    'other':dicts}),
    json.dumps({n:[o[n] for o in dicts][:2] for n in names}),
    json.dumps({n:[o[n] for o in dicts][::-1] if n=='Drink' else [o[n] for o in dicts] for n in names}),
    'House 1: Name=Ann, Name=Ben, Drink=tea\n'+two+'\n'+three,
    'House 1: Name=Ann, FavoriteSport=table tennis, Drink=tea, Drink=milk\n'+two+'\n'+three,
    'House 1: Name=Ann, table tennis, tea\n'+two+'\n'+three]

@pytest.mark.parametrize('s', misses)
def test_near_misses(s): assert verify(prob, s).right is False
def test_many_misses(): assert len(set(misses))>=60

line = Problem('o', 'logic', 1, '', {'order':['B', 'A', 'C']}, 'logic')
people = Problem('o', 'logic', 1, '', {'order':['New York', 'Ann', 'Bob']}, 'logic')
orders = ['B A C', 'BAC', 'bac', 'b a c', 'B, A, C', 'B,A,C', 'B; A; C', 'B > A > C', 'B>A>C', 'B < A < C',
    'B -> A -> C', 'B->A->C', 'B \u2192 A \u2192 C', 'B => A => C', 'B\nA\nC', 'B\n\nA\n\nC', 'B - A - C', 'B | A | C',
          '1. B\n2. A\n3. C', '1) B\n2) A\n3) C', '1: B\n2: A\n3: C', 'B, A, and C', 'B, A and C', 'B then A then C',
          'B, then A, then C', 'B before A before C', '["B", "A", "C"]', "['B', 'A', 'C']", '[B, A, C]', '(B, A, C)',
          '{"order": ["B", "A", "C"]}',
          '{"1": "B", "2": "A", "3": "C"}', '```\nB A C\n```', '```json\n["B", "A", "C"]\n```', '  B A C.  ',
          'B  A   C', '"B", "A", "C"', '`B A C`']
not_orders = ['B C A', 'A B C', 'C A B', 'CAB', 'B A', 'BA', 'B A C D', 'BACB', 'B A C B', 'A', '', ' ', 'B > A < C',
    'B, A C', 'C, A, B', 'B, A, C, ...', 'not B A C', 'B A C or A B C', 'BAC ABC', '[]', '{}', '["B", "A"]',
    '["B", "A", "C", "C"]', '[["B", "A", "C"]]',
              '{"2": "B", "1": "A", "3": "C"}', '2. B\n1. A\n3. C', '1. B\n2. A', 'B A C because A < C',
              'The order is unknown', '1 2 3', 'B=A=C', 'B.A.C', 'B/A/C', 'BBAACC', 'null', '[1, 2, 3]', '[[[[[',
              '{"order": "CAB"}', 'B, , A, C', 'B, A\nC']

@pytest.mark.parametrize('s', orders)
def test_orders_said(s): assert verify(line, s).right is True
@pytest.mark.parametrize('s', not_orders)
def test_orders_not_said(s): assert verify(line, s).right is False
@pytest.mark.parametrize('s', ['New York, Ann, Bob', 'new york > ann > bob', '["New York", "Ann", "Bob"]',
    '1. New York\n2. Ann\n3. Bob', 'New York\nAnn\nBob', 'New-York, Ann and Bob'])
def test_names_with_spaces(s): assert verify(people, s).right is True

junk = st.one_of(st.text(max_size=200), st.text(alphabet='House123:,|[]{}"\n \t-=AnnBentea#*`.;>\u2192', max_size=200),
                 st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(['House',
                 'Name', 'tea', 'Ann', 'header', 'rows', '1'])),
                              lambda o: st.one_of(st.lists(o, max_size=4), st.dictionaries(st.sampled_from(['House',
                              'House 1', '1', 'Name', 'Drink', 'rows', 'header', 'solution', '']), o, max_size=4)),
                              max_leaves=12).map(json.dumps))

@settings(max_examples=200)
@given(junk)
@example('{"header": 3, "rows": [1]}')
@example('{"header": [[1]], "rows": [[{}]]}')
def test_junk_never_raises(s):
    assert verify(prob, s).right is False and verify(line, s).right in (True, False) and verify(people,
        s).right is False

@settings(max_examples=200)
@given(st.one_of(st.none(), st.integers(), st.text(), st.lists(st.text()),
    st.fixed_dictionaries({'header':st.lists(st.text(max_size=3)) | st.none(),
    'rows':st.lists(st.lists(st.text(max_size=3)) | st.integers())}),
                 st.fixed_dictionaries({'order':st.lists(st.text(max_size=3) | st.integers()) | st.none()})))
def test_any_gold_gets_a_verdict(o): assert verify(Problem('x', 'logic', 1, '', o, 'logic'), text).right in (None,
    False)

@pytest.mark.parametrize('o', [None, 'x', {}, {'header':['House']}, {'header':['House', 'Name'], 'rows':[]},
    {'header':['House', 'Name'], 'rows':[['1', '___']]}, {'header':['House', 'Name'], 'rows':[['1']]},
    {'header':['Name', 'Name'], 'rows':[['a', 'b']]},
    {'header':['House', 'Name'], 'rows':[['1', 'a'], ['1', 'b']]}, {'header':['House', 'Name'], 'rows':[['x', 'a']]},
    {'header':['House', 'Name'], 'rows':[['2', 'a']]}, {'header':['House', 'Name'], 'rows':[['1', '']]},
    {'header':['House', 'Name'], 'rows':[['1', None]]},
    {'order':[]}, {'order':['A', 'a']}, {'order':['A', 3]}, {'order':['A', '']}, {'order':'ABC'}])
def test_gold_that_cannot_be_read(o): assert verify(Problem('x', 'logic', 1, '', o, 'logic'), text).right is None

@pytest.mark.parametrize('o', [None, 7, 1.5, ['A'], b'A', {}])
def test_answer_that_is_no_text(o): assert verify(prob, o).right is False and verify(line, o).right is False

@pytest.mark.parametrize('s', ['[', '{', '{"a":', ' ', '\n', '\t', 'House 1: ', '-', '|', ',', '```\n', 'the ', 'is ',
    '*', '1. ', '9', 'B, ', ' then ', '\u2192', ' \n', '\t ', "'", '> ', 'House 1',
    '; House 1', '<1>', '# ', 'then '])
def test_long_answers_cost_little(s):
    for n in (19_999, 10**6):
        for o in (s*(n//len(s)), 'House'+s*(n//len(s)-5)+'x', json.dumps({'#'+' '*(n-20)+'x':s}),
            'B'+s*(n//len(s)-2)+'x', '```'+s*(n//len(s)-6)+'```'):
            t = time.thread_time()
            assert verify(prob, o).right is False and verify(line, o).right is False
            assert time.thread_time()-t < 1

# ZebraLogicBench

top = 'There are 2 houses.\n - Each person has a unique name: `Eric`, `Arnold`\n - Each person has a unique type of pet: `dog`, `cat`\n\n## Clues:\n'
def row(*clues, header=('House', 'Name', 'Pet'), top=top): return dict(id='z', size='2*2',
    puzzle=top+'\n'.join(f'{i}. {o}' for i,o in enumerate(clues, 1)), solution=dict(header=[*header],
    rows=[['___']*3]*2))

def test_zebralogic_row():
    p = from_zebralogic(row('Eric is somewhere to the left of Arnold.',
    'The person who owns a dog is not in the first house.'), 0, 'test')
    assert p.gold=={'header':['House', 'Name', 'Pet'], 'rows':[['1', 'Eric', 'cat'], ['2', 'Arnold',
        'dog']]} and verify(p, answer(p)).right is True
    assert (p.split, p.difficulty, p.source, p.id)==('test', 1, 'zebralogic', 'z')

@pytest.mark.parametrize('r,why', [(row('Eric is somewhere to the left of Arnold.'), 'several solutions'),
    (row('Eric is in the first house.', 'Eric is in the second house.'), 'no solution'), (row('Eric is happy.'),
    'no reading'), (row('Eric is not Arnold.'), 'no reading'),
    (row('The cat lover is in the first house.'), 'no reading'), (row(), 'no lists or no clues'),
    (row('Eric is in the first house.', header=('House', 'Name')), 'no lists'), (row('Eric is in the first house.',
    top=top.replace('`, `cat`', '`')), 'do not fit'),
    (row('Eric is in the first house.', top=top.replace('`cat`', '`dog`')), 'do not fit'), ({}, 'no puzzle'),
    ({'puzzle':None, 'solution':{'header':['House']}}, 'no puzzle'), ({'puzzle':'x', 'solution':None}, 'no puzzle'),
    (None, 'no puzzle'),
    (dict(puzzle='x'*30_000, solution=dict(header=['House'])), 'no puzzle'), (row('Eric is in the first house.',
    top='## Clues:\n'), 'no lists')])
def test_zebralogic_skips(r, why):
    with pytest.raises(Skip, match=why): from_zebralogic(r, 0, 'test')
