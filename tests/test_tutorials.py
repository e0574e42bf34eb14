"What the tutorials tell a reader to do outside of them, done."
import json, os, re, subprocess, sys
from pathlib import Path

root = Path(__file__).parent.parent

def cells(name):
    "Source of each cell of a tutorial, by id"
    return {c['id']:''.join(c['source']) for c in json.loads((root/'nbs/tutorials'/f'{name}.ipynb').read_text('utf-8'))['cells']}

def test_task_in_a_file(tmp_path):
    "`new_task`, For good: its cells in a file, ended as it says, are the command with one task more"
    c = cells('new_task')
    end = re.search(r'```python\n(if __name__.*?)```', c['on'], re.S)[1]
    kept = ['from honest.core import Problem, Verdict, digest, rng_for, write_jsonl', 'from honest.judge import verifiers', 'from honest.protocol import hints',
            c['verifier'], c['register'].split('\n\n')[0], c['generator']]
    assert sum(bool(l.strip()) for o in [*kept, end] for l in o.splitlines())<=40, 'a domain in forty lines'
    data = "write_jsonl('data/processed/errands.jsonl', [generate(7, i, d, s) for s in ('train', 'test') for d in range(1, 4) for i in range(4)])"
    (tmp_path/'errands.py').write_text('\n\n'.join([*kept, data, end]))
    env = os.environ | {'PYTHONPATH':str(root), 'OMP_NUM_THREADS':'1'}
    res = subprocess.run([sys.executable, 'errands.py', 'full-eval', '--model-id', 'nano', '--skip-ood', '--samples', '2', '--no-answer-probs'],
                         cwd=tmp_path, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=200)
    assert res.returncode==0, res.stderr[-2000:]
    said = json.loads(res.stdout.strip().splitlines()[-1])
    assert said['metrics']['n']==6 and said['metrics']['format_rate']>.5
