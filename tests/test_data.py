"Ingestion end to end on small copies of every schema: layouts, broken files, drifting rows, splits, slices, the sampler."
import gzip, json, random, time
from collections import Counter

import pytest

import honest.data as data
from honest.core import Problem, file_hash, read_json, read_problems, rng_for, write_jsonl
from honest.data import (Sampler, data_files, data_summary, discover_ood, fetch_ood, floor_of, get_sampler, ingest_all, ingest_apps,
                         ingest_hendrycks_math, ingest_mbpp, near_duplicates, need_data, ood_slices, pick_test_items, read_rows,
                         regenerate_zebralogic, slices_for)

def gz(path, text): path.parent.mkdir(parents=True, exist_ok=True); path.write_bytes(gzip.compress(text.encode())); return path
def put(path, text): path.parent.mkdir(parents=True, exist_ok=True); path.write_bytes(text if isinstance(text, bytes) else text.encode()); return path
def lines(rows): return ''.join(json.dumps(o)+'\n' for o in rows)

def sum_row(i, level=1, **kw):
    return dict(problem=f'What is ${i} + {i+1}$?', level=f'Level {level}', type='Algebra', solution=f'It is $\\boxed{{{2*i+1}}}$.') | kw

def mbpp_row(k, **kw): return dict(task_id=k, text=f'Write a function number {k}.', code='def f(): pass', test_list=[f'assert f({k}) == {k}'], test_setup_code='') | kw

def apps_row(k, level='interview', **kw):
    return dict(problem_id=k, question=f'Print task {k}.', solutions='', difficulty=level, url='', starter_code='',
                input_output=json.dumps(dict(inputs=[f'{k}\n'], outputs=[f'{k}\n']))) | kw

def quiz(n, tag='q'): return [dict(id=f'{tag}{i}', question=f'Which is {tag} {i}?', choices=dict(text=['x', 'y', 'z'], label=['1', '2', '3']), answerKey='2') for i in range(n)]
def mmlu(n, tag): return [dict(question=f'{tag} {i}?', choices=['p', 'q', 'r', 's'], answer=i%4, subject=tag) for i in range(n)]
def lsat(n): return [dict(passage=f'Passage {i}.', question='Which follows?', options=[f'({k}){k}{i}' for k in 'ABCDE'], label='C') for i in range(n)]

# ---------------------------------------------------------------- reading

def test_every_format_reads_alike(tmp_path):
    import pyarrow as pa, pyarrow.parquet as pq
    rows = [{'a':'1', 'b':'x\u2028y'}, {'a':'2', 'b':'"q", é\n2'}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path/'a.parquet')
    text = lines(rows)
    csv_text = 'a,b\r\n1,x\u2028y\r\n2,"""q"", é\n2"\r\n'
    for o in (tmp_path/'a.parquet', put(tmp_path/'a.jsonl', text), gz(tmp_path/'b.jsonl.gz', text), put(tmp_path/'a.json', json.dumps(rows)), gz(tmp_path/'b.json.gz', json.dumps(rows, indent=2)),
              put(tmp_path/'c.json', text), put(tmp_path/'d.json', json.dumps({'version':'1', 'data':rows})), put(tmp_path/'a.csv', '\ufeff'+csv_text), gz(tmp_path/'b.csv.gz', csv_text),
              put(tmp_path/'crlf.jsonl', '\ufeff'+'\r\n'.join(json.dumps(r, ensure_ascii=False) for r in rows)+'\r\n\r\n')):
        assert list(read_rows(o)) == rows, o

@pytest.mark.parametrize('name,body,row', [
    ('cut.jsonl', b'{"a": 1}\n{"a": 2}\n{"a"', 'row 3'), ('text.jsonl', b'{"a": 1}\nhello\n', 'row 2'), ('list.jsonl', b'{"a": 1}\n[1]\n', 'row 2'),
    ('cut.json', b'[{"a": 1}, {"a"', 'row 1'), ('latin.jsonl', b'{"a": "\xe9"}\n', 'row 1'), ('cut.jsonl.gz', gzip.compress(lines([{'a':i} for i in range(9999)]).encode())[:-99], 'row '),
    ('not.jsonl.gz', b'{"a": 1}\n', 'row 1'), ('wide.csv', b'a,b\n1,2\n1,2,3\n', 'row 2'), ('not.parquet', b'PAR1', 'row 1'), ('deep.jsonl', b'['*100000+b'\n', 'row 1')])
