"Each subcommand, end to end in a temporary folder, and what it says when something is missing."
import json, subprocess, sys

import pytest
from typer.testing import CliRunner

from honest.cli import app

def run(*args): return CliRunner().invoke(app, [str(o) for o in args])
def last(out): return json.loads(out.stdout.strip().splitlines()[-1])

@pytest.fixture(scope='module')
def road(tmp_path_factory):
    "The whole road at its smallest, once"
    d = tmp_path_factory.mktemp('demo')/'demo'
    out = run('demo', '--workdir', d, '--quick')
    assert out.exit_code==0, out.output
    return d,last(out)

def test_demo_leaves_everything(road):
    d,said = road
    for o in ('data/processed/math.jsonl', 'eval/baseline_results.json', 'eval/baseline_full.json', 'eval/warmup_full.json', 'eval/full_results.json', 'eval/comparison.md', 'eval/comparison.json',
              'eval/plots/comparison.png', 'run/final_adapters/adapter_model.safetensors', 'run/trainer_state.json', 'run/training_args.json', 'run/difficulty_state.json', 'mcp_transcript.jsonl'):
        assert (d/o).exists(), o
    assert said['comparison']==str(d/'eval/comparison.md')

def test_demo_leaves_a_model_card(road):
    "The adapter's README is a card with its numbers, not the library's blank one"
    d,_ = road
    card = (d/'run/final_adapters/README.md').read_text('utf-8')
    r = json.loads((d/'eval/comparison.json').read_text('utf-8'))
    assert card.startswith('---\n') and 'More Information Needed' not in card and 'model-index' in card
    assert f'{r["overall"]["brier"]["after"]:.3f}' in card and '4 steps of 16 problems' in card and str(d.parent) not in card

def test_model_card_flag(road, tmp_path):
    d,_ = road
    out = run('compare-runs', '--baseline', d/'eval/baseline_full.json', '--after', d/'eval/full_results.json', '--output', tmp_path/'c.md', '--model-card', tmp_path/'deep/card.md', '--n-resamples', 100)
    assert out.exit_code==0, out.output
    assert last(out)['model_card']==str(tmp_path/'deep/card.md') and '## Gates' in (tmp_path/'deep/card.md').read_text('utf-8')

def test_demo_does_nothing_twice(road):
    d,_ = road
    out = run('demo', '--workdir', d, '--quick')
    assert out.exit_code==0 and out.stdout.count('is done already')==10

def test_full_eval_keys(road):
    r = json.loads((road[0]/'eval/full_results.json').read_text())
    assert {'model_id', 'adapter_path', 'preset', 'ood_slices', 'in_distribution', 'ood', 'overall', 'manifest', 'schema_version'} <= set(r)
    assert {'ece', 'ace', 'mce', 'brier', 'nll', 'auroc', 'auprc', 'format_rate', 'abstain_rate', 'accuracy'} <= set(r['overall'])
    assert {'hindsight_rate', 'mean_calibration_error', 'mean_hindsight_error'} <= set(r['in_distribution']['metrics'])
    one = r['in_distribution']['math_1']['samples'][0]
    assert {'id', 'cluster', 'prompt_hash', 'text', 'reason', 'verdict', 'c', 'r', 'h', 'tokens', 'truncated'} <= set(one)

def test_same_items_or_refused(road, tmp_path):
    d = road[0]
    kw = ['--model-id', 'nano', '--data-dir', d/'data/processed', '--ood-dir', d/'eval/ood', '--seeds-file', d/'eval/eval_seeds.json', '--skip-ood']
    out = run('full-eval', *kw, '--samples', 2, '--baseline-results', d/'eval/baseline_full.json', '--output', tmp_path/'x.json')
    assert out.exit_code==2 and 'other items' in out.output
    out = run('full-eval', *kw, '--samples', 8, '--baseline-results', d/'eval/baseline_full.json', '--output', tmp_path/'y.json')
    assert out.exit_code==0, out.output
    gap = json.loads((tmp_path/'y.json').read_text())['delta_vs_baseline']
    assert gap.pop('n_paired')>0 and set(gap.values())=={0.}

def test_dry_runs(road, tmp_path):
    d = road[0]
    kw = ['--data-dir', d/'data/processed', '--ood-dir', d/'eval/ood', '--seeds-file', tmp_path/'seeds.json', '--dry-run']
    out = run('full-eval', '--model-preset', 'nano', *kw, '--output', tmp_path/'x.json')
    assert out.exit_code==0, out.output
    assert last(out)['model_id']=='stub'

