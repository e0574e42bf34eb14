"""Write the tables of `results.md` between its markers, from the artifacts in `results`, and put new artifacts there first.

    python docs_src/publish.py                              # only the tables
    honest demo && python docs_src/publish.py nano demo     # the comparison of a finished demo
    python docs_src/publish.py smollm2 RUNS                 # a road on a real model, results/smollm2

RUNS holds the evaluations `untrained.json`, `warm.json` and `grpo.json` (the last two may be missing) and the run folders `sft` and `grpo`.
Evaluations are kept without any text of a data set or a model: ids, hashes, verdicts, confidences, and what is made of them.
"""
import json, os, re, shutil, sys
from pathlib import Path

from honest.core import read_json, write_json
from study import brief, scores

here = Path(os.path.relpath(Path(__file__).parent))  # relative, since manifests name what was read
results = here/'results'
names = {'brier':'Brier', 'ece':'ECE', 'auroc':'AUROC', 'accuracy':'accuracy'}

def table(head, rows): return '\n'.join([f'| {" | ".join(head)} |', '|'+'---|'*len(head), *(f'| {" | ".join(o)} |' for o in rows)])
def change(o): return '–' if o['delta'] is None else f'{o["delta"]:+.3f}' + ('' if o['lo'] is None else f' [{o["lo"]:+.3f}, {o["hi"]:+.3f}]')
def value(x): return '–' if x is None else f'{x:.3f}'
def move(o): return ' → '.join('–' if o[k] is None else f'{o[k]:.2f}' for k in ('before', 'after'))
def bounds(o): return '–' if o['lo'] is None else f'[{o["lo"]:.3f}, {o["hi"]:.3f}]'

def headline(r): return table(['in distribution', 'before', 'after', 'difference, 95 % interval'], [[v, value(o['before']), value(o['after']), change(o)] for k,v in names.items() for o in [r['overall'][k]]])

def stages(r):
    "What each leg of the road added"
    rows = [[what, *(change(o[k]) for k in names)] for what,o in r['between']['legs']['in-distribution'].items()]
    return table(['', *(f'Δ{v}' for v in names.values())], rows)

def slices(r):
    return table(['slice', 'valid in both', 'accuracy', 'AUROC', 'ECE', 'ΔBrier', 'status'],
                 [[k, str(o['n']), *(move(o[m]) for m in ('accuracy', 'auroc', 'ece')), change(o['brier']), o['status']] for k,o in r['ood'].items()])

def gates(r):
    return table(['gate', 'threshold', 'value', '95 % interval', ''], [[o['gate'], o['threshold'], value(o['value']), bounds(o), 'pass' if o['pass'] else '**fail**'] for o in r['gates']])

def others(r): return table(['predictor', 'Brier', 'ECE', 'AUROC', 'what training gains over it (ΔBrier)'], [[o['name'], value(o['brier']), value(o['ece']), value(o['auroc']), change(o['gain'])] for o in r['baselines']])

parts = dict(headline=headline, stages=stages, slices=slices, gates=gates, others=others)

texts = ('text', 'answer', 'reason', 'note')
stage_names = dict(untrained='untrained', warm='warm-up', grpo='warm-up + GRPO')
rates = dict(format_rate='format', abstain_rate='abstains', accuracy='accuracy', mean_confidence='confidence', ece='ECE', brier='Brier', auroc='AUROC', brier_worst='Brier, nothing left out')

def without_text(run):
    "An evaluation without the texts of its samples"
    def part(o): return {k:dict(v, samples=[{a:b for a,b in x.items() if a not in texts} for x in v['samples']]) if k!='metrics' else v for k,v in o.items()}
    return run | {k:part(run[k]) for k in ('in_distribution', 'ood')}

def shown(x):
    "`x` with absolute paths, wherever they stand, shortened to their last part"
    if isinstance(x, dict): return {k:shown(v) for k,v in x.items()}
    if isinstance(x, list): return [shown(o) for o in x]
    return Path(x).name if isinstance(x, str) and x.startswith('/') and Path(x).is_absolute() else x

def keep_demo(name, demo):
    "Copy a demo's comparison"
    for o in ('comparison.md', 'comparison.json', 'plots/comparison.png', 'plots/comparison.svg'): shutil.copy(Path(demo)/'eval'/o, results/name/Path(o).name)

