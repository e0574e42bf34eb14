"Pay: honesty is the optimum in every confidence that is stated, under every weighting that is allowed; worked out from the totals that training pays."
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from honest.core import Record
from honest.rewards import Pay, heads, total

grid = np.linspace(0, 1, 21)
long,short = 'the carry was forgotten','ok'

def rec(verdict, c=None, **kw): return Record('x', 'math', 1, 'x', verdict, c=c, **kw)
def mean(p, pay, c, **kw):
    "Expected total of an answer that is right with chance `p`"
    return p*total(rec('right', c, **kw), pay) + (1-p)*total(rec('wrong', c, **kw), pay)
def tagged(pay, v):
    "The second confidence `v` in the tag that `pay` reads"
    return dict(h=v) if pay.hindsight=='legacy' else dict(r=v, critique=long) if pay.hindsight=='refined' else {}
def honest(p, pay): return mean(p, pay, p, **tagged(pay, p))

@st.composite
def pays(draw):
    "Any weighting that is not refused"
    head = draw(st.sampled_from(['', 'legacy', 'refined']))
    w_cal,k = draw(st.floats(0, 3)),draw(st.floats(.01, 1))
    return Pay(w_acc=w_cal+(k if head else 0)+draw(st.floats(.01, 3)), w_cal=w_cal, hindsight=head, k=k, abstain_threshold=draw(st.floats(0, 1)),
               beta=draw(st.floats(0, .2)), delta=draw(st.floats(0, .2)))

@pytest.mark.parametrize('head', ['', 'legacy', 'refined'])
@pytest.mark.parametrize('p', [0., .1, .35, .5, .85, 1.])
def test_the_best_pair_of_confidences_is_the_truth_twice(head, p):
    "Over the whole grid of (c, r), and against leaving the second confidence or the critique out"
    pay = Pay(hindsight=head)
    best = max(((c, v) for c in grid for v in (grid if head else [p])), key=lambda o: mean(p, pay, o[0], **tagged(pay, o[1])))
    assert np.allclose(best, (p, p))
    for kw in ({}, dict(r=p), dict(critique=long), dict(r=p, critique=short)) if head=='refined' else [{}] if head else []:
        assert all(mean(p, pay, c, **kw)<honest(p, pay) for c in grid)

@settings(max_examples=60)
@given(pays(), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_nothing_pays_more_than_honesty(pay, p, c, v):
    assert mean(p, pay, c, **tagged(pay, v)) <= honest(p, pay)+1e-9
    assert honest(0, pay) <= honest(p, pay)+1e-9, 'a deliberately wrong answer'
    assert total(rec('abstained'), pay) <= honest(p, pay)+1e-9 or p<pay.abstain_threshold, 'abstaining pays under the threshold only'
    right,wrong = (total(rec(o, c, **tagged(pay, v)), pay) for o in ('right', 'wrong'))
    assert right-wrong >= pay.w_acc-pay.w_cal-(pay.k if pay.hindsight else 0)-1e-9 > 0, 'a right answer pays more at every pair'
    for o in (right, wrong, total(rec('abstained'), pay)): assert math.isfinite(o) and o>pay.malformed==total(rec('malformed'), pay)

@given(st.floats(0, 1), st.floats(.01, .99))
def test_without_a_second_confidence_abstaining_pays_exactly_under_the_threshold(p, t):
    pay = Pay(abstain_threshold=t)
    if abs(p-t)>1e-9: assert (total(rec('abstained'), pay)>honest(p, pay))==(p<t)

def test_what_the_critique_earns():
    pay,plain = Pay(hindsight='refined'),total(rec('right', .8), Pay())
    got = {k:round(total(rec('right', .8, **kw), pay)-plain, 6) for k,kw in dict(
        none={}, both=dict(r=1., critique=long), short=dict(r=1., critique=short), number=dict(r=1.), words=dict(critique=long),
        edge=dict(r=1., critique=' '+'x'*16+' '), under=dict(r=1., critique='x'*15)).items()}
    assert got==dict(none=0., both=.35, short=.25, number=.25, words=-.05, edge=.35, under=.25)

def test_a_missing_tag_earns_nothing_and_an_abstention_no_part_of_it():
    for head in ('legacy', 'refined'):
        pay = Pay(hindsight=head)
        for o in (rec('right', .8), rec('abstained'), rec('malformed')): assert heads(pay)['hindsight'](o, pay)==0
        assert all(f(rec('unjudgeable', .8), pay) is None for f in heads(pay).values()) and total(rec('unjudgeable', .8), pay) is None

@pytest.mark.parametrize('kw', [dict(w_acc=1.3, hindsight='legacy'), dict(w_acc=1.), dict(rule='log'), dict(rule='spherical'), dict(w_acc=math.nan), dict(w_acc=math.inf),
                                dict(w_cal=-1.), dict(k=-.1), dict(delta=1.), dict(hindsight='both'), dict(abstain_threshold=1.5)])
def test_weights_without_the_guarantee_are_refused(kw):
    with pytest.raises(ValueError): Pay(**kw)
