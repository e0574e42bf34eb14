"""Measure what has a price, and write `benchmarks.md`.
A benchmark is a function that returns rows `(what, number, unit)`; `@bench` registers it under a heading. One whose page is missing is skipped, and says so."""
import os, platform, subprocess, sys, tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

here = Path(__file__).parent
benches = {}

def bench(title, why):
    "Register a benchmark under `title`"
    def put(f):
        benches[title] = f,why
        return f
    return put

def seconds(f, n=5):
    "Median seconds of `n` calls, after one that does not count"
    f()
    out = []
    for _ in range(n):
        start = perf_counter()
        f()
        out.append(perf_counter()-start)
    return median(out)

def rate(f, items, n=3): return items/seconds(f, n)

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

def show(rows):
    def num(v): return f'{v:,.0f}' if v>=100 else f'{v:.3g}'
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
        if names and title.lower() not in names: continue
        print(f'{title} …', file=sys.stderr, flush=True)
        try: out += [f'## {title}', why, show(f())]
        except ImportError as e:
            skipped.append(title)
            print(f'SKIPPED {title}: {e}', file=sys.stderr)
    page = '\n\n'.join(out)+'\n'
    if names or skipped: print(page)
    else: (here/'benchmarks.md').write_text(page, 'utf-8')
    if skipped: sys.exit(f'benchmarks.md is unchanged: {", ".join(skipped)} could not be measured')

if __name__=='__main__': main([o.lower() for o in sys.argv[1:]])
