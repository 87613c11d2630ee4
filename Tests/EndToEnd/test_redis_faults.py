"""A Redis that is away, full, emptied, or that forbids: the node is not ready, says why once, and finds back by itself."""

import subprocess
import time
import unittest

from support.client import Client, session_path
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Group, Redis
from support.server import binary, environment
from support.store import names_its_stores


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class RedisCase(unittest.TestCase):
    def redis(self, *settings):
        redis = Redis(*settings)
        self.addCleanup(redis.close)
        return redis

    def node(self, address, *options):
        node = Node("--store", address, *options)
        self.addCleanup(node.stop)
        return node

    def ask(self, node, method, path, body=None):
        client = Client(node, 10)
        try:
            return client.request(method, path, body)
        finally:
            client.close()

    def post(self, node, session, state):
        return self.ask(node, "POST", session_path(session, "changes"), state)

    def is_ready(self, node):
        return self.ask(node, "GET", "/readyz").status == 200

    def eventually(self, holds, what, seconds=10):
        deadline = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def log(self, node):
        return [line for line in node.server.lines if "the store is" in line]

    def address(self, redis, login=""):
        return f"redis://{login}127.0.0.1:{redis.port}"


class Starts(RedisCase):
    def test_a_node_waits_for_a_redis_that_is_not_there(self):
        redis = self.redis()
        redis.kill()
        node = self.node(self.address(redis))
        self.assertEqual(self.ask(node, "GET", "/livez").status, 200)
        self.assertFalse(self.is_ready(node))
        answer = self.post(node, "s", ["a"])
        self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
        redis.start()
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        other = self.node(self.address(redis))
        self.assertEqual(self.ask(other, "GET", session_path("s")).status, 200)
        log = self.log(node)
        self.assertEqual(len(log), 2, log)
        self.assertRegex(log[0], "^error: the store is out of use: redis: no connection: .*refused")
        self.assertRegex(log[1], r"^the store is in use again after \d+\.\d s$")

    def test_a_node_waits_for_a_redis_that_takes_no_writes(self):
        redis = self.redis("min-replicas-to-write 1")
        node = self.node(self.address(redis))
        self.assertFalse(self.is_ready(node))
        redis.say("CONFIG", "SET", "min-replicas-to-write", "0")
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        self.assertIn("NOREPLICAS", self.log(node)[0])

    def test_what_time_does_not_heal_ends_the_start(self):
        redis = self.redis("requirepass right", "databases 4")
        for login, database, pattern in (
            ("", "", "NOAUTH"), (":wrong@", "", "WRONGPASS"), ("nobody:right@", "", "WRONGPASS"),
            (":right@", "/9", "ERR DB index is out of range"),
        ):
            with self.subTest(login + database):
                done = subprocess.run(
                    [binary(), "serve", "--listen", "127.0.0.1:0", "--store", self.address(redis, login) + database],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20,
                    text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, f"(?m)^diffserver: redis://127.0.0.1:.*{pattern}")
        self.assertTrue(self.is_ready(self.node(self.address(redis, ":right@"))))


class Refusals(RedisCase):
    def test_a_full_redis(self):
        redis = self.redis("maxmemory-policy noeviction")
        node = self.node(self.address(redis))
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        redis.say("CONFIG", "SET", "maxmemory", "1")
        for _ in range(3):
            self.assertEqual(self.post(node, "s", ["a", "b"]).status, 503)
        self.assertFalse(self.is_ready(node))
        self.assertEqual(self.ask(node, "GET", session_path("s")).status, 200)
        time.sleep(1.2)
        self.assertFalse(self.is_ready(node))
        redis.say("CONFIG", "SET", "maxmemory", "0")
        # It finds out by itself, since nobody writes to a node that is not ready.
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["a", "b"]).status, 200)
        log = self.log(node)
        self.assertEqual(len(log), 2, log)
        self.assertRegex(log[0], "^error: the store is out of use: redis: OOM ")

    def test_a_user_without_channels_or_without_publish_is_found_out_at_the_start(self):
        allowed = "on >secret ~diffserver:* +@all"
        for rule, pattern in (
            ("resetchannels", ".*channel"), ("&diffserver:* -publish", ".*can't run this command"),
            ("&diffserver:* -subscribe", "NOPERM"),
        ):
            with self.subTest(rule):
                redis = self.redis(f"user service {allowed} {rule}")
                node = self.node(self.address(redis, "service:secret@"))
                self.eventually(lambda: not self.is_ready(node), "it is not ready", 2)
                node.server.wait_for_line(f"the store is out of use: redis: {pattern}")
                redis.say("ACL", "SETUSER", "service", "&diffserver:*", "+publish", "+subscribe")
                self.eventually(lambda: self.is_ready(node), "it is ready")
                self.assertEqual(self.post(node, "s", ["a"]).status, 201)
                self.assertEqual(len(self.log(node)), 2, self.log(node))


