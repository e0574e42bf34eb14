"Policies behind other engines, against a small server that these tests start on this machine; no model, no network."
import json, math, random, subprocess, sys, threading, time, types
from email.utils import formatdate
import pytest
from hypothesis import given, settings, strategies as st

from honest import endpoint
from honest.endpoint import (EndpointError, EndpointPolicy, VllmPolicy, answer_prob, chat_base, chat_reply, max_rank, open_policy,
                             pause, read_reply, retry_after, server_said, toy_server)
from honest.policy import Completion, StubPolicy, render_chat
from honest.protocol import parse, prompt, render
from honest.tasks import choice

good = render('6 times 7', '42', .83)
end = '</confidence>'
cut = good.removesuffix(end)
quick = settings(max_examples=60)

def chat(text): return [dict(role='user', content=str(text))]
def chats(n): return [chat(i) for i in range(n)]
def asked(body): return body['messages'][-1]['content']

class Server:
    "Answers by `fn(path, headers, body)`, and remembers what it was asked and how many at once"
    def __init__(self, fn):
        self.fn,self.lock,self.now,self.most,self.seen = fn,threading.Lock(),0,0,[]

    def __call__(self, path, headers, body):
        with self.lock:
            self.seen.append((path, headers, body))
            self.now += 1
            self.most = max(self.most, self.now)
        try: return self.fn(path, headers, body)
        finally:
            with self.lock: self.now -= 1

    @property
    def bodies(self): return [o for path,_,o in self.seen if path.endswith('/chat/completions')]

def always(out, status=200, headers=None): return lambda *args: (status, headers or {}, out)
def in_turn(*outs):
    "Each of `outs` once, and then the last for ever"
    left = list(outs)
    return lambda *args: left.pop(0) if len(left)>1 else left[0]

def run(fn, n=1, call=None, **kw):
    "Completions of `n` chats by a server that answers by `fn`, and the server"
    server = Server(fn)
    with toy_server(server) as url:
        return EndpointPolicy(url, 'm', **dict(wait=.001, retries=2) | kw)(chats(n), **(call or {})), server

def fails(fn, error, **kw):
    "The message of the error"
    with pytest.raises(error) as e: run(fn, **kw)
    assert '\n' not in str(e.value) and len(str(e.value))<500
    return str(e.value)

ok = (200, {}, chat_reply(good, 12))

def test_one_reply():
    outs,server = run(always(chat_reply(cut, 12)), api_key='k')
    assert outs==[Completion(good, 12, False)]
    path,headers,body = server.seen[0]
    assert path=='/v1/chat/completions' and headers['authorization']=='Bearer k'
    assert body==dict(model='m', messages=chat(0), max_tokens=512, temperature=0., stop=[end])

def test_none_asked():
    outs,server = run(always(chat_reply(good)), n=0)
    assert outs==[] and server.seen==[]

def test_same_as_asked_directly():
    "The stub bettor through HTTP is the stub bettor"
    probs = [choice.generate(1, i, 1+i%5, split='test') for i in range(40)]
    asks,bettor = [prompt(o) for o in probs],StubPolicy(probs)
    def answer(path, headers, body):
        return (200, {}, chat_reply(bettor([body['messages']])[0].text.removesuffix(end))) if body else (404, {}, '')
    with toy_server(answer) as url:
        outs = open_policy('openai', 'bettor', base_url=url)(asks)
    assert [o.text for o in outs]==[o.text for o in bettor(asks)]

def test_order_and_bound():
    "Late answers keep their places; never more at once than allowed, and as many as allowed"
    together = threading.Barrier(4, timeout=20)
    def answer(path, headers, body):
        if int(asked(body))<4: together.wait()
        time.sleep(random.Random(asked(body)).random()*.02)
        return 200, {}, chat_reply(asked(body))
    ticks = []
    outs,server = run(answer, n=40, concurrency=4, call=dict(tick=ticks.append))
    assert [o.text for o in outs]==[str(i) for i in range(40)]
    assert server.most==4 and sum(ticks)==40
    assert run(always(chat_reply(good)), n=6, concurrency=1)[1].most==1

