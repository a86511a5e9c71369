"""What the scripts here share: settings, checks, and looks at the simulator and the portal.

A script declares its checks with @check and ends with run(). The first line on standard output names them all, and each of
the following ones tells how one went; whatever a library prints goes to standard error.
"""

import contextlib
import json
import os
import sys
import threading
import time
import traceback
import urllib.request

WITHIN_SECONDS = 30  # for what happens behind the answer: the model server's journal, the portal's usage

_checks = []
_report = sys.stdout
sys.stdout = sys.stderr


def setting(name):
    """What bench/clients says about the system under test."""
    value = os.environ.get(name)
    if not value:
        raise SystemExit(f"{name} is not set: run this through `go test ./clients` in bench")
    return value


GATEWAY = setting("GATEWAY_URL") + "/v1"
PORTAL = setting("PORTAL_URL")
SIMULATOR = setting("SIMULATOR_URL")
SESSION = setting("SESSION")
MODEL = setting("MODEL")  # no other script uses it
APP = setting("APP_ID")  # that KEY belongs to; no other script uses it
KEY = setting("KEY")
LIMITED_KEY = setting("LIMITED_KEY")  # may make one call a minute
NARROW_KEY = setting("NARROW_KEY")  # may not use any model to chat with
SINGLE_KEY = setting("SINGLE_KEY")  # may make one call at a time
UNKNOWN_KEY = "svc_test_" + "0" * 51
TOO_LARGE = 13 << 20  # bytes of a message that no body may have

LONG = "one two three four five six seven eight nine ten " * 4
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def endless(name):
    """A prompt whose answer takes a minute, found again by its name."""
    return f"[[scenario:many-tokens n=3000 delay=20ms id={name}]]"


def check(name):
    def add(function):
        _checks.append((name, function))
        return function

    return add


def run():
    _tell(plan=[name for name, _ in _checks])
    for name, function in _checks:
        try:
            function()
        except Exception:
            _tell(name=name, ok=False, detail=traceback.format_exc(limit=-4))
        else:
            _tell(name=name, ok=True, detail="")


def _tell(**line):
    _report.write(json.dumps(line) + "\n")
    _report.flush()


def same(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def has(text, part):
    assert part in text, f"{text!r} does not have {part!r}"


def wait_minute(retry_after):
    """Retry-After of a limit per minute: never longer than the minute and the second that it is rounded up to."""
    assert retry_after and 0 < float(retry_after) <= 61, f"Retry-After is {retry_after!r}"


@contextlib.contextmanager
def raises(kind):
    """Ends the check unless the block raises this very class; the caller reads the error from .value."""

    class Caught:
        value = None

    caught = Caught()
    try:
        yield caught
    except Exception as error:
        if type(error) is not kind:
            raise AssertionError(f"got {type(error).__name__}, want {kind.__name__}: {error}") from error
        caught.value = error
        return
    raise AssertionError(f"nothing was raised, want {kind.__name__}")


def fetch(url, bearer=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
    with urllib.request.urlopen(request, timeout=WITHIN_SECONDS) as answer:
        return json.load(answer)


def eventually(look):
    """Repeats a look until it returns nothing; what it returned last is the reason otherwise."""
    until = time.monotonic() + WITHIN_SECONDS
    while (why := look()) is not None:
        assert time.monotonic() < until, f"not within {WITHIN_SECONDS} s: {why}"
        time.sleep(0.05)


def journal(name):
    """What the model server received under an id in the prompt."""
    return [r for r in fetch(SIMULATOR + "/_mock/requests")["requests"] if f"id={name}" in r["scenario"]]


def calls_left():
    """How many calls of our app ended because the client left, as the portal shows it."""
    usage = fetch(f"{PORTAL}/dev/apps/{APP}/usage", SESSION)
    return sum(status["ends"].get("client_gone", 0) for status in usage["by_status"])


def cancelled(name, before):
    """The model server learned that the caller left, and the portal shows the call as such."""

    def at_the_server():
        seen = [r["outcome"] for r in journal(name)]
        return None if seen == ["client_gone"] else f"outcomes at the model server: {seen}"

    def in_the_portal():
        now = calls_left()
        return None if now == before + 1 else f"{now} calls that the client left, {before} before"

    eventually(at_the_server)
    eventually(in_the_portal)


class Attempts:
    """Hooks for httpx that note each attempt, and hold the only place of SINGLE_KEY until the first refusal."""

    def __init__(self):
        self.refusals = []  # (when, seconds of Retry-After)
        self.requests = []
        self._release = threading.Event()

    def hold(self, stream):
        """Reads a stream until the first refusal, in another thread. Returns when the stream has begun."""
        begun = threading.Event()

        def read():
            for _ in stream:
                begun.set()
                if self._release.is_set():
                    break
            stream.close()

        threading.Thread(target=read, daemon=True).start()
        assert begun.wait(WITHIN_SECONDS), "the stream that takes the place does not begin"

    def sent(self, request):
        self.requests.append(time.monotonic())

    def received(self, response):
        if response.status_code == 429:
            self.refusals.append((time.monotonic(), float(response.headers["retry-after"])))
            self._release.set()

    def waited(self):
        """After every refusal as long as Retry-After says, before the next attempt."""
        assert self.refusals, "the call was never refused"
        for (refused, seconds), again in zip(self.refusals, self.requests[1:], strict=True):
            assert seconds >= 1, f"Retry-After is {seconds}"
            assert again - refused >= seconds - 0.05, f"tried again after {again - refused:.2f} s of {seconds}"
