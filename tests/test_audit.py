"Audit: silent hindsight is called silent, any trainer's log is drawn, each pillar passes or fails by its own numbers; and the pillars run through the trainer."
import json, math
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from honest.audit import NotVerified, audit_hindsight, audit_text, curves, no_regression, plot_training_curves, smooth, verify_self_learning, verify_text
from honest.compare import stub_run
from honest.core import read_json, write_json, write_jsonl

def state(hindsight=None, n=40, key='rewards/hindsight/mean', **more):
    "A trainer's log; `hindsight(i)` is the channel at step `i`"
    return dict(log_history=[{'step':i, 'loss':1/i, 'rewards/calibration/mean':.8, **({} if hindsight is None else {key:hindsight(i)}), **more} for i in range(1, n+1)])

# ---- the audit

def test_a_run_that_was_never_taught_the_tag_is_silent():
    r = audit_hindsight(state(lambda i: 0.))
    assert r['verdict']=='structurally silent' and r['zero_share']==1
    assert '--hindsight-mode refined' in audit_text(r)

def test_a_run_without_the_channel_is_silent_and_says_why():
    r = audit_hindsight(state())
    assert r['verdict']=='structurally silent' and r['channel'] is None
    assert 'without --hindsight' in audit_text(r)

@pytest.mark.parametrize('zero,level,want', [(.95, .3, 'structurally silent'), (.94, .3, 'intermittent'), (.75, .3, 'intermittent'), (.21, .3, 'intermittent'), (.2, .3, 'healthy'), (0, .3, 'healthy'),
                                             (0, .04, 'healthy'), (0, .039, 'intermittent')])
def test_limits(zero, level, want):
    "The verdict turns exactly at the stated limits"
    assert audit_hindsight(state(lambda i: 0. if i<=round(zero*100) else level, 100))['verdict']==want

@pytest.mark.parametrize('key', ['rewards/hindsight/mean', 'rewards/hindsight', 'train/rewards/hindsight_reward/mean', 'reward/legacy_hindsight'])
def test_channel_by_any_of_its_names(key): assert audit_hindsight(state(lambda i: .2, key=key))['verdict']=='healthy'

def test_spread_is_not_the_channel():
    assert audit_hindsight(state(lambda i: .2, key='rewards/hindsight/std'))['channel'] is None

def test_a_late_start_shows_in_the_last_third():
    r = audit_hindsight(state(lambda i: .3*(i>50), 60))
    assert r['zero_share']>.8 and r['zero_share_last_third']==.5

values = st.one_of(st.none(), st.booleans(), st.text(max_size=3), st.floats(), st.integers(-5, 5))
rows = st.dictionaries(st.sampled_from(['step', 'loss', 'reward', 'reward_std', 'kl', 'brier', 'rewards/hindsight/mean', 'rewards/calibration/mean', 'epoch']), values)

@given(st.lists(st.one_of(rows, st.none(), st.integers()), max_size=20))
def test_no_log_breaks_the_audit(history):
    r = audit_hindsight(dict(log_history=history))
    assert r['verdict'] in ('structurally silent', 'intermittent', 'healthy') and audit_text(r)
    json.dumps(r, allow_nan=False)

@settings(max_examples=8)
@given(st.lists(st.one_of(rows, st.none()), max_size=8))
def test_no_log_breaks_the_curves(history):
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        out = plot_training_curves(dict(log_history=history), d)
        assert all(Path(o).read_bytes()[:4]==b'\x89PNG' for o in out['written'])

@pytest.mark.parametrize('bad', [{}, {'log_history':None}, [], None])
def test_what_is_no_log_is_refused(bad):
    with pytest.raises(ValueError, match='no log_history'): audit_hindsight(bad)

def test_path_folder_or_dict(tmp_path):
    write_json(tmp_path/'trainer_state.json', state(lambda i: .2))
    assert audit_hindsight(tmp_path)==audit_hindsight(str(tmp_path/'trainer_state.json'))==audit_hindsight(state(lambda i: .2))
    with pytest.raises(FileNotFoundError, match='honest train-grpo'): audit_hindsight(tmp_path/'no.json')
    (tmp_path/'broken.json').write_text('{')
    with pytest.raises(ValueError, match='not a JSON file'): audit_hindsight(tmp_path/'broken.json')

# ---- curves

@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(1, 50))
def test_smooth_is_a_running_mean(v, width):
    import numpy as np
    got = smooth(np.array(v), width)
    for i in range(len(v)):
        part = v[max(i+1-width, 0):i+1]
        assert math.isclose(got[i], sum(part)/len(part), rel_tol=1e-6, abs_tol=1e-3)

