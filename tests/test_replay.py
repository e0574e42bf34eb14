"Replay: exact proportional drawing, one entry a problem, the guard, and a state that comes back to the bit."
import json, math, random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Problem, Record, plain, read_json, rng_for, write_json
from honest.data import Sampler
from honest.env import Curriculum, Env
from honest.protocol import render
from honest.replay import Replay, entropy, group_error, importance, pick, top_share, whole
from honest.tasks import choice

floats = st.floats(0, 1e300, allow_subnormal=True)
probs = [choice.generate(1, i, d) for d in range(1, 6) for i in range(12)]

class Ticket:
    "A generator that hands out one chosen ticket"
    def __init__(self, at): self.at = at
    def randrange(self, n): return self.at

def new(**kw): return Replay(Curriculum(Sampler(probs)), **dict(size=32, warmup=8) | kw)
def rec(p, verdict='right', c=None): return Record(p.id, p.domain, p.difficulty, p.cluster, verdict, c=c)
def fill(src, n=20, c=.5): src.update([rec(p, 'right', c) for p in probs[:n]], probs[:n])

# ---- drawing

@given(st.lists(floats, min_size=1, max_size=8))
def test_whole_numbers_keep_the_proportion(ps):
    w = whole(ps)
    for a,p in zip(w, ps):
        for b,q in zip(w, ps): assert a*Fraction(q)==b*Fraction(p)

@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any), st.integers(-200, 200))
def test_every_ticket_goes_to_its_index(ns, k):
    "Each index gets exactly its number of the tickets, whatever the scale, ties and zeros included"
    ps = [math.ldexp(n, k) for n in ns]
    w = whole(ps)
    assert w==[n//math.gcd(*ns) for n in ns]
    got = [pick(ps, Ticket(o)) for o in range(sum(w))]
    assert [got.count(i) for i in range(len(ns))]==w
    assert [Fraction(a, sum(w)) for a in w]==[Fraction(n, sum(ns)) for n in ns]

@given(st.lists(floats, min_size=1, max_size=20), st.integers())
def test_pick_is_deterministic_and_never_takes_a_zero(ps, seed):
    i = pick(ps, random.Random(seed))
    assert i==pick(ps, random.Random(seed))
    assert ps[i]>0 or not any(ps)

@pytest.mark.parametrize('bad', [math.nan, math.inf, -1e-9])
def test_bad_priorities_are_refused(bad):
    with pytest.raises(ValueError, match='expected a finite number'): pick([1., bad], random.Random(0))

@given(st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=30))
def test_spread_bounds(ps):
    assert -1e-9 <= entropy(ps) <= math.log(len(ps))+1e-9
    assert 1/len(ps)-1e-9 <= top_share(ps) <= 1
    assert max(importance(ps))<=1 and min(importance(ps))>0

@given(st.lists(st.tuples(st.floats(1e-6, 1), st.floats(-5, 5)), min_size=1, max_size=20))
def test_importance_undoes_the_priority(rows):
    ps,xs = [p for p,_ in rows],[x for _,x in rows]
    w = importance(ps)
    even = math.fsum(p*v*x for p,v,x in zip(ps, w, xs))/math.fsum(p*v for p,v in zip(ps, w))
    assert math.isclose(even, sum(xs)/len(xs), abs_tol=1e-9)

# ---- entries

verdicts = st.sampled_from(['right', 'wrong', 'malformed', 'abstained', 'unjudgeable'])

@given(st.lists(st.tuples(verdicts, st.floats(0, 1)), max_size=12))
def test_error_is_a_mean_in_the_unit_interval(rows):
    recs = [rec(probs[0], v, None if v in ('malformed', 'abstained') else c) for v,c in rows]
    e = group_error(recs)
    counted = [v for v,_ in rows if v in ('right', 'wrong', 'abstained')]
    assert (e is None)==(not counted)
    assert e is None or 0<=e<=1
    assert e==group_error(recs[::-1])

