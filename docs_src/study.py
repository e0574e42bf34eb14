"""One factor at a time on the embedded model: each arm and seed is a job, finished jobs are kept, and the table is made from them.

    python docs_src/study.py training --seeds 5      # run what is missing, then write docs_src/results/nano_training.json and .md
    python docs_src/study.py pillars --seeds 5
    python docs_src/study.py training --table        # only the table
"""
import argparse, time
from collections import Counter
from pathlib import Path

import numpy as np

from honest.core import progress, read_json, write_json
from honest.metrics import auroc, ece, pairs, table

pay = dict(w_acc=1.5, w_cal=1.)
training = {
    'warm-up only': dict(grpo=None),
    'sequence credit, no std, 1.5:1': dict(),
    'segment credit': dict(grpo=dict(credit='segment')),
    'group std': dict(grpo=dict(scale_rewards='group')),
    'batch std': dict(grpo=dict(scale_rewards='batch')),
    'groups of 8': dict(grpo=dict(prompts=32, num_generations=8)),
    'weights 1:1': dict(pay=dict(w_acc=1., w_cal=1., i_know=True)),
    'weights 2:1': dict(pay=dict(w_acc=2., w_cal=1.)),
    'no warm-up': dict(sft=None),
    'verdict targets, warm-up only': dict(sft=dict(target='verdict'), grpo=None),
    'verdict targets': dict(sft=dict(target='verdict')),
    'tokenised Brier targets, warm-up only': dict(sft=dict(target='brier'), grpo=None),
    'unanchored warm-up, only': dict(sft=dict(anchor=False), grpo=None),
}
smc,cpr,gss,tagged = dict(smc={}),dict(replay={}),dict(self_play={}),dict(hindsight_frac=.5)
pillars = {
    'vanilla': dict(),
    'HCR legacy': dict(sft=tagged, grpo=dict(hindsight_mode='legacy')),
    'CPR': dict(grpo=dict(pillars=cpr)),
    'SMC': dict(grpo=dict(pillars=smc)),
    'GSS': dict(grpo=dict(pillars=gss)),
    'HCR + SMC': dict(sft=tagged, grpo=dict(hindsight_mode='legacy', pillars=smc)),
    'HCR + CPR + SMC': dict(sft=tagged, grpo=dict(hindsight_mode='legacy', pillars=smc|cpr)),
    'all four': dict(sft=tagged, grpo=dict(hindsight_mode='legacy', pillars=smc|cpr|gss)),
}

def warm_up(home, seed, sft):
    "The warm-up's adapter, made once for each seed and setting; None for none"
    from honest.sft import calibration_sft
    if sft is None: return None
    out = home/f'sft-{seed}-{"-".join(map(str, sft.values())) or "default"}'
    if not (out/'sft_summary.json').exists(): calibration_sft('nano', output_dir=str(out), data_dir=str(home/'world/data/processed'), seed=seed, **sft)
    return str(out)

def evaluated(home, name, adapter, hindsight=False):
    "Results of a full evaluation on the same items for all"
    from honest.evaluate import full_eval
    out = home/f'{name}.json'
    if not out.exists():
        full_eval(str(out), model_id='nano', adapter_path=adapter, data_dir=str(home/'world/data/processed'), ood_dir=str(home/'world/eval/ood'), samples=100, ood_samples=200,
                  seeds_file=str(home/'eval_seeds.json'), hindsight=hindsight)
    return read_json(out)

def job_name(seed, arm): return f'{seed}-' + ''.join(o if o.isalnum() else '_' for o in arm)

def job(home, arm, cfg, seed):
    "Train one arm with one seed; the path of its results"
    from honest.grpo import train_grpo
    from honest.rewards import Pay
    tag = job_name(seed, arm)
    if (home/f'{tag}.json').exists(): return
    t0,adapter = time.time(),warm_up(home, seed, cfg.get('sft', {}))
    if cfg.get('grpo', {}) is not None:
        run = home/f'run-{tag}'
        on = str(run) if any(run.glob('checkpoint-*/optimizer.pt')) else None
        train_grpo('nano', data_dir=str(home/'world/data/processed'), output_dir=str(run), init_adapter=adapter, resume_from=on, seed=seed, pay=Pay(**pay | cfg.get('pay', {})), **cfg.get('grpo', {}))
        adapter = str(run/'final_adapters')
    evaluated(home, tag, adapter, cfg.get('grpo', {}) and cfg['grpo'].get('hindsight_mode')=='legacy')
    print(f'{arm}, seed {seed}: {time.time()-t0:.0f} s', flush=True)

def items(run):
    "Item -> (confidence, right) of a run, in distribution and OOD; malformed counts as sure and wrong, abstained as .5 and wrong, unjudgeable not at all"
    def cy(part): return {f'{k}/{o["id"]}':(c[0], y[0]) for k,v in part.items() if k!='metrics' for o in v['samples'] for c,y,_ in [pairs([o], worst=True)] if len(c)}
    return cy(run['in_distribution']),cy(run['ood'])

measures = dict(brier=lambda c, y: np.mean((c-y)**2), ece=lambda c, y: float(ece(table(c, y))), auroc=lambda c, y: float(auroc(table(c, y))), accuracy=lambda c, y: np.mean(y))

