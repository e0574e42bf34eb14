"Comparisons of runs whose truth is known, refusals, and `score` on everybody's files"
import copy, json, re, time
import numpy as np, pytest

from honest import compare as cmp
from honest.compare import GatesFailed, compare_runs, score, stub_run

quick = dict(n_resamples=400)

def both(tmp_path, before, after, **kw):
    out = compare_runs(before, after, tmp_path/'c.md', **quick|kw)
    return out,json.loads((tmp_path/'c.json').read_text('utf-8')),(tmp_path/'c.md').read_text('utf-8')

def gate(full, name): return next(g for g in full['gates'] if g['gate'].startswith(name))

@pytest.fixture(scope='module')
def base(): return stub_run('overconfident')

def test_honest_run_ships(tmp_path, base):
    out,full,md = both(tmp_path, base, stub_run('calibrated'), plot=True, plot_output=tmp_path/'p'/'x.png')
    assert out['ships'] and full['ships'] and not out['failed_gates'] and '**Ships: yes**' in md
    assert set(out['status'].values())=={'✓ transferred'} and .5<out['transfer_ratio']<2
    heads = re.findall(r'^## (.*)', md, re.M)
    assert [h[0] for h in heads[:6]]==list('123456') and heads[6]=='Gates' and 'HEADLINE CLAIM' in heads[3]
    assert len(full['gates'])==10 and all('pass' in g and 'threshold' in g for g in full['gates'])
    assert (tmp_path/'p'/'x.png').stat().st_size>10_000 and (tmp_path/'p'/'x.svg').exists()
    assert full['manifest']['schema_version']==full['schema_version'] and full['seed']==42
    again = compare_runs(base, stub_run('calibrated'), tmp_path/'d.md', plot=True, plot_output=tmp_path/'y.png', **quick)
    assert (tmp_path/'d.md').read_text('utf-8')==md and (tmp_path/'y.svg').read_bytes()==(tmp_path/'p'/'x.svg').read_bytes()
    assert again['delta_brier']==out['delta_brier']

@pytest.mark.parametrize('bettor,fails,passes', [
    ('overconfident', {'Δ ECE (', 'Δ Brier', 'Brier skill', 'Calibration transfer', 'Δ ECE on'}, {'AUROC interval', 'Δ accuracy', 'Format rate'}),
    ('underconfident', {'Δ ECE ('}, {'AUROC (', 'AUROC interval', 'Δ accuracy'}),
    ('constant', {'AUROC (', 'AUROC interval', 'Brier skill'}, {'Δ ECE (', 'Δ Brier', 'Δ accuracy'}),
    ('adversarial', {'Δ accuracy', 'AUROC interval', 'Brier skill'}, {'Δ ECE (', 'Δ Brier', 'Δ ECE on'})])
def test_each_bettor_fails_where_it_should(tmp_path, base, bettor, fails, passes):
    out,full,md = both(tmp_path, base, stub_run(bettor))
    assert not out['ships'] and '**FAIL**' in md and '## Per-domain report' in md
    for g in fails: assert not gate(full, g)['pass'], g
    for g in passes: assert gate(full, g)['pass'], g
    if bettor=='adversarial': assert 'accuracy fell by' in md
    if bettor=='overconfident': assert set(out['status'].values())=={'✗ no transfer'} and out['transfer_ratio'] is None

def test_home_only_does_not_transfer(tmp_path, base):
    out,full,_ = both(tmp_path, base, stub_run('calibrated', ood_bettor='overconfident'))
    assert gate(full, 'Δ Brier')['pass'] and not gate(full, 'Δ ECE on')['pass'] and not gate(full, 'Calibration transfer')['pass']
    assert out['transfer_ratio']==0

