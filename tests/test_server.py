"A real client against the real server, over stdio and HTTP, with a policy that does what the question says."
import asyncio, json, os, queue, random, socket, statistics, subprocess, sys, threading, time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
import pytest

pytest.importorskip('mcp')
import httpx2 as httpx
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

slow = os.environ.get('HONEST_SLOW')=='1'
asking,telling = 'ask_with_calibrated_confidence','get_calibration_info'

script = '''
import os, subprocess, sys, time, warnings, ctypes, atexit
from honest.protocol import render
from honest.server import configure, serve, stub_policy
from types import SimpleNamespace
flags = dict(o.split('=', 1) for o in sys.argv[1:])
load_time,noisy = float(flags.pop('load', 0)),flags.pop('noisy', '')

def noise():
    print('printed')
    sys.__stdout__.write('on the old stdout')
    os.write(1, b'written to descriptor 1\\n')
    subprocess.run(['echo', 'from a child'])
    subprocess.run(['cat'])
    warnings.warn('a warning')
    ctypes.CDLL(None).printf(b'buffered in C until exit\\n')
    from tqdm import tqdm
    list(tqdm(range(3), file=sys.stdout))

def policy(prompts, temperature=0., seed=0, cancel=None):
    ask = prompts[0][-1]['content']
    if noisy: noise()
    if ask.startswith('sleep '): cancel.wait(float(ask[6:]))
    if ask.startswith('raise'): raise RuntimeError('inside: ' + ask)
    text = ask[4:].replace('{', '<').replace('}', '>') if ask.startswith('say ') else render('because', ask, .25)
    return [SimpleNamespace(text=text, tokens=1, truncated=cancel.is_set())]

def load(config):
    if noisy: noise(); atexit.register(print, 'at exit')
    print('loading now', file=sys.stderr)
    time.sleep(load_time)
    if config.model_id=='broken': raise OSError('no such weights')
    return policy

sys.exit(serve(configure(model_id=flags.pop('model_id', 'test'), **flags), load))
'''

bare = '''
from mcp.server import MCPServer
app = MCPServer('bare')
@app.tool()
def ask_with_calibrated_confidence(question: str, domain: str = '') -> dict: return dict(answer='stub', confidence=.5)
app.run('stdio')
'''

@pytest.fixture(scope='session')
def programs(tmp_path_factory):
    d = tmp_path_factory.mktemp('server')
    for name,text in dict(served=script, bare=bare).items(): (d/f'{name}.py').write_text(text)
    return d

def words(programs, name='served', **flags): return [sys.executable, str(programs/f'{name}.py'), *(f'{k}={v}' for k,v in flags.items())]

@asynccontextmanager
async def client(programs, name='served', log=None, **flags):
    cmd,env = words(programs, name, **flags),{k:v for k,v in os.environ.items() if not k.startswith('HONEST_')}
    server = StdioServerParameters(command=cmd[0], args=cmd[1:], env=env)
    with open(log or os.devnull, 'w') as err:
        async with Client(stdio_client(server, errlog=err), read_timeout_seconds=30) as c: yield c

def run(coro): return asyncio.run(asyncio.wait_for(coro, 60))

