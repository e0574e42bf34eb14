"Each guard of the runbook's troubleshooting table is triggered, through the trainer's own path where training is meant; two planted failures are caught."
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from honest.audit import audit_hindsight, audit_text, plot_training_curves
from honest.core import digest, read_json, write_jsonl
from honest.data import Sampler
from honest.env import Curriculum, Env
from honest.nano import nano_problem
from honest.protocol import render
from honest.replay import Replay
from honest.rewards import Pay

world = [nano_problem(k, 1+i%5, 42, i) for k in ('math', 'logic') for i in range(60)]

class Scripted(Env):
    "Grades what `script(problem, i)` says in place of what the model wrote"
    script = None
    def grade(self, problems, texts, *args):
        return super().grade(problems, [self.script(p, i) for i,p in enumerate(problems)] if self.script else texts, *args)

def trained(out, script=None, source=None, steps=3, prompts=2, group=4, adjust=None, pay=Pay(), hindsight=False, **asked):
    "A finished trainer of a short run on the embedded model, each step logged; `adjust(trainer)` comes before it starts"
    from honest.grpo import make_trainer
    from honest.policy import load_model, load_tokenizer
    from honest.profiles import resolve
    from honest.sft import add_lora
    env = Scripted(source or Curriculum(Sampler(world)), pay, hindsight=hindsight)
    env.script = script
    st = resolve('grpo', 'nano', None, None, max_steps=steps, prompts=prompts, num_generations=group, **asked)[0]
    t = make_trainer(add_lora(load_model('nano')), load_tokenizer('nano'), env, st, out)
    t.args.logging_steps = 1
    if adjust: adjust(t)
    t.train()
    t.save_state()
    t.save_env(out)
    return t

def guard(t, name): return next(o for o in t.callback_handler.callbacks if type(o).__name__==name)
def said(o): return render('r', o, .9)
def coin(p, i): return render('r', p.meta['solution'] if i%2 else 'no', .1+.8*(i%3)/2)

# ---- two planted failures

def test_a_prompt_that_never_teaches_the_tag_is_silent(tmp_path):
    "The head is paid for, the prompt does not ask for it: the trainer's own log shows it, and the audit says so"
    t = trained(tmp_path, pay=Pay(hindsight='legacy'))
    assert [o['rewards/hindsight/mean'] for o in t.state.log_history if 'reward' in o]==[0.]*3
    r = audit_hindsight(tmp_path)
    assert r['verdict']=='structurally silent' and r['channel']=='rewards/hindsight/mean' and r['rows']==r['zero_rows']==3
    assert '--hindsight-mode refined' in audit_text(r)

def test_a_taught_tag_is_heard(tmp_path):
    "The same run with the tag written is no failure"
    trained(tmp_path, lambda p, i: render('r', p.meta['solution'], .9, h=.8), pay=Pay(hindsight='legacy'), hindsight=True)
    assert audit_hindsight(tmp_path)['verdict']=='healthy'

def test_one_dominating_prompt_pauses_replay(tmp_path, capsys):
    "One problem is badly missed among well judged ones: replay switches off and serves nothing"
    source = Replay(Curriculum(Sampler(world)), size=16, mix=.5, alpha=6., warmup=4)
    bad = Env(source).draw(0).id
    t = trained(tmp_path, lambda p, i: render('r', 'no' if p.id==bad else p.meta['solution'], 1.), source, steps=4, prompts=4)
    assert 'is under log 2' in capsys.readouterr().out
    s,logs = read_json(tmp_path/'replay_state.json'),[o for o in t.state.log_history if 'replay/active' in o]
    assert s['pauses']==1 and 45<s['off']<=50 and s['priority_entropy']<.6931 and s['top1_share']>.5
    assert logs[-1]['replay/active']==0 and logs[-1]['replay/served']==0
    assert next(o['error'] for o in s['buffer'] if o['problem']['id']==bad)==1

# ---- train/reward_std flat near 0

def test_dead_batches_are_reported_move_nothing_and_stop_the_run(tmp_path, capsys):
    def adjust(t): guard(t, 'RewardHealthCallback').patience = 2
    t = trained(tmp_path, lambda p, i: 'no tags at all', steps=4, adjust=adjust)
    out = capsys.readouterr().out
    assert 'no group has any spread of pay' in out and 'saving and stopping' in out
    assert t.state.global_step==2 and (tmp_path/'checkpoint-2/adapter_model.safetensors').exists()
    assert all(not p.abs().any() for k,p in t.model.named_parameters() if 'lora_B' in k)

