"""The official client for Python."""

import asyncio
import json

import httpx
import openai
from pydantic import BaseModel

from check import *

client = openai.OpenAI(base_url=GATEWAY, api_key=KEY, max_retries=0)


def with_key(key):
    return openai.OpenAI(base_url=GATEWAY, api_key=key, max_retries=0)


def say(text, **more):
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], **more}


def ask(text, **more):
    return client.chat.completions.create(**say(text, **more))


class Place(BaseModel):
    city: str
    people: int


@check("models are listed and found")
def _():
    has([m.id for m in client.models.list()], MODEL)
    same(client.models.retrieve(MODEL).object, "model")


@check("a whole answer has text, reason, usage and our names")
def _():
    raw = client.chat.completions.with_raw_response.create(**say("hello", seed=7, stop=["never"]))
    answer = raw.parse()
    same(answer.choices[0].message.content, "Simulated answer. You said: hello")
    same(answer.choices[0].finish_reason, "stop")
    same(answer.model, MODEL)
    same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
    assert answer.usage.completion_tokens > 0
    same(answer.id, "chatcmpl-" + raw.headers["x-request-id"])
    same(answer._request_id, raw.headers["x-request-id"])


@check("a stream has the same text in the same order")
def _():
    whole = ask(LONG)
    chunks = list(ask(LONG, stream=True, stream_options={"include_usage": True}))
    same("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), whole.choices[0].message.content)
    assert len(chunks) > 20, f"{len(chunks)} chunks"
    same([c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason], ["stop"])
    same({c.id for c in chunks}, {chunks[0].id})
    same({c.model for c in chunks}, {MODEL})
    same(chunks[0].choices[0].delta.role, "assistant")
    same(chunks[-1].choices, [])
    same(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)


@check("a stream has no usage when nobody asks for it")
def _():
    chunks = list(ask("hello", stream=True))
    same([c.usage for c in chunks if c.usage], [])
    assert all(c.choices for c in chunks)


@check("a tool is called, and told of")
def _():
    first = ask("Lyon", tools=[WEATHER], tool_choice="required")
    message = first.choices[0].message
    same(first.choices[0].finish_reason, "tool_calls")
    [call] = message.tool_calls
    same((call.function.name, json.loads(call.function.arguments)), ("weather", {"city": "Lyon"}))
    told = [*say("Lyon")["messages"], message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    second = client.chat.completions.create(model=MODEL, messages=told, tools=[WEATHER])
    has(second.choices[0].message.content, "The tool returned: sunny")


@check("two tools are called in a stream")
def _():
    other = {"type": "function", "function": {**WEATHER["function"], "name": "tide"}}
    request = say("call weather and call tide", tools=[WEATHER, other])
    with client.chat.completions.stream(**request) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    calls = final.choices[0].message.tool_calls
    same([c.function.name for c in calls], ["weather", "tide"])
    same([json.loads(c.function.arguments)["city"] for c in calls], ["call weather and call tide"] * 2)
    assert all(c.id for c in calls) and calls[0].id != calls[1].id
    same(kinds.count("tool_calls.function.arguments.done"), 2)
    same(final.choices[0].finish_reason, "tool_calls")


@check("an answer is parsed into a class, whole and streamed")
def _():
    whole = client.chat.completions.parse(**say("Lyon", response_format=Place))
    same(whole.choices[0].message.parsed, Place(city="Lyon", people=1))
    with client.chat.completions.stream(**say("Lyon", response_format=Place)) as stream:
        same(stream.get_final_completion().choices[0].message.parsed, Place(city="Lyon", people=1))


@check("a tool's arguments are parsed into a class")
def _():
    tools = [openai.pydantic_function_tool(Place)]
    answer = client.chat.completions.parse(**say("Lyon", tools=tools, tool_choice="required"))
    same(answer.choices[0].message.tool_calls[0].function.parsed_arguments, Place(city="Lyon", people=1))


@check("401 is AuthenticationError")
def _():
    with raises(openai.AuthenticationError) as caught:
        with_key(UNKNOWN_KEY).chat.completions.create(**say("x"))
    same((caught.value.code, caught.value.type), ("invalid_api_key", "invalid_request_error"))
    assert caught.value.request_id


@check("403 is PermissionDeniedError")
def _():
    with raises(openai.PermissionDeniedError) as caught:
        with_key(NARROW_KEY).chat.completions.create(**say("x"))
    same(caught.value.code, "insufficient_permissions")


@check("404 of a model is NotFoundError with OpenAI's code")
def _():
    with raises(openai.NotFoundError) as caught:
        client.chat.completions.create(**{**say("x"), "model": "gpt-4o"})
    same(caught.value.code, "model_not_found")
    has(caught.value.message, "Darwin")
    with raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-4o")
    same(caught.value.code, "model_not_found")


@check("404 of a model that does not chat is NotFoundError")
def _():
    with raises(openai.NotFoundError) as caught:
        client.chat.completions.create(**{**say("x"), "model": "images"})
    same(caught.value.code, "model_not_found")


@check("404 of a path is NotFoundError: embeddings, images, speech")
def _():
    for call in (
        lambda: client.embeddings.create(model=MODEL, input="x"),
        lambda: client.images.generate(model=MODEL, prompt="a boat"),
        lambda: client.audio.speech.create(model=MODEL, voice="alloy", input="x"),
    ):
        with raises(openai.NotFoundError):
            call()


@check("400 is BadRequestError and names the member")
def _():
    for member, value in (("temperature", 9), ("n", 2), ("max_tokens", 0)):
        with raises(openai.BadRequestError) as caught:
            ask("x", **{member: value})
        same(caught.value.param, member)


@check("400 names members that cannot be honoured")
def _():
    for more in (
        {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
        {"web_search_options": {}},
        {"store": True},
        {"extra_body": {"top_k": 7}},
        {"extra_body": {"temprature": 1}},
    ):
        with raises(openai.BadRequestError) as caught:
            ask("x", **more)
        has(more.get("extra_body", more), caught.value.param)


@check("members that change no answer are taken")
def _():
    answer = ask("x", store=False, metadata={"team": "a"}, service_tier="auto", prompt_cache_key="k", safety_identifier="s")
    has(answer.choices[0].message.content, "Simulated answer")


@check("413 is an APIStatusError that can be read")
def _():
    with raises(openai.APIStatusError) as caught:
        ask("x" * TOO_LARGE)
    same(caught.value.status_code, 413)
    has(caught.value.message, "larger")


@check("429 is RateLimitError with Retry-After")
def _():
    limited = with_key(LIMITED_KEY)
    limited.chat.completions.create(**say("once"))
    with raises(openai.RateLimitError) as caught:
        limited.chat.completions.create(**say("twice"))
    same(caught.value.code, "rate_limit_exceeded")
    wait_minute(caught.value.response.headers["retry-after"])


@check("the client's retries wait for Retry-After and succeed")
def _():
    attempts = Attempts()
    hooks = {"request": [attempts.sent], "response": [attempts.received]}
    single = openai.OpenAI(
        base_url=GATEWAY, api_key=SINGLE_KEY, max_retries=4, http_client=httpx.Client(event_hooks=hooks, timeout=60)
    )
    attempts.hold(with_key(SINGLE_KEY).chat.completions.create(**say(endless("py-hold"), stream=True)))
    has(single.chat.completions.create(**say("hello")).choices[0].message.content, "hello")
    attempts.waited()


@check("a model server's 500 is InternalServerError and keeps its reason")
def _():
    with raises(openai.InternalServerError) as caught:
        ask("[[scenario:status code=500]]")
    has(caught.value.message, "Simulated failure")


@check("a stream that breaks off raises after its text")
def _():
    text = ""
    with raises(openai.APIError) as caught:
        for chunk in ask("[[scenario:cut-after n=5]]", stream=True):
            text += chunk.choices[0].delta.content or ""
    assert text
    has(caught.value.message, "broke off")


@check("a stream that says nothing but [DONE] raises")
def _():
    with raises(openai.InternalServerError):
        list(ask("[[scenario:done-only]]", stream=True))


@check("an abort in the middle cancels at the model server, and usage says so")
def _():
    before = calls_left()
    stream = ask(endless("py-abort"), stream=True)
    for _, _chunk in zip(range(3), stream):
        pass
    stream.close()
    cancelled("py-abort", before)


@check("a client that gives up before the answer cancels at the model server, and usage says so")
def _():
    before = calls_left()
    with raises(openai.APITimeoutError):
        client.with_options(timeout=4).chat.completions.create(**say("[[scenario:slow-head delay=60s id=py-timeout]]"))
    cancelled("py-timeout", before)


@check("50 streams at once, none mixed up")
def _():
    async def one(asynchronous, i):
        stream = await asynchronous.chat.completions.create(**say(f"number {i} {LONG}", stream=True))
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=GATEWAY, api_key=KEY, max_retries=0) as asynchronous:
            return await asyncio.gather(*(one(asynchronous, i) for i in range(50)))

    for i, text in enumerate(asyncio.run(all_of_them())):
        same(text.rstrip(), f"Simulated answer. You said: number {i} {LONG}".rstrip())


run()
