"Run every notebook top to bottom in a plain Jupyter kernel, one after the other; nothing is stored."
import os, re, sys, time
import nbformat
from fastcore.script import call_parse
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbdev.config import get_config
from nbdev.doclinks import nbglob

_flag = re.compile(r'^#\|\s*(\w+)(?::\s*(\S+))?\s*$', re.M)

def wanted(cell, skip):
    "False for a cell that carries one of the flags in `skip`, or `eval: false`"
    found = dict(_flag.findall(cell.source)) if cell.cell_type=='code' else {}
    return not found.keys() & skip and found.get('eval')!='false'

def run(fn, skip, timeout):
    "Why `fn` fails, or an empty text"
    nb = nbformat.read(fn, as_version=4)
    nb.cells = [c for c in nb.cells if wanted(c, skip)]
    try: NotebookClient(nb, timeout=timeout, kernel_name='python3', resources={'metadata':{'path':str(fn.parent)}},
                       extra_arguments=['--IPKernelApp.log_level=40']).execute()
    except CellExecutionError as e: return str(e)
    except (CellTimeoutError, DeadKernelError) as e: return f'{type(e).__name__}: {str(e).splitlines()[0]}'
    return ''

@call_parse
def main(
    path:str=None,    # One notebook or a folder (default: all)
    flags:str='',     # Test flags to run as well, space separated
    timeout:int=600,  # Seconds a cell may take
):
    "Run notebooks in a Jupyter kernel"
    cfg,failed = get_config(),[]
    os.environ.update(IN_TEST='1', PYTHONPATH=os.pathsep.join(filter(None, [str(cfg.config_path), os.environ.get('PYTHONPATH')])))
    skip,fns = set(cfg.tst_flags.split())-set(flags.split()), nbglob(path, as_path=True).sorted()
    for fn in fns:
        fn,t = fn.absolute(),time.time()
        why = run(fn, skip, timeout)
        print(f'{"FAIL" if why else "ok":4} {time.time()-t:5.0f} s  {fn.relative_to(cfg.config_path)}', flush=True)
        if why: failed.append(fn.name); print(why, file=sys.stderr)
    print(f'{len(fns)-len(failed)} of {len(fns)} notebooks run'+(f'; failed: {", ".join(failed)}' if failed else ''))
    if failed: sys.exit(1)
