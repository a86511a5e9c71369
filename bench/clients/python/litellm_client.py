"""LiteLLM's client, which types errors by OpenAI's words as well as by their status."""

import asyncio
import json

import litellm
from pydantic import BaseModel

from check import *

litellm.suppress_debug_info = True


def settings(key=KEY, **more):
    return {"model": f"openai/{MODEL}", "api_base": GATEWAY, "api_key": key, "num_retries": 0, "max_retries": 0, **more}


def ask(text, **more):
    return litellm.completion(messages=[{"role": "user", "content": text}], **settings(**more))


class Place(BaseModel):
    city: str
    people: int


def error_of(call, *kinds):
    """The error of a call, which has to be one of some classes: LiteLLM has no class of its own for every status."""
    try:
        call()
    except kinds as error:
        return error
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} is none of {[k.__name__ for k in kinds]}: {error}") from error
    raise AssertionError("nothing was raised")


@check("a whole answer has text, reason and usage")
def _():
    answer = ask("hello", seed=7, temperature=0.5)
    same(answer.choices[0].message.content, "Simulated answer. You said: hello")
    same(answer.choices[0].finish_reason, "stop")
    same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
    assert answer.usage.completion_tokens > 0
    has(answer.model, MODEL)


@check("a stream has the same text in the same order, and usage")
def _():
    whole = ask(LONG)
    chunks = list(ask(LONG, stream=True, stream_options={"include_usage": True}))
    same("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), whole.choices[0].message.content)
    assert len(chunks) > 20, f"{len(chunks)} chunks"
    built = litellm.stream_chunk_builder(chunks)
    same(built.choices[0].finish_reason, "stop")
    same(built.usage.completion_tokens, whole.usage.completion_tokens)


@check("a tool is called, and told of")
def _():
    first = ask("Lyon", tools=[WEATHER], tool_choice="required").choices[0]
    same(first.finish_reason, "tool_calls")
    [call] = first.message.tool_calls
    same((call.function.name, json.loads(call.function.arguments)), ("weather", {"city": "Lyon"}))
    told = [{"role": "user", "content": "Lyon"}, first.message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    second = litellm.completion(messages=told, tools=[WEATHER], **settings())
    has(second.choices[0].message.content, "The tool returned: sunny")


@check("a tool's call comes in pieces of a stream")
def _():
    chunks = list(ask("Lyon", tools=[WEATHER], tool_choice="required", stream=True))
    [call] = litellm.stream_chunk_builder(chunks).choices[0].message.tool_calls
    same((call.function.name, json.loads(call.function.arguments)), ("weather", {"city": "Lyon"}))
    assert call.id


@check("a structured answer")
def _():
    answer = ask("Lyon", response_format=Place)
    same(Place.model_validate_json(answer.choices[0].message.content), Place(city="Lyon", people=1))


@check("401 is AuthenticationError")
def _():
    for stream in (False, True):
        with raises(litellm.AuthenticationError) as caught:
            ask("x", key=UNKNOWN_KEY, stream=stream)
        same(caught.value.status_code, 401)


@check("403 tells its status and keeps our words")
def _():
    error = error_of(lambda: ask("x", key=NARROW_KEY), litellm.PermissionDeniedError, litellm.APIError)
    same(error.status_code, 403)
    has(str(error), "does not include the family")


@check("404 of a model is NotFoundError")
def _():
    with raises(litellm.NotFoundError) as caught:
        ask("x", model="openai/gpt-no-such")
    same(caught.value.status_code, 404)
    has(caught.value.message, "Darwin")


@check("404 of a path keeps our words: embeddings")
def _():
    error = error_of(lambda: litellm.embedding(input=["x"], **settings()), litellm.NotFoundError, litellm.BadRequestError)
    has(str(error), "There is no such path")


@check("400 is BadRequestError with our words")
def _():
    with raises(litellm.BadRequestError) as caught:
        ask("x", temperature=9)
    same(caught.value.status_code, 400)
    has(caught.value.message, "temperature")


@check("413 tells its status and is not tried again")
def _():
    error = error_of(lambda: ask("x" * TOO_LARGE), litellm.APIError, litellm.BadRequestError)
    has(str(error), "larger")
    assert not litellm._should_retry(error.status_code), f"status {error.status_code}"


@check("429 is RateLimitError with Retry-After")
def _():
    ask("once", key=LIMITED_KEY)
    with raises(litellm.RateLimitError) as caught:
        ask("twice", key=LIMITED_KEY)
    same(caught.value.status_code, 429)
    wait_minute(caught.value.litellm_response_headers["retry-after"])


@check("a model server's 500 is a server's error and keeps its reason")
def _():
    kinds = litellm.InternalServerError, litellm.BadGatewayError, litellm.ServiceUnavailableError
    has(str(error_of(lambda: ask("[[scenario:status code=500]]"), *kinds)), "Simulated failure")


@check("a stream that breaks off raises after its text")
def _():
    text = []
    stream = ask("[[scenario:cut-after n=5]]", stream=True)
    error = error_of(lambda: text.extend(c.choices[0].delta.content or "" for c in stream), litellm.exceptions.MidStreamFallbackError)
    has(str(error), "broke off")
    assert "".join(text)


@check("a stream that says nothing but [DONE] raises")
def _():
    error = error_of(lambda: list(ask("[[scenario:done-only]]", stream=True)), Exception)
    has(type(error).__module__, "litellm")


@check("a stream that is left cancels at the model server, and usage says so")
def _():
    async def leave():
        stream = await litellm.acompletion(
            messages=[{"role": "user", "content": endless("ll-abort")}], stream=True, **settings()
        )
        for _ in range(3):
            await anext(stream)
        await stream.aclose()
        await asyncio.to_thread(cancelled, "ll-abort", before)

    before = calls_left()
    asyncio.run(leave())


@check("50 streams at once, none mixed up")
def _():
    async def one(i):
        stream = await litellm.acompletion(
            messages=[{"role": "user", "content": f"number {i} {LONG}"}], stream=True, **settings()
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    async def all_of_them():
        return await asyncio.gather(*(one(i) for i in range(50)))

    for i, text in enumerate(asyncio.run(all_of_them())):
        same(text.rstrip(), f"Simulated answer. You said: number {i} {LONG}".rstrip())


run()
