"""Write the tables of `results.md` between its markers: those of `study.py`, and with a finished demo its comparison, which is copied into `results/nano`.

    python docs_src/publish.py                       # the tables of study.py
    honest demo && python docs_src/publish.py demo
"""
import re, shutil, sys
from pathlib import Path

from honest.core import read_json
from study import brief

here = Path(__file__).parent
results = here/'results'
names = {'brier':'Brier', 'ece':'ECE', 'auroc':'AUROC', 'accuracy':'accuracy'}

def table(head, rows): return '\n'.join([f'| {" | ".join(head)} |', '|'+'---|'*len(head), *(f'| {" | ".join(o)} |' for o in rows)])
def change(o): return f'{o["delta"]:+.3f} [{o["lo"]:+.3f}, {o["hi"]:+.3f}]'
def value(x): return '–' if x is None else f'{x:.3f}'

def headline(r): return table(['in distribution', 'before', 'after', 'difference, 95 % interval'], [[v, value(o['before']), value(o['after']), change(o)] for k,v in names.items() for o in [r['overall'][k]]])

def stages(r):
    "What each leg of the road added"
    rows = [[what, *(change(o[k]) for k in names)] for what,o in r['between']['legs']['in-distribution'].items()]
    return table(['', *(f'Δ{v}' for v in names.values())], rows)

def slices(r):
    return table(['slice', 'accuracy', 'ECE', 'ΔBrier', 'status'], [[k, *(f'{o[m]["before"]:.2f} → {o[m]["after"]:.2f}' for m in ('accuracy', 'ece')), change(o['brier']), o['status']] for k,o in r['ood'].items()])

def gates(r): return table(['gate', 'threshold', 'value', ''], [[o['gate'], o['threshold'], value(o['value']), 'pass' if o['pass'] else '**fail**'] for o in r['gates']])

def others(r): return table(['predictor', 'Brier', 'ECE', 'AUROC', 'what training gains over it (ΔBrier)'], [[o['name'], value(o['brier']), value(o['ece']), value(o['auroc']), change(o['gain'])] for o in r['baselines']])

parts = dict(headline=headline, stages=stages, slices=slices, gates=gates, others=others)

def demo_tables(demo):
    "Copy a demo's comparison and make its tables"
    out = results/'nano'
    out.mkdir(parents=True, exist_ok=True)
    for o in ('comparison.md', 'comparison.json', 'plots/comparison.png', 'plots/comparison.svg'): shutil.copy(Path(demo)/'eval'/o, out/Path(o).name)
    r = read_json(out/'comparison.json')
    return {k:f(r) for k,f in parts.items()}

def main(demo=None):
    page = here/'results.md'
    text = page.read_text('utf-8')
    tables = {o.stem:brief(read_json(o)) for o in results.glob('nano_*.json')} | (demo_tables(demo) if demo else {})
    for k,table in tables.items(): text = re.sub(rf'(<!-- {k} -->\n).*?(\n<!-- end -->)', lambda m: f'{m[1]}\n{table}\n{m[2]}', text, flags=re.S)
    page.write_text(text, 'utf-8')

if __name__=='__main__': main(*sys.argv[1:])