def test_broken_files_name_the_row(tmp_path, name, body, row):
    with pytest.raises(ValueError) as e: list(read_rows(put(tmp_path/name, body)))
    assert name in str(e.value) and row in str(e.value) and '\n' not in str(e.value)

def test_unknown_ending(tmp_path):
    with pytest.raises(ValueError, match='expected a file ending in .jsonl'): list(read_rows(put(tmp_path/'a.txt', '')))

@pytest.mark.parametrize('names,config,split,want', [
    (['train.jsonl', 'test.jsonl'], None, 'test', ['test.jsonl']),
    (['data/test-00001-of-00002.parquet', 'data/test-00000-of-00002.parquet'], None, 'test', ['data/test-00000-of-00002.parquet', 'data/test-00001-of-00002.parquet']),
    (['data/test-00000-of-00001-e72fb50f12bdc6f0.parquet'], None, 'test', ['data/test-00000-of-00001-e72fb50f12bdc6f0.parquet']),
    (['algebra/test.jsonl', 'intermediate_algebra/test.jsonl', 'prealgebra/test.jsonl'], 'algebra', 'test', ['algebra/test.jsonl']),
    (['ARC-Easy/test-00000-of-00001.parquet', 'ARC-Challenge/test-00000-of-00001.parquet'], 'ARC-Easy', 'test', ['ARC-Easy/test-00000-of-00001.parquet']),
    (['test/a.jsonl', 'train/a.jsonl'], None, 'test', ['test/a.jsonl']),
    (['train/10.json', 'train/9.json', 'test/1.json'], None, 'train', ['train/9.json', 'train/10.json']),
    (['validation.jsonl.gz', 'dev_rand_split_raw.jsonl.gz'], None, 'validation|dev', ['validation.jsonl.gz']),
    (['dev_rand_split.jsonl'], None, 'validation|dev', ['dev_rand_split.jsonl']),
    (['train_5.jsonl', 'subset.jsonl'], None, 'train', ['train_5.jsonl']),
    (['test.jsonl', 'README.md', 'test.txt'], None, 'test', ['test.jsonl'])])
def test_layouts(tmp_path, names, config, split, want):
    for o in names: put(tmp_path/o, '{}')
    assert [str(o.relative_to(tmp_path)) for o in data_files(tmp_path, config, split)] == want

def test_several_files_are_listed(tmp_path):
    for o in ('train.jsonl', 'train.jsonl.gz', 'data/train-00000-of-00001.parquet'): put(tmp_path/o, '')
    with pytest.raises(ValueError) as e: data_files(tmp_path, split='train')
    assert all(o in str(e.value) for o in ('train.jsonl, ', 'train.jsonl.gz', 'train-00000-of-00001.parquet', '--source'))

def test_hub_failure_is_one_line(monkeypatch):
    datasets = pytest.importorskip('datasets')
    def fails(*a, **k): raise ConnectionError('no route\nto host')
    monkeypatch.setattr(datasets, 'load_dataset', fails)
    for f in (ingest_hendrycks_math, ingest_mbpp, fetch_ood):
        with pytest.raises(FileNotFoundError) as e: f()
        assert '--source' in str(e.value) and '\n' not in str(e.value)

def test_hub_rows(monkeypatch, tmp_path):
    "The hub is asked for each subject and split, and for MMLU's validation rows first"
    datasets = pytest.importorskip('datasets')
    asked = []
    def load(name, config=None, split=None, streaming=False):
        asked.append((name, config, split))
        if name==data.math_hub: return [sum_row(len(asked)*50+i) for i in range(2)]
        return mmlu(3, f'{config} {split}')
    monkeypatch.setattr(datasets, 'load_dataset', load)
    assert ingest_hendrycks_math(out=tmp_path)['per_split'] == {'test':14, 'train':14}
    assert {o[1] for o in asked} == set(data.math_configs) and len(asked)==14
    assert fetch_ood(slices='medical', n=5, out=tmp_path/'ood')['slices']['medical']['from_splits'] == {'validation':3, 'test':2}