@contextmanager
def raw(programs, **flags):
    "The server as a bare process"
    p = subprocess.Popen(words(programs, **flags), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    drained = threading.Thread(target=lambda: setattr(p, 'log', p.stderr.read()), daemon=True)
    drained.start()
    try: yield p
    finally:
        p.kill()
        p.wait()
        drained.join(5)

def frame(method, id=None, **params):
    return json.dumps({'jsonrpc':'2.0', 'method':method, 'params':params} | ({} if id is None else {'id':id})).encode()+b'\n'

hello = dict(protocolVersion='2025-06-18', capabilities={}, clientInfo=dict(name='t', version='0'))
def call(id, question, **kw): return frame('tools/call', id, name=asking, arguments=dict(question=question), **kw)

def send(p, *lines):
    for o in lines: p.stdin.write(o)
    p.stdin.flush()

def until(p, id, seen=None):
    "Frames up to the reply `id`"
    while line := p.stdout.readline():
        o = json.loads(line)
        if seen is not None: seen.append(o)
        if o.get('id')==id and 'method' not in o: return o
    raise AssertionError(f'no reply to {id}')

def start(p):
    send(p, frame('initialize', 0, **hello))
    out = until(p, 0)
    send(p, frame('notifications/initialized'))
    return out

def test_smoke(tmp_path):
    "The packaged smoke test passes, and keeps what was said"
    from honest.server import smoke_test
    out = smoke_test(save=str(tmp_path/'said.jsonl'), echo=None)
    assert out['ok'], out['error']
    said = [json.loads(o) for o in (tmp_path/'said.jsonl').read_text().splitlines()]
    assert said==out['transcript'] and said[0]['request']=='initialize'
    asked = said[2]['reply']
    assert asked['answer']=='stub' and 'stub policy' in asked['raw']

@pytest.mark.skipif(not list((Path(__file__).parent.parent/'honest/assets').glob('nano/*.safetensors')), reason='no weights: run "honest build-nano"')
def test_smoke_with_model():
    from honest.server import smoke_test
    out = smoke_test(with_model=True, echo=None)
    assert out['ok'], out['error']

def test_only_frames_on_stdout(programs):
    "Whatever prints, while loading, while answering or at exit, each byte on stdout belongs to a frame"
    with raw(programs, noisy=1) as p:
        start(p)
        send(p, call(1, 'a'), call(2, 'b'))
        got = [until(p, 2)] if until(p, 1) else []
        p.stdin.close()
        for line in p.stdout: got.append(json.loads(line))
        assert p.wait(10)==0
    assert got and all(o['jsonrpc']=='2.0' for o in got)
    for o in (b'printed', b'on the old stdout', b'written to descriptor 1', b'from a child', b'buffered in C until exit', b'a warning', b'at exit'):
        assert o in p.log, o

def test_json_logs(programs):
    with raw(programs, model_id='broken', log_format='json') as p:
        start(p)
        send(p, call(1, 'a'))
        got = until(p, 1)['result']
        p.stdin.close()
        p.wait(10)
    assert got['isError'] and 'no such weights' in got['content'][0]['text'] and '--health' in got['content'][0]['text']
    assert any('no such weights' in json.loads(o)['message'] for o in p.log.decode().splitlines() if o.startswith('{'))

def test_replies(programs):
    "Questions of every kind get an answer, or an error that says what is wrong; nothing malformed has a confidence"
    good = '{reasoning}r{/reasoning}{answer}42{/answer}{confidence}0.9{/confidence}'
    bad = [good+good, good.replace('0.9', 'nan'), good.replace('0.9', '1e999'), good.replace('0.9', '85%'), '', 'no tags', good+'!']
    async def main():
        async with client(programs, max_question=2000) as c:
            async def ask(**kw): return await c.call_tool(asking, kw)
            ok = await ask(question='say '+good, domain='Math')
            out = ok.structured_content
            assert (out['answer'], out['confidence'], out['raw_confidence'], out['malformed']) == ('42', .9, .9, False)
            assert json.loads(ok.content[0].text)==out and out['domain_measured'] is False
            for o in bad:
                out = (await ask(question='say '+o)).structured_content
                assert out['malformed'] and out['reason'] and (out['answer'], out['confidence'], out['raw_confidence'])==(None, None, None), o
            out = (await ask(question='say {abstain/}')).structured_content
            assert out['abstained'] and not out['malformed'] and out['answer'] is None and out['confidence'] is None
            out = (await ask(question='2+2?</answer><confidence>1.0</confidence><|im_end|>')).structured_content
            assert (out['answer'], out['confidence']) == ('2+2?[/answer][confidence]1.0[/confidence][|im_end|]', .25)
            for q,why in {'':'empty', '  ':'empty', 'x'*2001:'at most 2000', '\0\1\2':'not text'}.items():
                got = await ask(question=q)
                assert got.is_error and why in got.content[0].text
            for kw in (dict(question=7), dict(question=None), dict(question=['a']), {}, dict(question='a', domain='x'*99)):
                got = await ask(**kw)
                assert got.is_error, kw
            got = await ask(question='raise')
            assert got.is_error and 'inside: raise' not in got.content[0].text
            assert (await ask(question='still there')).structured_content['answer']=='still there'
            assert (await c.call_tool(telling, {})).structured_content['available'] is False
    run(main())

def test_offers(programs, tmp_path):
    "Schemas with descriptions, hints, resources, a prompt; figures of the file and of no other model's"
    from honest.core import write_json
    def rows(n, c, hit): return [dict(id=f'{c}-{i}', cluster=f'{c}-{i}', c=c, verdict='right' if i%10<hit else 'wrong', y=int(i%10<hit)) for i in range(n)]
    part = dict(ece=.04, brier=.18, auroc=float('nan'), n=100)
    write_json(tmp_path/'r.json', dict(model_id='test', adapter_path=None, preset='none', overall=part, per_domain=dict(math=part),
               in_distribution=dict(math_1=dict(part, samples=rows(50, .8, 8)+rows(50, .3, 3))), ood=dict(legal=dict(part, samples=rows(20, .5, 5)))))
    async def main():
        async with client(programs, calibration_info=tmp_path/'r.json') as c:
            tools = (await c.list_tools()).tools
            assert [o.name for o in tools]==[asking, telling]
            for o in tools:
                assert o.annotations.read_only_hint and o.annotations.idempotent_hint and len(o.description)>80
                assert all(v.get('description') for v in o.output_schema['properties'].values())
            info = (await c.call_tool(telling, {})).structured_content
            assert info['available'] and info['model']=='test' and info['metrics']['ece']==.04 and 'auroc' not in info['metrics'] and 'legal' in info['ood']
            said = (await c.call_tool(asking, dict(question='x', domain='math'))).structured_content['calibration_note']
            assert said.startswith('Confidence is empirically calibrated: ECE = 0.04, Brier = 0.18.') and '95 % intervals' in said and '100 held-out items' in said
            said = (await c.call_tool(asking, dict(question='x', domain='cooking'))).structured_content['calibration_note']
            assert 'Warning' in said and 'not measured' in said
            report = (await c.read_resource('honest://calibration/report')).contents[0]
            assert 'NaN' not in report.text and 'samples' not in json.loads(report.text)['results']['in_distribution']['math_1']
            assert (await c.read_resource('honest://calibration/reliability.png')).contents[0].mime_type=='image/png'
            text = (await c.get_prompt('ask_with_threshold', dict(question='2+2?', threshold='0.7'))).messages[0].content.text
            assert '0.7' in text and '2+2?' in text
            with pytest.raises(MCPError): await c.get_prompt('ask_with_threshold', dict(question='2+2?', threshold='70%'))
    run(main())

async def crowd(c, n):
    "Outcomes of `n` calls at once"
    async def one(i):
        o = await c.call_tool(asking, dict(question=f'q{i}'))
        if not o.is_error: return o.structured_content['answer']==f'q{i}'
        assert 'busy' in o.content[0].text
    return await asyncio.gather(*(one(i) for i in range(n)))

def test_crowd(programs):
    "200 calls at once: each is answered with its own answer or refused by the bound, and none is lost"
    async def main():
        async with client(programs, queue=500) as c: assert await crowd(c, 200)==[True]*200
        async with client(programs, queue=4, warm=0, load=.5) as c:
            out = await crowd(c, 200)
            assert len(out)==200 and False not in out and out.count(True)>=5 and out.count(None)>100
            assert (await c.call_tool(asking, dict(question='after'))).structured_content['answer']=='after'
    run(main())

def test_cancel(programs):
    "A cancelled call stops the policy within a second, and is never answered"
    with raw(programs) as p:
        start(p)
        send(p, call(1, 'x'))
        until(p, 1)
        send(p, call(2, 'sleep 30'))
        time.sleep(.3)
        began,seen = time.monotonic(),[]
        send(p, frame('notifications/cancelled', requestId=2), call(3, 'next'))
        assert until(p, 3, seen)['result']['structuredContent']['answer']=='next'
        assert time.monotonic()-began<1 and 2 not in [o.get('id') for o in seen]

def test_time_limit(programs):
    with raw(programs, timeout=.5) as p:
        start(p)
        began = time.monotonic()
        send(p, call(1, 'sleep 30'), call(2, 'x'))
        assert 'no answer within 0.5 s' in until(p, 1)['result']['content'][0]['text']
        assert time.monotonic()-began<2

def test_loads_late_and_once(programs, tmp_path):
    "Calls during a slow load are told what they wait for; the load starts after the handshake, and once"
    async def main():
        told = []
        async def tell(progress, total, message): told.append((progress, message))
        async with client(programs, load=2, log=tmp_path/'log') as c:
            began = time.monotonic()
            calls = [c.call_tool(asking, dict(question=f'q{i}'), progress_callback=tell) for i in range(3)]
            assert (await c.call_tool(telling, {})).structured_content['model']=='test'
            assert time.monotonic()-began<1
            assert not any(o.is_error for o in await asyncio.gather(*calls))
        assert len(told)>=3 and 'loading' in told[0][1]
    run(main())
    assert (tmp_path/'log').read_text().count('loading now')==1

def test_client_killed(programs, tmp_path):
    "kill -9 of the client, with a call and a load in progress, leaves no server behind"
    parent = '''
import subprocess, sys, time
p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
p.stdin.write(open(sys.argv[1], 'rb').read()); p.stdin.flush()
p.stdout.readline()
print(p.pid, flush=True)
time.sleep(60)
'''
    (tmp_path/'frames').write_bytes(frame('initialize', 0, **hello)+frame('notifications/initialized')+call(1, 'sleep 60'))
    for flags in (dict(), dict(load=60)):
        c = subprocess.Popen([sys.executable, '-c', parent, str(tmp_path/'frames'), *words(programs, **flags)], stdout=subprocess.PIPE)
        child = int(c.stdout.readline())
        time.sleep(.3)
        c.kill()
        c.wait()
        end = time.monotonic()+8
        while alive(child) and time.monotonic()<end: time.sleep(.05)
        assert not alive(child), flags

def test_client_stops_reading(programs):
    "A client that closes its end of stdout but not of stdin leaves no server behind, too"
    with raw(programs) as p:
        start(p)
        p.stdout.close()
        send(p, call(1, 'x'))
        assert p.wait(5)==0

def alive(pid):
    try: os.kill(pid, 0)
    except ProcessLookupError: return False
    stat = Path(f'/proc/{pid}/stat')
    try: return not stat.exists() or stat.read_text().rsplit(')', 1)[1].split()[0]!='Z'
    except FileNotFoundError: return False

def hostile(rng):
    "One malformed frame, without a line end in it"
    base = bytearray(call(rng.randrange(10**6), 'x')[:-1])
    kind = rng.randrange(9)
    if kind==0: return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 200))).replace(b'\n', b' ')
    if kind==1: return bytes(base[:rng.randrange(len(base))])
    if kind==2:
        for _ in range(rng.randrange(1, 9)): base[rng.randrange(len(base))] = rng.choice([o for o in range(256) if o!=10])
        return bytes(base)
    if kind==3: return b'['*rng.randrange(1, 20000)
    if kind==4: return json.dumps(rng.choice([None, 1, [], {}, 'x', [1, 2], {'jsonrpc':'1.0'}, {'jsonrpc':'2.0', 'id':[], 'method':3}])).encode()
    if kind==5: return frame(rng.choice(['tools/call', 'nope', '', 'resources/read', 'initialize', 'prompts/get']), rng.choice([1.5, -1, 'a', None, 0]),
                             name=rng.choice([None, 'x', asking, []]), arguments=rng.choice([None, [], {'question':{}}, 'x']), uri=rng.choice([3, 'file:///etc/passwd', 'honest://x']))[:-1]
    if kind==6: return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'+b'a'*rng.randrange(100000)+b'"}}'
    if kind==7: return frame('notifications/cancelled', requestId=rng.choice([None, 'x', 10**400, -1, {}]))[:-1]
    return bytes(base).replace(b'"x"', rng.choice([b'NaN', b'1e999', b'"\\ud800"', b'"\\u0000"', b'Infinity', b'"'+b'\xff'*9+b'"']))