def against(bases, runs, n=400, seed=42):
    "Mean over seeds of each measure and of its difference from `bases` (one for all seeds, or one a seed), with an interval that resamples seeds and items"
    rng,out,ids = np.random.default_rng(seed),{},sorted(set.intersection(*map(set, bases), *map(set, runs)))
    arr = lambda d: tuple(np.array([d[i][k] for i in ids]) for k in (0, 1))
    rs = [arr(o) for o in runs]
    bs = [arr(o) for o in bases] if len(bases)==len(runs) else [arr(bases[0])]*len(runs)
    gap = lambda f, k, at=slice(None): f(*(o[at] for o in rs[k]))-f(*(o[at] for o in bs[k]))
    for name,f in measures.items():
        reps = []
        for _ in range(n):
            at = rng.integers(0, len(ids), len(ids))
            reps.append(np.mean([gap(f, k, at) for k in rng.integers(0, len(rs), len(rs))]))
        lo,hi = np.nanpercentile(reps, [2.5, 97.5])
        out[name] = {k:round(float(v), 4) for k,v in dict(value=np.mean([f(*o) for o in rs]), delta=np.mean([gap(f, k) for k in range(len(rs))]), lo=lo, hi=hi).items()}
    return out

def mean_pay(run):
    "What an in-distribution item earns on average under the default weights, in greedy decoding"
    from honest.core import Record
    from honest.rewards import Pay, total
    pays = [total(Record(o['id'], o['domain'], o['difficulty'], o['cluster'], o['verdict'], c=o['c']), Pay()) for k,v in run['in_distribution'].items() if k!='metrics' for o in v['samples']]
    return float(np.mean([o for o in pays if o is not None]))

about_ood = ('Calibration transfer ratio', 'Δ ECE on ≥2 OOD slices')

def failed_gates(home, file):
    "Names of the in-distribution gates that a result fails against the untrained model, by `honest compare-runs`"
    from honest.compare import compare_runs
    out = home/f'gates-{file.stem}.json'
    if not out.exists(): write_json(out, compare_runs(str(home/'untrained.json'), str(file), str(home/f'gates-{file.stem}.md'))['failed_gates'])
    return [o for o in read_json(out) if o not in about_ood]

def rows(home, arms, seeds):
    "One row an arm with finished jobs: in-distribution and OOD against the untrained model"
    near,far = items(evaluated(home, 'untrained', None))
    out = {'untrained':dict(pay=mean_pay(evaluated(home, 'untrained', None)))}
    for arm in progress(arms, 'table'):
        files = [o for s in range(1, seeds+1) if (o := home/f'{job_name(s, arm)}.json').exists()]
        done = [read_json(o) for o in files]
        if not done: continue
        paid = [mean_pay(o) for o in done]
        parts,failed = [items(o) for o in done],[failed_gates(home, o) for o in files]
        out[arm] = dict(gates=sum(not o for o in failed), failed=dict(Counter(g for o in failed for g in o)), pay=[round(o, 4) for o in paid], seeds=len(done), in_distribution=against([near], [o[0] for o in parts]), ood=against([far], [o[1] for o in parts]),
                        format_rate=round(float(np.mean([o['overall']['format_rate'] for o in done])), 4), abstain={d:round(float(np.mean([o['per_difficulty'][d]['abstain_rate'] for o in done])), 4) for d in '15'})
        warm = [o for f in files if (o := home/f'{job_name(f.stem.split("-")[0], "warm-up only")}.json').exists()]
        if arm!='warm-up only' and len(warm)==len(files): out[arm]['beyond_warm_up'] = against([items(read_json(o))[0] for o in warm], [o[0] for o in parts])
    return out

def markdown(out):
    cell = lambda o: f'{o["delta"]:+.3f} [{o["lo"]:+.3f}, {o["hi"]:+.3f}]'
    head = f'Mean pay of an item before training: {out["untrained"]["pay"]:.3f}\n\n| arm | gates | pay | ΔBrier | ΔECE | ΔAUROC | Δaccuracy | abstains at 1, 5 | OOD ΔBrier | OOD Δaccuracy |\n|---|---|---|---|---|---|---|---|---|---|'
    rows = [f'| {k} | {o["gates"]} of {o["seeds"]} | {np.mean(o["pay"]):.3f} | ' + ' | '.join(cell(o['in_distribution'][m]) for m in measures) + f' | {o["abstain"]["1"]:.2f}, {o["abstain"]["5"]:.2f} | {cell(o["ood"]["brier"])} | {cell(o["ood"]["accuracy"])} |' for k,o in out.items() if k!='untrained']
    more = [f'| {k} | ' + ' | '.join(cell(o['beyond_warm_up'][m]) for m in measures) + ' |' for k,o in out.items() if 'beyond_warm_up' in o]
    beyond = ['', 'Against the warm-up of the same seed:', '', '| arm | ΔBrier | ΔECE | ΔAUROC | Δaccuracy |', '|---|---|---|---|---|', *more] if more else []
    return '\n'.join([head, *rows, *beyond])+'\n'

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('study', choices=('training', 'pillars'))
    p.add_argument('--seeds', type=int, default=5)
    p.add_argument('--arms', help='names, separated by semicolons; all when not given')
    p.add_argument('--home', default='study', help='folder of the jobs')
    p.add_argument('--table', action='store_true', help='run nothing, write the table')
    a = p.parse_args()
    home,arms = Path(a.home),dict(training=training, pillars=pillars)[a.study]
    if not (home/'world').exists():
        from honest.nano import write_world
        write_world(str(home/'world'), n_test=100, n_ood=200)
    if not a.table:
        wanted = a.arms.split(';') if a.arms else list(arms)
        for seed in range(1, a.seeds+1):
            for arm in wanted: job(home, arm, arms[arm], seed)
    out,where = rows(home, arms, a.seeds),Path(__file__).parent/'results'
    write_json(where/f'nano_{a.study}.json', out)
    (where/f'nano_{a.study}.md').write_text(markdown(out), encoding='utf-8')
    print(markdown(out))

if __name__=='__main__': main()
