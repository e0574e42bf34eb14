"The embedded model: its world keeps its promises, and the shipped weights keep theirs."
import json
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from honest.core import file_hash
from honest.judge import judge, verify
from honest.nano import (batch, build_model, build_tokenizer, lesson, nano_home, nano_path, nano_problem, slices, split_of, write_world)
from honest.protocol import parse, prompt

domains = ('math', 'code', 'logic')
coords = dict(domain=st.sampled_from((*domains, *slices)), d=st.integers(1, 5), seed=st.integers(0, 10**6), i=st.integers(0, 10**6),
              split=st.sampled_from(('train', 'test')))

@settings(max_examples=60)
@given(**coords)
def test_problem(domain, d, seed, i, split):
    "Item `i` is a function of `(seed, i)`, stays in its split, and is asked and answered within the tokenizer's words"
    prob = nano_problem(domain, d, seed, i, split)
    assert prob==nano_problem(domain, d, seed, i, split)
    assert split_of(domain, prob.question)==split==prob.split
    assert len(prob.question)<=96 and prob.question.isprintable()
    assert json.loads(json.dumps(prob.gold))==prob.gold

@pytest.mark.parametrize('domain', [*domains, *slices])
def test_gold_passes_near_miss_fails(domain):
    "The world's own answer is right, and one that is a little off is wrong"
    for d in range(1, 6):
        prob = nano_problem(domain, d, 1, 0)
        ans = prob.meta['solution']
        off = {'math':ans+'1', 'code':ans+'+1', 'logic':ans[1::-1]+ans[2:]}.get(domain) or 'BCDA'['ABCDE'.index(ans)%4]
        assert verify(prob, ans).right is True and verify(prob, off).right is False, prob

def test_logic_unique():
    "One order and no other fits the clues"
    from itertools import permutations
    def ok(clue, at):
        a,k,b = clue
        return {'<':lambda: at[a]<at[b], '>':lambda: at[a]>at[b], '-':lambda: abs(at[a]-at[b])==1, '!':lambda: at[a]+1!=int(b)}[k]()
    for d in range(1, 6):
        for i in range(20):
            prob = nano_problem('logic', d, 3, i)
            fits = [o for o in permutations(prob.gold['order'])
                    if all(ok(c, {n:k for k,n in enumerate(o)}) for c in prob.question.split())]
            assert fits==[tuple(prob.gold['order'])], prob

def test_choice_options():
    "One right option among distinct ones, each label about as often right as any other"
    for k in slices:
        probs = [nano_problem(k, 1+i%5, 5, i) for i in range(500)]
        for o in probs: assert len(set(o.gold['options']))==len(o.gold['labels']) and o.gold['options'][o.gold['labels'].index(o.gold['label'])]
        counts = Counter(o.gold['label'] for o in probs)
        assert min(counts.values())>.6*max(counts.values()), counts

def test_lessons_never_show_a_test_question():
    "Pretraining reads the train side only"
    tok = build_tokenizer()
    for x,_ in batch(tok, 9, 0, 256):
        for row in tok.batch_decode(x):
            q = row.split('<|user|>')[1].split('<|assistant|>')[0]
            assert all(split_of(k, q)=='train' for k in (*domains, *slices) if shape_of(q)==k), q

def shape_of(q):
    first = {'l':'nano_largest', 'n':'nano_sequence', 'f':'code'}.get(q[0])
    if q.startswith('letters'): return 'nano_letters'
    if q.startswith('not a'): return 'nano_multiple'
    return first or ('math' if q[0].isdigit() else 'logic')

@settings(max_examples=50)
@given(st.text(max_size=60))
def test_tokenizer_round_trip(text):
    "Printable ASCII comes back as it was, anything else becomes unknown, nothing raises"
    tok = build_tokenizer()
    plain = ''.join(o for o in text if ' '<=o<='~')
    assert tok.decode(tok(plain).input_ids)==plain
    tok(text)

def test_lesson_forms():
    "Every lesson is well-formed in its mode, and confidences reach over the whole range"
    import random
    said = []
    for i in range(2000):
        prob = nano_problem('math', 1, 1, i)
        before,done = lesson(prob, random.Random(i))
        got = parse(done.removesuffix('<|end|>'), 'refined' if 'refined' in before else 'required', 'hindsight' in before)
        assert got.ok, (before, done)
        if got.c is not None: said.append(got.c)
    assert .82<sorted(said)[len(said)//2]<.92 and sum(o<.5 for o in said)>50

def test_world_is_reproducible(tmp_path):
    "The same seed writes the same bytes"
    a,b = (write_world(tmp_path/o, n_train=8, n_test=4, n_ood=6) for o in 'ab')
    assert a['counts']==b['counts'] and file_hash(tmp_path/'a/data/processed')==file_hash(tmp_path/'b/data/processed')
    with pytest.raises(ValueError, match='ask for fewer'): write_world(tmp_path/'c', n_train=1, n_test=1000, n_ood=1)

def test_resume(tmp_path):
    "Interrupted and continued ends in the same weights as straight through"
    import torch
    from honest import nano
    def grow(name, stop=None):
        tok = build_tokenizer()
        net = build_model(tok)
        args = dict(steps=4, seed=1, size=8, lr=.02)
        nano._grow(net, tok, nano._optimizers(net, .02), tmp_path/name, args, 2, False, every=2, stop=stop)
        return torch.cat([p.detach().flatten() for p in net.parameters()])
    torch.set_num_threads(1)
    whole = grow('a')
    grow('b', stop=2)
    assert torch.equal(whole, grow('b'))

needs_weights = pytest.mark.skipif(not (nano_home()/'SHA256SUMS').exists(), reason='no weights')

@needs_weights
def test_shipped_files():
    "Checksums hold and all of it is under 5 MB"
    folder = nano_path()
    assert sum(o.stat().st_size for o in folder.iterdir())<5e6
    for line in (folder/'SHA256SUMS').read_text().splitlines(): assert file_hash(folder/line.split()[1])==line.split()[0]

@needs_weights
def test_loads_like_any_model():
    "Plain transformers, no code of ours: a chat, an answer, an end"
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tok,net = AutoTokenizer.from_pretrained(nano_path()),AutoModelForCausalLM.from_pretrained(nano_path())
    assert net.num_parameters()<2.4e6 and net.generation_config.eos_token_id==tok.eos_token_id
    for mode,hindsight in (('required', False), ('refined', False), ('required', True), ('refined', True)):
        prob = nano_problem('math', 1, 3, 1, 'test')
        ids = tok.apply_chat_template(prompt(prob, mode, hindsight), add_generation_prompt=True, return_tensors='pt', return_dict=True)
        out = net.generate(input_ids=ids['input_ids'], attention_mask=ids['attention_mask'], max_new_tokens=48, do_sample=False)[0]
        said = tok.decode(out[ids['input_ids'].shape[1]:], skip_special_tokens=True)
        got = judge(prob, said, mode, hindsight)
        assert not got.reason and out[-1]==tok.eos_token_id, said
        assert (got.r is not None, got.h is not None)==(mode=='refined', hindsight)