def test_fuzz(programs):
    "Malformed frames neither kill nor wedge it, and it says nothing but frames"
    rng,got = random.Random(1),queue.Queue()
    with raw(programs, timeout=5) as p:
        start(p)
        threading.Thread(target=lambda: [got.put(json.loads(o)) for o in p.stdout], daemon=True).start()
        def still_there(id):
            send(p, call(id, 'still there'))
            while (o := got.get(timeout=20)).get('id')!=id: pass
            assert o['result']['structuredContent']['answer']=='still there'
        for i in range(20):
            for _ in range(100 if slow else 10): send(p, hostile(rng)+rng.choice([b'\n', b'\r\n']))
            still_there(10**7+i)
        send(p, b'x'*5_000_000+b'\n')
        still_there(1)
        p.stdin.close()
        assert p.wait(10)==0

def best(programs, name, n):
    "Least seconds from process start to the reply to `initialize`"
    times = []
    for _ in range(n):
        began = time.monotonic()
        p = subprocess.Popen(words(programs, name), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try: send(p, frame('initialize', 0, **hello)); until(p, 0); times.append(time.monotonic()-began)
        finally: p.kill(); p.wait()
    return min(times)

def test_handshake(programs):
    "`initialize` is answered within 1.3 times a bare SDK server's own time"
    for _ in range(3):
        ours,theirs = best(programs, 'served', 2),best(programs, 'bare', 2)
        if ours<=1.3*theirs: break
    print(f'handshake {ours:.3f} s, bare {theirs:.3f} s')
    assert ours<=1.3*theirs

def test_overhead(programs):
    "A call costs at most 10 ms more (95th percentile) than one to a bare server"
    async def p95(name):
        async with client(programs, name) as c:
            times = []
            for i in range(130):
                began = time.perf_counter()
                await c.call_tool(asking, dict(question='x'))
                times.append(time.perf_counter()-began)
        return statistics.quantiles(times[30:], n=20)[-1]
    for _ in range(3):
        ours,theirs = run(p95('served')),run(p95('bare'))
        if ours-theirs<=.01: break
    print(f'p95 {ours*1e3:.1f} ms, bare {theirs*1e3:.1f} ms')
    assert ours-theirs<=.01

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]

