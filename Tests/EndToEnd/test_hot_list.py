"""A list that everybody writes to at once, in a Redis: each write counts, whichever loop, node and size it has."""

import random
import re
import threading
import unittest

from support.client import Client, session_path
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import binary
from support.store import names_its_stores

ADD = {"op": "update", "items": [{"id": "n", "add": {"/n": 1}}]}


def figure(client, name):
    text = client.request("GET", "/metrics").text
    return int(float(re.search(rf"^{name} (\S+)$", text, re.M).group(1)))


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class HotListCase(unittest.TestCase):
    WRITERS, WRITES = 24, 25
    nodes = 1

    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)
        self.members = []
        self.path = session_path("hot", "changes")

    def start(self, loops):
        for _ in range(self.nodes):
            node = Node("--store", f"redis://127.0.0.1:{self.redis.port}", "--loops", str(loops))
            self.addCleanup(node.stop)
            self.members.append(node)
        self.clients = [Client(node) for node in self.members]
        for client in self.clients:
            self.addCleanup(client.close)
        first = [{"id": "n", "content": {"n": 0}}, {"id": "b", "content": ""}]
        self.assertEqual(self.clients[0].request("POST", self.path, first).status, 201)
        for client in self.clients:
            self.assertEqual(client.request("POST", self.path, {"edits": [ADD]}).status, 200)

    def figures(self):
        """Commits and conflicts of all nodes, and the scripts that Redis ran for them."""
        calls = re.search(r"cmdstat_evalsha:calls=(\d+)", self.redis.say("INFO", "commandstats").decode())
        return [sum(figure(client, f"diffserver_{name}_total") for client in self.clients)
                for name in ("commits", "store_conflicts")] + [int(calls.group(1))]

    def sizes(self, number):
        """How much a writer's writes change besides, in bytes. Workers encode the long ones."""
        return self.WRITES * [60_000 if number % 8 == 7 else 0]

    def write(self, number):
        client = Client(self.members[number % self.nodes])
        try:
            for write, size in enumerate(self.sizes(number)):
                edits = [ADD]
                if size:
                    edits.append({"op": "update", "items": [{"id": "b", "content": f"{number} {write} " + size * "x"}]})
                answer = client.request("POST", self.path, {"edits": edits})
                self.assertEqual(answer.status, 200, answer)
                self.acknowledged[number] += 1
        finally:
            client.close()

    def written(self, loops):
        """What the writes of all took: commits, conflicts, scripts."""
        self.start(loops)
        before = self.figures()
        self.acknowledged = [0] * self.WRITERS
        threads = [threading.Thread(target=self.write, args=(number,)) for number in range(self.WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = [after - figure for after, figure in zip(self.figures(), before)]
        self.assertEqual(self.acknowledged, [self.WRITES] * self.WRITERS)
        count = self.WRITERS * self.WRITES
        for client in self.clients:
            state = client.request("GET", session_path("hot")).text
            self.assertIn(f'{{"n":{count + self.nodes}}}', state.replace(" ", ""))
        self.assertEqual(took[0], count, "each acknowledged commit counts")
        return took


class OneNode(HotListCase):
    def test_its_loops_never_meet(self):
        for loops in (1, 2, 4):
            with self.subTest(loops=loops):
                self.setUp()
                commits, conflicts, scripts = self.written(loops)
                self.assertEqual(conflicts, 0)
                self.assertLessEqual(scripts, 1.1 * commits)


class ThreeNodes(HotListCase):
    WRITERS, WRITES = 60, 10
    nodes = 3

    def test_they_take_turns(self):
        commits, _, scripts = self.written(2)
        self.assertLessEqual(scripts, 2 * commits)


@unittest.skipIf("/debug/" in binary(), "a debug build gets less done in a turn")
class ThreeNodesInABurst(HotListCase):
    """Short, and each writer's sizes are mixed: fewer of a turn's writes go out together."""

    WRITES = 20
    nodes = 3

    def sizes(self, number):
        chance = random.Random(number)
        return [chance.randint(1, 60_000) if chance.random() < 0.2 else 0 for _ in range(self.WRITES)]

    def test_they_take_turns(self):
        for loops in (1, 2):
            with self.subTest(loops=loops):
                self.setUp()
                commits, _, scripts = self.written(loops)
                self.assertLessEqual(scripts, 2 * commits)


class LongLists(HotListCase):
    """What loads a long list waits for memory, but not for a write that waits for its turn."""

    ROUNDS = 4

    def post(self, node, session, body, statuses):
        client = Client(node, 60)
        try:
            answer = client.request("POST", session_path(session, "changes"), body, {"Prefer": "return=minimal"})
            self.assertIn(answer.status, statuses, answer)
        finally:
            client.close()

    def test_overtaken_writes_end(self):
        options = ("--store", f"redis://127.0.0.1:{self.redis.port}", "--memory", "64MiB")
        nodes = [Node(*options) for _ in range(2)]
        for node in nodes:
            self.addCleanup(node.stop)
        failures = []

        def run(*task):
            try:
                self.post(*task)
            except Exception as failure:  # told below, in the test's own thread
                failures.append(failure)

        for number in range(self.ROUNDS):
            # The second node has not seen it, and its records have room for one such list.
            session = f"long-{number}"
            state = [{"id": "n", "content": {"n": 0}}, *({"id": each, "content": "x" * 150} for each in range(8_000))]
            self.post(nodes[0], session, state, (201,))
            other = [{"id": "n", "content": {"n": 0}}, *({"id": each, "content": "y" * 150} for each in range(8_000))]
            threads = [threading.Thread(target=run, args=(nodes[1], session, {"edits": [ADD]}, (200, 503))) for _ in range(6)]
            threads += [threading.Thread(target=run, args=(nodes[0], session, each, (200, 503))) for each in (other, state, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])


del HotListCase