def test_floor_partial_and_ratio_leave_the_floor_out(tmp_path, base):
    low = copy.deepcopy(base)
    low['ood']['science_hard']['random_floor'] = .9
    out,full,_ = both(tmp_path, low, stub_run('calibrated'))
    assert out['status']['science_hard']=='⚠ at floor' and full['transfer_ratio']['slices']==['commonsense', 'science_easy']
    e,b = dict(delta=-.1, lo=-.3, hi=.1),dict(delta=-.1, lo=-.2, hi=-.01)
    assert cmp._flag(9, e, b, False, .3)=='~ partial' and cmp._flag(9, e|dict(delta=.1), b, False, .3)=='✗ no transfer'
    assert cmp._flag(9, e|dict(hi=-.01), b, False, .01)=='✓ transferred' and cmp._flag(9, e|dict(hi=-.01), b, False, .04)=='~ partial'
    assert cmp._flag(9, e, b, True, None)=='⚠ at floor' and cmp._flag(0, e, b, True, None).startswith('–')

def spoil(run, verdict, chance):
    "A share of the wrong answers of `run` becomes `verdict`"
    run,rng = copy.deepcopy(run),np.random.default_rng(0)
    for part in ('in_distribution', 'ood'):
        for o in run[part].values():
            for s in o['samples']:
                if s['verdict']=='wrong' and rng.random()<chance: s.update(verdict=verdict, c=None, y=None)
    return run

@pytest.mark.parametrize('verdict', ['malformed', 'abstained'])
def test_dropping_hard_items_does_not_pass(tmp_path, base, verdict):
    "Without any calibration, a run that hides its mistakes improves on valid items only"
    _,full,_ = both(tmp_path, stub_run('underconfident'), spoil(stub_run('underconfident'), verdict, .6))
    g = gate(full, 'Δ Brier')
    assert g['worst']['value']>g['value'] and not g['pass']
    if verdict=='malformed': assert not gate(full, 'Format rate')['pass']

def test_incomparable_runs_are_refused(tmp_path, base):
    def change(f):
        o = stub_run('calibrated')
        f(o)
        return o
    first = lambda o: o['in_distribution']['code_2']['samples']
    for f,why in ((lambda o: o.update(reasoning_mode='refined'), 'reasoning_mode'), (lambda o: o.update(schema_version=99), 'schema_version'),
                  (lambda o: o.update(prompt_hash='x'), 'prompt_hash'), (lambda o: first(o).pop(), 'code_2 has other items: 1 only before'),
                  (lambda o: first(o)[0].update(prompt_hash='x'), 'code_2: 1 items were asked with another prompt'),
                  (lambda o: first(o).append(first(o)[0]), 'holds an item twice after'),
                  (lambda o: o['ood']['commonsense']['samples'].pop(), 'commonsense has other items'),
                  (lambda o: o.update(in_distribution={}, ood={}), 'no samples'), (lambda o: first(o)[0].pop('verdict'), 'sample 0 has no id or no verdict')):
        with pytest.raises(ValueError, match=re.escape(why)): compare_runs(base, change(f), tmp_path/'x.md', **quick)
    assert not (tmp_path/'x.md').exists()
    with pytest.raises(FileNotFoundError, match='honest full-eval'): compare_runs(tmp_path/'none.json', base, tmp_path/'x.md')

def test_baseline_only(tmp_path, base):
    "A `baseline-eval` JSON has no OOD: the transfer table has an empty baseline column"
    old = {k:v for k,v in base.items() if k not in ('ood', 'ood_slices')}
    (tmp_path/'b.json').write_text(json.dumps(old))
    out,full,md = both(tmp_path, tmp_path/'b.json', stub_run('calibrated'))
    assert out['status']=={} and md.count('no baseline')==3 and out['transfer_ratio'] is None and not out['ships']
    assert gate(full, 'Δ ECE on')['value'] is None and 'no OOD slice in both runs' in md
    assert [o for o in full['manifest']['inputs']]==[str(tmp_path/'b.json')]

@pytest.mark.parametrize('lacks', ['in_distribution', 'ood'])
def test_a_part_may_be_missing(tmp_path, base, lacks):
    out,_,_ = both(tmp_path, base|{lacks:{}}, stub_run('calibrated')|{lacks:{}}, plot=True, plot_output=tmp_path/'p.png')
    assert not out['ships']

