"Run the notebooks by `nbdev_test`'s rules, and keep what they show."
import os, sys
from execnb.nbio import read_nb, write_nb
from execnb.shell import CaptureShell
from fastcore.script import call_parse
from fastcore.xtras import working_directory
from nbdev.clean import nbdev_clean
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.frontmatter import FrontmatterProc
from nbdev.process import NBProcessor

def _skip(cell, flags):
    d = getattr(cell, 'directives_', None) or {}
    return cell.cell_type!='code' or d.get('eval:', [''])[0]=='false' or flags & d.keys()

def run_nb(fn, flags):
    "Run the cells of `fn` that carry none of `flags`; store their outputs in place"
    nb,shell = NBProcessor(fn, procs=FrontmatterProc, process=True).nb, CaptureShell(fn)
    with working_directory(fn.parent): shell.run_all(nb, exc_stop=True, preproc=lambda c: _skip(c, flags))
    seen = {c.id:c.outputs for c in nb.cells if c.cell_type=='code' and not _skip(c, flags)}
    src = read_nb(fn)
    for c in src.cells:
        if c.id in seen: c.outputs = [o for o in seen[c.id] if o.get('name')!='stderr']
    write_nb(src, fn)

@call_parse
def main(
    path:str=None, # One notebook or a folder (default: all)
    flags:str='',  # Test flags to run as well, space separated
):
    "Run notebooks in place, then clean them"
    os.environ['IN_TEST'],cfg = '1',get_config()
    sys.path.insert(0, str(cfg.config_path))
    skip = set(cfg.tst_flags.split()) - set(flags.split())
    for fn in nbglob(path, as_path=True).sorted(): run_nb(fn.absolute(), skip)
    nbdev_clean(path)
