"Multiple choice: any answer gets a verdict, labels are the row's own, and both forms of a row agree."
import time

from hypothesis import given, settings, strategies as st
import pytest

from honest.core import Problem, Skip
from honest.tasks.choice import ask, from_arc, from_commonsense_qa, from_lsat, from_mmlu, generate, verify

texts = st.lists(st.text(min_size=1, max_size=30).filter(lambda s: s.strip()), min_size=2, max_size=5)
labelled = st.sampled_from(['ABCDE', '12345', 'abcde'])

@st.composite
def problems(draw):
    options,labels = draw(texts),draw(labelled)
    labels = list(labels[:len(options)])
    return ask('x', 'demo', 'Which?', labels, options, draw(st.sampled_from(labels)))

@settings(max_examples=150)
@given(problems(), st.text(max_size=80))
def test_never_raises(p, s): assert verify(p, s).right in (True, False)

@settings(max_examples=150)
@given(problems())
def test_labels_decide(p):
    "The gold label is right in every spelling, and every other label wrong"
    for k,o in zip(p.gold['labels'], p.gold['options']):
        for s in (k, f'({k})', f'{k}.', f'{k})', f'Option {k}', f'The answer is {k}', f' {k}\n', f'**{k}**', f'{k}) {o}'):
            assert verify(p, s).right == (k==p.gold['label']), s

@pytest.mark.parametrize('s', ['A or B', 'A and B', 'A, B', 'A/B', 'AB', 'not A', 'A is wrong', 'A. B.', 'A) or B)', 'A) maybe', 'A A', '(A)(B)', 'anything'])
def test_names_one_option(s): assert verify(ask('x', 'demo', 'Which?', 'AB', ['fig', 'stone'], 'A'), s).right is False

@pytest.mark.parametrize('s', [' '*9000, '('*9000, '*'*9000, 'A'+' '*9000+'x', '$'*9000, 'the answer is '*700, '[('*4000, 'a (' * 3000])
def test_long_answers_cost_little(s):
    p,t = ask('x', 'demo', 'Which?', 'AB', ['fig '*900, 'stone'], 'A'),time.thread_time()
    verify(p, s)
    assert time.thread_time()-t < 1

@pytest.mark.parametrize('o', [None, 'B', {}, {'label':'B'}, {'label':'B', 'labels':['A'], 'options':['x']}, {'label':'A', 'labels':['A'], 'options':[3]}, ['A'], 7])
def test_gold_that_cannot_be_read(o): assert verify(Problem('x', 'demo', 1, 'Which?', o, 'choice'), 'A').right is None

@pytest.mark.parametrize('o', [None, 7, 1.5, ['A'], b'A'])
def test_answer_that_is_no_text(o): assert verify(ask('x', 'demo', 'Which?', 'AB', ['fig', 'stone'], 'A'), o).right is False

@pytest.mark.parametrize('f', [from_arc, from_commonsense_qa, from_lsat, from_mmlu])
@pytest.mark.parametrize('row', [{}, {'question':None}, {'question':'q', 'choices':None, 'answerKey':'A'}, {'question':'q', 'choices':[1, 2], 'answer':0},
    {'question':'q', 'choices':{'label':['A'], 'text':['x', 'y']}, 'answerKey':'A'}, {'question':'q', 'choices':['a', 'b'], 'answer':None},
    {'question':'q', 'choices':['a', 'b'], 'answer':True}, {'question':'q', 'choices':['a', 'b'], 'answer':7}, {'question':'q', 'options':['x', None], 'label':'A'},
    {'question':7, 'choices':['a', 'b'], 'answer':0}, {'query':'q', 'choices':['a'], 'gold':[]}, {'question':{'stem':'s', 'choices':[{'text':'x'}]}, 'answerKey':'A'}])
def test_broken_rows_are_skipped(f, row):
    with pytest.raises(Skip): f(row, 0)

def test_generated():
    "Gold proven by the verifier, every label used, splits apart"
    ps = [generate(s, i, d, split) for split in ('train', 'test') for s in (1, 2) for d in (1, 4, 8) for i in range(80)]
    for p in ps: assert [verify(p, k).right for k in p.gold['labels']] == [k==p.gold['label'] for k in p.gold['labels']]
    assert {p.gold['label'] for p in ps} == set('ABCDE12345')
    stems = [{p.question.split('\n')[0] for p in ps if p.split==o} for o in ('train', 'test')]
    assert not stems[0] & stems[1] and len({p.id for p in ps})==len(ps)