def test_between_adds_up(tmp_path, base):
    half = stub_run('underconfident')
    _,full,md = both(tmp_path, base, spoil(stub_run('calibrated'), 'malformed', .1), between=half)
    for legs in full['between']['legs'].values():
        for k in ('brier', 'ece', 'accuracy', 'auroc'):
            assert legs['warm-up'][k]['delta']+legs['beyond the warm-up'][k]['delta']==pytest.approx(legs['whole'][k]['delta'])
    share = full['between']['share']
    assert share['lo']<share['value']<share['hi'] and 'Beyond the warm-up' in md
    _,full,_ = both(tmp_path, base, stub_run('calibrated'), between=stub_run('calibrated'))
    assert full['between']['share']['value']==pytest.approx(0)

def test_other_predictors_and_refined_runs(tmp_path, base):
    a,b = copy.deepcopy(base),stub_run('calibrated')
    for o in a['in_distribution'].values():
        for s in o['samples']: s.update(answer_prob=.8, self_consistency=.5)
    for o in b['in_distribution'].values():
        for s in o['samples']: s.update(r=s['c'])
    _,full,md = both(tmp_path, a, b)
    names = [o['name'] for o in full['baselines']]
    assert names==['untrained', 'untrained, base rate', 'untrained, platt', 'untrained, isotonic', 'untrained, answer-token probability', 'untrained, self-consistency', 'trained']
    assert next(o for o in full['baselines'] if 'base rate' in o['name'])['auroc']==.5
    assert 'refined brier' in md and full['after']['in_distribution']['refined_gain']==0

def test_strict(tmp_path, base):
    with pytest.raises(GatesFailed, match='gates failed: .*Δ ECE') as e: compare_runs(base, base, tmp_path/'c.md', strict=True, **quick)
    assert e.value.summary['ships'] is False and (tmp_path/'c.md').exists()
    assert compare_runs(base, stub_run('calibrated'), tmp_path/'c.md', strict=True, **quick)['ships']

def test_unjudgeable_is_left_out_of_both(tmp_path, base):
    a,b = copy.deepcopy(base),stub_run('calibrated')
    for s in a['in_distribution']['math_1']['samples']: s.update(verdict='unjudgeable', y=None)
    _,full,_ = both(tmp_path, a, b)
    assert full['worst']['overall']['n']==600-40 and 'unjudgeable and in no gate: 40 of 600 items before, 0 of 600 after' in full['notes']

def test_headline_size_is_quick(tmp_path):
    "1,500 items and five slices, all resamples"
    t0 = time.perf_counter()
    a,b = (stub_run(o, n=100, ood=('a', 'b', 'c', 'd', 'e')) for o in ('overconfident', 'calibrated'))
    compare_runs(a, b, tmp_path/'c.md')
    assert time.perf_counter()-t0 < 120

def each(run, f):
    "A copy of `run` with `f(part, i, sample)` applied to every sample"
    run = copy.deepcopy(run)
    for part in ('in_distribution', 'ood'):
        for k,o in run[part].items():
            for i,s in enumerate(o['samples']): f(k, i, s)
    return run

def test_ids_need_not_differ_between_conditions(tmp_path, base):
    same = lambda k, i, s: s.update(id=f'q{i}')
    plain_,_,_ = both(tmp_path, base, stub_run('calibrated'))
    out,full,_ = both(tmp_path, each(base, same), each(stub_run('calibrated'), same))
    for k in ('delta_brier', 'delta_accuracy', 'n', 'ships'): assert out[k]==plain_[k], k
    assert full['overall']['n']==sum(o['n'] for o in full['per_domain'].values())

def test_trained_run_cannot_push_a_slice_to_the_floor(tmp_path, base):
    "Hiding the right answers of a slice it did not improve must not take it out of the ratio"
    def hide(k, i, s):
        if k in base['ood'] and k!='commonsense' and s['verdict']=='right' and i%5: s.update(verdict='malformed', c=None, y=None)
    out,full,_ = both(tmp_path, base, each(stub_run('calibrated', ood_bettor='overconfident'), hide))
    assert '⚠ at floor' not in out['status'].values() and len(full['transfer_ratio']['slices'])==3
    for k,o in full['ood'].items(): assert o['baseline_accuracy_ci']==full['worst']['ood'][k]['baseline_accuracy_ci']