def test_apps_is_read_from_a_url(tmp_path, monkeypatch):
    import fsspec
    for o in ('train', 'test'):
        with fsspec.open(f'memory://apps/{o}.jsonl', 'wb') as f:
            f.write(lines([apps_row(i, l, question=f'{o} {l} {i}') for l in ('interview', 'competition', 'introductory') for i in range(9)]).encode())
    monkeypatch.setattr(data, 'apps_hub', 'memory://apps/{}.jsonl')
    got = ingest_apps(out=tmp_path, limit=2)
    assert got['per_difficulty'] == {'3':4, '4':4, '5':4} and got['per_split'] == {'test':6, 'train':6}
    assert got['read'] < 54
    monkeypatch.setattr(data, 'apps_hub', 'memory://nothing/{}.jsonl')
    with pytest.raises(FileNotFoundError, match='--source'): ingest_apps(out=tmp_path)

# ---------------------------------------------------------------- training sets

def test_drifting_rows_are_counted(tmp_path):
    rows = [sum_row(1), sum_row(2, problem=None), sum_row(3, level=7), sum_row(4, solution='no box'), {'problem':'x'}, sum_row(5, problem=['x']), sum_row(6, problem='bad \ud800'),
            sum_row(1), sum_row(8, level='Level ?'), sum_row(9)]
    got = ingest_hendrycks_math(put(tmp_path/'train.jsonl', lines(rows)), tmp_path/'out')
    assert got['read']==10 and got['kept']==2 and sum(got['dropped'].values())==8
    assert set(got['first']) == set(got['dropped']) and got['dropped']['duplicate question']==1
    json.dumps(got, allow_nan=False)

def test_math_layouts_agree(tmp_path):
    "Two files, the hub's folders and the original one-file-a-problem release give the same problems"
    rows = {s:[sum_row(i+(100 if s=='test' else 0), 1+i%5) for i in range(10)] for s in ('train', 'test')}
    for s,rs in rows.items():
        gz(tmp_path/f'a/{s}.jsonl.gz', lines(rs))
        for i,r in enumerate(rs):
            put(tmp_path/f'c/{s}/algebra/{i}.json', json.dumps(r))
        put(tmp_path/f'b/algebra/{s}.jsonl', lines(rs[:5]))
        put(tmp_path/f'b/precalculus/{s}.jsonl', lines(rs[5:]))
    got = {}
    for o in 'abc':
        assert ingest_hendrycks_math(tmp_path/o, tmp_path/f'{o}.jsonl')['kept']==20
        got[o] = [(p.id, p.question, p.gold, p.split) for p in read_problems(tmp_path/f'{o}.jsonl')]
    assert got['a']==got['b']==got['c']

def test_near_duplicates_leave_training(tmp_path):
    put(tmp_path/'train.jsonl', lines([sum_row(0, problem=f'Find $\\cos {a}^\\circ$ as a fraction in lowest terms.') for a in ('150', '-150', '{150}')] + [sum_row(7)]))
    put(tmp_path/'test.jsonl', lines([sum_row(0, problem='Find $\\cos 150^{\\circ}$ as a fraction in lowest terms.')]))
    got = ingest_hendrycks_math(tmp_path, tmp_path/'out')
    assert got['dropped'] == {'near duplicate of a test problem':2} and got['per_split'] == {'test':1, 'train':2}

def test_near_duplicates_are_fast():
    rng = random.Random(0)
    words = [''.join(rng.choices('abcdefghij', k=6)) for _ in range(300)]
    def make(s, i): return Problem(f'{s}{i}', 'math', 1, ' '.join(rng.choices(words, k=40))+(f' {i}' if i%2 else ''), 'x', 'math', s)
    train,test = [make('train', i) for i in range(7500)],[make('test', i) for i in range(5000)]
    copies = [Problem(f'copy{p.id}', 'math', 1, p.question.upper()+' !?.,', 'x', 'math') for p in test[:50]]
    t = time.thread_time()
    near = near_duplicates(train+[Problem(o.id, 'math', 1, o.question.replace('!', ''), 'x', 'math') for o in copies], test)
    assert near == {o.id:o.id.removeprefix('copy') for o in copies}
    assert time.thread_time()-t < 20

