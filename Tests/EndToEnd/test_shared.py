"""Three nodes share sessions by Redis, thirty clients follow the rule of CONTRACT §4 over all of them, and everything fails once.

Readers stream and poll, each step at another node; writers insert rows, each by an Idempotency-Key that it repeats until it has an
answer. Whatever happened: every reader ends at the head; whoever shows a revision shows the same as everybody else who does (no mix
of two histories); and what was acknowledged is there, unless Redis itself lost it.
"""

import collections
import random
import threading
import time
import unittest

from support.appliers import DIALECTS
from support.client import Client, once, session_path, target
from support.clock import pause, pause_at_random, wait_for
from support.events import Stream
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Group, Redis, Shards
from support.replica import Replica
from support.seen import Seen
from support.states import canonical
from support.store import names_its_stores

FINAL = {"sections": [{"id": "final", "items": ["last"]}]}
# The node is gone, or was just killed while it answered.
GONE = (OSError, ValueError, IndexError)


def pause_after_refusal():
    pause(0.05, "a client that was refused")


class Member(threading.Thread):
    """A client of some session that continues until told to stop."""

    def __init__(self, cluster, session, seed):
        super().__init__(daemon=True)
        self.cluster, self.session, self.chance = cluster, session, random.Random(seed)
        self.path = session_path(session, "changes")
        self.problem = None

    def run(self):
        try:
            while not self.is_done:
                try:
                    self.step(self.chance.choice(self.cluster.nodes))
                except GONE:
                    pause_after_refusal()
        except Exception as problem:  # told in the test's own thread
            self.problem = f"{type(self).__name__} of {self.session}: {problem!r}"


class Reader(Member):
    """Streams or polls, and checks whatever it shows."""

    def __init__(self, cluster, session, seed):
        super().__init__(cluster, session, seed)
        self.replica = Replica(self.chance.choice(list(DIALECTS)))
        self.heard = collections.deque(maxlen=6)

    @property
    def is_done(self):
        return self.replica.model is not None and self.replica.shows(canonical(FINAL))

    @property
    def since(self):
        return {"since": self.replica.revision} if self.replica.revision else {}

    def hear(self, node, what):
        self.heard.append(f"{time.monotonic():.1f} {node.port} {what}"[:300])

    def receive(self, changeset):
        assert self.replica.receive(changeset) != "ask", f"it does not fit {self.replica.revision}: {changeset}"
        self.cluster.seen.check(self.replica)

    def step(self, node):
        if self.chance.random() < 0.5:
            client = Client(node, 10)
            answer = client.request("GET", target(self.path, {"dialect": self.replica.dialect, "wait": 1, **self.since}))
            client.close()
            self.hear(node, answer)
            if answer.status == 200:
                return self.receive(answer.exact)
            assert answer.status in (404, 503), answer
            return pause_after_refusal()
        stream = Stream(node, self.path, {"dialect": self.replica.dialect, **self.since}, timeout=10)
        try:
            self.hear(node, f"stream {stream.status}")
            if stream.status != 200:
                assert stream.status in (404, 503), stream.problem
                return pause_after_refusal()
            for _ in range(self.chance.randint(1, 8)):
                event = stream.next_event()
                self.hear(node, event)
                if event is None or event.event == "end":
                    return pause_after_refusal()
                self.receive(event.changeset)
        finally:
            stream.close()


class Writer(Member):
    """Inserts rows with its own ids, now and then removes one of them, and remembers what was acknowledged."""

    def __init__(self, cluster, session, seed):
        super().__init__(cluster, session, seed)
        self.name, self.count, self.present = f"w{seed}", 0, []
        self.acknowledged = 0

    @property
    def is_done(self):
        return self.cluster.is_over.is_set()

    def step(self, _):
        self.count += 1
        identity = f"{self.name}-{self.count}"
        if len(self.present) > 5 and self.chance.random() < 0.7:
            gone = self.chance.choice(self.present)
            if self.wrote({"edits": [{"op": "delete", "items": [gone]}]}, f"delete-{gone}"):
                self.present.remove(gone)
        place = self.chance.choice(["start", "end"])
        insert = {"edits": [{"op": "insert", "items": [{"id": identity, "content": {"n": self.count}}], "at": place}]}
        if self.wrote(insert, f"insert-{identity}"):
            self.present.append(identity)
        pause_at_random(self.chance, 0.05)

    def wrote(self, body, key):
        """Repeats until there is an answer; makes a missing session (the store was emptied), and returns false."""
        while not self.is_done:
            try:
                client = Client(self.chance.choice(self.cluster.nodes), 10)
                answer = client.request("POST", self.path, body, {"Idempotency-Key": key, "Prefer": "return=minimal"})
                client.close()
            except GONE:
                pause_after_refusal()
                continue
            if answer.status == 200:
                self.acknowledged += 1
                return True
            if answer.status == 404:
                self.cluster.made(self.session)
                return False
            if answer.status == 422 and self.cluster.forgets:
                return False  # It was done, and Redis has forgotten its key.
            assert answer.status == 503 and answer.headers["Retry-After"], (key, answer)
            pause_after_refusal()
        raise Unsure


class Unsure(OSError):
    """The test ended between a write and its answer."""