def test_in_a_running_loop():
    "Notebooks run inside an event loop"
    import asyncio
    async def main(): return run(always(chat_reply(good)))[0]
    assert asyncio.run(main())[0].text==good

@pytest.mark.parametrize('fault', [(429, {'retry-after':'0.05'}, ''), (503, {}, dict(error='Loading model')), (500, {}, ''),
                                   (200, {}, '{"choices": [{'), (200, {}, dict(error=dict(message='upstream'))), (408, {}, '')])
def test_passing_faults(fault):
    outs,server = run(in_turn(fault, fault, ok))
    assert outs==[Completion(good, 12, False)] and len(server.bodies)==3
    assert server.bodies[0]==server.bodies[2]

def test_retry_after_is_waited_for():
    t = time.monotonic()
    run(in_turn((429, {'retry-after':'0.3'}, ''), ok))
    assert time.monotonic()-t>=.3

def test_500_storm_is_bounded():
    says = fails(always('boom', 500), EndpointError, n=3, concurrency=1)
    assert 'HTTP 500: boom' in says and '(3 tries)' in says
    server = Server(always('boom', 500))
    with toy_server(server) as url, pytest.raises(EndpointError): EndpointPolicy(url, 'm', wait=0, retries=4, concurrency=1)(chats(3))
    assert len(server.bodies)==5

@pytest.mark.parametrize('junk', ['', '<html>hi</html>', '[]', 'null', '{"choices": []}', '{"choices": [{"message": 3}]}', '['*100000])
def test_garbage(junk):
    assert 'is no chat server' in fails(always(junk), EndpointError)

@pytest.mark.parametrize('status', [401, 403])
def test_unauthorised(status):
    says = fails(always(dict(error=dict(message='bad key sk-77')), status), ValueError, api_key='sk-77')
    assert 'refused the API key' in says and 'HONEST_API_KEY' in says and 'sk-77' not in says
    assert 'wants an API key' in fails(always('', status), ValueError, api_key='')
    server = Server(always('', status))
    with toy_server(server) as url, pytest.raises(ValueError, match='wants an API key'): open_policy('openai', 'm', base_url=url, api_key='')
    assert [o[0] for o in server.seen]==['/v1/models']

def test_one_for_all():
    "A refusal ends the requests under way, and no further one is sent"
    together = threading.Barrier(4, timeout=20)
    def answer(path, headers, body):
        together.wait()
        if asked(body)=='2': return 401, {}, ''
        time.sleep(9)
        return ok
    server,t = Server(answer),time.monotonic()
    with toy_server(server) as url, pytest.raises(ValueError, match='API key'): EndpointPolicy(url, 'm', concurrency=4)(chats(20))
    assert time.monotonic()-t<8 and len(server.bodies)==4

def test_key_is_not_shown():
    assert 'secret' not in repr(EndpointPolicy('http://localhost:1', 'm', 'secret'))

def test_environment_key(monkeypatch):
    monkeypatch.setenv('OPENAI_API_KEY', 'general')
    monkeypatch.delenv('HONEST_API_KEY', raising=False)
    assert run(always(chat_reply(good)))[1].seen[0][1]['authorization']=='Bearer general'
    assert EndpointPolicy('http://gpu.lan', 'm').api_key==''
    monkeypatch.setenv('HONEST_API_KEY', 'mine')
    assert EndpointPolicy('http://gpu.lan', 'm').api_key=='mine'

def test_unknown_model():
    def answer(path, headers, body):
        return (200, {}, dict(data=[dict(id='a'), dict(id='b')])) if path=='/v1/models' else (404, {}, dict(error=dict(message='no such model')))
    says = fails(answer, ValueError)
    assert "no 'm'" in says and 'offers a, b' in says and 'no such model' in says
    assert 'ends in /v1' in fails(always('nothing here', 404), ValueError)

