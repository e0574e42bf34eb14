"Mutated problems are proved, near misses fail, and the ceilings move only for the right reasons."
import json, math, re
from collections import Counter
from dataclasses import asdict, replace
from fractions import Fraction
from functools import lru_cache
import pytest

from honest.core import Problem, Record, Skip, make, rng_for
from honest.data import Sampler
from honest.env import Curriculum, Env
from honest.judge import verify
from honest.mutate import Ceiling, Mutating, exact, lift, mutate, mutator_names, mutators, new_ceiling, observe, read_math, reference, trail
from honest.nano import nano_problem, split_of
from honest.tasks import choice, code, logic
from honest.tasks import math as maths

makers = {'math':lambda i, d, s: maths.generate(11, i, d, s), 'code':lambda i, d, s: code.generate(11, i, d, s), 'grid':lambda i, d, s: logic.generate(11, i, d, s),
          'line':lambda i, d, s: logic.order_puzzle(11, i, d+2, s), 'short':lambda i, d, s: logic.order_puzzle(11, i, d+2, s, style='short'),
          'nano math':lambda i, d, s: nano_problem('math', d, 11, i, s), 'nano code':lambda i, d, s: nano_problem('code', d, 11, i, s),
          'nano logic':lambda i, d, s: nano_problem('logic', d, 11, i, s)}
count = {'math':40, 'code':3, 'grid':4, 'line':8, 'short':8, 'nano math':40, 'nano code':3, 'nano logic':8}
each = pytest.mark.parametrize('form', makers)
each_mutator = pytest.mark.parametrize('name', mutator_names)

@lru_cache(None)
def made(form, name):
    "Pairs of problem and mutated problem, and the reasons of those dropped"
    out,lost = [],Counter()
    for d in range(1, 6):
        for i in range(count[form]):
            p = makers[form](i, d, 'train')
            try: out.append((p, mutate(p, name, rng_for(i, d, name))))
            except Skip as e: lost[str(e)] += 1
    return out,lost

def near(p):
    "Wrong answers close to the right one"
    if p.task=='code':
        return [p.meta['solution']+'+1'] if 'prefix' in p.gold else [p.meta['solution']+'\n_g = f\ndef f(*a):\n    v = _g(*a)\n    return [v]']
    if p.task=='logic' and 'order' in p.gold:
        a = p.gold['order']
        return [' '.join([a[1], a[0], *a[2:]]), ' '.join(a[:-1]), ' '.join(a[::-1])]
    if p.task=='logic':
        rows = [list(r) for r in p.gold['rows']]
        rows[0][1],rows[1][1] = rows[1][1],rows[0][1]
        return ['\n'.join(', '.join(f'{h}: {v}' for h,v in zip(p.gold['header'], r)) for r in rows)]
    if ',' in p.gold or '_' in p.gold: return [p.gold.replace(o, '9'+o, 1) for o in re.findall(r'\d+', p.gold)[:1]]
    v = Fraction(p.gold)
    return [str(v+1), str(v-1), str(10*v+3)]

@each
@each_mutator
def test_proved(form, name):
    "The gold of each mutated problem passes its verifier, near misses do not, and few are dropped"
    pairs,lost = made(form, name)
    assert len(pairs)>=.7*5*count[form] and not [o for o in lost if 'unreadable' in o], lost
    for p,q in pairs:
        assert verify(q, reference(q)).right is True, q
        for o in near(q): assert verify(q, o).right is False, (q.question, q.gold, o)
        assert (q.difficulty, q.cluster, q.split, q.domain, q.task)==(p.difficulty+1, p.cluster, p.split, p.domain, p.task)
        assert q.question!=p.question and trail(q)==[name] and q.meta['parent']==p.id
    assert len({q.id for _,q in pairs})==len({q.question for _,q in pairs})

@each
@each_mutator
def test_same_again(form, name):
    "The same generator makes the same problem, from a file too"
    for p,q in made(form, name)[0][::9]:
        back = make(Problem, json.loads(json.dumps(asdict(p))))
        assert mutators[name](back, rng_for('a'))==mutators[name](p, rng_for('a'))
        assert make(Problem, json.loads(json.dumps(asdict(q))))==q

def test_math_is_recomputed():
    "The answer of a mutated question comes from its own text, by other code than the generator's"
    for name in mutator_names:
        for p,q in made('nano math', name)[0]:
            terms = re.findall(r'([+-]?)(\d+(?:\*\d+)*)', q.question)
            assert sum((-1 if s=='-' else 1)*math.prod(map(int, t.split('*'))) for s,t in terms)==int(q.gold)
    for p,q in made('math', 'numeric')[0]: assert read_math(q.question)[1]==q.gold