class Keys(RedisCase):
    """Nodes agree on the key of the digests, whoever empties Redis."""

    def test_after_redis_was_emptied_and_one_node_was_started_again(self):
        redis = self.redis()
        nodes = [self.node(self.address(redis)) for _ in range(2)]
        self.assertEqual(self.post(nodes[1], "before", ["x"]).status, 201)
        for turn in range(2):
            redis.say("FLUSHALL")
            nodes[0].stop()
            nodes[0].start()
            # The one that was not started again has the old key, and writes first.
            for writer, other in ((nodes[1], nodes[0]), (nodes[0], nodes[1])):
                for session in ("s", f"of-{writer.port}-{turn}"):
                    for state in (["a"], ["a", "b"]):
                        answer = self.post(writer, session, state)
                        self.assertIn(answer.status, (200, 201), answer)
                        read = self.ask(other, "GET", session_path(session))
                        self.assertEqual((read.status, read.json["revision"]), (200, answer.json["to"]), read)
            for node in nodes:
                self.assertTrue(self.is_ready(node))
                self.assertEqual(self.ask(node, "GET", session_path("before")).status, 404)

    def test_a_reader_takes_over_the_key_too(self):
        redis = self.redis()
        nodes = [self.node(self.address(redis)) for _ in range(2)]
        redis.say("FLUSHALL")
        nodes[0].stop()
        nodes[0].start()
        self.assertEqual(self.post(nodes[0], "s", ["a"]).status, 201)
        self.assertEqual(self.ask(nodes[1], "GET", session_path("s")).status, 200)
        self.assertEqual(self.post(nodes[1], "s", ["b"]).status, 200)
        self.assertEqual(self.ask(nodes[0], "GET", session_path("s")).status, 200)

    def test_a_node_with_a_key_that_was_given_takes_over_no_other(self):
        redis = self.redis()
        given = self.node(self.address(redis), "--digest-key", "ours")
        redis.say("FLUSHALL")
        redis.say("SET", "diffserver:key", "theirs")
        answer = self.post(given, "s", ["a"])
        self.assertEqual(answer.status, 503, answer)
        self.assertFalse(self.is_ready(given))
        given.server.wait_for_line("the store is out of use: redis: used with another --digest-key")
        redis.say("DEL", "diffserver:key")
        self.eventually(lambda: self.is_ready(given), "it is ready")
        self.assertEqual(self.post(given, "s", ["a"]).status, 201)


class Failover(RedisCase):
    def test_a_primary_that_lives_on_is_left_as_soon_as_sentinels_name_another(self):
        group = Group()
        self.addCleanup(group.close)
        node = self.node(group.address)
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        old, new = group.primary, group.replica
        old.say("WAIT", "1", "2000")
        # Sentinels take the primary for dead while it is only deaf to them: it goes on to answer the node.
        for sentinel in group.sentinels:
            sentinel.say("SENTINEL", "SET", group.NAME, "down-after-milliseconds", "100")
        self.assertIn(b"OK", group.sentinels[0].say("SENTINEL", "FAILOVER", group.NAME))
        group.wait_for(lambda: b"role:master" in new.say("INFO", "replication"), "the replica is promoted")
        node.server.wait_for_line(f"127.0.0.1:{new.port} is the primary now", 10)
        self.eventually(lambda: self.post(node, "s", ["a", "b"]).status == 200, "it writes to the new one", 5)
        self.assertNotEqual(new.say("HGET", "diffserver:{s}", "v"), b"$-1\r\n")
        self.assertIn(b"2-", new.say("HGET", "diffserver:{s}", "r"))