def test_refused_request():
    assert 'context length' in fails(always(dict(error=dict(message='maximum context length is 100')), 400), ValueError)
    assert 'moved to https://elsewhere/v1' in fails(always('', 308, dict(location='https://elsewhere/v1')), ValueError)

def test_nobody_there():
    with toy_server(always('')) as url: pass
    with pytest.raises(EndpointError, match='cannot be reached.*is a server running there'): EndpointPolicy(url, 'm').check()
    with pytest.raises(EndpointError, match=r'cannot be reached.*\(3 tries\)'): EndpointPolicy(url, 'm', retries=2, wait=.001)(chats(2))

def test_proxy_is_not_asked_for_this_machine(monkeypatch):
    for o in ('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'): monkeypatch.setenv(o, 'http://127.0.0.1:9')
    monkeypatch.delenv('no_proxy', raising=False)
    assert run(always(chat_reply(good)))[0][0].text==good

def test_too_slow():
    "The limit is for the whole reply"
    def answer(*args):
        time.sleep(.5)
        return ok
    says = fails(answer, EndpointError, timeout=.1, retries=1)
    assert 'no answer within 0.1 s' in says and '--timeout' in says

def test_cancel():
    "What is done stays, the rest is empty and truncated; waiting requests and pauses end at once"
    stop = threading.Event()
    def answer(path, headers, body):
        if asked(body)=='0': return ok
        stop.set()
        time.sleep(9)
        return ok
    t = time.monotonic()
    outs,server = run(answer, n=5, concurrency=1, call=dict(cancel=stop))
    assert outs==[Completion(good, 12, False)]+[Completion('', 0, True)]*4
    assert time.monotonic()-t<8 and len(server.bodies)==2
    outs,server = run(always(chat_reply(good)), n=2, call=dict(cancel=stop))
    assert outs==[Completion('', 0, True)]*2 and not server.seen
    stop.clear()
    threading.Timer(.1, stop.set).start()
    t = time.monotonic()
    outs,_ = run(always('', 429, {'retry-after':'30'}), retries=9, call=dict(cancel=stop))
    assert outs==[Completion('', 0, True)] and time.monotonic()-t<20

def test_interrupt(tmp_path):
    "Ctrl-C ends a call that waits"
    code = ('import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nfrom honest.endpoint import EndpointPolicy\nprint("go", flush=True)\n'
            'try: EndpointPolicy(sys.argv[1], "m")([[dict(role="user", content="?")]])\nexcept KeyboardInterrupt: sys.exit(7)')
    came,leave = threading.Event(),threading.Event()
    def answer(*args):
        came.set()
        leave.wait(20)
        return ok
    with toy_server(answer) as url:
        child = subprocess.Popen([sys.executable, '-c', code, url], stdout=subprocess.PIPE)
        assert came.wait(20)
        child.send_signal(2)
        assert child.wait(20)==7
        leave.set()
        child.stdout.close()

@pytest.mark.parametrize('mode,hindsight,last', [('required', False, 'confidence'), ('refined', False, 'refined_confidence'), ('refined', True, 'hindsight')])
def test_stop_tag_comes_back(mode, hindsight, last):
    refined = dict(critique='added it up, fine', r=.9) if mode=='refined' else {}
    full = render('6 times 7', '42', .83, **refined, h=.95 if hindsight else None)
    def answer(path, headers, body):
        assert body['stop']==[f'</{last}>']
        return 200, {}, chat_reply(full.split(body['stop'][0])[0])
    outs,_ = run(answer, mode=mode, hindsight=hindsight)
    assert outs[0].text==full and parse(outs[0].text, mode, hindsight).ok

@pytest.mark.parametrize('text,more', [('', {}), ('<reasoning>hm</reasoning>', {}), (cut, dict(finish='length')), (cut, dict(stop_reason=None)),
                                       (cut, dict(matched_stop=2)), ('<reasoning>hm</reasoning><answer>4', {})])
def test_nothing_is_invented(text, more):
    "No tag for a completion that ended before its last number, was cut off, or of which the server says otherwise"
    assert run(always(chat_reply(text, **more)))[0][0].text==text