def test_joined_answers_follow():
    "Feeding one answer into another is checked by hand"
    for p,q in made('math', 'compositional')[0]:
        assert trail(q)==['compositional']
        last = q.question.rsplit('\n\n', 1)[1]
        v = exact(p.gold)
        if m := re.fullmatch(r'What is (\d+)[A-Z] \+ (\d+)\?', last): assert int(m[1])*v+int(m[2])==exact(q.gold)
        elif m := re.fullmatch(r'What is the remainder when [A-Z]\^2 \+ (\d+) is divided by (\d+)\?', last): assert (v*v+int(m[1]))%int(m[2])==exact(q.gold)
        else:
            second = re.search(r'\n\nLet [A-Z] be the answer to this question:\n(.*?)\n\nWhat', q.question, re.S)[1]
            w = exact(read_math(second)[1])
            assert exact(q.gold)==(v+w if ' + ' in last else v-w)

@pytest.mark.parametrize('form', ['grid', 'line', 'short', 'nano logic'])
def test_puzzles_have_one_solution(form):
    "Clues in `meta` prove the gold answer, and what the question says is what they say"
    for name in mutator_names:
        for p,q in made(form, name)[0]:
            found = logic.solutions(q.meta['features'], q.meta['clues'])
            assert len(found)==1
            if 'order' in q.gold: assert sorted(found[0], key=found[0].get)==[('Name', o) for o in q.gold['order']]
            else: assert logic._gold(q.meta['features'], found[0])==q.gold
            if form=='grid':
                listed = {k:v.replace(' (not part of the answer)', '').split(', ') for k,v in re.findall(r'^- (\w+): (.*)$', q.question, re.M)}
                said = logic.hear(re.findall(r'^\d+\. (.*)$', q.question, re.M), logic.phrase_book(listed, {f:logic.vocabulary[f][0] for f in listed}))
                ways = logic.solutions(listed, said, limit=3)
                assert ways and all({k:h for k,h in w.items() if k[0] in q.meta['features']}==found[0] for w in ways)
                assert (len(ways)==1) or name=='distractor'

def test_english():
    "No doubled blanks, stray braces or wrong ordinals; a full stop or question mark where one belongs"
    for form in ('math', 'code', 'grid', 'line'):
        for name in mutator_names:
            for p,q in made(form, name)[0]:
                text = q.question.split('\nFor example')[0].replace('+ ... +', '+')
                assert not re.search(r'\S {2}|\$|\b\d*[02-9]1th\b|\.\.', text), q.question
                assert re.search(r'[.?]$|House 1: [\w, ]+$', text), q.question
                assert q.question.count('(not part of the answer)')==(form=='grid' and name=='distractor')
                assert '+ -' not in q.question and '- -' not in q.question

@each
def test_splits_stay_apart(form):
    "What is made from a problem belongs to its side by the generator's own rule"
    for split in ('train', 'test'):
        for i in range(3):
            p = makers[form](i, 3, split)
            for name in mutator_names:
                if (q := mutators[name](p, rng_for(i))) is None: continue
                assert q.split==split
                if q.source=='nano': assert split_of(q.domain, q.question)==split

def test_lifted_to_the_top():
    "Difficulty 5 goes to 8 in steps that are each proved, a distractor last and once"
    for form in ('math', 'grid', 'line', 'nano math', 'nano code', 'nano logic'):
        got = [lift(makers[form](i, 5, 'train'), 8, rng_for(i))[0] for i in range(4)]
        assert sum(o.difficulty==8 for o in got)>=2, form
        for o in got:
            assert o.difficulty==5+len(trail(o)) and 'distractor' not in trail(o)[:-1]
            assert verify(o, reference(o)).right is True

def test_joined_twice():
    "A second join goes on from the first, and can be followed by hand"
    for p,q in made('math', 'compositional')[0][::4]:
        r = mutate(q, 'compositional', rng_for(q.id))
        head,last = q.question.rsplit('\n\n', 1)
        assert r.question.startswith(head) and f' be {last[8:-1]}.' in r.question and r.question.count('?')<=q.question.count('?')+1
        if m := re.search(r'What is (\d+)[A-Z] \+ (\d+)\?$', r.question): assert int(m[1])*exact(q.gold)+int(m[2])==exact(r.gold)

