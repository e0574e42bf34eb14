"Self-play: the proposer's pay, its policy and floor, finding a weak region, and a state that comes back to the bit."
import json, math
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Problem, Record, Skip, plain, rng_for
from honest.data import Sampler
from honest.env import Curriculum, Env
from honest.protocol import render
from honest.replay import Replay, entropy
from honest.selfplay import Arm, SelfPlay, arms_of, estimates, generators, policy, proposer_pay, with_floor
from honest.tasks import choice

bank = [choice.generate(3, i, d) for d in range(1, 6) for i in range(6)]

def toy(domain): return lambda seed, i, k: Problem(f'{domain}-{k}-{seed%997}-{i}', domain, k, f'{domain} {k} {i}', '1', 'math')
toys = {d:toy(d) for d in ('math', 'code', 'logic')}
def source(): return Curriculum(Sampler(bank))
def new(**kw): return SelfPlay(source(), toys, **kw)
def rec(p, verdict='right', c=None): return Record(p.id, p.domain, p.difficulty, p.cluster, verdict, c=c)

def solve(p, rng, weak, gap, n=8):
    "Completions of a solver who states its own chance, `gap` above it in the `weak` cell"
    chance = .9-.15*(p.difficulty-1)
    c = min(chance+gap, 1.) if (p.domain, p.difficulty)==weak else chance
    return [rec(p, 'right' if rng.random()<chance else 'wrong', c) for _ in range(n)]

def step(src, seed, t, weak, gap, n=16):
    "One update; returns the problems that the proposer wrote"
    probs = [src.sample(rng_for(seed, t, j)) for j in range(n)]
    groups = [solve(p, rng_for(seed, t, j, 'solve'), weak, gap) for j,p in enumerate(probs)]
    src.update([r for g in groups for r in g], [p for p,g in zip(probs, groups) for _ in g])
    return [p for p in probs if 'arm' in p.meta]

# ---- pay

@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=10))
def test_pay_is_the_mean_over_pairs(rows):
    recs = [rec(bank[0], 'right' if y else 'wrong', c) for y,c in rows]
    d = [c-y for y,c in rows]
    pairs = [a*b for i,a in enumerate(d) for j,b in enumerate(d) if i!=j]
    assert math.isclose(proposer_pay(recs), sum(pairs)/len(pairs), abs_tol=1e-12)
    assert -1<=proposer_pay(recs)<=1

@pytest.mark.parametrize('p,c', [(.5, .5), (.2, .2), (.2, .8), (.7, .9)])
def test_pay_is_unbiased(p, c):
    "Exactly: its mean over every outcome of three completions is the squared gap"
    total = 0.
    for k in range(8):
        ys = [k>>i&1 for i in range(3)]
        total += math.prod(p if y else 1-p for y in ys)*proposer_pay([rec(bank[0], 'right' if y else 'wrong', c) for y in ys])
    assert math.isclose(total, (c-p)**2, abs_tol=1e-12)

def test_nothing_to_gain_from_broken_or_declined_answers():
    assert proposer_pay([rec(bank[0], 'malformed'), rec(bank[0], 'abstained')]*4)==0
    assert proposer_pay([rec(bank[0], 'unjudgeable', .9)]*4) is None
    some = [rec(bank[0], 'wrong', 1.)]*4
    assert proposer_pay(some+[rec(bank[0], 'malformed')]*4) < proposer_pay(some)

# ---- policy

@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.floats(1e-3, 10), st.floats(0, 1))
def test_policy_is_a_distribution_that_prefers_pay(means, tau, explore):
    ps = policy(means, tau, explore)
    assert math.isclose(math.fsum(ps), 1) and min(ps)>=0
    assert ps[max(range(len(means)), key=means.__getitem__)]>=max(ps)-1e-12
    assert min(ps)>=explore/len(ps)-1e-12

@given(st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda o: sum(o)>1e-3), st.floats(0, .99))
def test_floor_holds_and_keeps_the_order(ws, floor):
    ps = [o/math.fsum(ws) for o in ws]
    got = with_floor(ps, floor*math.log(len(ps)))
    assert entropy(got)>=floor*math.log(len(ps))-1e-9
    assert math.isclose(math.fsum(got), 1)
    assert all((a<=b+1e-12) for (p,a) in zip(ps, got) for (q,b) in zip(ps, got) if p<q)

@given(st.lists(st.tuples(st.floats(0, 50), st.floats(-.2, 1)), min_size=8, max_size=8))
def test_estimates_stay_among_what_was_paid(rows):
    arms = arms_of(['math', 'logic'], [1, 2], ['numeric'])
    stats = {a.name:[n, n*m] for a,(n,m) in zip(arms, rows)}
    lo,hi = min([0.]+[m for _,m in rows]),max([0.]+[m for _,m in rows])
    assert all(lo-1e-9<=m<=hi+1e-9 for m in estimates(arms, stats))

# ---- finding the weak region

@pytest.mark.parametrize('weak,gap', [(('code', 3), .35), (('logic', 5), .6)])
def test_finds_the_planted_region(weak, gap):
    "Well above an even choice (1/15), in every one of several seeds on average, and none without a region"
    def late(seed, weak):
        src = new(seed=seed, patience=10**6)
        wrote = [step(src, seed, t, weak, gap) for t in range(60)]
        tail = [p for o in wrote[30:] for p in o]
        return sum((p.domain, p.difficulty)==target for p in tail)/len(tail)
    target = weak
    found,none = [late(s, weak) for s in range(6)],[late(s, None) for s in range(6)]
    m = sum(found)/6
    half = 2.57*(sum((o-m)**2 for o in found)/5/6)**.5   # t quantile, 5 degrees of freedom
    assert m-half > 2/15, found
    assert sum(none)/6 < 2/15, none