@pytest.mark.parametrize('n', [1, 5])
def test_a_handful_of_items_proves_nothing(tmp_path, base, n):
    def keep(c):
        def f(k, i, s):
            s.update(dict(verdict='right', y=1, c=c, cluster=s['id']) if i<n and (k in base['ood'] or k=='math_1') else dict(verdict='unjudgeable', y=None))
        return f
    out,full,md = both(tmp_path, each(base, keep(.3)), each(base, keep(.99)))
    assert set(out['status'].values())=={'~ partial'} and full['overall']['brier']['hi']<0
    assert not gate(full, 'Δ Brier')['pass'] and not gate(full, 'Δ accuracy')['pass'] and (n>5 or 'fewer than 6 clusters' in md)

def test_gates_by_hand(tmp_path):
    "Each gate on a run just on either side of its threshold"
    def d(**kw):
        one = lambda delta=0., lo=0., hi=0., after=0., a_lo=0.: dict(delta=delta, lo=lo, hi=hi, after=after, after_ci=dict(lo=a_lo, hi=1.))
        base = dict(ece=one(-.03), brier=one(-.02, hi=-1e-9), auroc=one(after=.65, a_lo=.51), brier_skill=one(after=.01), accuracy=one(lo=-.049))
        return dict(n_clusters=50) | base | {k:one(**v) for k,v in kw.items()}
    passes = lambda v, w: [g['pass'] for g in cmp.item_gates(v, w)]
    assert passes(d(), d())==[True]*6
    for i,(k,bad) in enumerate((('ece', dict(delta=-.029)), ('brier', dict(delta=-.019, hi=-.01)), ('auroc', dict(after=.649, a_lo=.51)),
                                ('auroc', dict(after=.65, a_lo=.5)), ('brier_skill', dict(after=0.)), ('accuracy', dict(lo=-.05)))):
        for v,w in ((d(**{k:bad}), d()), (d(), d(**{k:bad}))): assert passes(v, w)==[j!=i for j in range(6)], (k, bad)
    assert not passes(d(brier=dict(delta=-.3, hi=.0)), d())[1] and passes(d(), d()|dict(n_clusters=5))==[False]*6
    s = lambda v, k, n: [dict(id=str(i), difficulty=k, verdict=v if i<n else 'right') for i in range(10)]
    assert [g['pass'] for g in cmp.rate_gates(s('malformed', 1, 2)+s('abstained', 5, 1))]==[True, True]
    assert [g['pass'] for g in cmp.rate_gates(s('malformed', 1, 3)+s('', 5, 0))]==[False, False]

# score

def rows(n=90, c=lambda i: .55+.1*(i%5), y=lambda i: int(i%3>0)): return [dict(item=f'q{i}', p=round(c(i), 2), y=y(i), group=f'g{i//3}') for i in range(n)]

def write(path, rs):
    if path.suffix=='.jsonl': path.write_text(''.join(json.dumps(o)+'\n' for o in rs))
    elif path.suffix=='.csv': path.write_text(','.join(rs[0])+'\n'+''.join(','.join('' if v is None else str(v) for v in o.values())+'\n' for o in rs))
    else:
        import pyarrow as pa, pyarrow.parquet as pq
        pq.write_table(pa.Table.from_pylist(rs), path)
    return path

def test_score_reads_every_kind_alike(tmp_path):
    outs = [score(write(tmp_path/f'a.{k}', rows()), **quick) for k in ('jsonl', 'csv', 'parquet')]
    for o in outs: o.pop('file')
    assert outs[0]==outs[1]==outs[2] and outs[0]['n_clusters']==30 and outs[0]['metrics']['ece']>0
    json.dumps(outs[0], allow_nan=False)

