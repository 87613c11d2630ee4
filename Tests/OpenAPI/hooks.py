"""What schemathesis is told of this service: short waits; few sessions, ids and revisions, so that requests meet; and one
additional check.

GROCERIES is the revision of the session `groceries`; without it requests are sent as they were generated, but for waiting."""

import os
import random
import re
from urllib.parse import urlsplit

import schemathesis
from schemathesis.core import NOT_SET

import validator

# The last one is left as it is, so that look-ups find something.
SESSIONS = ["a", "board:1", "with~all._-", "groceries"]
IDS = {"item": ["1", "3", "4"], "section": ["today", "later"]}
DIALECTS = validator.description().document["components"]["schemas"]["Dialect"]["enum"]
VIEWS = ['{"limit":2}', '{"order":[{"at":"/id","descending":true}],"fields":["/content/text"]}', '{"where":[{"at":"/id","not":1}]}']
WINDOWS = [{}, {"at": "start"}, {"at": "end", "before": "1"}, {"around": "3", "before": "1", "after": "1"}]
ACCEPTED = ["*/*", "application/json", "application/json-patch+json"] + [f"application/vnd.diffserver.{name}+json" for name in DIALECTS]

dice = random.Random(1)
revisions = [os.environ.get("GROCERIES")]


def mostly():
    return dice.random() < 0.8


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.method.upper() == "TRACE":
        # It has no body (RFC 9110 §9.3.8): with one it is malformed, whether the path knows it or not.
        case.body = NOT_SET
    query = case.query if isinstance(case.query, dict) else {}
    if re.fullmatch("[0-9]+", str(query.get("wait", ""))):
        # Nobody changes anything meanwhile.
        query["wait"] = "1"
    if revisions[0] is not None:
        make_fit(case, query)


def make_fit(case, query):
    """Generated values rarely match: mostly, sessions are few, conditions hold and no pointer leads astray."""
    path = case.path_parameters or {}
    writes = case.method in ("PUT", "POST", "DELETE")
    if "session" in path and (mostly() or writes and path["session"] == SESSIONS[-1]):
        path["session"] = dice.choice(SESSIONS[:1] if case.method == "DELETE" else SESSIONS[:3] if writes else SESSIONS)
    for name in sorted({"item", "section"} & set(path)):
        if mostly():
            path["session"], path[name] = SESSIONS[-1], dice.choice(IDS[name])
    for name in sorted(validator.SHAPE & set(query)):
        if mostly():
            del query[name]
    if "view" in query and mostly():
        query["view"] = dice.choice(VIEWS)
    if case.path.endswith("/changes") and {"at", "around", "before", "after"} & set(query) and mostly():
        for name in ("at", "around", "before", "after"):
            query.pop(name, None)
        query.update(dice.choice(WINDOWS))
    if case.path == "/v1/diff" and isinstance(case.body, dict) and mostly():
        case.body = {"old": ["a", "b"], "new": [dice.choice("abc")]}
    if "since" in query and mostly():
        query["since"] = dice.choice(revisions[-4:])
    if "revision" in query and mostly():
        query["revision"] = revisions[0]
    headers = case.headers
    if headers is not None:
        for name in sorted({"If-Match", "If-None-Match", "Idempotency-Key"} & set(headers)):
            if mostly():
                del headers[name]
        if "Accept" not in headers and case.path.endswith(("/changes", "/diff")):
            headers["Accept"] = dice.choice(ACCEPTED)


@schemathesis.hook
def after_call(context, case, response):
    """Remembers revisions, for others to name."""
    if found := re.search(rb'"(?:to|revision)":"([0-9]+-[0-9a-f]{16}(?:~[0-9.]+)?)"', response.content or b""):
        revisions.append(found.group(1).decode())


@schemathesis.check
def described(context, response, case):
    """A stricter reading of the description: headers, and nothing is accepted that is not described."""
    request = response.request
    target = urlsplit(request.url)
    body = request.body if isinstance(request.body, (bytes, str)) else None
    validator.check(
        request.method, target.path + ("?" + target.query if target.query else ""), response.status_code,
        {name: ", ".join(values) for name, values in response.headers.items()}, response.content, request.headers, body)
