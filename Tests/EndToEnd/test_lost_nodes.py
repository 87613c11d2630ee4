"""Behind a proxy nothing hangs: one of two nodes over Redis is frozen, killed or cut off from its store, behind nginx and behind HAProxy,
by the configurations of Examples, while clients read and write. Each request of a client that waits for ten seconds is answered, streams
and polls go on elsewhere, and what was acknowledged is there at the end, once.

Clients repeat what was not done, with the same Idempotency-Key, as every client should.
"""

import asyncio
import json
import os
import signal
import unittest

import test_rolling_restart as rolling
from support import haproxy, nginx, redis
from support.client import target
from support.clock import pause_beside_others, wait_for
from support.fetching import Answer, Connection
from support.jsontext import exact
from support.proxy import Proxy
from support.replica import Replica
from support.states import canonical
from support.store import names_its_stores
from support.tokens import bearer
from test_tokens_and_keys import KEY

LISTS = 6
STREAMS, POLLS, GETTERS = 12, 6, 6
# The time after which a client gives up on a request, and on a stream of a list that changes all the time.
PATIENCE = 10
# How often each client must get through before a fault, during it and after it.
ENOUGH = 5
# The seconds in which all of them must do that.
HANGS = 60
# Seconds between the writes of a list. A node that was frozen carries out what it had received: by then the list must not have seen so
# many writes (64) that the key is forgotten.
PACE = 1


def path(number, *rest):
    return "/".join([f"/v1/sessions/count-{number}", *rest])


def counted(number):
    return canonical([{"id": "n", "content": {"n": number}}])


def count_in(answer):
    return json.loads(answer.body)["state"]["sections"][0]["items"][0]["content"]["n"]


class One:
    """A client of one list; `progress` is how often it got what it wanted."""

    def __init__(self, crowd, number):
        self.crowd, self.number, self.progress = crowd, number % LISTS, 0
        self.connection = Connection(crowd.proxy, bearer(KEY))

    async def ask(self, *request, is_held=False, **headers):
        """The first answer that is no 503. A proxy may close the connection to a dead node: that is an answer, too. Nobody can tell a
        node that holds a request from a frozen one: its client gives up by itself."""
        while True:
            try:
                answer = await asyncio.wait_for(self.connection.request(*request, headers=headers), PATIENCE)
                if answer.status != 503:
                    return answer
                self.crowd.refused += 1
                if "retry-after" not in answer.headers:
                    self.crowd.failures.append(f"503 that does not say when to come back: {answer}")
            except asyncio.TimeoutError:
                if is_held:
                    self.crowd.silences += 1
                else:
                    self.crowd.failures.append(f"no answer within {PATIENCE} s: {request}")
                self.connection.close()
            except (OSError, EOFError):
                self.crowd.cuts += 1
                self.connection.close()
            await pause_beside_others(0.05, "a client before it asks again")


class Adding(One):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.count = 0

    async def step(self):
        edit = {"op": "update", "items": [{"id": "n", "add": {"/n": 1}}]}
        body = json.dumps({"edits": [edit]}).encode()
        answer = await self.ask("POST", path(self.number, "changes"), body, **{"Idempotency-Key": f"{self.count}"})
        assert answer.status == 200, answer
        self.count += 1
        await pause_beside_others(PACE, "the writer of a list")


class Getting(One):
    async def step(self):
        least = self.crowd.writers[self.number].count
        answer = await self.ask("GET", path(self.number))
        assert answer.status == 200, answer
        number = count_in(answer)
        assert number >= least, f"{number} after {least} was acknowledged"


class Following(One):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.replica = Replica("keyed")

    def asked(self, **query):
        since = {"since": self.replica.revision} if self.replica.revision else {}
        return target(path(self.number, "changes"), {**since, **query})

    def receive(self, text):
        before = self.replica.revision
        assert self.replica.receive(exact(text)) != "ask", text
        self.progress += self.replica.revision != before

    @property
    def is_done(self):
        return self.crowd.last is not None and self.replica.shows(counted(self.crowd.last[self.number]))


class Polling(Following):
    async def step(self):
        answer = await self.ask("GET", self.asked(wait=1), is_held=True)
        assert answer.status == 200, answer
        self.receive(answer.body)


class Streaming(Following):
    async def step(self):
        try:
            events = self.connection.events(self.asked())
            while not self.is_done:
                event = await asyncio.wait_for(anext(events), PATIENCE)
                if isinstance(event, Answer):
                    assert event.status == 503, event
                    break
                if event.get("event") == "end":
                    break
                if "data" in event:
                    self.receive(event["data"])
        except asyncio.TimeoutError:
            self.crowd.silences += 1
        except (OSError, EOFError, StopAsyncIteration):
            self.crowd.cuts += 1
        self.connection.close()