def test_mbpp_configs_and_splits(tmp_path):
    gz(tmp_path/'mbpp.jsonl.gz', lines([mbpp_row(k) for k in (1, 11, 510, 511, 601)]))
    gz(tmp_path/'sanitized-mbpp.json.gz', json.dumps([dict(task_id=k, prompt=f'Task {k}.', code='', test_imports=[], test_list=[f'assert f()=={k}'], source_file='') for k in (2, 12)]))
    assert ingest_mbpp(tmp_path, 'full', tmp_path/'o')['per_split'] == {'test':2, 'train':3}
    assert ingest_mbpp(tmp_path, out=tmp_path/'o')['per_split'] == {'test':1, 'train':1}
    put(tmp_path/'hub/full/train-00000-of-00001.jsonl', lines([mbpp_row(601)])); put(tmp_path/'hub/full/test-00000-of-00001.jsonl', lines([mbpp_row(11)]))
    put(tmp_path/'hub/sanitized/test-00000-of-00001.jsonl', lines([mbpp_row(12)]))
    assert ingest_mbpp(tmp_path/'hub', 'full', tmp_path/'o')['kept']==2 and ingest_mbpp(tmp_path/'hub', out=tmp_path/'o')['kept']==1
    with pytest.raises(ValueError, match='choose from full, sanitized'): ingest_mbpp(tmp_path, 'best')

def test_apps_keeps_what_can_be_judged(tmp_path):
    rows = [apps_row(1), apps_row(1, question='Another task with the same number.'), apps_row(2, question='Print any of the answers.'), apps_row(3, input_output=json.dumps(dict(inputs=['9'*10**6], outputs=['1']))),
            apps_row(4, input_output='{'), apps_row(5, 'easy'), apps_row(6, 'introductory'), apps_row(7, 'competition', input_output=None)]
    got = ingest_apps(put(tmp_path/'train.jsonl', lines(rows)), tmp_path/'out')
    assert got['kept']==3 and got['dropped']['several right answers']==1 and got['dropped']['tests too long']==1
    probs = read_problems(tmp_path/'out/code_apps.jsonl')
    assert len({p.id for p in probs})==3

def test_a_failed_run_keeps_what_was_there(tmp_path):
    good,bad = put(tmp_path/'train.jsonl', lines([sum_row(1)])),put(tmp_path/'b/train.jsonl', lines([sum_row(1)])+'{"prob')
    got = ingest_hendrycks_math(good, tmp_path/'out')
    before = {o.name:file_hash(o) for o in (tmp_path/'out').iterdir()}
    for o in (bad, put(tmp_path/'c/train.jsonl', lines([{'x':1}])), tmp_path/'nowhere.jsonl'):
        with pytest.raises((ValueError, FileNotFoundError)): ingest_hendrycks_math(o, tmp_path/'out')
    assert before == {o.name:file_hash(o) for o in (tmp_path/'out').iterdir()}
    m = read_json(tmp_path/'out/math.manifest.json')
    assert m['sha256']==file_hash(got['out']) and m['summary']==got and m['schema_version']==1 and list(m['inputs'])==[str(good)]

def test_puzzles(tmp_path):
    a = regenerate_zebralogic(2, 3, seed=1, out=tmp_path/'a')
    b = regenerate_zebralogic(2, 3, seed=1, out=tmp_path/'b')
    assert file_hash(a['out'])==file_hash(b['out'])
    assert a['per_split'] == {'test':15, 'train':10} and a['per_difficulty'] == {str(k):5 for k in range(1, 6)}
    probs = read_problems(a['out'])
    assert len({p.id for p in probs})==len({p.question for p in probs})==25 and all(p.meta['hash'] for p in probs)