def test_score_keeps_and_counts_what_is_missing(tmp_path):
    rs = rows()
    rs[0]['p'],rs[1]['p'],rs[2]['y'] = None,float('nan'),None
    for k in ('jsonl', 'csv', 'parquet'):
        o = score(write(tmp_path/f'm.{k}', rs), **quick)
        assert (o['n'], o['n_valid'], o['missing_confidence'], o['missing_correct'])==(90, 87, 2, 1)
        assert o['metrics']['brier_worst']>o['metrics']['brier']

def test_score_flags_words_and_versus(tmp_path):
    rs = [dict(who=f'q{i}', sure=.9, ok='right' if i%2 else 'wrong', src=i//2) for i in range(40)]
    a = write(tmp_path/'a.csv', rs)
    b = write(tmp_path/'b.csv', [o|dict(sure=.5) for o in rs[::-1]])
    o = score(b, versus=a, confidence='sure', correct='ok', group='src', id='who', report=tmp_path/'r.md', plot=tmp_path/'r.png', **quick)
    assert o['versus']['brier']['hi']<0 and o['versus']['accuracy']['delta']==0 and o['versus']['shared']==40 and o['versus']['paired_by']=='id'
    assert '## Minus' in (tmp_path/'r.md').read_text() and (tmp_path/'r.svg').exists()
    cols = dict(confidence='sure', correct='ok')
    assert score(a, versus=a, **cols, **quick)['versus']['paired_by']=='row'
    with pytest.raises(ValueError, match='no item column to pair by'): score(a, versus=write(tmp_path/'c.csv', rs[:5]), **cols, **quick)

def test_versus_takes_clusters_from_either_file(tmp_path):
    rs = [dict(id=i, p=.1+.08*(i%10), y=i%2, group=i//5) for i in range(50)]
    a = write(tmp_path/'a.csv', rs)
    b = write(tmp_path/'b.csv', [dict(id=o['id'], p=.5, y=o['y']) for o in rs])
    one,two = score(a, versus=b, **quick)['versus'],score(b, versus=a, **quick)['versus']
    assert one['n_clusters']==two['n_clusters']==10 and one['brier']['lo']==pytest.approx(-two['brier']['hi'])

@pytest.mark.parametrize('name,text,why', [
    ('a.csv', 'p,y\n0,1,1\n', 'row 1: more fields than the 2 named'), ('a.csv', 'p,p,y\n.5,.9,1\n', "two columns 'p'"),
    ('a.jsonl', '{"p": 1'+'0'*400+', "y": 1}', 'out of range'),
    ('a.csv', 'p,y\n85,1\n', "row 1: confidence '85' is out of range"), ('a.csv', 'p,y\n85%,1\n', 'percent'), ('a.csv', 'p,y\n-0.1,1\n', 'negative'),
    ('a.csv', 'p,y\n.5,B\n', "row 1: correctness 'B'"), ('a.csv', 'q,y\n.5,1\n', 'no confidence column; name one of q, y with --confidence'),
    ('a.csv', 'p,y\n', 'no rows'), ('a.csv', '', 'no rows'), ('a.txt', 'x', 'unknown kind of file'), ('a.jsonl', '{"p": .5', 'line 1: not JSON'),
    ('a.jsonl', '{"p": true, "y": 1}', 'row 1: confidence True'), ('a.jsonl', '{"p": [1], "y": 1}', 'row 1: confidence'), ('a.parquet', 'x', 'not a Parquet file')])
def test_score_errors_are_one_line(tmp_path, name, text, why):
    (tmp_path/name).write_text(text)
    with pytest.raises(ValueError) as e: score(tmp_path/name, **quick)
    assert why in str(e.value) and '\n' not in str(e.value)

def test_score_reads_decimals_and_refuses_no_resamples(tmp_path):
    from decimal import Decimal
    a = write(tmp_path/'a.parquet', [dict(p=Decimal('0.25'), y=True), dict(p=Decimal('0.50'), y=False)])
    assert score(a, **quick)['metrics']['mean_confidence']==.375
    with pytest.raises(ValueError, match='n_resamples is 0'): score(a, n_resamples=0)

def test_score_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match='not found'): score(tmp_path/'none.csv')
