"""A client that wants nothing unusual: small posts and reads, at a steady pace.

Each latency counts from when its request was due, not from when it could be sent, so one stall of a second is as many
late requests as were due in it.
"""

import http.client
import json
import time

INTERVAL = 0.01
PATH = "/v1/sessions/innocent/changes"


def run(server, until, pipe):
    latencies, failures = [], 0
    connection, revision = None, None
    start = time.monotonic()
    number = 0
    while (due := start + number * INTERVAL) < until:
        time.sleep(max(0, due - time.monotonic()))
        left = until - time.monotonic()
        if left <= 0:
            latencies.append(time.monotonic() - due)
            failures += 1
            number += 1
            continue
        try:
            if connection is None:
                connection = connect(server, left)
            connection.sock.settimeout(max(0.05, left))
            revision = ask(connection, number, revision)
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            failures += 1
            if connection is not None:
                connection.close()
            connection = None
            time.sleep(0.005)
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
    if number % 2 and revision:
        connection.request("GET", f"{PATH}?since={revision}")
    else:
        body = json.dumps([{"id": row, "content": {"n": number if row == number % 20 else row}} for row in range(20)])
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise ValueError(answer.status)
    return json.loads(text)["to"]