def test_curves_are_small_the_same_twice_and_never_another_runs(tmp_path, capsys):
    full = dict(log_history=[{'step':i, 'loss':1/i, 'reward':1.-1/i, 'reward_std':.1, 'kl':.01, 'brier':.2, 'accuracy':.5, 'confidence/mean':.6} for i in range(1, 30)])
    plot_training_curves(full, tmp_path/'a', 'x · 30 steps')
    plot_training_curves(full, tmp_path/'b', 'x · 30 steps')
    for k in curves:
        a = (tmp_path/f'a/{k}.png').read_bytes()
        assert a==(tmp_path/f'b/{k}.png').read_bytes() and len(a)<1e5
    assert {'loss_curve', 'reward_curve', 'kl_curve', 'calibration_curve'}==set(curves)
    capsys.readouterr()
    old = (tmp_path/'a/kl_curve.png').read_bytes()
    out = plot_training_curves(dict(log_history=[{'step':1, 'loss':2., 'mean_token_accuracy':.5}]), tmp_path/'a')
    assert (tmp_path/'a/kl_curve.png').read_bytes()!=old
    assert 'kl_curve.png: not logged in this run: KL' in capsys.readouterr().out and 'kl_curve.png' in out['missing']

# ---- verification

def folder(at, **files):
    for k,v in files.items(): write_json(at/f'{k}.json', v)
    return at

good = dict(replay_state=dict(size=256, priority_entropy=4.2, top1_share=.01), smc_state={'math':dict(max_unlocked_difficulty=6, episodes_at_max=4)},
            self_play_state=dict(proposals=9, entropy=2., entropy_floor=1.3))
def evaluated(rate=.4, c=.2, h=.1): return dict(in_distribution=dict(metrics=dict(hindsight_rate=rate, mean_calibration_error=c, mean_hindsight_error=h)))

def test_all_pillars_pass(tmp_path):
    r = verify_self_learning(folder(tmp_path, **good), evaluated(), strict=True)
    assert r['pass'] and set(r['pillars'])=={'hindsight', 'replay', 'curriculum', 'self_play'}
    json.dumps(r, allow_nan=False)
    assert all(o in verify_text(r) for o in ('0.4', '4.2', '0.01', '6', 'all passed'))

@pytest.mark.parametrize('name,change,failed', [
    ('replay_state', dict(priority_entropy=1.), 'replay: priority_entropy'), ('replay_state', dict(top1_share=.05), 'replay: top1_share'),
    ('replay_state', dict(size=0), 'replay: size'), ('replay_state', dict(priority_entropy=None), 'replay: priority_entropy'),
    ('smc_state', {'math':dict(max_unlocked_difficulty=5, episodes_at_max=4)}, 'curriculum: domains whose ceiling rose'), ('smc_state', {'math':dict(max_unlocked_difficulty=9)}, 'curriculum: math: max_unlocked'),
    ('self_play_state', dict(entropy=1.2), 'self_play: entropy'), ('self_play_state', dict(proposals=0), 'self_play: proposals')])
def test_each_limit_fails_alone(tmp_path, name, change, failed):
    run = folder(tmp_path, **good | {name:good[name]|change})
    assert verify_self_learning(run, evaluated())['failed']==[failed]
    with pytest.raises(NotVerified, match=failed.split(': ')[0]) as e: verify_self_learning(run, evaluated(), strict=True)
    assert e.value.summary['failed']==[failed]

@pytest.mark.parametrize('kw,failed', [(dict(rate=.29), 'hindsight_rate'), (dict(h=.2), 'mean_hindsight_error'), (dict(h=None), 'mean_hindsight_error')])
def test_hindsight_limits(tmp_path, kw, failed):
    write_json(tmp_path/'training_args.json', dict(args=dict(hindsight_mode='legacy')))
    assert verify_self_learning(tmp_path, evaluated(**kw))['failed']==[f'hindsight: {failed}']

def test_silent_hindsight_fails_the_run(tmp_path):
    write_json(tmp_path/'trainer_state.json', state(lambda i: 0.))
    r = verify_self_learning(tmp_path, evaluated())
    assert r['failed']==['hindsight: audit']
    assert verify_self_learning(tmp_path)['failed']==['hindsight: hindsight_rate', 'hindsight: mean_hindsight_error', 'hindsight: audit']

def test_a_plain_run_has_nothing_to_verify(tmp_path):
    write_json(tmp_path/'trainer_state.json', state())
    write_json(tmp_path/'training_args.json', dict(args=dict(hindsight_mode='', replay_priority=False)))
    r = verify_self_learning(tmp_path, evaluated(rate=0.))
    assert not r['pass'] and not r['pillars'] and 'no pillar' in verify_text(r)
    with pytest.raises(NotVerified, match='no pillar'): verify_self_learning(tmp_path, strict=True)
    with pytest.raises(FileNotFoundError, match='honest train-grpo'): verify_self_learning(tmp_path/'none')

def test_strict_is_the_exit_code(tmp_path):
    "The command ends with 1 when a check fails and `--strict` was given, and says which one"
    from typer.testing import CliRunner
    from honest.cli import app
    write_json(tmp_path/'full.json', evaluated())
    def run(state, *flags):
        folder(tmp_path/'run', replay_state=state)
        return CliRunner().invoke(app, ['verify-self-learning', str(tmp_path/'run'), '--full-results', str(tmp_path/'full.json'), *flags])
    bad = good['replay_state'] | dict(priority_entropy=.5)
    assert [run(good['replay_state'], '--strict').exit_code, run(bad).exit_code, run(bad, '--strict').exit_code]==[0, 0, 1]
    assert 'FAIL  replay: priority_entropy' in run(bad).output