def test_ingest_all(tmp_path, monkeypatch):
    monkeypatch.setattr(data, 'regenerate_zebralogic', lambda seed, out: regenerate_zebralogic(1, 1, seed, out))
    for s,k in (('train', 1), ('test', 50)):
        put(tmp_path/f'src/math/{s}.jsonl', lines([sum_row(k)])); put(tmp_path/f'src/apps/{s}.jsonl', lines([apps_row(k)]))
    put(tmp_path/'src/mbpp/sanitized-mbpp.json', json.dumps([mbpp_row(1), mbpp_row(12)]))
    got = ingest_all(tmp_path/'src', tmp_path/'out')
    assert got['kept']==2+2+2+10 and set(got['sets'])=={'math', 'mbpp', 'apps', 'logic'}
    need_data(tmp_path/'out')
    summary = data_summary(tmp_path/'out')
    assert summary['total']==16 and summary['buckets']['code_3']==2 and len(summary['files'])==4
    with pytest.raises(FileNotFoundError, match='expected a sub-folder math'): ingest_all(tmp_path/'out', tmp_path/'o2')

# ---------------------------------------------------------------- slices

@pytest.fixture(scope='module')
def sources(tmp_path_factory):
    d = tmp_path_factory.mktemp('sets')
    put(d/'commonsense_qa/validation.jsonl', lines(quiz(30, 'c')))
    gz(d/'arc_easy/test.jsonl.gz', lines(quiz(30, 's')))
    put(d/'mmlu/astronomy/test-00000-of-00001.jsonl', lines(mmlu(8, 'astronomy')))
    for k,n in (('validation', 3), ('test', 9), ('dev', 5)): put(d/f'mmlu/professional_medicine/{k}-00000-of-00001.jsonl', lines(mmlu(n, f'med {k}')))
    put(d/'mmlu/professional_law/test-00000-of-00001.jsonl', lines(mmlu(6, 'law')))
    put(d/'agieval_lsat_lr/lsat-lr.jsonl', lines(lsat(7)))
    return d

def test_slices(sources, tmp_path):
    got = fetch_ood(source=sources, n=10, out=tmp_path)['slices']
    assert {k:v['kept'] for k,v in got.items()} == dict(commonsense=10, science_easy=10, science_hard=8, medical=10, legal=7)
    assert sorted(o.name for o in tmp_path.glob('*.jsonl')) == sorted(['commonsense_qa_sample.jsonl', 'arc_easy_sample.jsonl', 'mmlu_astronomy_sample.jsonl', 'medqa_sample.jsonl', 'lsat_sample.jsonl'])
    assert got['medical']['from_splits'] == {'validation':3, 'test':7}
    found = discover_ood(tmp_path, 'all')
    assert {k:floor_of(k, v) for k,v in found.items()} == dict(commonsense=.2, science_easy=.25, science_hard=.25, medical=.25, legal=.2)
    assert all(p.split=='test' and p.domain==k and p.task=='choice' for k,ps in found.items() for p in ps)

def test_a_smaller_sample_begins_a_larger_one(sources, tmp_path):
    for n in (5, 20): fetch_ood('tiny', source=sources, n=n, out=tmp_path/str(n))
    for k in ('commonsense', 'science_easy'):
        few,many = (discover_ood(tmp_path/n, k)[k] for n in ('5', '20'))
        assert few==many[:5] and [p.id for p in many]!=sorted(p.id for p in many)
    fetch_ood('tiny', source=sources, n=5, out=tmp_path/'other', seed=7)
    assert discover_ood(tmp_path/'other', 'commonsense') != discover_ood(tmp_path/'5', 'commonsense')

def test_law_falls_back(sources, tmp_path):
    put(tmp_path/'src/mmlu/professional_law_test.jsonl', lines(mmlu(6, 'law')))
    got = fetch_ood(slices=['legal'], source=tmp_path/'src', out=tmp_path/'ood')['slices']['legal']
    assert got['random_floor']==.25 and 'no data file' in got['fallback']
    assert floor_of('legal', discover_ood(tmp_path/'ood', 'legal')['legal'])==.25
    with pytest.raises(FileNotFoundError, match='slice legal'): fetch_ood(slices='legal,medical', source=tmp_path, out=tmp_path/'ood')