def test_what_does_not_count_leaves_the_entry_alone():
    src = new()
    src.update([rec(probs[0], 'wrong', .8)], probs[:1])
    src.update([rec(probs[0], 'malformed'), rec(probs[1], 'malformed')], probs[:2])
    assert [o['error'] for o in src.buffer.values()]==[.8]
    src.update([rec(probs[0], 'abstained')], probs[:1])
    assert [o['error'] for o in src.buffer.values()]==[0.]

def test_ring_drops_the_oldest_and_being_asked_again_does_not_help():
    src = new(size=8)
    fill(src, 8)
    src.update([rec(probs[0], 'wrong', 1.)], probs[:1])
    src.update([rec(probs[8], 'right', 1.)], probs[8:9])
    assert [o['problem']['id'] for o in src.buffer.values()]==[p.id for p in probs[1:9]]

def test_same_id_in_two_domains_is_two_entries():
    a = probs[0]
    b = replace(a, domain='logic')
    src = new()
    src.update([rec(a, 'right', .9), rec(b, 'wrong', .9)], [a, b])
    assert len(src.buffer)==2

def test_problems_and_records_are_parallel():
    with pytest.raises(ValueError, match='one problem a record'): new().update([rec(probs[0], 'right', .5)], probs[:2])

@pytest.mark.parametrize('kw', [dict(size=2, warmup=2), dict(mix=1.), dict(mix=-.1), dict(alpha=-1), dict(alpha=9), dict(eps=0), dict(warmup=2), dict(warmup=33), dict(pause=0)])
def test_settings_are_checked(kw):
    with pytest.raises(ValueError, match='^replay .*expected'): new(**kw)

# ---- the wrapped source

def test_curriculum_hears_only_of_its_own_draws():
    "Problems that came back because they went wrong do not pull the difficulty down"
    src = new(mix=.999)
    fill(src)
    seen = src.source.control['choice']['seen']
    back = next(p for p in (src.sample(rng_for(i)) for i in range(50)) if p.meta.get('replayed'))
    src.update([rec(back, 'wrong', .9)]*4, [back]*4)
    assert src.source.control['choice']['seen']==seen
    assert src.buffer[f'choice/{back.id}']['error']==.9
    assert 'replayed' not in src.buffer[f'choice/{back.id}']['problem']['meta']
    assert src.logs()['replay/served']==1

def test_sampling_changes_nothing_and_depends_on_the_generator_only():
    src = new(mix=.9)
    fill(src)
    before = json.dumps(src.state())
    a,b = ([src.sample(rng_for(7, i)).id for i in range(30)] for _ in range(2))
    assert a==b and json.dumps(src.state())==before

def test_off_or_cold_is_the_wrapped_source():
    src = new(mix=.9)
    fill(src, 7)
    assert [src.sample(rng_for(i)) for i in range(20)]==[src.source.sample(rng_for(i)) for i in range(20)]

def test_a_replayed_problem_is_judged_like_the_first_time():
    env = Env(new(mix=.999))
    fill(env.source)
    back = [p for p in map(env.draw, range(60)) if p.meta.get('replayed')]
    recs = env.grade(back, [render('r', p.gold['label'], .7) for p in back])
    assert len(back)>40 and all(o.verdict=='right' for o in recs)
    plain_ones = {p.id:p for p in probs}
    assert all(replace(p, meta={k:v for k,v in p.meta.items() if k!='replayed'})==plain_ones[p.id] for p in back)

# ---- guard

def dominated(**kw):
    "A buffer in which one prompt, badly missed, stands among well judged ones"
    src = new(**dict(alpha=6.) | kw)
    src.update([rec(p, 'right', 1.) for p in probs[:19]]+[rec(probs[19], 'wrong', 1.)], probs[:20])
    return src

def test_a_dominating_prompt_pauses_replay_for_50_steps(capsys):
    src = dominated(mix=.9)
    assert src.state()['replay']['priority_entropy']<math.log(2)
    out = capsys.readouterr().out
    assert 'under log 2' in out and 'off for 50 steps' in out
    own = [src.source.sample(rng_for(i)) for i in range(30)]
    for left in range(50, 0, -1):
        assert (src.off, src.active)==(left, False)
        assert [src.sample(rng_for(i)) for i in range(30)]==own or left<50   # The curriculum may have moved since
        assert not any(src.sample(rng_for(i)).meta.get('replayed') for i in range(30))
        if left>1: src.update([rec(probs[0], 'right', 1.)], probs[:1])
    src.update([rec(p, 'right', .1) for p in probs[:19]], probs[:19])
    assert src.active and src.pauses==1
    assert any(src.sample(rng_for(i)).meta.get('replayed') for i in range(30))