def test_an_evaluation_that_did_not_ask_is_told_apart(tmp_path):
    "Without the flag there can be no tag: the note says so, and does not blame the model"
    write_json(tmp_path/'training_args.json', dict(args=dict(hindsight_mode='legacy')))
    full = evaluated(rate=0.) | dict(reasoning_mode='required', manifest=dict(args=dict(hindsight=False, reasoning_mode='required')))
    assert 'full-eval --hindsight' in verify_text(verify_self_learning(tmp_path, full))
    full['manifest']['args']['hindsight'] = True
    assert 'full-eval --hindsight' not in verify_text(verify_self_learning(tmp_path, full))

def test_no_regression_rule(tmp_path):
    run = folder(tmp_path, replay_state=good['replay_state'])
    a,b = stub_run('calibrated'),stub_run('overconfident')
    assert verify_self_learning(run, a, vanilla=b)['pass']
    r = verify_self_learning(run, b, vanilla=a)
    assert not r['pass'] and r['pillars']['replay']['pass'] and all(o.startswith('no regression') for o in r['failed'])
    with pytest.raises(ValueError, match='--full-results'): verify_self_learning(run, vanilla=a)

def test_declining_the_hard_items_is_no_way_to_pass():
    "What is left looks better, but with nothing left out the run is worse"
    import copy
    a = stub_run('calibrated', n=60)
    b = copy.deepcopy(a)
    for o in b['in_distribution'].values():
        for s in o['samples']:
            if s['verdict'] in ('right', 'wrong') and .2<s['c']<.8: s.update(verdict='malformed', y=None, c=None)
    checks = {o['check']:o['pass'] for o in no_regression(a, b)}
    assert checks['ΔBrier'] and not checks['ΔBrier, nothing left out']

# ---- through the trainer

def test_pillars_through_the_trainer_and_resumed(tmp_path):
    """Two steps, a checkpoint and two more give the state files of four; logs and audit read what TRL wrote.
    The model's texts are graded as scripted ones, so that the pillars have something to work on however little the model can do"""
    from honest.core import digest
    from honest.data import get_sampler
    from honest.env import Env
    from honest.grpo import build_env, make_trainer
    from honest.nano import nano_problem
    from honest.policy import load_model, load_tokenizer
    from honest.profiles import resolve
    from honest.protocol import render
    from honest.replay import Replay
    from honest.rewards import Pay
    from honest.selfplay import SelfPlay
    from honest.sft import add_lora
    for k in ('math', 'logic'): write_jsonl(tmp_path/f'data/{k}.jsonl', [nano_problem(k, 1+i%5, 42, i) for i in range(60)])
    gens = {k:lambda seed, i, d, k=k: nano_problem(k, d, seed, i) for k in ('math', 'logic')}
    st_ = resolve('grpo', 'nano', None, None, max_steps=4, prompts=4, num_generations=4)[0]
    class Scripted(Env):
        def grade(self, problems, texts, *args):
            said = [render('r', p.meta['solution'] if int(digest(p.id), 16)%2 else 'no', .9, h=.5) for p in problems]
            return super().grade(problems, said, *args)
    def run(out, resume=None):
        env = build_env(get_sampler(str(tmp_path/'data'), 'train'), Pay(hindsight='legacy'), hindsight=True)
        env = Scripted(Replay(SelfPlay(env.source, gens, share=.5), size=10, mix=.5, warmup=3), env.pay, hindsight=True, seed=env.seed)
        t = make_trainer(add_lora(load_model('nano')), load_tokenizer('nano'), env, st_, out, save_steps=2)
        t.train(resume_from_checkpoint=resume)
        t.save_state()
        t.save_env(out)
        return t
    a = run(tmp_path/'a')
    run(tmp_path/'b', str(tmp_path/'a/checkpoint-2'))
    for o in ('replay', 'self_play', 'difficulty', 'honest'): assert (tmp_path/f'a/{o}_state.json').read_bytes()==(tmp_path/f'b/{o}_state.json').read_bytes(), o
    seen = {k for o in a.state.log_history for k in o}
    assert {'replay/buffer_size', 'replay/priority_entropy', 'replay/top1_share', 'self_play/entropy', 'rewards/hindsight/mean'} <= seen
    s = read_json(tmp_path/'a/replay_state.json')
    assert 3<s['size']==len(s['buffer'])<=10 and {round(o['error'], 6) for o in s['buffer']} <= {.1, .9}
    assert read_json(tmp_path/'a/self_play_state.json')['proposals']>0
    assert max(o.get('replay/served', 0) for o in a.state.log_history)>0
    assert audit_hindsight(tmp_path/'a')['verdict']=='healthy'
    out = plot_training_curves(tmp_path/'a', tmp_path/'plots')
    assert set(out['missing'])=={'loss_curve.png'}   # No evaluation during training
    assert {'hindsight', 'replay', 'self_play'} <= set(verify_self_learning(tmp_path/'a')['pillars'])
