"""A deploy disturbs nobody: three nodes over Redis behind nginx and behind HAProxy, by the configurations of Examples, are restarted
one after the other while 200 readers and 20 writers go on. Not one request fails, nobody is sent a reset, and no change is lost. The last
node has next to no streams then, and by `--stream-life` its share again.

No client retries: what fails once is a failure. A stream that ends by `end` has not failed, nor has one whose life is over.
"""

import asyncio
import json
import time
import unittest

from support import haproxy, nginx, redis
from support.client import target
from support.clock import let_pass, pause_beside_others, wait_for
from support.fetching import Answer, Connection
from support.node import Node
from support.outside import figure
from support.ports import free_port
from support.replica import Replica
from support.states import canonical
from support.store import names_its_stores
from support.tokens import SECRET, bearer
from test_tokens_and_keys import KEY, hashed

WRITERS = 20
STREAMS, POLLS = 160, 40
# What a writer leaves in its list.
KEPT = 8


def path(number, *rest):
    return "/".join([f"/v1/sessions/list-{number}", *rest])


class Writer:
    """Inserts a row at the start of its own list and removes the oldest, and knows what must be there."""

    def __init__(self, crowd, number):
        self.crowd, self.number, self.count = crowd, number, 0

    @property
    def expected(self):
        return canonical([f"row-{each}" for each in range(self.count, max(0, self.count - KEPT), -1)])

    async def run(self):
        connection = Connection(self.crowd.proxy, bearer(KEY))
        while not self.crowd.is_over:
            edits = [{"op": "insert", "items": [{"id": f"row-{self.count + 1}"}], "at": "start"}]
            if self.count >= KEPT:
                edits.append({"op": "delete", "items": [f"row-{self.count + 1 - KEPT}"]})
            answer = await connection.request("POST", path(self.number, "changes"), json.dumps({"edits": edits}).encode())
            self.crowd.posts += 1
            if answer.status != 200:
                return self.crowd.failed("a POST", answer)
            self.count += 1
            await pause_beside_others(0.25, "the writer of a list")
        connection.close()


class Reader:
    """Follows the rule, and must end with the last state of its list."""

    def __init__(self, crowd, writer):
        self.crowd, self.writer, self.replica = crowd, writer, Replica("keyed")

    @property
    def is_done(self):
        return self.crowd.is_over and self.replica.shows(self.writer.expected)

    def path(self, **query):
        since = {"since": self.replica.revision} if self.replica.revision else {}
        return target(path(self.writer.number, "changes"), {**since, **query})

    def receive(self, text):
        changeset = json.loads(text)
        self.crowd.resets += "reset" in changeset and self.replica.revision is not None
        if self.replica.receive(changeset) == "ask":
            self.crowd.failed("a changeset that does not fit", changeset)


class Streaming(Reader):
    async def run(self):
        while not self.is_done:
            connection, end = Connection(self.crowd.proxy, bearer(KEY)), None
            async for event in connection.events(self.path()):
                if isinstance(event, Answer):
                    return self.crowd.failed("a stream", event)
                if event.get("event") == "end":
                    end = event
                elif "data" in event:
                    self.receive(event["data"])
                if self.is_done:
                    return connection.close()
            connection.close()
            # Its life is over. A stream that breaks off raises.
            if end is None and self.replica.revision:
                self.crowd.lives += 1
                continue
            if end is None or json.loads(end["data"])["type"] != "/problems/draining":
                return self.crowd.failed("a stream that ended by", end)
            self.crowd.retries.append(int(end["retry"]))
            await pause_beside_others(int(end["retry"]) / 1000, "a reader that was told when to come back")


class Polling(Reader):
    async def run(self):
        connection = Connection(self.crowd.proxy, bearer(KEY))
        while not self.is_done:
            answer = await connection.request("GET", self.path(wait=5))
            self.crowd.polls += 1
            if answer.status != 200:
                return self.crowd.failed("a poll", answer)
            self.receive(answer.body)
        connection.close()


class Crowd:
    """All readers and writers, and what went wrong for them."""

    def __init__(self, proxy):
        self.proxy, self.is_over = proxy, False
        self.posts = self.polls = self.resets = self.lives = 0
        self.failures, self.retries = [], []
        self.writers = [Writer(self, number) for number in range(WRITERS)]
        self.readers = [Streaming(self, self.writers[number % WRITERS]) for number in range(STREAMS)]
        self.readers += [Polling(self, self.writers[number % WRITERS]) for number in range(POLLS)]

    def failed(self, what, how):
        self.failures.append(f"{time.monotonic():.2f}: {what}: {how}")

    async def run(self, client):
        try:
            await client.run()
        except (OSError, EOFError, AssertionError, ValueError) as error:
            self.failed(type(client).__name__, repr(error))

    async def go_through(self, meanwhile):
        """Runs all of them during the call, and until each reader shows the end."""
        connection = Connection(self.proxy, bearer(KEY))
        for writer in self.writers:
            answer = await connection.request("PUT", path(writer.number), b'{"state":[]}')
            assert answer.status == 201, answer
        connection.close()
        tasks = {role: [asyncio.create_task(self.run(each)) for each in role] for role in map(tuple, (self.writers, self.readers))}
        await asyncio.to_thread(meanwhile)
        self.is_over = True
        writing, reading = tasks.values()
        await asyncio.gather(*writing)
        # A list that is quiet by now wakes nobody who shows it already.
        for writer in self.writers:
            await self.run(Last(writer))
        await asyncio.wait(reading, timeout=60)
        for task, reader in zip(reading, self.readers):
            if not task.done():
                task.cancel()
                self.failed("a reader that did not end", f"at {reader.replica.revision}: {reader.replica.model}")


