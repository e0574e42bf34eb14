"""Measure what has a price, and write `benchmarks.md`.
A benchmark is a function that returns rows `(what, number, unit)`, the number alone or as (median, least, most); `@bench` registers it under a heading.
One whose page is missing is skipped, and says so.

    python docs_src/bench.py                    # all, and write the page
    python docs_src/bench.py generation growth  # those whose titles begin so, to stdout

What generates and trains is measured on the embedded model, and on one more: HONEST_BENCH_MODEL (hub id, folder or .gguf file), with the adapter HONEST_BENCH_ADAPTER.
HONEST_BENCH_PROMPTS, _BATCH, _NEW, _RUNS, _STEPS and _ITEMS change the sizes of both; see `Subject` and `runs`."""
import contextlib, math, os, platform, random, subprocess, sys, tempfile
from collections import Counter
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

here = Path(__file__).parent
benches = {}

def bench(title, why):
    "Register a benchmark under `title`"
    def put(f):
        benches[title] = f,why
        return f
    return put

def once(f, *args):
    "Seconds of one call"
    start = perf_counter()
    f(*args)
    return perf_counter()-start

def seconds(f, n=5):
    "Median seconds of `n` calls, after one that does not count"
    f()
    return median(once(f) for _ in range(n))

def rate(f, items, n=3): return items/seconds(f, n)

def setting(name, default): return int(os.environ.get(f'HONEST_BENCH_{name}', default))

runs = setting('RUNS', 5)

def spread(xs): return median(xs),min(xs),max(xs)

def ratios(slow, fast): return spread([a/b for a,b in zip(slow, fast)])

def alternated(inputs, **ways):
    "Seconds and results of each of `ways`, by name, which take turns on each of `inputs`; each has a little of the first one before"
    for f in ways.values(): f(inputs[0][:2])
    took,gave = {k:[] for k in ways},{k:[] for k in ways}
    for o in inputs:
        for k,f in ways.items(): took[k].append(once(lambda: gave[k].append(f(o))))
    return took,gave

@bench('Start', 'The command has to answer at once: no heavy library is loaded before it is needed.')
def start():
    def py(*a): return seconds(lambda: subprocess.run([sys.executable, *a], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL))
    return [('python, doing nothing', py('-c', '')*1e3, 'ms'), ('import honest', py('-c', 'import honest')*1e3, 'ms'),
            ('honest --help', py('-m', 'honest', '--help')*1e3, 'ms')]

@bench('Sandbox', 'A program that a model writes runs in a jailed process of its own, forked from one that is warm; beside it, the price of starting a bare Python.')
def sandbox():
    from honest.core import Problem
    from honest.tasks.code import verify
    gold = dict(kind='asserts', setup='', tests=['assert f(2) == 4'])
    prob = Problem('b', 'code', 3, '', gold, 'code')
    bare = seconds(lambda: subprocess.run([sys.executable, '-I', '-S', '-c', 'pass'], check=True, stdin=subprocess.DEVNULL), 30)
    jailed = seconds(lambda: verify(prob, 'def f(x): return x*x'), 30)
    assert verify(prob, 'def f(x): return x*x').right is True and verify(prob, 'def f(x): return x').right is False
    return [('bare `python -I -S -c pass`', 1/bare, 'a second'), ('programs judged', 1/jailed, 'a second'), ('ratio, more is better', bare/jailed, '×')]

@bench('Mathematics', 'Verdicts a second on one thread, over answers that are plain numbers, fractions and expressions.')
def mathematics():
    from honest.core import Problem
    from honest.tasks.math import verify
    pairs = [('42', '42'), ('42', '41'), (r'\frac{1}{2}', '0.5'), (r'\frac{\sqrt{3}}{2}', r'\frac{\sqrt{3}}{3}'), (r'x^2+2x+1', r'(x+1)^2'), (r'\left(1, 2\right)', '(1,2)')]
    probs = [(Problem(f'b{i}', 'math', 1, '', g, 'math'), a) for i,(g,a) in enumerate(pairs)]
    def each(ps): return lambda: [verify(p, a) for p,a in ps for _ in range(5)]
    return [('numbers', rate(each(probs[:2]), 10), 'verdicts/s'), ('all six', rate(each(probs), 30), 'verdicts/s')]

