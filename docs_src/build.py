"Build the site: nbdev's processed notebooks, with `docs_src` laid over them, rendered to `doc_path`."
import re
from shutil import copytree, ignore_patterns, move, rmtree
from subprocess import run

from execnb.nbio import read_nb, write_nb
from fastcore.script import call_parse
from latex2mathml.converter import convert
from nbdev import processors
from nbdev.config import get_config
from nbdev.serve import proc_nbs

cfg = get_config()
home = f'{cfg.doc_host}{cfg.doc_baseurl}/'
_code = re.compile(r'(```.*?```|`[^`\n]*`)', re.S)
_math = re.compile(r'\$\$(.+?)\$\$|(?<![\\$\w])\$(\S(?:[^$\n]*?\S)?)\$(?!\w)', re.S)
_span = re.compile(r'contents: (\d\d)-(\d\d)$', re.M)
_linked = re.compile(rf'\[(`[^`]+`)\]\({re.escape(home)}[^)]*\)')
_fonts = re.compile(r'@import url\(https?:[^)]*\);?')   # themes fetch theirs from a font service; system fonts do
_local = re.compile(r'\]\((?!\w+:|#)((?:\.\./)*)([^)\s]*)\)')

def page(name):
    "A page's name: its notebook's without the number"
    return re.sub(r'^\d+[a-z]?_', '', name)

def sidebar(yml, names):
    "`yml` with each span of numbers (`contents: 00-07`) replaced by the pages that carry them"
    def pages(m): return [page(o) for o in sorted(names) if o[:2].isdigit() and m[1]<=o[:2]<=m[2]]
    return _span.sub(lambda m: f'contents: [{", ".join(pages(m))}]', yml)

def _needed(cell):
    "Run what signatures need: exported cells. nbdev would also run what only tests import, and any cell with an import inside a function."
    if cell.cell_type!='code' or not cell.source: return False
    if cell.directives_.get('eval:', [''])[0]=='false': return False
    return bool(cell.directives_.keys() & {'export', 'exports', 'exporti'} or processors._show_docs(cell.parsed_() or []))

_names = processors._def_names
def _in_order(cell, shown):
    "Names that `cell` defines, last first: nbdev puts the entry of each directly under the cell"
    return list(reversed(_names(cell, shown)))

def _mathml(m): return convert(m[1] or m[2], display='block' if m[1] else 'inline')

def _on_site(m):
    "A link that works in the repository, as it has to read on the site"
    to = re.sub(r'^(docs_src|nbs)/', '', m[2])
    head,_,tail = to.rpartition('/')
    return f']({m[1] if to==m[2] else m[1][3:]}{head and head+"/"}{page(tail)})'

def _inside(md, up):
    "`md` with links to our own pages that work wherever they are put, and none in a fenced block, where they would show as text"
    return re.sub(r'```.*?```', lambda m: _linked.sub(r'\1', m[0]), md, flags=re.S).replace(home, up)

def portable(md, up):
    "Markdown whose maths needs no script, and whose links to our own pages work wherever they are put"
    parts = _code.split(_inside(md, up))
    return _local.sub(_on_site, ''.join(p if i%2 else _math.sub(_mathml, p) for i,p in enumerate(parts)))

def rewrite(fn, root):
    "Make one page portable, dropping a notebook's number from its name"
    up = '../'*len(fn.relative_to(root).parent.parts)
    if fn.suffix=='.md': return fn.write_text(portable(fn.read_text('utf-8'), up), 'utf-8')
    nb = read_nb(fn)
    for c in nb.cells:
        if c.cell_type=='markdown': c.source = portable(c.source, up)
        for o in c.get('outputs', []):
            if md := o.get('data', {}).get('text/markdown'): o['data']['text/markdown'] = _inside(''.join(md), up)
        if c.cell_type=='raw': c.source = re.sub(r'^output-file:.*\n', '', c.source, flags=re.M)
    fn.unlink()
    write_nb(nb, fn.with_name(page(fn.name)))

def _in_repo(md):
    "Links of the index as they have to read one folder up; links to the site's API pages become plain code"
    return _local.sub(lambda m: f']({m[2]})' if m[1] else f'](nbs/{m[2]})', _linked.sub(r'\1', md))