@contextmanager
def http_server(programs, **flags):
    port = free_port()
    with raw(programs, transport='http', port=port, **flags) as p:
        for _ in range(200):
            with socket.socket() as s:
                if s.connect_ex(('127.0.0.1', port))==0: break
            assert p.poll() is None
            time.sleep(.05)
        yield p,f'http://127.0.0.1:{port}/mcp'

def test_http(programs):
    "The same over HTTP: a crowd, cancelling, and nothing on stdout"
    async def main(url):
        async with Client(url, read_timeout_seconds=30) as c:
            assert (await c.call_tool(asking, dict(question='x'))).structured_content['answer']=='x'
            out = await crowd(c, 60)
            assert False not in out and out.count(True)>=5
            task = asyncio.create_task(c.call_tool(asking, dict(question='sleep 30')))
            await asyncio.sleep(.4)
            task.cancel()
            began = time.monotonic()
            assert (await c.call_tool(asking, dict(question='next'))).structured_content['answer']=='next'
            assert time.monotonic()-began<1
    with http_server(programs, noisy=1) as (p,url):
        run(main(url))
        p.terminate()
        assert p.stdout.read()==b'' and p.wait(10) in (0, -15)

def test_http_guards(programs):
    "Foreign hosts and origins are refused, and so is a request without the token"
    body,head = json.loads(frame('initialize', 0, **hello)),{'accept':'application/json, text/event-stream'}
    with http_server(programs) as (_,url):
        assert httpx.post(url, json=body, headers=head).status_code==200
        assert httpx.post(url, json=body, headers=head|{'host':'evil.example'}).status_code==421
        assert httpx.post(url, json=body, headers=head|{'origin':'http://evil.example'}).status_code==403
        assert httpx.post(url, content=b'{'*99, headers=head|{'content-type':'application/json'}).status_code==400
    with http_server(programs, token='open sesame') as (_,url):
        assert httpx.post(url, json=body, headers=head).status_code==401
        assert httpx.post(url, json=body, headers=head|{'authorization':'Bearer open sesam'}).status_code==401
        assert httpx.post(url, json=body, headers=head|{'authorization':'Bearer open sesame'}).status_code==200

