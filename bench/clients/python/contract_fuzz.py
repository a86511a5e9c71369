"""Schemathesis, which calls the operations of the contract with data of its own making: the examples, the edges of every schema in turn,
and a few drawn by a fixed seed. No answer is a server's error, and every answer is one that the contract has for its operation. The
argument says which operations: "control" those of the portal, with a session, "data" those of the gateway, with a key."""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import yaml

from check import *

SEED = 1
DRAWN = 5  # cases an operation, beside its examples and the edges of its schemas
CALL_SECONDS = 60
RUN_SECONDS = 480
JUDGED_BY = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"

# Operations that cannot be called with anything, by their name in the contract, and why.
LEFT_OUT = {
    "logout": "ends the session in use",
    "endSession": "ends the session in use, since ids that other operations answered are called with",
    "deleteAccount": "deletes the account in use",
    "loginWithGoogle": "is 503 on a system without a client id of Google",
}

plane = sys.argv[1]
url, credential, probe = {
    "control": (PORTAL, SESSION, PORTAL + "/dev/auth/me"),
    "data": (setting("GATEWAY_URL"), KEY, GATEWAY + "/models"),
}[plane]
contract = yaml.load((pathlib.Path(setting("ROOT")) / "shared/api/openapi.yaml").read_text(), Loader=yaml.CSafeLoader)


def ours(operation):
    return (
        operation["x-plane"] == plane
        and operation.get("x-status") != "planned"  # those are 501
        and operation["operationId"] not in LEFT_OUT
    )


def chosen():
    """The contract with the operations that are called and no others, and their names as schemathesis writes them."""
    methods = {"get", "put", "post", "delete", "patch", "head", "options"}
    names, known = [], set()
    for path, item in contract["paths"].items():
        for method in methods & item.keys():
            known.add(item[method]["operationId"])
            if ours(item[method]):
                names.append(f"{method.upper()} {path}")
                without_streams(item[method])
            else:
                del item[method]
    assert not LEFT_OUT.keys() - known, f"the contract has no {LEFT_OUT.keys() - known}"
    return sorted(names)


def without_streams(operation):
    """Streams are judged by bench/conformance: schemathesis takes the schema of the whole body for that of each event."""
    for answer in operation["responses"].values():
        answer.get("content", {}).get("text/event-stream", {}).pop("schema", None)


def call_all():
    """Runs schemathesis once and returns what failed, by operation; those that were called without a failure have none."""
    with tempfile.TemporaryDirectory() as directory:
        document, report = pathlib.Path(directory, "openapi.json"), pathlib.Path(directory, "report.xml")
        document.write_text(json.dumps(contract))
        # One worker: parsing source in two threads at a time fails by chance in Python 3.11.
        command = [str(pathlib.Path(sys.executable).with_name("schemathesis")), "run", str(document), "--url", url]
        command += ["--header", f"Authorization: Bearer {credential}", "--phases", "examples,coverage,fuzzing", "--checks", JUDGED_BY]
        command += ["--seed", str(SEED), "--max-examples", str(DRAWN), "--generation-database", "none"]
        command += ["--workers", "1", "--no-shrink", "--suppress-health-check", "all", "--warnings", "off", "--no-color"]
        command += ["--request-timeout", str(CALL_SECONDS), "--report-junit-path", str(report), "--continue-on-failure"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, cwd=directory)
        assert report.exists(), f"schemathesis ended with {done.returncode}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        print(done.stdout[-1500:])
        return {
            case.get("name"): "\n".join((found.get("message") or "") + (found.text or "") for found in case)
            for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase")
        }


names = chosen()
found = {}


@check("the operations are called")
def _():
    found.update(call_all())
    same(sorted(found), names)


for name in names:

    @check(name)
    def _(name=name):
        assert name in found, "was not called"
        assert not found[name], found[name]


@check("the credential of the calls still works")
def _():
    fetch(probe, credential)


run()