def test_end_of_a_claim():
    assert run(always(chat_reply(good+' and more', 99, finish='length')))[0]==[Completion(good, 99, False)]
    assert run(always(chat_reply('<abstain/> and more', 9)))[0]==[Completion('<abstain/>', 9, False)]
    assert run(always(chat_reply('<reasoning>so long', 512, finish='length')))[0]==[Completion('<reasoning>so long', 512, True)]

def told(*tokens): return dict(content=[dict(token=o, logprob=l, bytes=list(o.encode())) for o,l in tokens])

def test_answer_prob():
    tokens = told(('<answer>', -3.), ('4', math.log(.5)), ('2', math.log(.8)), ('</answer>', -2.))
    outs,server = run(always(chat_reply(good, logprobs=tokens)), answer_probs=True)
    assert outs[0].answer_prob==pytest.approx(.4) and server.bodies[0]['logprobs'] is True
    assert outs[0].tokens==0 and run(always(dict(chat_reply(good, logprobs=tokens), usage=None)))[0][0].tokens==4

@pytest.mark.parametrize('odd', [None, {}, [], dict(content=None), dict(content=[{}]), dict(content=[dict(token='<answer>4</answer>', logprob=None)]),
                                 dict(content=[dict(token='x', logprob=0, bytes=[999])]), told(('<answer>4</answer>', 7.))])
def test_no_logprobs(odd):
    outs,_ = run(always(chat_reply(good, 5, logprobs=odd)), answer_probs=True)
    assert outs==[Completion(good, 5, False)]

@pytest.mark.parametrize('field,said', [('logprobs', 'logprobs is not supported'), ('stop', "Unsupported parameter: 'stop'"), ('seed', 'seed: extra fields not permitted'),
                                        ('max_tokens', "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")])
def test_field_left_out(field, said):
    "A field that the server refuses by name is left out, once for all; the completion is the same"
    def answer(path, headers, body): return (400, {}, dict(error=dict(message=said))) if field in body else ok
    outs,server = run(answer, n=3, answer_probs=True, concurrency=1, call=dict(temperature=1.))
    assert outs==[Completion(good, 12, False)]*3
    assert [field in o for o in server.bodies]==[True]+[False]*3
    if field=='max_tokens': assert server.bodies[-1]['max_completion_tokens']==512

def test_temperature_is_never_left_out():
    assert 'temperature' in fails(always(dict(message='temperature is not supported'), 400), ValueError)

def test_sampling():
    "Equal prompts are asked with different seeds, the same in every run; greedy decoding has none"
    def seeds(**call):
        with toy_server(server := Server(always(chat_reply(good)))) as url: EndpointPolicy(url, 'm')([chat('same')]*6, **call)
        return sorted(o.get('seed', -1) for o in server.bodies)
    assert len(set(seeds(temperature=1.)))==6 and seeds(temperature=1.)==seeds(temperature=1.)!=seeds(temperature=1., seed=1)
    assert set(seeds())=={-1}

def test_extra():
    _,server = run(always(chat_reply(good)), extra=dict(top_k=-1, max_tokens=9))
    assert server.bodies[0]['top_k']==-1 and server.bodies[0]['max_tokens']==9

def test_odd_text():
    "Lone surrogates neither break the request nor get into the results"
    outs,server = run(always('{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'))
    outs[0].text.encode()
    with toy_server(server) as url: EndpointPolicy(url, 'm')([chat('\ud800 ☃ \u2028')])
    assert asked(server.bodies[-1])=='\ud800 ☃ \u2028'

@pytest.mark.parametrize('kw', [dict(concurrency=0), dict(retries=-1), dict(timeout=0), dict(timeout=math.nan), dict(max_new_tokens=0)])
def test_bad_settings(kw):
    with pytest.raises(ValueError, match=f'{[*kw][0]} is .*: expected at least'): EndpointPolicy('http://localhost:1', 'm', **kw)

def test_no_model_named():
    with pytest.raises(ValueError, match='--model'): EndpointPolicy('http://localhost:1', '')