def test_an_arm_that_pays_on_broken_answers_only_is_not_liked():
    src = new()
    arm = Arm('math', 1)
    for t in range(30):
        p = src.propose(arm, rng_for(t))
        src.update([rec(p, 'malformed')]*4, [p]*4)
    assert math.isclose(max(src.chances()), min(src.chances()), abs_tol=1e-9)

# ---- the source

def test_sampling_changes_nothing():
    src = new(share=.9)
    step(src, 0, 0, ('math', 1), .5)
    before = json.dumps(src.state())
    a,b = ([src.sample(rng_for(i)) for i in range(30)] for _ in range(2))
    assert a==b and json.dumps(src.state())==before

def test_the_wrapped_source_hears_of_its_own_problems_only():
    src = new(share=.5)
    wrote = step(src, 0, 0, None, 0., n=40)
    assert 0<len(wrote)<40
    assert src.source.control['choice']['seen']==8*(40-len(wrote))
    assert src.state()['self_play']['proposals']==len(wrote)

def test_a_replayed_proposal_is_not_paid_twice():
    "Replay around self-play: what comes back was chosen for its error and tells nothing of the arm"
    src = Replay(new(share=.9), size=16, warmup=3, mix=.999)
    p = src.source.propose(Arm('math', 1), rng_for(0))
    src.update([rec(p, 'wrong', .9)]*4, [p]*4)
    assert src.source.state()['self_play']['proposals']==1
    back = replace(p, meta=p.meta|dict(replayed=True))
    src.update([rec(p, 'wrong', .9)]*4, [back]*4)
    src.source.update([rec(p, 'wrong', .9)]*4, [back]*4)
    assert src.source.state()['self_play']['proposals']==1
    assert src.buffer[f'math/{p.id}']['problem']['meta']['arm']=='math/1/generate'

@pytest.mark.parametrize('domain', ['math', 'logic'])
def test_real_generators_through_the_judge(domain):
    src = SelfPlay(source(), {domain:generators[domain]}, difficulties=(1, 2), share=.9)
    env = Env(src)
    probs = [src.propose(a, rng_for(a.name)) for a in src.arms]
    def gold(p):
        if p.domain=='math': return p.gold
        return '\n'.join(f'House {row[0]}: '+', '.join(row[1:]) for row in p.gold['rows'])
    recs = env.grade(probs, [render('r', gold(p), .9) for p in probs])
    assert {o.verdict for o in recs}=={'right'}
    assert all(p.split=='train' for p in probs)

def test_mutators_are_arms_and_a_refusal_falls_back():
    seen = []
    def double(problem, rng): seen.append(rng.random()); return replace(problem, id=problem.id+'-m')
    def skips(problem, rng): raise Skip('no')
    src = new(mutators=dict(double=double, never=lambda p, rng: None, skips=skips))
    assert len(src.arms)==3*5*4
    assert src.propose(Arm('math', 1, 'skips'), rng_for(1)).meta['arm']=='math/1/generate'
    p,q = src.propose(Arm('code', 2, 'double'), rng_for(1)),src.propose(Arm('code', 2, 'never'), rng_for(1))
    assert p.id.endswith('-m') and p.meta['arm']=='code/2/double'
    assert q.meta['arm']=='code/2/generate'
    assert src.propose(Arm('code', 2, 'double'), rng_for(1))==p and seen[0]==seen[1]

@pytest.mark.parametrize('kw', [dict(share=1.), dict(tau=0), dict(explore=2), dict(keep=0), dict(floor=1.), dict(patience=0), dict(shrink=0)])
def test_settings_are_checked(kw):
    with pytest.raises(ValueError, match='^self-play .*expected'): new(**kw)

# ---- guard and state

def test_a_proposer_on_its_floor_is_reseeded(capsys):
    src = new(tau=.01, floor=.8, patience=10)
    for t in range(40): step(src, 0, t, ('code', 3), .5)
    assert src.reseeds>=1 and src.epoch==src.reseeds
    assert 're-seeded' in capsys.readouterr().out
    a,b = new(),new()
    b.epoch = 1
    assert a.propose(Arm('math', 1), rng_for(0)).id!=b.propose(Arm('math', 1), rng_for(0)).id

@settings(max_examples=10)
@given(st.integers(0, 99), st.integers(0, 12))
def test_state_through_json_is_the_same_source(seed, stop):
    kw = dict(tau=.02, floor=.7, patience=4, share=.8)
    a,b = new(**kw),new(**kw)
    for t in range(stop): step(a, seed, t, ('code', 3), .5, n=6)
    b.load(json.loads(json.dumps(plain(a.state()), allow_nan=False)))
    for t in range(stop, stop+4):
        assert json.dumps(a.state())==json.dumps(b.state())
        assert step(a, seed, t, ('code', 3), .5, n=6)==step(b, seed, t, ('code', 3), .5, n=6)

def test_state_of_other_arms_and_of_none():
    a = new(share=.9)
    step(a, 0, 0, ('math', 1), .5)
    b = SelfPlay(source(), dict(math=toys['math'], extra=toy('extra')))
    b.load(json.loads(json.dumps(a.state())))
    assert set(b.stats)=={x.name for x in b.arms} and b.stats['extra/1/generate']==[0., 0.]
    b.load(dict(control=a.source.state()['control']))
    assert b.state()['self_play']['proposals']==0 and b.updates==0

def test_logs():
    src = new(share=.9)
    step(src, 0, 0, ('math', 1), .5)
    logs = src.logs()
    assert {'self_play/entropy', 'self_play/top_share', 'self_play/reward', 'self_play/math/share', 'controller/choice/target'} <= set(logs)
    assert math.isclose(sum(logs[f'self_play/{d}/share'] for d in toys), 1)