@bench('Puzzles', 'Logic puzzles a second, by difficulty. Each is proven to have exactly one solution.')
def puzzles():
    from honest.tasks.logic import generate
    turn = iter(range(10**6))
    def make(k): return lambda: [generate(next(turn), i, k) for i in range(5)]
    return [(f'difficulty {k}', rate(make(k), 5), 'puzzles/s') for k in range(1, 6)]

@bench('Bootstrap', 'Paired, clustered intervals of every metric, 10,000 resamples.')
def bootstrap():
    import numpy as np
    from honest.metrics import battery, intervals
    rng = np.random.default_rng(0)
    out = []
    for n in (500, 3000):
        c = rng.integers(0, 101, n)/100
        y = (rng.random(n)<c).astype(float)
        out += [(f'battery, {n} items', seconds(lambda: battery(c, y))*1e3, 'ms'),
                (f'interval of Brier, {n} items', seconds(lambda: intervals(c, y, names=['brier']), 3), 's'),
                (f'interval of all metrics, {n} items', seconds(lambda: intervals(c, y), 1), 's')]
    return out

def _outside():
    "Name -> `f(c, y)` of the battery's metrics as other installed libraries compute them; only those that can be imported"
    import numpy as np
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score
    def ece(c, y):
        share,said = calibration_curve(y, c, n_bins=15)
        mass = np.bincount(np.minimum((c*15).astype(int), 14), minlength=15)
        return (abs(share-said)*mass[mass>0]).sum()/len(c)
    out = {'scikit-learn':dict(brier=lambda c, y: brier_score_loss(y, c), nll=lambda c, y: log_loss(y, c.clip(1e-6, 1-1e-6)), auroc=lambda c, y: roc_auc_score(y, c),
                               auprc=lambda c, y: average_precision_score(y, c), ece=ece)}
    try:
        import torch
        from torchmetrics.functional.classification import binary_calibration_error as tm
        out['torchmetrics'] = dict(ece=lambda c, y: float(tm(torch.tensor(c), torch.tensor(y).int(), n_bins=15)))
    except ImportError: pass
    try:
        from netcal.metrics import ECE
        out['netcal'] = dict(ece=lambda c, y: float(ECE(15).measure(c, y)))
    except ImportError: pass
    return out

@bench('Against other libraries', 'The same metrics on the same 1,000 items: ours in one pass over a table of distinct confidences, theirs one by one and, for intervals, in a plain loop over resampled '
       'clusters (timed over 200 resamples and scaled to 10,000). Both ways give the same numbers, or this stops. A library that is not installed is left out.')
def others():
    import numpy as np
    from honest.metrics import metrics, replicates, table
    rng = np.random.default_rng(0)
    c,groups = (rng.integers(1000, size=1000)+.5)/1000,np.arange(1000)//2   # On no bin's edge: which bin an edge belongs to is a convention
    y = (rng.random(1000)<c).astype(float)
    members,rows = [np.flatnonzero(groups==g) for g in range(500)],[]
    def loop(fs, n):
        out = []
        for _ in range(n):
            at = np.concatenate([members[g] for g in rng.integers(500, size=500)])
            out.append([f(c[at], y[at]) for f in fs.values()])
        return np.array(out)
    for lib,fs in _outside().items():
        def ours():
            t = table(c, y)
            return [float(metrics[k](t)) for k in fs]
        theirs = [f(c, y) for f in fs.values()]
        assert np.allclose(ours(), theirs, atol=1e-5), (lib, ours(), theirs)
        a,b = seconds(ours, 20),seconds(lambda: [f(c, y) for f in fs.values()], 20)
        x,z = seconds(lambda: replicates(c, y, groups, fs), 1),seconds(lambda: loop(fs, 200), 1)*50
        what = ', '.join(fs)
        rows += [(f'{what}: {lib}', b*1e3, 'ms'), (f'{what}: HONEST', a*1e3, 'ms'), ('ratio', b/a, '×'),
                 (f'10,000 clustered resamples of {what}: loop over {lib}', z, 's'), (f'10,000 clustered resamples of {what}: HONEST', x, 's'), ('ratio', z/x, '×')]
    return rows