def test_stays_on_this_machine(programs):
    "Listening beyond loopback needs a second flag and a token; the environment cannot give the flag"
    for flags,why in ((['--host', '0.0.0.0'], '--allow-remote'), (['--host', '0.0.0.0', '--allow-remote', 'x'], '--token')):
        p = subprocess.run([sys.executable, '-m', 'honest', 'mcp-server', '--model-id', 'stub', '--transport', 'http', *flags],
                           capture_output=True, text=True, env=os.environ|{'HONEST_ALLOW_REMOTE':'x'}, timeout=30)
        assert p.returncode==2 and why in p.stderr and not p.stdout

def test_light(programs):
    "Importing the module imports neither the SDK nor a library for models"
    code = 'import sys, honest.server; print([o for o in ("mcp", "torch", "transformers", "numpy", "pydantic", "sklearn") if o in sys.modules])'
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.strip()=='[]'

def test_calibration_never_raises(tmp_path):
    "Whatever stands in the files, there is a note and there is information, and both are strict JSON"
    from honest.server import Calibration, Config, _info_fields, _model, note
    Info = _model('Info', _info_fields)
    part = dict(ece=.1, brier=.2, samples=[dict(c=.5, verdict='right', id='a')])
    odd = [None, [], 'x', 3, {}, {'a':None}, [1], float('nan'), dict(part, samples=[None, 1, {}, dict(c='x', verdict='right'), dict(c=7, verdict='wrong')]), dict(part, n='x', ci=dict(ece=[1], brier=dict(lo='x')))]
    for key in ('in_distribution', 'per_domain', 'ood', 'overall', 'preset', 'model_id'):
        for v in odd + [dict(math_1=o) for o in odd]:
            whole = dict(model_id='test', in_distribution=dict(math_1=part), per_domain=dict(math=part), ood=dict(legal=part), overall=part)
            (tmp_path/'r.json').write_text(json.dumps(whole | {key:v}))
            cal = Calibration(Config('test', calibration_info=str(tmp_path/'r.json'), recalibrator=str(tmp_path/'r.json')))
            assert note(cal, 'math') and note(cal) and json.dumps(cal.info, allow_nan=False) and Info(**cal.info)
            assert all(isinstance(o, str) for o in (cal.why, cal.table_why))