def test_dropped():
    "What cannot be proved is dropped for a reason"
    def why(p, name):
        with pytest.raises(Skip) as e: mutate(p, name, rng_for(0))
        return str(e.value)
    p = maths.generate(0, 0, 1)
    assert why(replace(p, gold='7', question='What is 2 + 3?'), 'numeric')=='the reading is not the gold answer'
    assert why(replace(p, question='How tall is the tower?'), 'numeric')=='no form that can be read'
    assert why(replace(p, gold='(1, 2)'), 'compositional')=='the answer is no plain number'
    assert why(replace(p, difficulty=8), 'numeric')=='as hard as it gets'
    assert why(mutate(p, 'distractor', rng_for(0)), 'numeric')=='has a distractor'
    c = code.generate(0, 0, 2)
    assert why(replace(c, meta={}), 'numeric')=='no reference program that passes'
    assert why(replace(c, meta=dict(solution='def f(*a): return 0')), 'distractor')=='no reference program that passes'
    l = logic.generate(0, 0, 1)
    assert why(replace(l, meta={}), 'numeric')=='no clues that can be read'
    assert why(replace(l, meta=l.meta | dict(clues=l.meta['clues'][:-1])), 'distractor')=='clues do not prove the gold answer'
    assert why(choice.generate(0, 0, 1), 'numeric')=='no mutator for such a task'
    for q in ('__import__("os").getcwd()', '9**9**9**9', '{'*5000, 'What is 9^9^9^9?', 'Compute $'+'('*3000+'.', 'f(1)=2'*2000, ''):
        for task in ('math', 'code', 'logic'):
            for name in mutator_names: mutators[name](Problem('x', task, 1, q, '1', task), rng_for(0))

def test_nothing_is_evaluated(monkeypatch):
    "Reading a question runs no `eval` and no `exec`"
    import builtins
    def never(*a, **kw): raise AssertionError('evaluated')
    for o in ('eval', 'exec', 'compile'): monkeypatch.setattr(builtins, o, never)
    assert read_math('What is 12 + 3 * 4?')[1]=='24'
    assert read_math('__import__("os")') is None

# --- ceilings

def recs(n, y, d=5, domain='math', copies=4, at=0):
    "Records of `n` problems asked `copies` times"
    v = {1:'right', 0:'wrong', None:'unjudgeable'}[y]
    return [Record(f'p{at+i}', domain, d, f'p{at+i}', v, c=.5) for i in range(n) for _ in range(copies)]

class Fixed:
    "A source with nothing to learn"
    def __init__(self, probs): self.probs = probs
    def sample(self, rng): return rng.choice(self.probs)
    def update(self, recs, problems=()): self.heard = len(recs)
    def state(self): return dict(control={'math':{}, 'logic':{}})
    def load(self, state): pass
    def logs(self): return {}

@pytest.mark.parametrize('n', [20, 40])
def test_promotes_at_three_quarters(n):
    "Exactly at .75 over `min_episodes`, and not an episode earlier"
    rule = Ceiling(min_episodes=n)
    s = new_ceiling(rule)
    moves = [observe(s, 5, float(i%4!=0), rule) for i in range(n)]
    assert moves==[0]*(n-1)+[1] and s['max_unlocked_difficulty']==6 and s['episodes_at_max']==0
    s = new_ceiling(rule)
    assert not any(observe(s, 5, float(i%4!=0 and i!=1), rule) for i in range(n))

def test_demotes_under_a_fifth():
    s = new_ceiling() | dict(max_unlocked_difficulty=7)
    assert not any(observe(s, 7, float(i%5==0)) for i in range(40))
    assert [observe(s, 7, 0.) for i in range(4)].count(-1)==1 and s['max_unlocked_difficulty']==6
    s = new_ceiling()
    assert not any(observe(s, 5, 0.) for i in range(200)), 'never under the end of the data'
    s = new_ceiling() | dict(max_unlocked_difficulty=8)
    assert not any(observe(s, 8, 1.) for i in range(200)), 'never over the top'

def test_cools_down():
    "After a move ten episodes do not count, so the next takes thirty"
    s = new_ceiling()
    at = [i for i in range(100) if observe(s, s['max_unlocked_difficulty'], 1.)]
    assert at==[19, 49, 79] and s['promotions']==3

def test_other_difficulties_do_not_count():
    s = new_ceiling()
    assert not any(observe(s, d, 1.) for d in (1, 2, 3, 4, 6, 7, 8) for _ in range(50)) and s==new_ceiling()