def keep_runs(name, runs):
    "Keep what a road on a real model left, and compare its ends"
    from honest.compare import compare_runs
    from honest.audit import plot_training_curves
    out,runs = results/name,Path(runs)
    for k in stage_names:
        if (runs/f'{k}.json').exists(): (out/f'{k}.json').write_text(json.dumps(shown(without_text(read_json(runs/f'{k}.json'))), separators=(',', ':'))+'\n', encoding='utf-8')
    if not (out/'warm.json').exists(): return
    trained = 'grpo' if (out/'grpo.json').exists() else 'warm'
    compare_runs(str(out/'untrained.json'), str(out/f'{trained}.json'), str(out/'comparison.md'), between=str(out/'warm.json') if trained=='grpo' else None, plot=True, plot_output=str(out/'comparison.png'))
    for f in ('sft/training_args.json', 'sft/sft_summary.json', 'grpo/training_args.json', 'grpo/trainer_state.json'):
        if (runs/f).exists(): write_json(out/f.replace('/', '_'), shown(read_json(runs/f)))
    if (runs/'grpo/trainer_state.json').exists(): plot_training_curves(str(runs/'grpo/trainer_state.json'), str(out/'training'))

def by_stage(name):
    "One row a part and stage of the road on a real model"
    runs = {v:read_json(f) for k,v in stage_names.items() if (f := results/name/f'{k}.json').exists()}
    def row(part, stage, o, samples): return [part, stage, str(o['n']), str(o['n_valid']), *(value(o[k]) for k in rates), value(mean_pay(samples))]
    first = next(iter(runs.values()))
    return table(['items', 'stage', 'n', 'valid', *rates.values(), 'pay'],
                 [row('in distribution', k, o['overall'], o['in_distribution']) for k,o in runs.items()] + [row(s, k, o['ood'][s], {s:o['ood'][s]}) for s in first['ood'] if s!='metrics' for k,o in runs.items()])

def mean_pay(part):
    "What an item earns on average under the default weights; None if none could be judged"
    paid = [o for o in scores(part)['pay'] if o is not None]
    return sum(paid)/len(paid) if paid else None

def stated(name):
    "What the untrained model's stated confidence is worth, in distribution and on each slice, against what costs nothing"
    from honest.compare import make_pair, other_predictors, posthoc
    run = read_json(results/name/'untrained.json')
    cells = {'in distribution':[o|dict(id=f'{k}/{o["id"]}') for k,v in run['in_distribution'].items() if k!='metrics' for o in v['samples']]} | {k:v['samples'] for k,v in run['ood'].items() if k!='metrics'}
    rows = []
    for k,samples in cells.items():
        pair = make_pair(samples, samples)
        if pair.n: rows += [[k, o['name'].replace('untrained', 'stated', 1), str(o['n']), value(o['accuracy']), value(o['ece']), value(o['auroc']), value(o['brier']), '–' if o['name']=='untrained' else change(dict(delta=-o['gain']['delta'], lo=-o['gain']['hi'], hi=-o['gain']['lo']))]
                            for o in posthoc(pair, other_predictors(samples, samples))[:-1]]
    return table(['items', 'predictor', 'valid', 'accuracy', 'ECE', 'AUROC', 'Brier', 'ΔBrier against stated'], rows)

def page_tables(name):
    "The tables of one model"
    made = {f'{name} by stage':by_stage(name), f'{name} stated':stated(name)} if (results/name/'untrained.json').exists() else {}
    if not (results/name/'comparison.json').exists(): return made
    r = read_json(results/name/'comparison.json')
    return {f'{name} {k}':f(r) for k,f in parts.items() if k!='stages' or (r.get('between') or {}).get('legs', {}).get('in-distribution')} | made

def main(name=None, folder=None):
    if name:
        (results/name).mkdir(parents=True, exist_ok=True)
        (keep_demo if name=='nano' else keep_runs)(name, folder)
    tables = {o.stem:brief(read_json(o)) for o in results.glob('nano_*.json')}
    for o in results.iterdir():
        if o.is_dir() and o.name!='nano_jobs': tables |= page_tables(o.name)
    page = here/'results.md'
    text = page.read_text('utf-8')
    for k,rows in tables.items(): text = re.sub(rf'(<!-- {k} -->\n).*?(\n<!-- end -->)', lambda m: f'{m[1]}\n{rows}\n{m[2]}', text, flags=re.S)
    page.write_text(text, 'utf-8')

if __name__=='__main__': main(*sys.argv[1:])
