"""A client that wants nothing unusual: small posts and reads, at a steady pace.

Each latency counts from when its request was due, not from when it could be sent, so one stall of a second is as many
late requests as were due in it.
"""

import http.client
import json
import time

INTERVAL = 0.01
# In turn, since each belongs to a loop of the server, and an attack may well be on another.
CONNECTIONS = 8
PATH = "/v1/sessions/innocent/changes"


def run(server, until, pipe):
    """Asks until then, and sends the latencies in seconds, and how many requests failed."""
    latencies, failures = [], 0
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
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            failures += 1
            if connections[at] is not None:
                connections[at].close()
            connections[at] = None
        latencies.append(time.monotonic() - due)
        number += 1
    pipe.send((latencies, failures))


def connect(server, timeout):
    if server.tls:
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=timeout, context=server.tls)
    else:
        connection = http.client.HTTPConnection("localhost", server.port, timeout=timeout)
    connection.connect()
    return connection


def ask(connection, number, revision):
    """A post of 20 rows, one of them changed, and every other time a read of what changed."""
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