def test_unjudgeable_is_nothing():
    src = Mutating(Fixed([]))
    for i in range(50): src.update(recs(5, None, at=5*i))
    assert src.smc['math']==new_ceiling()

def test_an_episode_is_a_problem():
    "Sixteen completions of one problem are one episode, whatever is unjudgeable among them"
    src = Mutating(Fixed([]))
    src.update(recs(1, 1, copies=16))
    assert (src.smc['math']['episodes_at_max'], src.smc['math']['recent'])==(1, [1.])
    src.update(recs(1, 1, copies=1)+recs(1, 0, copies=3)+recs(1, None, copies=4))
    assert src.smc['math']['recent']==[1., .25]
    bad = [replace(recs(1, 1)[0], verdict=o) for o in ('malformed', 'abstained')]
    src.update(bad)
    assert src.smc['math']['recent'][-1]==0.

def test_domains_are_apart():
    src = Mutating(Fixed([]))
    src.update(recs(20, 1))
    assert (src.smc['math']['max_unlocked_difficulty'], src.smc['logic']['max_unlocked_difficulty'])==(6, 5)
    src.update(recs(20, 1, domain='poetry'))
    assert set(src.smc)=={'math', 'logic'}

def test_state_round_trip():
    "Through JSON and back, bit for bit, in the middle of a run; and the draws go on alike"
    probs = [maths.generate(2, i, 5) for i in range(20)]
    one,two = (Mutating(Fixed(probs)) for _ in range(2))
    for i in range(7): one.update(recs(5, 1, at=5*i)+recs(2, 0, at=5*i))
    one.update([], [one.sample(rng_for(i)) for i in range(20)])
    said = json.dumps(one.state())
    two.load(json.loads(said))
    assert json.dumps(two.state())==said
    assert [one.sample(rng_for('x', i)) for i in range(20)]==[two.sample(rng_for('x', i)) for i in range(20)]
    for src in (one, two): src.update(recs(30, 1, d=src.smc['math']['max_unlocked_difficulty'], at=900))
    assert one.state()==two.state()
    two.load(dict(control={}))
    assert two.smc['math']==new_ceiling()

def test_sample_changes_nothing():
    src = Mutating(Fixed([maths.generate(2, i, d) for i in range(10) for d in (4, 5)]))
    src.update(recs(20, 1))
    before = json.dumps(src.state())
    got = [src.sample(rng_for(i)) for i in range(60)]
    assert json.dumps(src.state())==before and got==[src.sample(rng_for(i)) for i in range(60)]
    assert {o.difficulty for o in got}=={4, 5, 6}
    share = Counter(o.difficulty for o in got)
    assert .5<share[6]/(share[5]+share[6])<1

def test_keys_and_logs():
    "The runbook's keys and names; drops are counted once a problem"
    riddle = Problem('r', 'math', 5, 'Which word has percent in it? N M K P Q R S T U V W', 'x', 'math')
    src = Mutating(Fixed([riddle]), Ceiling(min_episodes=1, cooldown=0))
    src.update(recs(1, 1))
    for i in range(9):
        if (p := src.sample(rng_for(i))).meta.get('dropped'): break
    src.update([Record(p.id, 'math', p.difficulty, p.cluster, 'wrong', c=.5)]*4, [p]*4)
    state = src.state()['smc']
    assert set(state)=={'math', 'logic'} and {'max_unlocked_difficulty', 'episodes_at_max'}<=state['math'].keys()
    logs = src.logs()
    assert {'smc/math/max_unlocked', 'smc/math/episodes_at_max', 'smc/logic/max_unlocked', 'smc/dropped'}<=logs.keys()
    assert logs['smc/dropped']==sum(p.meta['dropped'].values())>0

def test_through_the_environment():
    "The whole way: a curriculum, a learner that is always right, and problems of difficulty 8 in the end"
    probs = [maths.generate(4, i, d) for d in range(1, 6) for i in range(8)]+[logic.order_puzzle(4, i, d+2) for d in range(1, 6) for i in range(8)]
    env = Env(Mutating(Curriculum(Sampler(probs)), Ceiling(min_episodes=3, cooldown=1)))
    top = Counter()
    for k in range(60):
        ps = [env.draw(6*k+i) for i in range(6) for _ in range(2)]
        env.update([Record(p.id, p.domain, p.difficulty, p.cluster, 'right', c=.9) for p in ps], ps)
        for p in ps: top[p.domain] = max(top[p.domain], p.difficulty)
    assert top=={'math':8, 'logic':8}
    assert env.source.logs()['controller/math/target']==5
