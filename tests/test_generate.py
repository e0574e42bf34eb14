"The generation engine against `model.generate`, at its edges."
import random, threading

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from honest.generate import families, generate, supported
from honest.nano import nano_problem
from honest.policy import chat_ids, load_model, load_policy, load_tokenizer
from honest.protocol import prompt
from honest.sft import add_lora

small = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512)

def plain(model, ids, n, eos):
    "Greedy tokens of one prompt by `model.generate`, up to the first of `eos`"
    got = model.generate(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), max_new_tokens=n, do_sample=False, temperature=None, top_p=None, top_k=None,
                         eos_token_id=sorted(eos), pad_token_id=0)[0, len(ids):].tolist()
    return got[:next((i+1 for i,t in enumerate(got) if t in eos), len(got))]

def ours(model, asks, n, eos, **kw): return [o.ids for o in sorted(generate(model, asks, n, eos, **kw), key=lambda o: o.index)]

@pytest.mark.parametrize('cls,cfg', [(LlamaForCausalLM, LlamaConfig), (Qwen2ForCausalLM, Qwen2Config), (Qwen3ForCausalLM, Qwen3Config)])
@pytest.mark.parametrize('seed', range(4))
def test_same_tokens(cls, cfg, seed):
    "Random models, lengths, shared beginnings, copies, batch sizes and budgets"
    torch.manual_seed(seed)
    rng,model = random.Random(seed),cls(cfg(**small, initializer_range=.3)).eval().double()
    some = lambda n: [rng.randrange(1, 64) for _ in range(n)]
    heads = [some(60), some(50), []]
    asks = [rng.choice(heads)+some(rng.randrange(1, 40)) for _ in range(12)]
    asks = [rng.choice(asks) for _ in range(20)]
    eos = set(some(3))
    assert ours(model, asks, 24, eos, batch_size=rng.randrange(1, 9), budget=rng.choice([1, 100, 4096])) == [plain(model, o, 24, eos) for o in asks]

def test_nano_with_adapter():
    "The embedded model with an adapter that does something, on its own problems"
    model,tok = add_lora(load_model('nano')),load_tokenizer('nano')
    torch.manual_seed(1)
    for k,p in model.named_parameters():
        if 'lora_B' in k: p.data.normal_(std=.02)
    model = model.eval().double()
    asks = [chat_ids(tok, prompt(nano_problem(d, k, 42, i, 'test'))) for d in ('math', 'code', 'logic') for k in (1, 5) for i in range(3)]
    eos = {tok.eos_token_id}
    assert ours(model, asks, 40, eos, batch_size=4) == [plain(model, o, 40, eos) for o in asks]

def test_edges():
    "No prompt, one prompt, one token of prompt, one token of answer, and training mode left as it was"
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**small)).train()
    assert supported(model) and list(generate(model, [], 5)) == []
    assert [len(o.ids) for o in generate(model, [[3]], 1)] == [1]
    assert sorted(len(o.ids) for o in generate(model, [[3], [3], [4]], 7, batch_size=2)) == [7, 7, 7]
    assert model.training
    assert families([[1]*80]*1) == [(0, [0])]

def test_cancel_midway():
    "Rows that were being written come back as they are, prompts never read come back empty"
    torch.manual_seed(0)
    model,stop,seen = LlamaForCausalLM(LlamaConfig(**small)).eval(),threading.Event(),[]
    for row in generate(model, [[i] for i in range(1, 9)], 30, batch_size=2, cancel=stop, complete=lambda ids: len(ids)==3):
        seen.append(row)
        stop.set()
    assert sorted(o.index for o in seen) == list(range(8))
    assert sum(o.done for o in seen)>=1 and [] in [o.ids for o in seen]

def test_sampling_follows_the_model():
    "Frequencies of sampled first tokens against the model's probabilities"
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**small, initializer_range=.4)).eval()
    n = 4000
    drawn = torch.bincount(torch.tensor([o.ids[0] for o in generate(model, [[5, 6]]*n, 1, batch_size=n, temperature=.7, seed=1)]), minlength=64)/n
    want = (model(torch.tensor([[5, 6]])).logits[0, -1]/.7).softmax(-1)
    assert ((drawn-want).abs() < 5*(want*(1-want)/n).sqrt()+1e-3).all()

def test_policy_ends_at_the_last_tag():
    "Texts end where the protocol does, and are not called truncated"
    pol = load_policy('nano', batch_size=8)
    outs = pol([prompt(nano_problem('math', 1, 42, i, 'test')) for i in range(12)])
    assert all(o.text.endswith(('</confidence>', '<abstain/>')) and not o.truncated for o in outs)
    assert all(o.truncated for o in load_policy('nano', max_new_tokens=3)([prompt(nano_problem('math', 1, 42, 0, 'test'))]))