_served = """
import sys
from honest.server import configure, serve
serve(configure({}, model_id='stub'))
"""
_bare = """
from mcp.server import MCPServer
app = MCPServer('bare')
@app.tool()
def ask(question: str) -> str: return question
app.run('stdio')
"""

async def _session(code, tool, calls):
    "Seconds from the start of a server to its `initialize` reply, and the 95th percentile of a call"
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    start = perf_counter()
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=['-c', code]), errlog=open(os.devnull, 'w'))) as client:
        ready,took = perf_counter()-start,[]
        for i in range(calls+5):
            t = perf_counter()
            await client.call_tool(tool, dict(question=f'What is {i} + 1?'))
            took.append(perf_counter()-t)
    return ready,sorted(took[5:])[int(.95*calls)]

@bench('Server', 'Process start to the reply to `initialize`, and one call answered by a stub policy, beside a bare server of the same SDK.')
def server():
    import anyio
    def run(code, tool): return [anyio.run(_session, code, tool, 100) for _ in range(5)]
    runs = run(_served, 'ask_with_calibrated_confidence'),run(_bare, 'ask')
    (h0,p0),(h1,p1) = ([median(o[k] for o in r) for k in (0, 1)] for r in runs)
    return [('handshake', h0*1e3, 'ms'), ('handshake, bare', h1*1e3, 'ms'), ('ratio', h0/h1, '×'), ('call, 95th percentile', p0*1e3, 'ms'), ('call, bare', p1*1e3, 'ms'), ('overhead', (p0-p1)*1e3, 'ms')]

class Subject(NamedTuple):
    "A model that is measured, and the sizes it is measured at"
    name: str
    model_id: str
    adapter: str|None
    problem: object      # `problem(i, split)`: item `i` of a mixed stream
    prompts: int         # Prompts a run of generation or evaluation
    batch: int           # Rows at once
    new: int             # Tokens a completion at most
    items: int           # Items evaluated to see how their cost grows
    grpo: dict           # What differs from the tier's training settings
    tier: str
    times: int           # Calls behind each point of a growth curve