json_value = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda o: st.lists(o, max_size=3)
                          | st.dictionaries(st.sampled_from('choices message content finish_reason logprobs token logprob bytes usage completion_tokens text stop_reason'.split()), o, max_size=4), max_leaves=12)

@quick
@given(st.builds(lambda pick, usage: dict(choices=[pick], usage=usage), json_value, json_value) | json_value)
def test_any_json(o):
    "Any JSON is a completion or a ValueError"
    try: out = read_reply(o)
    except ValueError: return
    assert isinstance(out.text, str) and out.tokens>=0 and isinstance(out.truncated, bool)
    assert out.answer_prob is None or 0<=out.answer_prob<=1

@quick
@given(st.text(min_size=1, max_size=12).filter(lambda s: '<' not in s), st.lists(st.integers(1, 30), max_size=12), st.integers(0, 99))
def test_prob_needs_no_lucky_tokens(answer, cuts, seed):
    "However the text is cut into tokens, those that write the answer are counted, and no token further away is"
    raw,rng = f'<reasoning>☃</reasoning><answer>{answer}</answer><confidence>0.5</confidence>'.encode('utf-8', 'replace'),random.Random(seed)
    at = [0, *sorted({min(o*3, len(raw)) for o in cuts}-{0, len(raw)}), len(raw)]
    tokens = [(raw[a:b], -rng.random()) for a,b in zip(at, at[1:])]
    a,b = raw.index(b'<answer>')+8,raw.index(b'</answer>')
    first = max(i for i,o in enumerate(at[:-1]) if o<=a)
    last = max(i for i,o in enumerate(at[:-1]) if o<=b)
    assert answer_prob(tokens)==pytest.approx(math.exp(sum(l for _,l in tokens[first:max(last, first+1)])))

@quick
@given(st.text(max_size=40) | st.none())
def test_any_retry_after(s):
    v = retry_after(s)
    assert v is None or 0<=v<math.inf

def test_retry_after_date(): assert 25<retry_after(formatdate(time.time()+30, usegmt=True))<=30

@quick
@given(st.integers(0, 10**6), st.integers(), st.floats(0, 100), st.floats(0, 100), st.none() | st.floats(0, 1e6).map(str))
def test_any_pause(k, seed, wait, most, after):
    v = pause(k, random.Random(seed), after, wait, most)
    assert 0<=v<=most and v==pause(k, random.Random(seed), after, wait, most)
    if after: assert v>=min(float(after), most)

@quick
@given(st.text(max_size=30))
def test_any_address(s):
    try: url = chat_base(s)
    except ValueError as e: return None if '@' in s else pytest.fail(str(e)) if '--base-url' not in str(e) else None
    assert chat_base(url)==url

@quick
@given(st.text(max_size=300), st.text(max_size=5))
def test_any_complaint(s, key): assert len(server_said(s, key))<=200 and server_said(s, key).isprintable()

class Letters:
    "A tokenizer with a token for each character"
    chat_template = None
    def __call__(self, text, add_special_tokens=True): return types.SimpleNamespace(input_ids=[*map(ord, text)])
    def decode(self, ids): return ''.join(map(chr, ids))

