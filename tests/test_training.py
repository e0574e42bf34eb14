"Training on the embedded model: a resumed run is the unbroken run, and two processes agree."
import json, os, subprocess, sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from honest.core import file_hash, read_json, write_jsonl
from honest.nano import nano_problem

small = dict(max_steps=6, prompts=4, num_generations=4, save_steps=3, skip_preflight=True)
flags = ['--max-steps', '2', '--prompts', '4', '--num-generations', '4', '--skip-preflight', '--no-wandb']

@pytest.fixture(scope='module')
def data(tmp_path_factory):
    d = tmp_path_factory.mktemp('world')
    for k in ('math', 'logic'): write_jsonl(d/f'{k}.jsonl', [nano_problem(k, 1+i%5, 42, i) for i in range(100)])
    return str(d)

def state(run, name='honest_state.json'): return (Path(run)/name).read_text()

@pytest.fixture(scope='module')
def warm(data, tmp_path_factory):
    "An adapter from a short warm-up"
    from honest.sft import calibration_sft
    out = str(tmp_path_factory.mktemp('warm'))
    calibration_sft('nano', output_dir=out, data_dir=data, n_examples=96, samples=4, max_steps=2, batch_size=32)
    return out

@pytest.fixture(scope='module', params=['fresh adapter', 'warmed up, all pillars'])
def unbroken(request, data, warm, tmp_path_factory):
    "A run of six steps, and the settings it ran with"
    from honest.grpo import train_grpo
    out = tmp_path_factory.mktemp('runs')/'straight'
    kw = small if request.param=='fresh adapter' else small | dict(init_adapter=warm, hindsight_mode='legacy', pillars=dict(smc={}, self_play={}, replay=dict(warmup=3)))
    train_grpo('nano', data_dir=data, output_dir=str(out), **kw)
    return out,kw

def test_run_folder(unbroken):
    "Everything that a run leaves behind"
    unbroken,kw = unbroken
    if 'pillars' in kw: assert {'smc_state.json', 'replay_state.json', 'self_play_state.json'} <= {o.name for o in unbroken.iterdir()}
    assert {'final_adapters', 'trainer_state.json', 'training_args.json', 'difficulty_state.json', 'checkpoint-3', 'checkpoint-6'} <= {o.name for o in unbroken.iterdir()}
    assert {'adapter_config.json', 'adapter_model.safetensors', 'trainer_state.json', 'training_args.json'} <= {o.name for o in (unbroken/'final_adapters').iterdir()}
    assert read_json(unbroken/'training_args.json')['args']['settings']['max_steps']==6

def test_resume_is_exact(unbroken, data, tmp_path):
    "Three steps, a checkpoint and three more steps give the bytes of six steps"
    from honest.grpo import train_grpo
    unbroken,kw = unbroken
    train_grpo('nano', data_dir=data, output_dir=str(tmp_path/'resumed'), resume_from=str(unbroken/'checkpoint-3'), **kw)
    for o in ('honest_state.json', 'difficulty_state.json', 'final_adapters/adapter_model.safetensors'):
        assert file_hash(unbroken/o)==file_hash(tmp_path/'resumed'/o), o

def test_guards_go_on_counting(tmp_path):
    "What a guard has counted stands in the checkpoint, so that a resumed run stops where the unbroken one would"
    from types import SimpleNamespace as N
    from honest.grpo import HonestTrainer, KLEarlyStopCallback, RewardHealthCallback, AdaptiveBetaCallback
    def trainer(counts):
        kl,dead = KLEarlyStopCallback(),RewardHealthCallback()
        kl.count,dead.count = counts
        out = N(generations=7, beta=.03, env=N(source=N(state=dict, load=lambda s: None)), callback_handler=N(callbacks=[AdaptiveBetaCallback(), kl, dead]))
        out._counting = lambda: HonestTrainer._counting(out)
        return out
    HonestTrainer.save_env(trainer((2, 9)), tmp_path)
    HonestTrainer.load_env(other := trainer((0, 0)), tmp_path)
    assert [o.count for o in other._counting()]==[2, 9] and other.beta==.03

def test_generation_changes_after_a_step(unbroken):
    "The adapter that was trained is not the one it started from"
    from safetensors.torch import load_file
    w = load_file(unbroken[0]/'final_adapters/adapter_model.safetensors')
    assert any(v.abs().sum()>0 for k,v in w.items() if 'lora_B' in k)

def test_resume_from_adapter_starts_over(unbroken, data, tmp_path, capsys):
    "An adapter alone has no trainer state, and the run says so"
    from honest.grpo import train_grpo
    out = train_grpo('nano', data_dir=data, output_dir=str(tmp_path/'run'), resume_from=str(unbroken[0]/'final_adapters'), **small | dict(max_steps=1))
    assert out['steps']==1
    assert 'starting at step 0' in capsys.readouterr().out

@pytest.mark.parametrize('credit', ['sequence', 'segment'])
def test_advantages_of_a_group_sum_to_zero(credit, data, tmp_path):
    "Whatever the credit, the totals of a group are centred on its mean"
    import torch
    from honest.data import get_sampler
    from honest.grpo import build_env, make_trainer
    from honest.policy import load_model, load_tokenizer
    from honest.profiles import resolve
    from honest.rewards import Pay
    from honest.sft import add_lora
    tok,env = load_tokenizer('nano'),build_env(get_sampler(data, 'train'), Pay())
    st = resolve('grpo', 'nano', None, None, max_steps=1, prompts=4, num_generations=4)[0]
    t = make_trainer(add_lora(load_model('nano')), tok, env, st, tmp_path, credit)
    t.model.train()
    out = t._generate_and_score_completions([{'prompt':None}]*16)
    adv = out['advantages']
    assert adv.shape[0]==16 and adv.dim()==(1 if credit=='sequence' else 2)
    if credit=='segment': adv = torch.stack([adv[i, 0] + (adv[i, m.sum()-1] if o.verdict in ('right', 'wrong') else 0) for i,(m,o) in enumerate(zip(out['completion_mask'], t._graded[1]))])
    assert adv.view(4, 4).sum(1).abs().max()<1e-4

def test_two_processes_agree(data, tmp_path):
    "Under torchrun both ranks draw the same problems and keep the same curriculum"
    env = os.environ | dict(OMP_NUM_THREADS='1', HONEST_DEBUG='1')
    cmd = [sys.executable, '-m', 'torch.distributed.run', '--nproc_per_node', '2', '--master_port', str(29500+os.getpid()%400), '-m', 'honest', 'train-grpo', '--model-id', 'nano',
           '--data-dir', data, '--domain-weights', 'math=0.5,logic=0.5', '--output-dir', str(tmp_path/'run'), *flags]
    out = subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=300)
    assert out.returncode==0, out.stderr[-2000:]
    s = json.loads(state(tmp_path/'run'))
    assert s['generations']==2
    assert sum(o['seen'] for o in s['source']['control'].values())==2*16
    alone = [*cmd[:1], '-m', *cmd[cmd.index('honest'):]]
    alone[alone.index(str(tmp_path/'run'))] = str(tmp_path/'one')
    assert subprocess.run(alone, env=env, capture_output=True, timeout=300).returncode==0
    assert json.loads(state(tmp_path/'one'))==s, 'one process with the same batch asks, samples and grades the same'
    one,two = (load_file(tmp_path/o/'final_adapters/adapter_model.safetensors') for o in ('one', 'run'))
    assert max(float((one[k]-two[k]).abs().max()) for k in one)<1e-5