def readme(nb):
    "Markdown of a processed notebook: its title, prose, code, and text outputs"
    out = []
    for c in nb.cells:
        if c.cell_type=='raw':
            d = dict(re.findall(r'^(\w+): (.*)$', c.source, re.M))
            out.append(f"# {d['title']}\n\n> {d['description']}")
        elif c.cell_type=='markdown': out.append(_in_repo(c.source))
        else:
            out.append(f'```python\n{c.source}\n```')
            for o in c.outputs:
                text = o['text'] if 'text' in o else o.get('data', {}).get('text/plain', '')
                if text: out.append(''.join(f'    {l}' for l in ''.join(text).splitlines(keepends=True)))
    return '\n\n'.join(o.rstrip('\n') for o in out)+'\n'

def _plain(text):
    "Help text for Markdown: bars escaped, flags as code"
    return re.sub(r'(?<![\w`-])(--[a-z][\w-]*)', r'`\1`', ' '.join(text.split()).replace('|', '\\|'))

def _flag(o):
    "A row of a command's table: its flag, default and help"
    name = o.opts[0].upper() if o.param_type_name=='argument' else o.opts[0]
    if getattr(o, 'is_flag', False) and o.secondary_opts: name += f', {o.secondary_opts[0]}'
    default = 'required' if o.required else '' if o.default in (None, '') or o.default is False else 'on' if o.default is True else f'`{o.default}`'
    also = ''.join(f', `{x}`' for x in o.opts[1:])
    return f'| `{name}`{also} | {_plain(o.help or "")} | {default} |'

def commands():
    "A page of all commands and flags, from their help"
    from typer.main import get_command
    from honest.cli import app
    out = ['---\ntitle: Commands\ndescription: Every command and every flag, as `--help` has them\n---', '<!-- Made by build.py: do not edit. -->',
           'A flag without a default is left to the model\'s tier or preset, or is off. What the steps are for, and in which order, is in the [runbook](runbook.md).']
    for name,c in get_command(app).commands.items():
        said,_,example = c.help.replace('\n\n', '\0').partition('\0')
        lines = [o.strip() for o in re.sub(r'^\s*Examples?: ', '', example.replace('\n', ' ')).split(';')]
        out += [f'## honest {name}', _plain(said), '```bash\n'+'\n'.join(lines)+'\n```']
        shown = [o for o in c.params if not getattr(o, 'hidden', False) and o.name not in ('help', 'ctx')]
        for panel in dict.fromkeys(getattr(o, 'rich_help_panel', None) for o in shown):
            rows = [_flag(o) for o in shown if getattr(o, 'rich_help_panel', None)==panel]
            out += [f'**{panel}**']*bool(panel) + ['| flag | | default |\n|---|---|---|\n'+'\n'.join(rows)]
    return '\n\n'.join(out)+'\n'

@call_parse
def main(
    renderer:str='smalldocs', # Program that renders a Quarto project: `smalldocs` or `quarto`
):
    "Process, overlay, render; and write README.md from the index, commands.md from the command's help"
    processors._do_eval,processors._def_names = _needed,_in_order
    root = proc_nbs(force=True, n_workers=0)
    (cfg.config_path/'README.md').write_text(readme(read_nb(root/cfg.readme_nb)), 'utf-8')
    (cfg.path('doc_src_path')/'commands.md').write_text(commands(), 'utf-8')
    copytree(cfg.path('doc_src_path'), root, dirs_exist_ok=True, ignore=ignore_patterns('*.py', '__pycache__'))
    (root/'changelog.md').write_text('---\ntitle: Changelog\n---\n'+(cfg.config_path/'CHANGELOG.md').read_text('utf-8').split('\n', 1)[1], 'utf-8')
    yml = root/'_quarto.yml'
    yml.write_text(sidebar(yml.read_text('utf-8'), [o.name for o in root.glob('*.ipynb')]), 'utf-8')
    for fn in [*root.rglob('*.ipynb'), *root.rglob('*.md')]: rewrite(fn, root)
    run([renderer, 'render', root], check=True)
    for fn in (root/cfg.doc_path.name).rglob('*.css'): fn.write_text(_fonts.sub('', fn.read_text('utf-8')), 'utf-8')
    rmtree(cfg.doc_path, ignore_errors=True)
    move(root/cfg.doc_path.name, cfg.doc_path)
