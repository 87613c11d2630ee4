"""A client that wants nothing unusual: small posts and reads, at a steady pace.

Each latency counts from when its request was due, not from when it could be sent, so a stall of one second makes all
requests late that were due in it.
"""

import contextlib
import http.client
import json
import time

INTERVAL = 0.01
# In turn, since each belongs to a loop of the server, and an attack may occupy another.
CONNECTIONS = 8
PATH = "/v1/sessions/innocent/changes"


def prepare(server):
    """What a client of upstream lists needs: a list that it may edit."""
    with contextlib.closing(connect(server, 10)) as connection:
        connection.request("PUT", "/v1/sessions/agreed", json.dumps({"state": [1]}))
        if connection.getresponse().status != 201:
            raise SystemExit("the innocent client's list was not made")


def run(server, until, pipe, ask):
    """Asks until then; sends the latencies in seconds, and how many requests failed and how many were refused."""
    latencies, failures, refusals = [], 0, 0
    connections, revision = [None] * CONNECTIONS, None
    start, number = time.monotonic(), 0
    while (due := start + number * INTERVAL) < until:
        time.sleep(max(0, due - time.monotonic()))
        left, at = until - time.monotonic(), number % CONNECTIONS
        try:
            if left <= 0:
                raise TimeoutError
            if connections[at] is None:
                connections[at] = connect(server, left)
            connections[at].sock.settimeout(max(0.05, left))
            revision = ask(connections[at], number, revision)
        except (OSError, http.client.HTTPException, ValueError, KeyError) as problem:
            failures += 1
            refusals += not isinstance(problem, TimeoutError)
            if connections[at] is not None:
                connections[at].close()
            connections[at] = None
        latencies.append(time.monotonic() - due)
        number += 1
    pipe.send((latencies, failures, refusals))


def connect(server, timeout):
    if server.tls:
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=timeout, context=server.tls)
    else:
        connection = http.client.HTTPConnection("localhost", server.port, timeout=timeout)
    connection.connect()
    return connection


def ask(connection, number, revision):
    """A post of 20 rows, one of them changed, and every other time a read of the changes."""
    if number // CONNECTIONS % 2 and revision:
        connection.request("GET", f"{PATH}?since={revision}")
    else:
        body = json.dumps([{"id": row, "content": {"n": number if row == number % 20 else row}} for row in range(20)])
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise ValueError(answer.status)
    return json.loads(text)["to"]


def ask_upstream(connection, number, revision):
    """In turn: the same, a read of a list that fetches itself, of one that nobody has read before, and an edit."""
    turn, name = number // CONNECTIONS % 8, f"calm:{number}"
    if turn < 5:
        return ask(connection, number, revision)
    if turn == 7:
        edit = {"edits": [{"op": "update", "items": [{"id": 1, "content": number}]}]}
        connection.request("POST", "/v1/sessions/agreed/changes", json.dumps(edit))
    else:
        connection.request("GET", f"/v1/sessions/{name if turn == 6 and number % CONNECTIONS == 0 else 'calm'}")
    answer = connection.getresponse()
    answer.read()
    if answer.status >= 400:
        raise ValueError(answer.status)
    return revision