@pytest.fixture
def vllm(monkeypatch):
    "A stand-in for vLLM's documented classes, which remembers how it was called"
    log = types.SimpleNamespace(llm=None, calls=[])
    class LLM:
        def __init__(self, model, **kw): log.llm = dict(model=model, **kw)
        def generate(self, prompts, sampling_params=None, *, use_tqdm=True, lora_request=None):
            log.calls.append((prompts, sampling_params, lora_request))
            ids = [*map(ord, good)]
            lps = [{i:types.SimpleNamespace(logprob=-.01), -1:types.SimpleNamespace(logprob=-5.)} for i in ids] if sampling_params[0].logprobs else None
            one = types.SimpleNamespace(text=good, token_ids=tuple(ids), logprobs=lps, finish_reason='stop', stop_reason=end)
            return [types.SimpleNamespace(outputs=[one]) for _ in prompts]
    class SamplingParams:
        def __init__(self, temperature=1., top_p=1., top_k=0, max_tokens=16, seed=None, stop=None, include_stop_str_in_output=False, logprobs=None):
            self.__dict__.update({k:v for k,v in locals().items() if k!='self'})
    class LoRARequest:
        def __init__(self, lora_name, lora_int_id, lora_path): self.lora_path = lora_path
    monkeypatch.setattr(endpoint, 'find_spec', lambda name: True)
    monkeypatch.setattr(endpoint, 'load_tokenizer', lambda name: Letters())
    monkeypatch.setitem(sys.modules, 'vllm', types.SimpleNamespace(LLM=LLM, SamplingParams=SamplingParams))
    monkeypatch.setitem(sys.modules, 'vllm.lora', types.ModuleType('vllm.lora'))
    monkeypatch.setitem(sys.modules, 'vllm.lora.request', types.SimpleNamespace(LoRARequest=LoRARequest))
    return log

def test_vllm(vllm):
    probs = [choice.generate(1, i, 1, split='test') for i in range(5)]
    pol = open_policy('vllm', 'nano', batch_size=2, answer_probs=True, max_new_tokens=64, llm_args=dict(max_model_len=256))
    outs = pol([prompt(o) for o in probs])
    assert vllm.llm['max_model_len']==256 and [len(o[0]) for o in vllm.calls]==[2, 2, 1]
    assert vllm.calls[0][0][0]['prompt_token_ids']==[*map(ord, render_chat(Letters(), prompt(probs[0])))]
    assert outs==[Completion(good, len(good), False, pytest.approx(math.exp(-.02)))]*5
    params = vllm.calls[0][1][0]
    assert (params.temperature, params.max_tokens, params.seed, params.logprobs)==(0., 64, None, 1) and end in params.stop and params.include_stop_str_in_output
    pol([prompt(probs[0])]*2, temperature=1.)
    assert len({o.seed for o in vllm.calls[-1][1]})==2 and {o.top_k for o in vllm.calls[-1][1]}=={-1}
    stop = threading.Event()
    stop.set()
    assert pol([prompt(probs[0])]*3, cancel=stop)==[Completion('', 0, True)]*3

def test_vllm_adapter(vllm, tmp_path):
    (tmp_path/'adapter_config.json').write_text(json.dumps(dict(r=24)))
    assert max_rank(tmp_path)==32
    VllmPolicy('nano', str(tmp_path))([chat('?')])
    assert vllm.llm['enable_lora'] and vllm.llm['max_lora_rank']==32 and vllm.calls[0][2].lora_path==str(tmp_path)
    with pytest.raises(FileNotFoundError, match='adapter'): VllmPolicy('nano', str(tmp_path/'none'))

def test_transformers(monkeypatch):
    monkeypatch.setattr(endpoint, 'load_policy', lambda *args, **kw: (args, kw))
    assert open_policy(model_id='nano', batch_size=4, four_bit=True)==(('nano', None), dict(mode='required', hindsight=False, answer_probs=False, batch_size=4, four_bit=True))

@pytest.mark.parametrize('kw,says', [(dict(engine='abacus'), 'choose from'), (dict(model_id=None), '--model-id'), (dict(engine='openai'), '--base-url'),
                                     (dict(base_url='http://a/v1'), 'add --engine openai'), (dict(engine='openai', base_url='gpu:8000'), 'expected an address')])
def test_misfits(kw, says):
    with pytest.raises(ValueError, match=says): open_policy(**dict(model_id='nano') | kw)

def test_vllm_missing(monkeypatch):
    monkeypatch.setattr(endpoint, 'find_spec', lambda name: None)
    with pytest.raises(ValueError, match='pip install vllm, on a CUDA machine'): open_policy('vllm', 'nano')

def test_light():
    "Neither torch nor an HTTP client is loaded before it is needed"
    code = 'import sys, honest.endpoint; assert not {"torch", "httpx2", "transformers", "vllm"} & set(sys.modules)'
    subprocess.run([sys.executable, '-c', code], check=True, timeout=60)