def test_a_prompt_that_still_dominates_pauses_it_again(capsys):
    src = dominated(pause=3)
    for _ in range(7): src.update([rec(probs[0], 'right', 1.)], probs[:1])
    assert src.pauses==3 and capsys.readouterr().out.count('off for 3 steps')==3

def test_low_entropy_warns_once_until_it_recovers(capsys):
    src = new(alpha=8., warmup=3, eps=1e-6)
    def put(*cs): src.update([rec(p, 'wrong', c) for p,c in zip(probs, cs)], probs[:len(cs)])
    for _ in range(3): put(1., 1., .6)             # two and a bit: between log 2 and 1.0
    assert math.log(2)<=entropy(src.priorities())<1 and src.active
    assert capsys.readouterr().out.count('under 1.0')==1
    put(1., 1., 1.)
    put(1., 1., .6)
    assert capsys.readouterr().out.count('under 1.0')==1

def test_one_process_of_many_speaks(capsys, monkeypatch):
    monkeypatch.setenv('RANK', '1')
    dominated()
    assert capsys.readouterr().out==''

# ---- state

@settings(max_examples=25)
@given(st.lists(st.lists(st.tuples(st.integers(0, len(probs)-1), verdicts, st.floats(0, 1)), min_size=1, max_size=10), min_size=1, max_size=8), st.sampled_from([.6, 8.]))
def test_state_through_json_is_the_same_source(batches, alpha):
    "After any history: same state, same draws, and the same again after one more update"
    a,b = new(alpha=alpha, warmup=3, mix=.8),new(alpha=alpha, warmup=3, mix=.8)
    def tell(src, rows): src.update([rec(probs[i], v, c if v in ('right', 'wrong') else None) for i,v,c in rows], [probs[i] for i,_,_ in rows])
    for rows in batches: tell(a, rows)
    b.load(json.loads(json.dumps(plain(a.state()), allow_nan=False)))
    for _ in range(2):
        assert json.dumps(a.state())==json.dumps(b.state())
        assert [a.sample(rng_for(i)) for i in range(20)]==[b.sample(rng_for(i)) for i in range(20)]
        for src in (a, b): tell(src, batches[0])

def test_state_file_has_the_keys_that_are_looked_at(tmp_path):
    src = new()
    fill(src)
    write_json(tmp_path/'replay_state.json', src.state()['replay'])
    s = read_json(tmp_path/'replay_state.json')
    assert s['size']==20 and len(s['buffer'])==20
    assert math.isclose(s['priority_entropy'], math.log(20)) and math.isclose(s['top1_share'], .05)

def test_gold_of_any_shape_comes_back_the_same():
    p = Problem('t', 'code', 3, 'q', dict(kind='call', inputs=[(1, 'é')], rows=((1, 2), (3, 4))), 'code', meta={'n':(1, 2), 5:'x'})
    a,b = (Replay(Curriculum(Sampler(probs)), size=8, warmup=3, mix=.999) for _ in range(2))
    fill(a, 3)
    a.update([rec(p, 'wrong', .9)]*2, [p, p])
    b.load(json.loads(json.dumps(a.state())))
    one,two = ([s.sample(rng_for(i)) for i in range(20)] for s in (a, b))
    assert one==two and any(o.id=='t' for o in one)

def test_loading_a_smaller_buffer_or_none():
    src,small,none = new(),new(size=8, warmup=3),new()
    fill(src)
    small.load(src.state())
    assert [o['problem']['id'] for o in small.buffer.values()]==[p.id for p in probs[12:20]]
    none.load(dict(control=src.source.state()['control']))
    assert not none.buffer and none.state()['replay']['size']==0