class Crowd:
    def __init__(self, proxy):
        self.proxy, self.is_over = proxy, False
        # What each list counts in the end, once that is known.
        self.last = None
        self.failures, self.refused, self.cuts, self.silences = [], 0, 0, 0
        self.writers = [Adding(self, number) for number in range(LISTS)]
        self.getters = [Getting(self, number) for number in range(GETTERS)]
        self.readers = [Streaming(self, number) for number in range(STREAMS)] + [Polling(self, number) for number in range(POLLS)]

    async def run(self, client):
        while not (client.is_done if client in self.readers else self.is_over):
            try:
                await client.step()
            except Exception as error:  # told in the test's own thread
                return self.failures.append(f"{type(client).__name__}: {error!r}")
            client.progress += client not in self.readers
            await pause_beside_others(0.05, "a client between two steps")

    def all_go_on(self, clients):
        """Waits until each of them got through ENOUGH times more."""
        start = [each.progress for each in clients]

        def stuck():
            return [type(each).__name__ for each, before in zip(clients, start) if each.progress < before + ENOUGH]
        try:
            wait_for(lambda: self.failures or not stuck(), lambda: f"all go on: {stuck()}", HANGS)
        except AssertionError as problem:
            self.failures.append(str(problem))

    async def go_through(self, meanwhile):
        for number in range(LISTS):
            answer = await One(self, number).ask("PUT", path(number), b'{"state":[{"id":"n","content":{"n":0}}]}')
            assert answer.status == 201, answer
        asking = [asyncio.create_task(self.run(each)) for each in self.writers + self.getters]
        reading = [asyncio.create_task(self.run(each)) for each in self.readers]
        await asyncio.to_thread(meanwhile)
        self.is_over = True
        await asyncio.gather(*asking)
        # One more, since a quiet list wakes nobody.
        self.last = [writer.count + 1 for writer in self.writers]
        await asyncio.gather(*(writer.step() for writer in self.writers))
        await asyncio.wait(reading, timeout=HANGS)
        for task, reader in zip(reading, self.readers):
            if not task.done():
                task.cancel()
                self.failures.append(f"{type(reader).__name__} of {reader.number} ended at {reader.replica.revision}: {reader.replica.model}, not {self.last}")


class Lost:
    def store_ports(self):
        """The second node finds the store by a way that can be cut."""
        self.way = Proxy(self.store.port, 0)
        self.addCleanup(self.way.close)
        return [self.store.port, self.way.port]

    def go_through(self, begin, end, everybody=True):
        crowd = Crowd(self.proxy)

        def meanwhile():
            clients = crowd.writers + crowd.getters + crowd.readers
            crowd.all_go_on(clients)
            begin()
            try:
                crowd.all_go_on(clients if everybody else crowd.writers + crowd.getters)
            finally:
                end()
            crowd.all_go_on(clients)
        asyncio.run(crowd.go_through(meanwhile))
        self.assertEqual(crowd.failures, [])
        for node in self.nodes:
            for writer in crowd.writers:
                answer = asyncio.run(Connection(node, bearer(KEY)).request("GET", path(writer.number)))
                self.assertEqual(count_in(answer), writer.count)
        return crowd

    def test_a_frozen_node(self):
        process = self.nodes[1].server.process
        crowd = self.go_through(lambda: os.kill(process.pid, signal.SIGSTOP), lambda: os.kill(process.pid, signal.SIGCONT))
        # Proves that it was noticed.
        self.assertGreater(crowd.refused + crowd.cuts + crowd.silences, 0)

    def test_a_killed_node(self):
        crowd = self.go_through(self.nodes[1].kill, self.nodes[1].start)
        self.assertGreater(crowd.cuts, 0)
        self.assertEqual(crowd.silences, 0)

    def test_a_node_that_is_cut_off_from_its_store(self):
        def sever():
            self.way.sever()
            # A proxy may know it before any client is refused.
            wait_for(lambda: asyncio.run(Connection(self.nodes[1]).request("GET", "/readyz")).status == 503, "it is not ready")

        # Its streams stay where they are.
        self.go_through(sever, self.way.mend, everybody=False)


@names_its_stores
@unittest.skipUnless(redis.IS_INSTALLED and nginx.IS_INSTALLED, "redis-server or nginx is not installed")
class BehindNginx(Lost, rolling.NginxBefore, unittest.TestCase):
    pass


@names_its_stores
@unittest.skipUnless(redis.IS_INSTALLED and haproxy.IS_INSTALLED, "redis-server or haproxy is not installed")
class BehindHAProxy(Lost, rolling.HAProxyBefore, unittest.TestCase):
    pass


if __name__ == "__main__":
    unittest.main()
