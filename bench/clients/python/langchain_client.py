"""LangChain with its model for OpenAI's API."""

import asyncio
import json

import httpx
import openai
from langchain_core import exceptions
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from check import *


def model(key=KEY, **more):
    return ChatOpenAI(**{"model": MODEL, "base_url": GATEWAY, "api_key": SecretStr(key), "max_retries": 0, **more})


class Place(BaseModel):
    """A place where people live."""

    city: str
    people: int


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def joined(chunks):
    """The chunks of a stream as one."""
    whole = AIMessageChunk(content="")
    for chunk in chunks:
        whole += chunk
    return whole


@check("a whole answer has text, reason and usage")
def _():
    answer = model(temperature=0.5, top_p=0.9, seed=7).invoke("hello")
    same(answer.content, "Simulated answer. You said: hello")
    same(answer.response_metadata["finish_reason"], "stop")
    same(answer.response_metadata["model_name"], MODEL)
    usage = answer.usage_metadata
    same(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
    assert usage["output_tokens"] > 0


@check("a stream has the same text in the same order, and usage")
def _():
    whole = model().invoke(LONG)
    chunks = list(model(stream_usage=True).stream(LONG))
    same("".join(chunk.content for chunk in chunks), whole.content)
    assert len(chunks) > 20, f"{len(chunks)} chunks"
    same(joined(chunks).usage_metadata["output_tokens"], whole.usage_metadata["output_tokens"])
    same([c.response_metadata["finish_reason"] for c in chunks if "finish_reason" in c.response_metadata], ["stop"])


@check("an asynchronous stream has the same text")
def _():
    async def read():
        return [chunk.content async for chunk in model().astream("hello")]

    same("".join(asyncio.run(read())), "Simulated answer. You said: hello")


@check("a batch is answered in its order")
def _():
    answers = model().batch([f"number {i}" for i in range(10)])
    same([a.content for a in answers], [f"Simulated answer. You said: number {i}" for i in range(10)])


@check("a tool is called, and told of")
def _():
    bound = model().bind_tools([weather])
    question = HumanMessage("call weather")
    first = bound.invoke([question])
    [call] = first.tool_calls
    same((call["name"], call["args"]), ("weather", {"city": "call weather"}))
    same(first.response_metadata["finish_reason"], "tool_calls")
    told = weather.invoke(call)
    assert isinstance(told, ToolMessage)
    has(bound.invoke([question, first, told]).content, "The tool returned: sunny")


@check("a tool's call comes in pieces of a stream")
def _():
    chunks = list(model().bind_tools([weather], tool_choice="required").stream("Lyon"))
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    assert len(pieces) > 2, f"{len(pieces)} pieces"
    same(json.loads("".join(piece["args"] or "" for piece in pieces)), {"city": "Lyon"})
    [call] = joined(chunks).tool_calls
    same((call["name"], call["args"]), ("weather", {"city": "Lyon"}))
    assert call["id"]


@check("a structured answer, by each of the methods")
def _():
    for method in ("json_schema", "function_calling"):
        same(model().with_structured_output(Place, method=method).invoke("Lyon"), Place(city="Lyon", people=1))
    same(model().with_structured_output(None, method="json_mode").invoke("Lyon"), {"simulated": True, "you_said": "Lyon"})


def error_of(call, *kinds):
    """The error of a call, which has to be one of OpenAI's and one of LangChain's at a time."""
    try:
        call()
    except Exception as error:
        missing = [kind.__name__ for kind in kinds if not isinstance(error, kind)]
        assert not missing, f"{type(error).__name__} is not {missing}: {error}"
        return error
    raise AssertionError(f"nothing was raised, want {kinds}")


@check("401, 403, 404 and 400 are errors of OpenAI's and of LangChain's classes")
def _():
    for call, *kinds in (
        (lambda: model(UNKNOWN_KEY).invoke("x"), openai.AuthenticationError, exceptions.ModelAuthenticationError),
        (lambda: list(model(UNKNOWN_KEY).stream("x")), openai.AuthenticationError, exceptions.ModelAuthenticationError),
        (lambda: model(NARROW_KEY).invoke("x"), openai.PermissionDeniedError, exceptions.ModelPermissionDeniedError),
        (lambda: model(model="gpt-4o").invoke("x"), openai.NotFoundError, exceptions.ModelNotFoundError),
        (lambda: model(temperature=9).invoke("x"), openai.BadRequestError, exceptions.ModelInvalidRequestError),
    ):
        error_of(call, *kinds)


@check("413 is an APIStatusError that can be read")
def _():
    same(error_of(lambda: model().invoke("x" * TOO_LARGE), openai.APIStatusError).status_code, 413)


@check("429 is RateLimitError with Retry-After")
def _():
    limited = model(LIMITED_KEY)
    limited.invoke("once")
    error = error_of(lambda: limited.invoke("twice"), openai.RateLimitError, exceptions.ModelRateLimitError)
    wait_minute(error.response.headers["retry-after"])


@check("the client's retries wait for Retry-After and succeed")
def _():
    attempts = Attempts()
    hooks = {"request": [attempts.sent], "response": [attempts.received]}
    single = model(SINGLE_KEY, max_retries=4, http_client=httpx.Client(event_hooks=hooks, timeout=60))
    attempts.hold(model(SINGLE_KEY).stream(endless("lc-hold")))
    has(single.invoke("hello").content, "hello")
    attempts.waited()


@check("a stream that breaks off raises after its text")
def _():
    text = []
    error = error_of(
        lambda: text.extend(chunk.content for chunk in model().stream("[[scenario:cut-after n=5]]")), openai.APIError
    )
    assert "".join(text)
    has(error.message, "broke off")


@check("a stream that says nothing but [DONE] is an error of the gateway's")
def _():
    error_of(lambda: list(model().stream("[[scenario:done-only]]")), openai.APIError)


@check("a stream that is closed cancels at the model server, and usage says so")
def _():
    before = calls_left()
    stream = model().stream(endless("lc-close"))
    for _, _chunk in zip(range(3), stream):
        pass
    stream.close()
    cancelled("lc-close", before)


@check("an asynchronous stream that is closed cancels at the model server, and usage says so")
def _():
    async def leave():
        stream = model().astream(endless("lc-aclose"))
        for _ in range(3):
            await anext(stream)
        await stream.aclose()
        await asyncio.to_thread(cancelled, "lc-aclose", before)  # the connection is closed by the loop, which has to go on

    before = calls_left()
    asyncio.run(leave())


@check("50 streams at once, none mixed up")
def _():
    async def one(i):
        return "".join([chunk.content async for chunk in model().astream(f"number {i} {LONG}")])

    async def all_of_them():
        return await asyncio.gather(*(one(i) for i in range(50)))

    for i, text in enumerate(asyncio.run(all_of_them())):
        same(text.rstrip(), f"Simulated answer. You said: number {i} {LONG}".rstrip())


run()