def test_tiers_and_names(sources, tmp_path):
    fetch_ood('tiny', source=sources, out=tmp_path)
    assert list(discover_ood(tmp_path, tier='medium')) == slices_for('tiny')
    for kw,message in ((dict(slices='all'), 'has no file for medical, legal: run "honest fetch-ood-data --slices medical,legal"'), (dict(folder=tmp_path/'no', tier='tiny'), '--tier tiny'), (dict(slices='legal'), 'legal')):
        with pytest.raises(FileNotFoundError, match=message): discover_ood(**{'folder':tmp_path} | kw)

def test_a_slice_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setitem(ood_slices, 'toy_words', dict(file='toy_words.jsonl', floor=.5, tier='toy', make='honest demo'))
    assert slices_for('toy')==['toy_words'] and len(slices_for('all'))==5
    with pytest.raises(ValueError, match='is generated: run "honest demo"'): fetch_ood('toy', out=tmp_path)
    p = Problem('w1', 'toy_words', 1, 'a or b?', dict(label='a', labels=['a', 'b'], options=['x', 'y']), 'choice', 'test')
    for o in ('toy_words', 'unknown'): write_jsonl(tmp_path/f'{o}.jsonl', [p])
    assert discover_ood(tmp_path, tier='toy')==discover_ood(tmp_path, 'all', 'toy')=={'toy_words':[p]}
    assert floor_of('unknown', discover_ood(tmp_path, 'unknown')['unknown'])==.5

# ---------------------------------------------------------------- sampler

def toy(domain, difficulty, n, split='train'): return [Problem(f'{domain}-{difficulty}-{split}-{i}', domain, difficulty, f'{domain} {difficulty} {i}', '', domain, split) for i in range(n)]

def test_sampler_follows_weights():
    s = Sampler(toy('math', 1, 50)+toy('math', 5, 5)+toy('code', 3, 3), {'math':.8, 'code':.2, 'logic':1.}, {'1':3, '5':1})
    got = Counter((o.domain, o.difficulty) for o in (s.sample(rng_for(0, i)) for i in range(4000)))
    assert abs(got['code', 3]/4000-.2)<.03 and abs(got['math', 5]/4000-.2)<.03 and abs(got['math', 1]/4000-.6)<.03
    with pytest.raises(ValueError, match="no problems for domain 'logic'"): s.sample(rng_for(0), 'logic')
    assert s.bucket_counts()['logic', 2]==0 and s.sample(rng_for(0), 'code', 1).difficulty==3

def test_sampler_takes_numpy():
    import numpy as np
    assert Sampler(toy('math', 1, 9)).sample(np.random.default_rng(0)).domain=='math'

def test_splits_stay_apart(tmp_path):
    write_jsonl(tmp_path/'math.jsonl', toy('math', 1, 20)+toy('math', 1, 7, 'test'))
    train,test,both = (get_sampler(tmp_path, o) for o in ('train', 'test', None))
    assert (train.total_count(), test.total_count(), both.total_count()) == (20, 7, 27)
    assert not {o.id for o in train.problems} & {o.id for o in pick_test_items(both.problems)}
    with pytest.raises(ValueError, match='domain weights'): get_sampler(tmp_path, domain_weights='1,2')

def test_empty_sampler(tmp_path):
    for o in (tmp_path, tmp_path/'none'):
        with pytest.raises(FileNotFoundError, match='Unified sampler is empty.*honest ingest-all'): get_sampler(o)

def test_items_never_repeat():
    probs = toy('math', 1, 30, 'test')+toy('math', 2, 4, 'test')+toy('code', 3, 9, 'test')+toy('code', 3, 9)
    items = pick_test_items(probs+probs, 10)
    assert Counter((o.domain, o.difficulty) for o in items) == {('math', 1):10, ('math', 2):4, ('code', 3):9} and len({o.id for o in items})==23
    assert [o for o in pick_test_items(probs[:30], 10)]==[o for o in items if o.difficulty==1]
    assert len(pick_test_items(probs, 10, by_difficulty=False))==19
