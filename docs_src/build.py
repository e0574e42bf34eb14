"Build the site: nbdev's processed notebooks, with `docs_src` laid over them, rendered to `doc_path`."
import re
from shutil import copytree, ignore_patterns, move, rmtree
from subprocess import run

from execnb.nbio import read_nb, write_nb
from fastcore.script import call_parse
from latex2mathml.converter import convert
from nbdev.config import get_config
from nbdev.serve import proc_nbs

cfg = get_config()
home = f'{cfg.doc_host}{cfg.doc_baseurl}/'
_code = re.compile(r'(```.*?```|`[^`\n]*`)', re.S)
_math = re.compile(r'\$\$(.+?)\$\$|(?<![\\$\w])\$(\S(?:[^$\n]*?\S)?)\$(?!\w)', re.S)

def _mathml(m): return convert(m[1] or m[2], display='block' if m[1] else 'inline')

def portable(md, up):
    "Markdown whose maths needs no script, and whose links to our own pages work wherever they are put"
    parts = _code.split(md.replace(home, up))
    return ''.join(p if i%2 else _math.sub(_mathml, p) for i,p in enumerate(parts))

def rewrite(fn, root):
    "Make one page portable, dropping a notebook's number from its name"
    up = '../'*len(fn.relative_to(root).parent.parts)
    if fn.suffix=='.md': return fn.write_text(portable(fn.read_text(), up))
    nb = read_nb(fn)
    for c in nb.cells:
        if c.cell_type=='markdown': c.source = portable(c.source, up)
        if c.cell_type=='raw': c.source = re.sub(r'^output-file:.*\n', '', c.source, flags=re.M)
    fn.unlink()
    write_nb(nb, fn.with_name(re.sub(r'^\d+[a-z]?_', '', fn.name)))

def readme(nb):
    "Markdown of a processed notebook: its title, prose, code, and text outputs"
    out = []
    for c in nb.cells:
        if c.cell_type=='raw':
            d = dict(re.findall(r'^(\w+): (.*)$', c.source, re.M))
            out.append(f"# {d['title']}\n\n> {d['description']}")
        elif c.cell_type=='markdown': out.append(c.source)
        else:
            out.append(f'```python\n{c.source}\n```')
            out += [''.join(f'    {l}' for l in o['data']['text/plain']) for o in c.outputs if 'data' in o]
    return '\n\n'.join(out)+'\n'

@call_parse
def main(
    renderer:str='smalldocs', # Program that renders a Quarto project: `smalldocs` or `quarto`
):
    "Process, overlay, render; and write README.md from the index"
    root = proc_nbs(force=True, n_workers=0)
    (cfg.config_path/'README.md').write_text(readme(read_nb(root/cfg.readme_nb)))
    copytree(cfg.path('doc_src_path'), root, dirs_exist_ok=True, ignore=ignore_patterns('*.py', '__pycache__'))
    for fn in [*root.rglob('*.ipynb'), *root.rglob('*.md')]: rewrite(fn, root)
    run([renderer, 'render', root], check=True)
    rmtree(cfg.doc_path, ignore_errors=True)
    move(root/cfg.doc_path.name, cfg.doc_path)
