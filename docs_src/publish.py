"""Copy the comparison of a finished `honest demo` into `results/nano`, and write its tables and those of `study.py` into `results.md`, between the markers.

    honest demo && python docs_src/publish.py demo
"""
import json, re, shutil, sys
from pathlib import Path

here = Path(__file__).parent
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

def main(demo):
    out = here/'results/nano'
    out.mkdir(parents=True, exist_ok=True)
    for o in ('comparison.md', 'comparison.json', 'plots/comparison.png', 'plots/comparison.svg'): shutil.copy(Path(demo)/'eval'/o, out/Path(o).name)
    r,page = json.loads((out/'comparison.json').read_text('utf-8')),here/'results.md'
    text = page.read_text('utf-8')
    for k,f in parts.items(): text = re.sub(rf'(<!-- {k} -->\n).*?(\n<!-- end -->)', lambda m: f'{m[1]}\n{f(r)}\n{m[2]}', text, flags=re.S)
    for o in out.parent.glob('nano_*.md'): text = re.sub(rf'(<!-- {o.stem} -->\n).*?(\n<!-- end -->)', lambda m: f'{m[1]}\n{o.read_text("utf-8").strip()}\n{m[2]}', text, flags=re.S)
    page.write_text(text, 'utf-8')
    print(headline(r), stages(r), sep='\n\n')

if __name__=='__main__': main(sys.argv[1])