class Last:
    """One more row for a list, so that each of its readers hears something."""

    def __init__(self, writer):
        self.writer = writer

    async def run(self):
        connection = Connection(self.writer.crowd.proxy, bearer(KEY))
        self.writer.count += 1
        state = json.dumps(self.writer.expected).encode()
        answer = await connection.request("POST", path(self.writer.number, "changes"), state)
        if answer.status != 200:
            self.writer.crowd.failed("the last POST", answer)
        connection.close()


class Nodes:
    """Nodes that share a Redis, behind `self.proxy`."""

    count = 2
    # A balancer must notice within that time.
    delay = "1s"

    def setUp(self):
        self.store = redis.Redis()
        self.addCleanup(self.store.close)
        self.nodes = [
            Node("--key", f"writer:{hashed(KEY)}", "--token-secret", SECRET, "--digest-key", "the same", "--store",
                 f"redis://127.0.0.1:{port}", "--drain-delay", self.delay, "--drain", "10s", *self.others())
            for port in self.store_ports()
        ]
        self.addCleanup(lambda: [node.stop() for node in self.nodes])

    def store_ports(self):
        """Where each node finds the store."""
        return [self.store.port] * self.count

    def others(self):
        return ()


class NginxBefore(Nodes):
    def setUp(self):
        self.second = []
        super().setUp()
        ports = [node.port for node in self.nodes] + self.second
        self.proxy = nginx.Nginx("nginx-several-nodes.conf", ports)
        self.addCleanup(self.proxy.close)

    def others(self):
        self.second.append(free_port())
        return ("--listen", f"127.0.0.1:{self.second[-1]}")


class HAProxyBefore(Nodes):
    # It asks once a second.
    delay = "3s"

    def setUp(self):
        super().setUp()
        self.proxy = haproxy.HAProxy([node.port for node in self.nodes])
        self.addCleanup(self.proxy.close)


class Rolling:
    count = 3

    def others(self):
        return (*super().others(), "--stream-life", "20s")

    def streams(self):
        """How many streams each node has, the least first."""
        return sorted(figure(node, "diffserver_streams") for node in self.nodes)

    def restart_each(self, crowd):
        wait_for(lambda: crowd.failures or crowd.posts > 2 * WRITERS and all(each.replica.revision for each in crowd.readers),
                 "all read and write")
        for node in self.nodes:
            node.stop()
            node.start()
            wait_for(lambda: asyncio.run(Connection(node).request("GET", "/readyz")).status == 200,  # noqa: B023
                     "it is ready again", 30, not_yet=())
            # The time that the configurations give a proxy to take it in again, and a little more.
            let_pass(2.5, "health checks of a proxy")
        self.moved = len(crowd.retries) + crowd.lives
        wait_for(lambda: crowd.failures or self.is_even(self.streams()), lambda: f"streams are even again: {self.streams()}",
                 90, every=0.2)

    @staticmethod
    def is_even(streams):
        return sum(streams) > 0.9 * STREAMS and streams[-1] < 2 * streams[0]

    def test_nobody_notices(self):
        crowd = Crowd(self.proxy)
        asyncio.run(crowd.go_through(lambda: self.restart_each(crowd)))
        told = [line for line in self.proxy.log.read_text().splitlines() if "Connection refused" not in line]
        self.assertEqual(crowd.failures, [], "\n".join(told[-20:]))
        self.assertEqual(crowd.resets, 0)
        # Proves that there was something to notice.
        self.assertGreater(self.moved, STREAMS)
        self.assertGreater(len(set(crowd.retries)), STREAMS // 4)
        self.assertTrue(500 <= min(crowd.retries) and max(crowd.retries) <= 1500, crowd.retries)
        self.assertGreater(crowd.posts, 20 * WRITERS)
        self.assertGreater(crowd.polls, 20 * POLLS)

    def test_figures_are_not_for_the_world(self):
        for asked, is_nodes in (("/metrics", False), ("/metrics?x=1", False), ("/%6detrics", False), ("/debug", False),
                                ("/debug/x", False), ("/%64ebug/x", False), ("/v1/sessions/metrics", True),
                                ("/v1/sessions/debug", True)):
            with self.subTest(asked):
                answer = asyncio.run(Connection(self.proxy, bearer(KEY)).request("GET", asked))
                self.assertEqual((answer.status, "x-request-id" in answer.headers), (404, is_nodes), answer)


@names_its_stores
@unittest.skipUnless(redis.IS_INSTALLED and nginx.IS_INSTALLED, "redis-server or nginx is not installed")
class BehindNginx(Rolling, NginxBefore, unittest.TestCase):
    pass


@names_its_stores
@unittest.skipUnless(redis.IS_INSTALLED and haproxy.IS_INSTALLED, "redis-server or haproxy is not installed")
class BehindHAProxy(Rolling, HAProxyBefore, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