@pytest.mark.parametrize('args, says', [
    (['train-grpo', '--model-preset', 'qwen30b'], 'choose from nano'),
    (['train-grpo', '--model-preset', 'qwen3b', '--data-dir', 'nowhere'], 'run "honest ingest-hendrycks-math"'),
    (['train-grpo', '--model-preset', 'qwen3b', '--colab-profile', 'h9'], 'choose from t4'),
    (['train-grpo', '--model-preset', 'qwen3b', '--w-acc', '1'], 'w_acc > w_cal'),
    (['train-grpo', '--model-preset', 'qwen3b', '--domain-weights', 'x'], 'expected numbers'),
    (['train-grpo', '--data-dir', 'nowhere'], 'which model'),
    (['calibration-sft', '--model-id', './none'], 'no such model folder'),
    (['calibration-sft', '--model-id', 'none.gguf'], 'no such GGUF file'),
    (['full-eval', '--model-id', 'nano', '--adapter-path', './none'], 'honest train-grpo'),
    (['full-eval', '--model-id', 'nano', '--data-dir', 'nowhere'], 'Unified sampler is empty'),
    (['ingest-mbpp', '--source', './none.jsonl'], 'none.jsonl'),
    (['compare-runs', '--baseline', './none.json'], 'none.json'),
    (['score', './none.csv'], 'none.csv'),
    (['fetch-ood-data', '--tier', 'giant'], 'giant'),
])
def test_one_clear_line(args, says, tmp_path, monkeypatch):
    "Bad input: exit code 2 and one line that says what to do"
    monkeypatch.chdir(tmp_path)
    out = run(*args)
    assert out.exit_code==2, out.output
    assert says in out.output
    assert len(out.output.strip().splitlines())==1 and 'Traceback' not in out.output

def test_a_folder_with_some_domains(road, tmp_path, capsys):
    "A warm-up takes one domain and says what is missing; GRPO wants every file, or the domains named by their weights"
    from honest.cli import need_files
    (tmp_path/'math.jsonl').write_bytes((road[0]/'data/processed/math.jsonl').read_bytes())
    (tmp_path/'code_mbpp.jsonl').touch()
    with pytest.raises(FileNotFoundError, match='ingest-apps'): need_files(tmp_path)
    need_files(tmp_path, some=True)
    assert 'has problems of math, code only' in capsys.readouterr().out
    need_files(tmp_path, dict(math=.7, code=.3, logic=0))
    with pytest.raises(FileNotFoundError, match='regenerate-zebralogic'): need_files(tmp_path, dict(math=.5, logic=.5))
    need_files(road[0]/'data/processed')
    need_files(road[0]/'data/processed', some=True)
    assert not capsys.readouterr().out

def test_help_is_quick_and_light():
    "No heavy library is imported for --help"
    code = "import sys; from typer.testing import CliRunner; from honest.cli import app; CliRunner().invoke(app, ['--help']); print([o for o in ('torch','transformers','trl','datasets','sklearn','scipy','matplotlib','sympy','mcp') if o in sys.modules])"
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.strip()=='[]'

def test_module_is_the_command():
    out = subprocess.run([sys.executable, '-m', 'honest', '--help'], capture_output=True, text=True)
    assert out.returncode==0 and 'train-grpo' in out.stdout

def test_traceback_on_demand(tmp_path, monkeypatch):
    monkeypatch.setenv('HONEST_DEBUG', '1')
    assert isinstance(run('score', tmp_path/'none.csv').exception, (FileNotFoundError, ValueError))

def test_demo_stopped_in_training_goes_on(road, tmp_path, monkeypatch):
    "Training that was interrupted is not taken for finished: the demo stops, says so, and goes on from the checkpoint"
    import shutil
    from honest import grpo
    d = tmp_path/'demo'
    shutil.copytree(road[0], d)
    for o in ('run', 'eval/full_results.json', 'eval/comparison.json'): shutil.rmtree(d/o) if (d/o).is_dir() else (d/o).unlink()
    whole = grpo.StopSignalCallback.on_step_end
    monkeypatch.setattr(grpo.StopSignalCallback, 'on_step_end', lambda self, args, state, control, **kw: (setattr(self, 'got', 2 if state.global_step==2 else None), whole(self, args, state, control, **kw))[1])
    out = run('demo', '--workdir', d, '--quick')
    assert out.exit_code==1 and 'GRPO stopped at step 2 of 4' in out.output and not (d/'eval/full_results.json').exists()
    monkeypatch.setattr(grpo.StopSignalCallback, 'on_step_end', whole)
    out = run('demo', '--workdir', d, '--quick')
    assert out.exit_code==0 and json.loads((d/'run/trainer_state.json').read_text())['global_step']==4