def nano_item(i, split='test'):
    "Item `i` of the embedded model's domains and slices, in turn at each difficulty"
    from honest.nano import nano_problem, slices
    kinds = ('math', 'code', 'logic', *slices)
    return nano_problem(kinds[i%len(kinds)], 1+i//len(kinds)%5, 42, i, split)

def item(i, split='test'):
    "Item `i` of the four tasks' generators, in turn at each difficulty"
    from honest.tasks import choice, code, logic, math
    return (math, code, logic, choice)[i%4].generate(42, i, 1+i//4%5, split)

def subject(name, model_id, adapter, problem, prompts, batch, new, items, grpo, tier, times):
    "A `Subject` whose sizes the environment may change"
    prompts,batch,new,items = (setting(k, v) for k,v in dict(PROMPTS=prompts, BATCH=batch, NEW=new, ITEMS=items).items())
    return Subject(name, model_id, adapter, problem, prompts, batch, new, items, grpo | dict(max_steps=setting('STEPS', 1), max_completion_length=new), tier, times)

def subjects():
    "The embedded model, and the one that the environment names"
    out,place = [subject('nano', 'nano', None, nano_item, 200, 40, 64, 500, {}, 'nano', 3)],lambda o: os.path.abspath(o) if o and os.path.exists(o) else o
    if m := os.environ.get('HONEST_BENCH_MODEL'):
        a = os.environ.get('HONEST_BENCH_ADAPTER')
        out.append(subject(Path(m).name.removesuffix('.gguf')+(' with adapter' if a else ''), place(m), place(a), item, 40, 20, 96, 200, dict(prompts=4, num_generations=8), 'tiny', 1))
    return out

measured = subjects()

def each(title, why):
    "Register `f(subject)` under `title` for every model that is measured"
    def put(f):
        for s in measured: bench(f'{title}: {s.name}', why)(partial(f, s))
        return f
    return put

@cache
def loaded(*args):
    from honest.policy import load_policy
    return load_policy(*args)

def policy_of(s): return loaded(s.model_id, s.adapter, s.new, s.batch)

def stream(s, start, n, split='test'): return [s.problem(i, split) for i in range(start, start+n)]

def read(s, problems):
    "Chats of `problems`, and their token ids"
    from honest.policy import chat_ids
    from honest.protocol import prompt
    tok,asks = policy_of(s).tok,[prompt(o) for o in problems]
    return asks,[chat_ids(tok, o) for o in asks]

def asked(s, start, n): return read(s, stream(s, start, n))[1]

def plain(s, ids, order, batch, **kw):
    "What `model.generate` writes after each of `ids`, in batches of `order`"
    import torch
    p,out = policy_of(s),{}
    for at in range(0, len(order), batch):
        some = order[at:at+batch]
        x = p.tok.pad(dict(input_ids=[ids[i] for i in some]), return_tensors='pt').to(p.model.device)
        with torch.inference_mode(): got = p.model.generate(**x, max_new_tokens=s.new, do_sample=False, temperature=None, top_p=None, top_k=None, pad_token_id=p.tok.pad_token_id, **kw)
        out |= zip(some, got[:, x['input_ids'].shape[1]:].tolist())
    return [out[i] for i in sorted(out)]

def ours(s, ids, **kw):
    "What the engine writes after each of `ids`"
    from honest.policy import continued
    p = policy_of(s)
    rows = continued(p.model, ids, **dict(max_new_tokens=s.new, eos=p.eos, complete=p.complete, batch_size=s.batch) | kw)
    return [o.ids for o in sorted(rows, key=lambda o: o.index)]

def ended(s, ids):
    "`ids` up to where the protocol is complete"
    p = policy_of(s)
    return ids[:next((i for i in range(1, len(ids)) if ids[i-1] in p.eos or p.complete(ids[:i])), len(ids))]

def by_length(ids): return sorted(range(len(ids)), key=lambda i: -len(ids[i]))

def gap(s, ask, a, b):
    "Distance of the logits of the two tokens at which `a` and `b`, written after `ask`, part; None if they do not"
    import torch
    if a==b: return None
    j = next((j for j,(x,y) in enumerate(zip(a, b)) if x!=y), None)
    if j is None: return math.inf
    model = policy_of(s).model
    with torch.inference_mode(): logits = model(torch.tensor([ask+a[:j]], device=model.device), logits_to_keep=1).logits[0, -1].float()
    return abs(float(logits[a[j]]-logits[b[j]]))

def compared(s, name, asks, a, b):
    "The row about how often two ways of writing differ, and how near a tie the choice was; `b` may be about the first of each run's prompts only"
    gaps = [gap(s, ask, *(ended(s, o) for o in two)) for run in zip(asks, a, b) for ask,*two in zip(*run)]
    far = [o for o in gaps if o is not None]
    return f'texts that differ: {name}', len(far), f'of {len(gaps)}'+(f', logits at most {max(far):.2g} apart' if far else '')

@each('Generation', 'Greedy texts of mixed problems with the protocol: the engine, and plain loops over `model.generate` that stop at the end-of-sequence token. Every run has its own prompts, and all ways take turns on them, '
      'one by one on the first half. Median, least and most of the runs. Where two texts part, the logits are those of the two tokens in a pass over that row alone: '
      'half precision adds up differently in every batch, so that near-ties fall either way, between two orders of the plain loop as well.')
def generation(s):
    asks,half = [asked(s, r*s.prompts, s.prompts) for r in range(runs)],s.prompts//2
    took,texts = alternated(asks, engine=partial(ours, s), given=lambda ids: plain(s, ids, range(len(ids)), s.batch), sorted=lambda ids: plain(s, ids, by_length(ids), s.batch),
                            single=lambda ids: plain(s, ids, range(min(half, len(ids))), 1))
    took['single'] = [o*s.prompts/half for o in took['single']]
    names = dict(engine='engine', given='plain loop', sorted='plain loop sorted by length', single='one by one')
    def mean(rows): return sum(len(o) for run in rows for o in run)/(runs*s.prompts)
    def ratio(k): return ratios(took[k], took['engine'])
    return [('prompts a run', s.prompts, f'{s.batch} at once, {runs} runs'), ('tokens a prompt', mean(asks), 'on average'), ('tokens a completion', mean(texts['engine']), f'on average, {s.new} at most'),
            ('engine', spread([s.prompts/o for o in took['engine']]), 'prompts/s'), ('against a plain loop, same batch size', ratio('given'), '×'),
            ('against the same sorted by length', ratio('sorted'), '×'), ('against a plain loop, one by one', ratio('single'), '×'),
            *(compared(s, f'{names[a]} and {names[b]}', asks, texts[a], texts[b]) for a,b in (('engine', 'given'), ('given', 'sorted'), ('engine', 'single'), ('given', 'single')))]

def harness(s, problems):
    "Samples of `problems` in the manner of lm-evaluation-harness: longest prompts first, fixed batches, stop texts, all judged at the end"
    from honest.evaluate import to_sample
    from honest.judge import judge_all
    from honest.policy import last_tags
    p,(asks,ids) = policy_of(s),read(s, problems)
    said = plain(s, ids, by_length(ids), s.batch, stop_strings=list(last_tags('required', False)), tokenizer=p.tok)
    texts = [p.tok.decode([t for t in ended(s, o) if t not in p.eos]) for o in said]
    return [to_sample(*o) for o in zip(problems, judge_all(problems, texts, prefilled=p.prefilled), asks)]

@each('Evaluation', 'Mixed problems from question to judged sample: `honest.evaluate.ask_all`, and a loop in the manner of lm-evaluation-harness (longest prompts first, fixed batches, the same stop texts, all judged at the end). '
      'Median, least and most of the runs, on which both take turns.')
def evaluation(s):
    from honest.evaluate import ask_all
    took,found = alternated([stream(s, r*s.prompts, s.prompts) for r in range(runs)], ours=partial(ask_all, policy_of(s)), theirs=partial(harness, s))
    same = [(a['verdict'], a['c'])==(b['verdict'], b['c']) for two in zip(*found.values()) for a,b in zip(*two)]
    return [('items a run', s.prompts, f'{s.batch} at once, {runs} runs'), ('ask_all', spread([s.prompts/o for o in took['ours']]), 'items/s'), ('against the loop', ratios(took['theirs'], took['ours']), '×'),
            ('verdict or confidence differs', same.count(False), f'of {len(same)}')]

def train_settings(s, **kw):
    from honest.profiles import tiers
    return tiers[s.tier]['grpo'] | s.grpo | kw

def trainable(s):
    "The model with an adapter to train: the subject's own, or a fresh one"
    from honest.policy import load_model
    from honest.sft import add_lora
    model = load_model(s.model_id, s.adapter, trainable=True)
    return model if s.adapter else add_lora(model)

def honest_trainer(s, st, seed, out):
    "HONEST's trainer, and the list that will hold every problem it asks"
    from honest.data import Sampler
    from honest.grpo import build_env, make_trainer
    from honest.rewards import Pay
    p,asked = policy_of(s),[]
    env = build_env(Sampler(stream(s, 0, 200, 'train')), Pay(), prefilled=p.prefilled, seed=seed, model_id=s.model_id)
    update = env.update
    def hear(recs, problems):
        asked.extend(problems[::st['num_generations']])
        update(recs, problems)
    env.update = hear
    return make_trainer(trainable(s), p.tok, env, st, out, seed=seed),asked

def bare_trainer(s, st, seed, out, problems):
    "TRL's own trainer with the same settings, on `problems`, paid by one plain reward function"
    from datasets import Dataset
    from honest.grpo import trl_config
    from honest.judge import judge_all
    from honest.protocol import prompt
    from honest.rewards import Pay, total
    from honest.sft import micro_batch
    from transformers import PrinterCallback
    from trl import GRPOTrainer
    p,pay,model = policy_of(s),Pay(),trainable(s)
    end = {*p.eos, p.tok.pad_token_id}
    def reward(completion_ids, at, **kw):
        texts = [p.tok.decode([t for t in o if t not in end]) for o in completion_ids]
        return [total(o, pay) for o in judge_all([problems[i] for i in at], texts, prefilled=p.prefilled)]
    rows = Dataset.from_list([dict(prompt=prompt(o), at=i) for i,o in enumerate(problems)])
    args = trl_config(st, out, seed, 'none', 'none', s.tier=='nano', model.device.type, 50)
    args.per_device_train_batch_size = micro_batch(args.generation_batch_size, max(map(len, read(s, problems)[1]))+st['max_completion_length'], 65536 if s.tier=='nano' else 8192)
    args.gradient_accumulation_steps = args.steps_per_generation = args.generation_batch_size//args.per_device_train_batch_size
    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=args, train_dataset=rows, processing_class=p.tok)
    trainer.remove_callback(PrinterCallback)
    return trainer

def timed(spent, key, o, name):
    "Add the seconds of every call of `o.name` to `spent[key]`"
    f = getattr(o, name)
    def g(*a, **kw):
        start = perf_counter()
        try: return f(*a, **kw)
        finally: spent[key] += perf_counter()-start
    setattr(o, name, g)

def trained(trainer):
    "Seconds a step, in all and by part: from the first step's begin to the last one's end"
    spent,first,last,event = Counter(),{},{},trainer.callback_handler.call_event
    def hear(name, *a, **kw):
        first.setdefault(name, perf_counter())
        try: return event(name, *a, **kw)
        finally: last[name] = perf_counter()
    trainer.callback_handler.call_event = hear
    for key,o,name in (('generation', trainer, '_generate'), ('scoring', trainer, '_calculate_rewards'), ('drawing', trainer, '_draw'), ('callbacks', trainer.callback_handler, 'call_event')):
        if hasattr(o, name): timed(spent, key, o, name)
    trainer.args.save_strategy = 'no'
    trainer.train()
    whole = last['on_step_end']-first['on_step_begin']
    spent = dict(spent, whole=whole, update=whole-sum(spent.values()))
    length = next(o['completions/mean_length'] for o in trainer.state.log_history if 'completions/mean_length' in o)
    return {k:v/trainer.state.max_steps for k,v in spent.items()} | dict(length=length)

def stepped(s, seed, **kw):
    "What steps of both trainers take, on the same problems"
    st = train_settings(s, **kw)
    trainer,problems = honest_trainer(s, st, seed, 'run')
    return trained(trainer),trained(bare_trainer(s, st, seed, 'run', problems))

@each('Training', 'A GRPO step of HONEST\'s trainer and of TRL\'s own `GRPOTrainer` with the same model, adapter, settings and problems, the same pay as one plain reward function, completions that end at the '
      'end-of-sequence token, and micro-batches of as many tokens. Both take turns. HONEST\'s own parts are judging, pay, curriculum, drawing and all callbacks.')
def training(s):
    st = train_settings(s)
    stepped(s, 0, prompts=2, num_generations=2, max_steps=1, max_completion_length=8)
    ours,bare = zip(*(stepped(s, r) for r in range(runs)))
    def of(xs, k): return [o[k] for o in xs]
    def mid(xs, k): return median(of(xs, k))
    own = [(o['scoring']+o['drawing']+o['callbacks'])/o['whole']*100 for o in ours]
    return [('completions a step', st['prompts']*st['num_generations'], f'{st["num_generations"]} a problem'), ('HONEST', spread(of(ours, 'whole')), 's a step'), ('TRL', spread(of(bare, 'whole')), 's a step'),
            ('HONEST against TRL', ratios(of(ours, 'whole'), of(bare, 'whole')), '×, less is better'),
            *((f'{k}: {name}', mid(xs, k), 's a step') for k in ('generation', 'scoring', 'update') for name,xs in (('HONEST', ours), ('TRL', bare))),
            *((f'tokens a completion: {name}', mid(xs, 'length'), 'on average') for name,xs in (('HONEST', ours), ('TRL', bare))), ("HONEST's own parts", spread(own), '% of its step')]

def slope(what, sizes, took):
    "Row of the log-log slope of the seconds `took` against `sizes`"
    x,y = ([math.log(o) for o in xs] for xs in (sizes, took))
    mx,my = sum(x)/len(x),sum(y)/len(y)
    return what,sum((a-mx)*(b-my) for a,b in zip(x, y))/sum((a-mx)**2 for a in x),f'{sizes[0]:,} to {sizes[-1]:,}; {took[0]:.2g} to {took[-1]:.2g} s'

def grows(what, sizes, make, times=3):
    "`slope` of what `make(n)()` takes; what `make` does is not counted"
    make(sizes[0])()
    return slope(what, sizes, [median(once(f) for _ in range(times)) for f in map(make, sizes)])

def metric_growth():
    import numpy as np
    from honest.metrics import battery, paired
    sizes = (1000, 4000, 16000)
    def draw(n): return np.random.default_rng(0).integers(0, 101, n)/100,np.random.default_rng(1).integers(0, 2, n)
    return [grows('battery of metrics: items', sizes, lambda n: partial(battery, *draw(n))), grows('paired bootstrap: items', sizes, lambda n: partial(paired, draw(n), draw(n), n_resamples=1000))]

def evaluation_growth():
    "The steps of an evaluation around its generation"
    from honest.core import write_json
    from honest.data import pick_test_items
    from honest.evaluate import ask_all, tables
    from honest.policy import StubPolicy
    probs = list({o.question:o for o in stream(measured[0], 0, 16000) if o.task!='code'}.values())
    def samples(n): return ask_all(StubPolicy(probs[:n]), probs[:n], chunk=32)
    sizes = (500, 2000, 8000)
    assert len(probs)>=sizes[-1]
    return [grows(f'evaluation, {what}: items', sizes, f) for what,f in (
        ('choosing', lambda n: partial(pick_test_items, probs[:n])), ('asking a stub and judging', lambda n: partial(samples, n)), ('tables', lambda n: partial(tables, samples(n))),
        ('writing', lambda n: partial(write_json, 'results.json', samples(n))))]

def replay_growth():
    from honest.core import Record
    from honest.data import Sampler
    from honest.env import Curriculum
    from honest.replay import Replay
    sizes,rng = (256, 1024, 4096),random.Random(0)
    probs = list({o.id:o for o in stream(measured[0], 0, 3*sizes[-1], 'train')}.values())
    recs = [Record(o.id, o.domain, o.difficulty, o.cluster, 'wrong', c=rng.random()) for o in probs]
    assert len(probs)>=sizes[-1]
    def full(n):
        r = Replay(Curriculum(Sampler(probs)), size=n, mix=.99)
        r.update(recs[:n], probs[:n])
        return r
    def draws(n):
        r = full(n)
        return lambda: [r.sample(rng) for _ in range(16)]
    return [grows('replay, 16 draws: size of the buffer', sizes, draws), grows('replay, an update with 256 outcomes: size of the buffer', sizes, lambda n: partial(full(n).update, recs[:256], probs[:256]))]

def process_growth():
    from honest.core import Problem, read_json
    from honest.judge import judge_all
    from honest.nano import write_world
    from honest.protocol import render
    probs,texts = zip(*((Problem(f'b{i}', 'code', 1, '', dict(kind='asserts', setup='', tests=[f'assert f(2)=={i}']), 'code'), render('x', f'def f(x): return {i}', .5)) for i in range(64)))
    write_world('world', n_train=40, n_test=1, n_ood=5)
    def trained_by(n):
        subprocess.run([sys.executable, '-m', 'torch.distributed.run', f'--nproc_per_node={n}', '-m', 'honest', 'train-grpo', '--model-id', 'nano', '--data-dir', 'world/data/processed', '--output-dir', f'by-{n}',
                        '--max-steps', '5', '--prompts', '8', '--skip-preflight', '--no-wandb'], check=True, stdout=subprocess.DEVNULL, env=os.environ | dict(OMP_NUM_THREADS='1'))
        return next(o['step_time'] for o in read_json(f'by-{n}/trainer_state.json')['log_history'] if 'step_time' in o)
    return [grows('judging 64 programs: workers', (1, 2), lambda n: partial(judge_all, probs, texts, workers=n)), slope('GRPO step of nano: processes of one thread', (1, 2), [trained_by(1), trained_by(2)])]

def model_growth(s):
    "What generating, evaluating and training cost; prompts of one kind where only their number or length is to change"
    from honest.evaluate import ask_all
    rows = read(s, [s.problem(140*i) for i in range(2*s.batch)])[1]
    quarters = lambda n: (max(n//4, 1), max(n//2, 2), n)
    def write(rows, n): return partial(ours, s, rows, max_new_tokens=n, eos=frozenset(), complete=lambda ids: False, batch_size=len(rows))
    def step(n):
        trainer = honest_trainer(s, train_settings(s, prompts=4, num_generations=n, max_steps=1), 0, 'run')[0]
        trainer.args.save_strategy = 'no'
        return trainer.train
    return [grows(f'{s.name}, {what}', sizes, f, s.times) for what,sizes,f in (
        ('ask_all: items', quarters(s.items), lambda n: partial(ask_all, policy_of(s), stream(s, 0, n))), ('generation: rows at once', quarters(2*s.batch), lambda n: write(rows[:n], s.new//2)),
        ('generation: tokens a completion', quarters(s.new), lambda n: write(rows[:s.batch], n)), ('generation: copies of four prompts', quarters(s.batch), lambda n: write([o for o in rows[:4] for _ in range(n)], s.new//2)),
        ('GRPO step: completions of each of four problems', quarters(train_settings(s)['num_generations']), step))]

@bench('Growth', 'Log-log slope of seconds against size: 1 is linear, under 1 is less; for workers and processes -1 is ideal. Beside it the sizes, and the seconds at the smallest and the largest.')
def growth(): return [*metric_growth(), *evaluation_growth(), *replay_growth(), *process_growth(), *(row for s in measured for row in model_growth(s))]

def show(rows):
    def num(v): return '{} ({} to {})'.format(*map(num, v)) if isinstance(v, tuple) else f'{v:,.0f}' if v>=100 else f'{v:.3g}'
    return '\n'.join(['| | | |', '|---|--:|---|', *(f'| {what} | {num(v)} | {unit} |' for what,v,unit in rows)])

def main(names):
    "Run the benchmarks called `names`, or all, and write the page"
    from honest import __version__
    os.chdir(tempfile.mkdtemp())
    out = ['---\ntitle: Benchmarks\ndescription: What things cost, measured by `make bench`\n---',
           f'HONEST {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores. '
           'Medians after one call that does not count. Other machines give other numbers; the ratios travel better.']
    skipped = []
    for title,(f,why) in benches.items():
        if names and not title.lower().startswith(names): continue
        print(f'{title} …', file=sys.stderr, flush=True)
        try:
            with contextlib.redirect_stdout(sys.stderr): rows = f()
            out += [f'## {title}', why, show(rows)]
            print(out[-1], file=sys.stderr, flush=True)
        except ImportError as e:
            skipped.append(title)
            print(f'SKIPPED {title}: {e}', file=sys.stderr)
    page = '\n\n'.join(out)+'\n'
    if names or skipped: print(page)
    else: (here/'benchmarks.md').write_text(page, 'utf-8')
    if skipped: sys.exit(f'benchmarks.md is unchanged: {", ".join(skipped)} could not be measured')

if __name__=='__main__': main(tuple(o.lower() for o in sys.argv[1:]))