# ---- train/kl blowing up

def test_a_policy_that_drifts_raises_beta_and_is_stopped(tmp_path, capsys):
    def adjust(t): guard(t, 'KLEarlyStopCallback').patience = 1
    t = trained(tmp_path, coin, steps=12, adjust=adjust, learning_rate=.03)
    out,kls = capsys.readouterr().out,[o['kl'] for o in t.state.log_history if 'kl' in o]
    assert max(kls)>.5
    assert 'beta raised to' in out and 'is above 0.2' in out and t.beta>.02
    assert t.state.global_step<12 and 'saving and stopping' in out
    assert json.loads((tmp_path/f'checkpoint-{t.state.global_step}/honest_state.json').read_text())['beta']==t.beta

def test_one_confidence_for_everything_is_reported(tmp_path, capsys):
    t = trained(tmp_path, lambda p, i: said(p.meta['solution'] if i%2 else 'no'), steps=3)
    assert '100% of the completions state one confidence' in capsys.readouterr().out
    last = [o for o in t.state.log_history if 'confidence/top1_mass' in o][-1]
    assert last['confidence/top1_mass']==1 and max(last['confidence/std_across'], last['confidence/std_within'])<1e-9

# ---- out of memory, a starved format, a ceiling that swings

def test_a_step_that_does_not_fit_is_announced(monkeypatch, capsys):
    from honest import grpo
    from honest.policy import load_model
    monkeypatch.setattr(grpo, 'free_memory', lambda device: 1e-6)
    cfg = SimpleNamespace(per_device_train_batch_size=8, gradient_checkpointing=False)
    grpo._memory_check(load_model('nano'), dict(prompts=2, max_completion_length=64), cfg, 40)
    out = capsys.readouterr().out
    assert '--num-generations' in out and '--max-completion-length' in out

def test_a_low_format_rate_points_to_format_sft(tmp_path, capsys):
    from honest.evaluate import baseline_eval
    write_jsonl(tmp_path/'math.jsonl', [replace(o, split='test') for o in world if o.domain=='math'])
    out = baseline_eval(tmp_path/'b.json', model_id='nano', data_dir=tmp_path, samples=2, seeds_file=tmp_path/'s.json', max_new_tokens=4)
    assert out['metrics']['format_rate']<.7 and 'honest format-sft' in capsys.readouterr().err

@pytest.mark.parametrize('n', [20, 40])
def test_the_ceiling_waits_for_its_episodes(n):
    from honest.core import Record
    from honest.grpo import build_source
    src = build_source(Sampler(world), pillars=dict(smc=dict(min_episodes=n)))
    top = [nano_problem('math', 5, 1, i) for i in range(n)]
    src.update([Record(p.id, 'math', 5, p.cluster, 'right', c=.9) for p in top[1:]], top[1:])
    assert src.logs()['smc/math/max_unlocked']==5
    src.update([Record(p.id, 'math', 5, p.cluster, 'right', c=.9) for p in top[:1]], top[:1])
    assert src.logs()['smc/math/max_unlocked']==6 and src.logs()['smc/logic/max_unlocked']==5

# ---- a log of TRL's own trainer

def test_any_log_of_trl_is_drawn_and_audited(tmp_path):
    "A plain `GRPOTrainer` with a reward of one's own, which knows nothing of this package"
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer
    from honest.policy import load_model, load_tokenizer
    def hindsight_reward(completions, **kw): return [.1*(int(digest(o[0]['content']), 16)%3) for o in completions]
    cfg = GRPOConfig(str(tmp_path), per_device_train_batch_size=4, num_generations=4, max_completion_length=16, max_steps=2, logging_steps=1, report_to='none',
                     beta=.01, use_cpu=True, disable_tqdm=True, bf16=False, save_strategy='no')
    rows = Dataset.from_dict({'prompt':[[dict(role='user', content=p.question)] for p in world[:8]]})
    t = GRPOTrainer(load_model('nano'), hindsight_reward, cfg, train_dataset=rows, processing_class=load_tokenizer('nano'))
    t.train()
    t.save_state()
    r = audit_hindsight(tmp_path/'trainer_state.json')
    assert r['channel']=='rewards/hindsight_reward/mean' and r['rows']==2 and r['verdict']!='structurally silent'
    out = plot_training_curves(tmp_path, tmp_path/'plots')
    assert out['last_step']==2 and set(out['missing'])=={'loss_curve.png', 'reward_curve.png', 'calibration_curve.png'}
    assert out['missing']['reward_curve.png']==['correctness', 'calibration']
