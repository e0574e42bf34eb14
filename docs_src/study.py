"""One factor at a time on the embedded model: each arm and seed is a job, finished jobs are kept, and the table is made from them.

    python docs_src/study.py training --seeds 1-5    # run what docs_src/results/nano_jobs lacks, then write docs_src/results/nano_training.json and .md
    python docs_src/study.py pillars --seeds 1-5
    python docs_src/study.py training --table        # only the table
"""
import argparse, json, time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np

from honest.core import Record, progress, read_json, write_json
from honest.metrics import auroc, ece, table
from honest.rewards import Pay, total

default_pay,plain = dict(w_acc=1.5, w_cal=1.),'sequence credit, no std, 1.5:1'
training = {
    'warm-up only': dict(grpo=None),
    plain: dict(),
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
smc,cpr,gss,tagged,critical = dict(smc={}),dict(replay={}),dict(self_play={}),dict(hindsight_frac=.5),dict(reasoning_mode='refined')
pillars = {
    plain: dict(),
    'HCR legacy': dict(sft=tagged, grpo=dict(hindsight_mode='legacy')),
    'HCR refined, warm-up only': dict(sft=critical, grpo=None),
    'HCR refined': dict(sft=critical, grpo=dict(hindsight_mode='refined')),
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

def world(home):
    "Folder of the embedded model's problems, written once"
    if not (home/'world').exists():
        from honest.nano import write_world
        write_world(str(home/'world'), n_test=100, n_ood=200)
    return home/'world'

def form(cfg):
    "How an arm's answers are asked for"
    legacy = (cfg.get('grpo', {}) or {}).get('hindsight_mode')=='legacy'
    return dict(hindsight=legacy, reasoning_mode=(cfg.get('sft', {}) or {}).get('reasoning_mode', 'required'))

def base_name(cfg):
    "The untrained model's evaluation, asked in the arm's own form"
    o = form(cfg)
    return 'untrained' + '_tagged'*o['hindsight'] + '_refined'*(o['reasoning_mode']=='refined')

def evaluated(home, name, adapter, cfg):
    "Run a full evaluation, on the same items for all"
    from honest.evaluate import full_eval
    out = home/f'{name}.json'
    if not out.exists():
        full_eval(str(out), model_id='nano', adapter_path=adapter, data_dir=str(home/'world/data/processed'), ood_dir=str(home/'world/eval/ood'), samples=100, ood_samples=200,
                  seeds_file=str(home/'eval_seeds.json'), **form(cfg))

def job_name(seed, arm): return f'{seed}-' + ''.join(o if o.isalnum() else '_' for o in arm)

def job(home, jobs, arm, cfg, seed):
    "Train one arm with one seed and keep what the table needs, unless that was done before"
    from honest.grpo import train_grpo
    from honest.rewards import Pay
    tag = job_name(seed, arm)
    if (jobs/f'{tag}.json').exists(): return
    t0,data = time.time(),str(world(home)/'data/processed')
    adapter = warm_up(home, seed, cfg.get('sft', {}))
    if cfg.get('grpo', {}) is not None:
        run = home/f'run-{tag}'
        on = str(run) if any(run.glob('checkpoint-*/optimizer.pt')) else None
        if not (run/'final_adapters/adapter_config.json').exists(): train_grpo('nano', data_dir=data, output_dir=str(run), init_adapter=adapter, resume_from=on, seed=seed, pay=Pay(**default_pay | cfg.get('pay', {})), **cfg.get('grpo', {}))
        adapter = str(run/'final_adapters')
    base = base_name(cfg)
    evaluated(home, base, None, cfg)
    evaluated(home, tag, adapter, cfg)
    for name in (base, tag): keep(home, name, base, jobs/f'{name}.json')
    print(f'{arm}, seed {seed}: {time.time()-t0:.0f} s', flush=True)

letters = dict(right='1', wrong='0', abstained='a', malformed='m', unjudgeable='-')

def scores(part):
    "Stated confidence, verdict as a letter, and pay under the default weights, of a part's items in their fixed order"
    samples = [o for k,v in part.items() if k!='metrics' for o in v['samples']]
    paid = [total(Record(o['id'], o['domain'], o['difficulty'], o['cluster'], o['verdict'], c=o['c']), Pay()) for o in samples]
    return dict(difficulty=''.join(str(o['difficulty']) for o in samples), items=sha256('\n'.join(o['id'] for o in samples).encode()).hexdigest()[:16],
                verdict=''.join(letters[o['verdict']] for o in samples), c=[None if o['c'] is None else round(float(o['c']), 4) for o in samples], pay=[None if o is None else round(float(o), 3) for o in paid])

def keep(home, name, base, file):
    "Write what the table needs of a job, so that it can be made again without the run"
    if file.exists(): return
    run = read_json(home/f'{name}.json')
    m = run['in_distribution']['metrics']
    out = dict(failed_gates=failed_gates(home, name, base), format_rate=run['overall']['format_rate'], abstain={d:run['per_difficulty'][d]['abstain_rate'] for d in run['per_difficulty']},
               refined={k:m[k] for k in ('refined_gain', 'mean_hindsight_error', 'mean_calibration_error') if m.get(k) is not None}, in_distribution=scores(run['in_distribution']), ood=scores(run['ood']))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(out, separators=(',', ':'))+'\n', encoding='utf-8')

def columns(o, at):
    "Confidence, outcome, pay and whether it was answered, of the items `at`; malformed counts as sure and wrong, abstained as .5 and wrong"
    c = [{'m':1., 'a':.5}.get(o['verdict'][i], o['c'][i]) for i in at]
    return [np.array(v, float) for v in (c, [o['verdict'][i]=='1' for i in at], [o['pay'][i] for i in at], [o['verdict'][i] in '01' for i in at])]

def brier(c, y): return np.mean((c-y)**2) if len(c) else np.nan
def brier_of_both(a, b): return [brier(c[both], y[both]) for both in [(a[3]*b[3])>0] for c,y,*_ in (a, b)]
def each(f): return lambda a, b: [f(*o[:3]) for o in (a, b)]
measures = dict(pay=each(lambda c, y, p: np.mean(p)), brier=each(lambda c, y, p: brier(c, y)), brier_of_both=brier_of_both, ece=each(lambda c, y, p: float(ece(table(c, y)))),
                auroc=each(lambda c, y, p: float(auroc(table(c, y)))), accuracy=each(lambda c, y, p: np.mean(y)))
names = dict(pay='pay', brier='Brier', brier_of_both='Brier where both answer', ece='ECE', auroc='AUROC', accuracy='accuracy')

def against(bases, runs, part, n=400, seed=42):
    "Mean over seeds of each measure on a part and of its difference from `bases` (one for all seeds, or one a seed), with an interval that resamples seeds and items"
    bases,runs = [o[part] for o in bases],[o[part] for o in runs]
    if len({o['items'] for o in bases+runs})>1: raise ValueError('the jobs were not evaluated on the same items: delete those in docs_src/results/nano_jobs that an earlier version made')
    judged = [i for i in range(len(runs[0]['verdict'])) if all(o['verdict'][i]!='-' for o in bases+runs)]
    rng,rs,bs = np.random.default_rng(seed),*([columns(o, judged) for o in part] for part in (runs, bases))
    if len(bs)<len(rs): bs = bs*len(rs)
    def shift(f, which):
        both = lambda k, at: f(*([v[at] for v in o[k]] for o in (bs, rs)))
        def gap(k, at): before,after = both(k, at); return after-before
        reps = []
        for _ in range(n):
            at = rng.choice(which, len(which))
            reps.append(np.mean([gap(k, at) for k in rng.integers(0, len(rs), len(rs))]))
        lo,hi = np.percentile(reps, [2.5, 97.5])
        every = range(len(rs))
        return {k:None if np.isnan(v) else round(float(v), 4) for k,v in dict(value=np.mean([both(k, which)[1] for k in every]), delta=np.mean([gap(k, which) for k in every]), lo=lo, hi=hi).items()}
    difficulty = np.array(list(runs[0]['difficulty']))[judged]
    out = {name:shift(f, np.arange(len(judged))) for name,f in measures.items()}
    return out | dict(accuracy_at={d:shift(measures['accuracy'], np.flatnonzero(difficulty==d)) for d in sorted(set(difficulty))})

about_ood = ('Calibration transfer ratio', 'Δ ECE on ≥2 OOD slices')

def failed_gates(home, name, base):
    "Names of the in-distribution gates that a job fails against the untrained model `base`, by `honest compare-runs`"
    from honest.compare import compare_runs
    out = compare_runs(str(home/f'{base}.json'), str(home/f'{name}.json'), str(home/f'gates-{name}.md'))
    return [o for o in out['failed_gates'] if o not in about_ood]

def mean_pay(job):
    "What an in-distribution item earns on average under the default weights, in greedy decoding"
    return round(float(np.mean([o for o in job['in_distribution']['pay'] if o is not None])), 4)

def rows(jobs, arms, seeds):
    "One row an arm with finished jobs: against the untrained model, and against the warm-up alone and plain GRPO of the same seeds"
    out = dict(untrained=dict(pay=mean_pay(read_json(jobs/'untrained.json'))))
    for arm in progress(arms, 'table'):
        at = {s:read_json(f) for s in seeds if (f := jobs/f'{job_name(s, arm)}.json').exists()}
        if not at: continue
        base,done = read_json(jobs/f'{base_name(arms[arm])}.json'),list(at.values())
        out[arm] = dict(seeds=list(at), gates=sum(not o['failed_gates'] for o in done), failed=dict(Counter(g for o in done for g in o['failed_gates'])), pay=[mean_pay(o) for o in done],
                        in_distribution=against([base], done, 'in_distribution'), ood=against([base], done, 'ood'),
                        format_rate=round(float(np.mean([o['format_rate'] for o in done])), 4), abstain={d:round(float(np.mean([o['abstain'][d] for o in done])), 4) for d in '15'})
        for key,other in dict(beyond_warm_up='warm-up only', beyond_plain=plain).items():
            both = {s:read_json(f) for s in at if (f := jobs/f'{job_name(s, other)}.json').exists()}
            if arm==other or not both: continue
            bases,same = list(both.values()),[at[s] for s in both]
            out[arm][key] = dict(seeds=list(both), in_distribution=against(bases, same, 'in_distribution'), ood=against(bases, same, 'ood'))
    return out

def cell(o): return '–' if o['lo'] is None else f'{o["delta"]:+.3f} [{o["lo"]:+.3f}, {o["hi"]:+.3f}]'

def lines(head, rows): return ['', '| '+' | '.join(head)+' |', '|'+'---|'*len(head), *('| '+' | '.join(o)+' |' for o in rows)]

far = {'OOD Δpay':'pay', 'OOD ΔBrier':'brier', 'OOD ΔBrier where both answer':'brier_of_both', 'OOD Δaccuracy':'accuracy'}

def markdown(out):
    arms,deltas = {k:o for k,o in out.items() if k!='untrained'},[f'Δ{o}' for o in names.values()]
    text = [f'Mean pay of an item before training: {out["untrained"]["pay"]:.3f}. Against the untrained model:']
    text += lines(['arm', 'gates', 'pay', *deltas, 'abstains at 1, 5', *far],
                  [[k, f'{o["gates"]} of {len(o["seeds"])}', f'{np.mean(o["pay"]):.3f}', *(cell(o['in_distribution'][m]) for m in measures), f'{o["abstain"]["1"]:.2f}, {o["abstain"]["5"]:.2f}', *(cell(o['ood'][m]) for m in far.values())] for k,o in arms.items()])
    for key,what in dict(beyond_warm_up='the warm-up alone', beyond_plain=f'plain GRPO ({plain})').items():
        both = {k:o[key] for k,o in arms.items() if key in o}
        if not both: continue
        text += ['', f'Against {what}, of the same seed:', *lines(['arm', 'seeds', *deltas, *far],
                 [[k, str(len(o['seeds'])), *(cell(o['in_distribution'][m]) for m in measures), *(cell(o['ood'][m]) for m in far.values())] for k,o in both.items()])]
        text += ['', 'Δaccuracy by difficulty:', *lines(['arm', *'12345'], [[k, *(cell(o['in_distribution']['accuracy_at'][d]) for d in '12345')] for k,o in both.items()])]
    return '\n'.join(text)+'\n'

def brief(out):
    "The table of the page: one row an arm"
    arms = {k:o for k,o in out.items() if k!='untrained'}
    beyond = lambda o, key: cell(o[key]['in_distribution']['pay']) if key in o else '–'
    head = ['arm', 'gates', 'pay', 'against plain GRPO', 'ΔBrier where both answer', 'ΔAUROC', 'Δaccuracy', 'abstains at 5', 'OOD Δpay']
    return '\n'.join(lines(head, [[k, f'{o["gates"]} of {len(o["seeds"])}', f'{np.mean(o["pay"]):.3f}', beyond(o, 'beyond_plain'), *(cell(o['in_distribution'][m]) for m in ('brier_of_both', 'auroc', 'accuracy')),
                                   f'{o["abstain"]["5"]:.2f}', cell(o['ood']['pay'])] for k,o in arms.items()])[1:])

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('study', choices=('training', 'pillars'))
    p.add_argument('--seeds', default='1-5', help='first and last seed')
    p.add_argument('--arms', help='names, separated by semicolons; all when not given')
    p.add_argument('--home', default='study', help='folder of the runs')
    p.add_argument('--table', action='store_true', help='run nothing, write the table')
    a = p.parse_args()
    home,arms,results = Path(a.home),dict(training=training, pillars=pillars)[a.study],Path(__file__).parent/'results'
    first,_,last = a.seeds.partition('-')
    seeds = range(int(first), int(last or first)+1)
    if not a.table:
        for seed in seeds:
            for arm in a.arms.split(';') if a.arms else arms: job(home, results/'nano_jobs', arm, arms[arm], seed)
    out = rows(results/'nano_jobs', arms, range(1, 100))
    write_json(results/f'nano_{a.study}.json', out)
    (results/f'nano_{a.study}.md').write_text(markdown(out), encoding='utf-8')
    print(markdown(out))

if __name__=='__main__': main()