class Cluster:
    """Nodes, clients, and what they saw."""

    SESSIONS = ("one", "two", "three")

    def __init__(self, store, forgets=False):
        self.forgets = forgets
        self.seen, self.is_over = Seen(), threading.Event()
        options = ("--store", store, "--digest-key", "shared", "--history-revisions", "8")
        self.nodes = [Node(*options) for _ in range(3)]
        for session in self.SESSIONS:
            self.made(session)
        self.readers = [Reader(self, self.SESSIONS[number % 3], number) for number in range(21)]
        self.writers = [Writer(self, self.SESSIONS[number % 3], 100 + number) for number in range(9)]
        for member in self.readers + self.writers:
            member.start()

    def post(self, session, body, **headers):
        """At any node, until one takes it."""
        def took():
            client = Client(random.choice(self.nodes), 10)
            answer = client.request("POST", session_path(session, "changes"), body, headers)
            client.close()
            return answer if answer.status in (200, 201) else None
        return wait_for(took, "a node takes a write", not_yet=GONE)

    def state(self, session):
        """The head; an empty one if Redis has lost the session and nobody has made it again yet."""
        def answered():
            client = Client(self.nodes[0])
            answer = client.request("GET", session_path(session))
            client.close()
            assert answer.status in (200, 404, 503), answer
            return answer if answer.status != 503 else None
        return wait_for(answered, "the first node has its store", not_yet=()).json.get("state", {"sections": []})

    def made(self, session):
        self.post(session, {"state": []})

    def goes_on(self):
        """Waits until every writer has had some more answers, so that whatever was done to the nodes is over."""
        counts = [writer.acknowledged + 5 for writer in self.writers]
        wait_for(lambda: all(writer.acknowledged >= count or writer.problem for writer, count in zip(self.writers, counts)),
                 "writes go on", 30)

    def ended(self):
        """Stops the writers, lets the readers find the last state, and tells what went wrong."""
        self.is_over.set()
        for each in self.writers:
            each.join(30)
        states = {}
        for session in self.SESSIONS:
            states[session] = self.state(session)
            self.post(session, {"state": FINAL})
        for each in self.readers:
            each.join(30)
        problems = [each.problem for each in self.readers + self.writers if each.problem]
        problems += [
            f"a reader of {each.session} ({each.replica.dialect}) stays at {each.replica.revision}, having heard {list(each.heard)}"
            for each in self.readers if each.is_alive()
        ]
        return problems, states

    def close(self):
        self.is_over.set()
        for node in self.nodes:
            node.stop()


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class SharedSessions(unittest.TestCase):
    def run_with(self, cluster, *deeds):
        try:
            cluster.goes_on()
            for deed in deeds:
                deed()
                cluster.goes_on()
            problems, states = cluster.ended()
            self.assertEqual(problems, [])
            return states
        finally:
            cluster.close()

    def assertAllIsThere(self, cluster, states):
        """Each row that a writer knows to exist does, once, and none that it knows to be gone."""
        for session, state in states.items():
            ids = [item["id"] for section in state["sections"] for item in section["items"]]
            self.assertEqual(len(ids), len(set(ids)))
            for writer in cluster.writers:
                if writer.session == session:
                    mine = {identity for identity in ids if identity.startswith(writer.name + "-")}
                    self.assertLessEqual(set(writer.present), mine)
                    # The last insertion or deletion may have been done without its answer.
                    self.assertLessEqual(len(mine - set(writer.present)), 1)

    def test_nodes_come_and_go_and_hints_are_lost(self):
        redis = Redis()
        self.addCleanup(redis.close)
        cluster = Cluster(f"redis://127.0.0.1:{redis.port}")

        def killed(number):
            cluster.nodes[number].kill()
            cluster.goes_on()
            cluster.nodes[number].start()

        states = self.run_with(
            cluster, lambda: killed(0), lambda: redis.say("CLIENT", "KILL", "TYPE", "pubsub"), lambda: killed(1),
            lambda: redis.say("CLIENT", "KILL", "TYPE", "normal"), lambda: killed(2),
            lambda: redis.say("CLIENT", "KILL", "TYPE", "pubsub"))
        self.assertAllIsThere(cluster, states)

    def test_the_primary_dies_in_the_middle_of_writes(self):
        group = Group()
        self.addCleanup(group.close)
        cluster = Cluster(group.address, forgets=True)
        self.run_with(cluster, group.fail_over)

    def test_slots_of_a_cluster_move_in_the_middle_of_writes(self):
        shards = Shards()
        self.addCleanup(shards.close)
        cluster = Cluster(shards.address)
        owners = {session: shards.owner(session) for session in Cluster.SESSIONS}
        states = self.run_with(
            cluster, lambda: shards.move("one", owners["two"], cluster.goes_on), lambda: shards.move("two", owners["three"]),
            lambda: shards.move("three", shards.join(), cluster.goes_on))
        self.assertAllIsThere(cluster, states)

    def test_primaries_of_a_cluster_die_and_slots_move_in_the_middle_of_writes(self):
        shards = Shards()
        self.addCleanup(shards.close)
        cluster = Cluster(shards.address, forgets=True)
        self.run_with(
            cluster, lambda: shards.fail_over("one"), lambda: shards.move("two", shards.owner("one")),
            lambda: shards.fail_over("two"), lambda: shards.fail_over("three"))

    def test_the_store_is_emptied(self):
        redis = Redis()
        self.addCleanup(redis.close)
        cluster = Cluster(f"redis://127.0.0.1:{redis.port}", forgets=True)
        self.run_with(cluster, lambda: redis.say("FLUSHALL"), lambda: redis.say("FLUSHALL"))

    def test_redis_restarts_empty(self):
        redis = Redis()
        self.addCleanup(redis.close)
        cluster = Cluster(f"redis://127.0.0.1:{redis.port}", forgets=True)

        def restarted():
            redis.kill()
            wait_for(lambda: all(once(node, "GET", "/readyz").status == 503 for node in cluster.nodes), "all nodes miss it")
            redis.start()

        self.run_with(cluster, restarted)
