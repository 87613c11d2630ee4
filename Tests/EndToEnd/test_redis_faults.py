"""A Redis that is away, full, emptied or forbidding: the node is not ready, says why once, and recovers by itself."""

import concurrent.futures
import itertools
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from support.client import Client, session_path, target
from support.clock import pause, stays, wait_for
from support.events import Stream
from support.node import Node
from support.proxy import Proxy, cut, delay, double, flip
from support.redis import IS_INSTALLED, MISSING, Group, Redis, Shards
from support.replica import Replica
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

    def eventually(self, holds, what, seconds=30):
        wait_for(holds, what, seconds, not_yet=())

    def log(self, node):
        return [line for line in node.server.lines if "store unavailable" in line or "store available" in line]

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
        self.assertRegex(log[0], "^error: store unavailable: redis: no connection: .*refused")
        self.assertRegex(log[1], r"^store available again after \d+\.\d s$")

    def test_readiness_may_leave_the_store_out_once_it_was_reached(self):
        redis = self.redis()
        redis.kill()
        node = self.node(self.address(redis))
        ready = lambda path: self.ask(node, "GET", path).status  # noqa: E731
        self.assertEqual([ready("/readyz"), ready("/readyz?store=optional")], [503, 503])
        redis.start()
        self.eventually(lambda: self.is_ready(node), "it is ready")
        redis.kill()
        self.eventually(lambda: not self.is_ready(node), "it is not ready")
        self.assertEqual([ready("/readyz"), ready("/readyz?store=optional"), ready("/readyz?store=1")], [503, 200, 503])
        self.assertEqual(self.post(node, "s", ["a"]).status, 503)

    def test_what_refuses_to_say_whose_its_records_are_was_reached(self):
        redis = self.redis()
        node = self.node(self.address(redis))
        ready = lambda: tuple(self.ask(node, "GET", f"/readyz{query}").status for query in ("", "?store=optional"))  # noqa: E731

        def reconnected():
            """Breaks the connections: each new one checks whose the records are."""
            redis.say("CLIENT", "KILL", "TYPE", "pubsub")

        for refused, allowed, reason in (
            (("ACL", "SETUSER", "default", "-@scripting"), ("ACL", "SETUSER", "default", "+@all"), "NOPERM"),
            (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0"), "NOREPLICAS"),
        ):
            with self.subTest(reason):
                self.eventually(lambda: ready() == (200, 200), "it is ready")
                redis.say("FLUSHALL")
                redis.say(*refused)
                reconnected()
                node.server.wait_for_line(f"store (still )?unavailable: redis: .*{reason}")
                self.eventually(lambda: ready() == (503, 200), "it is not ready")
                stays(lambda: ready() == (503, 200), "it was reached", 1.5)
                answer = self.post(node, "s", ["a"])
                self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
                redis.say(*allowed)
        self.eventually(lambda: ready() == (200, 200), "it is ready")
        # Records of another server are no outage.
        redis.say("SET", "diffserver:records", "6 0")
        reconnected()
        self.eventually(lambda: ready() == (503, 503), "it is not ready")

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
                    [binary(), "serve", "--listen", "127.0.0.1:0", "--store", self.address(redis, login) + database,
                     "--digest-key", "any"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20,
                    text=True)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rf"(?m)^\S+ diffserver: redis://127.0.0.1:.*{pattern}")
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
        stays(lambda: not self.is_ready(node), "it is not ready", 1.2)
        redis.say("CONFIG", "SET", "maxmemory", "0")
        # It finds out by itself, since nobody writes to a node that is not ready.
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["a", "b"]).status, 200)
        node.server.wait_for_line("store available again")
        log = self.log(node)
        self.assertEqual(len(log), 2, log)
        self.assertRegex(log[0], "^error: store unavailable: redis: OOM ")

    def test_a_user_without_channels_or_without_publish_is_found_out_at_the_start(self):
        allowed = "on >secret ~diffserver:* +@all"
        for rule, pattern in (
            ("resetchannels", ".*channel"), ("&diffserver:* -publish", ".*can't run this command"),
            ("&diffserver:* -subscribe", "NOPERM"),
        ):
            with self.subTest(rule):
                redis = self.redis(f"user service {allowed} {rule}")
                node = self.node(self.address(redis, "service:secret@"))
                self.eventually(lambda: not self.is_ready(node), "it is not ready")
                node.server.wait_for_line(f"store unavailable: redis: {pattern}")
                redis.say("ACL", "SETUSER", "service", "&diffserver:*", "+publish", "+subscribe")
                self.eventually(lambda: self.is_ready(node), "it is ready")
                self.assertEqual(self.post(node, "s", ["a"]).status, 201)
                node.server.wait_for_line("store available again")
                self.assertEqual(len(self.log(node)), 2, self.log(node))


class Passwords(RedisCase):
    """The password of Redis changes while the node runs."""

    USER = ("~diffserver:*", "&diffserver:*", "+@all")

    def setUp(self):
        self.service = self.redis(f"user service on >first {' '.join(self.USER)}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "password")
        self.write("first")
        self.running = self.node(self.address(self.service, "service@"), "--store-password-file", str(self.file))
        self.assertEqual(self.post(self.running, "s", ["a"]).status, 201)

    def write(self, password):
        self.file.write_text(password + "\n")
        self.file.chmod(0o600)

    def change(self, password):
        """Like an operator: the new password beside the old one, then alone; and all connections end at some time."""
        self.service.say("ACL", "SETUSER", "service", "resetpass", f">{password}")
        for kind in ("normal", "pubsub"):
            self.service.say("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def test_it_is_read_at_each_connection(self):
        self.write("second")
        self.change("second")
        self.eventually(lambda: self.is_ready(self.running), "it is ready")
        self.assertEqual(self.post(self.running, "s", ["b"]).status, 200)
        self.assertNotIn("WRONGPASS", "\n".join(self.running.server.lines))

    def test_the_log_names_what_an_outage_turned_out_to_be_and_a_new_file_ends_it(self):
        self.change("second")
        self.running.server.wait_for_line("^error: store still unavailable: redis: no connection: .*WRONGPASS")
        stays(lambda: not self.is_ready(self.running), "it is not ready, however often it tries", 1)
        self.write("second")
        self.eventually(lambda: self.is_ready(self.running), "it is ready")
        self.assertEqual(self.post(self.running, "s", ["b"]).status, 200)
        self.running.server.wait_for_line("^store available again")
        # Each reason once, however often and on however many connections it was met.
        told = [line for line in self.running.server.lines if "unavailable" in line]
        self.assertEqual(len(told), len(set(told)), told)
        self.assertEqual(sum("WRONGPASS" in line for line in told), 1, told)

    def test_without_a_file_the_last_password_stays_in_use(self):
        self.file.unlink()
        self.change("first")
        line = "warning: the --store-password-file cannot be read: No such file or directory; the last password stays in use"
        self.running.server.wait_for_line(line)
        self.eventually(lambda: self.is_ready(self.running), "it is ready")
        self.assertEqual(self.post(self.running, "s", ["b"]).status, 200)
        self.assertEqual(sum(line in each for each in self.running.server.lines), 1)


    def test_with_half_a_password_the_last_one_stays_in_use(self):
        self.write("fir")
        self.change("first")
        line = "warning: the store refuses the password of --store-password-file; the last password stays in use"
        self.running.server.wait_for_line(line)
        self.eventually(lambda: self.is_ready(self.running), "it is ready")
        self.assertEqual(self.post(self.running, "s", ["b"]).status, 200)
        self.assertEqual(sum(line in each for each in self.running.server.lines), 1)
        self.write("second")
        self.change("second")
        self.eventually(lambda: self.is_ready(self.running), "it is ready")
        self.assertEqual(self.post(self.running, "s", ["c"]).status, 200)


class Prefixes(RedisCase):
    def test_two_installations_share_a_redis(self):
        rule = "on >secret ~ours:* &ours:* +@read +@write +@scripting +@pubsub +@connection +multi +exec +role"
        redis = self.redis(f"user ours {rule}")
        ours = self.node(self.address(redis, "ours:secret@"), "--store-prefix", "ours:", "--digest-key", "one")
        theirs = self.node(self.address(redis), "--digest-key", "another")
        for node, state in ((ours, ["a"]), (theirs, ["b", {"id": "c", "content": "x" * 100_000}])):
            self.eventually(lambda: self.is_ready(node), "it is ready")
            self.assertEqual(self.post(node, "s", state).status, 201)
        second = self.node(self.address(redis, "ours:secret@"), "--store-prefix", "ours:", "--digest-key", "one")
        stream = Stream(second, session_path("s", "changes"))
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().changeset["state"]["sections"][0]["items"], [{"id": "a"}])
        self.assertEqual(self.post(ours, "s", ["a", "more"]).status, 200)
        self.assertEqual(stream.next_event().event, "changes")
        listed = self.ask(ours, "GET", "/v1/sessions").json["sessions"]
        self.assertEqual([(each["session"], each["rows"]) for each in listed], [("s", 2)])
        self.assertEqual(self.ask(ours, "DELETE", session_path("s", "tokens")).status, 204)
        keys = redis.say("KEYS", "*").decode().split("\r\n")[2::2]
        self.assertEqual({each.split(":")[0] for each in keys if each}, {"ours", "diffserver"})


class Replicated(RedisCase):
    """`--store-replicas`: acknowledged writes are at that many replicas."""

    def setUp(self):
        self.group = Group()
        self.addCleanup(self.group.close)

    def insert(self, node, name, key=None):
        client = Client(node, 10)
        try:
            body = {"edits": [{"op": "insert", "items": [name]}]}
            return client.request("POST", session_path("s", "changes"), body, {"Idempotency-Key": key or name})
        finally:
            client.close()

    def test_a_write_that_no_replica_has_is_503_and_may_stand(self):
        node = self.node(self.group.address, "--store-replicas", "1")
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        self.group.replica.process.send_signal(signal.SIGSTOP)
        try:
            begun = time.monotonic()
            for answer in (self.insert(node, "b"), self.insert(node, "b"), self.ask(node, "PUT", session_path("t"), {"state": []}),
                           self.ask(node, "DELETE", session_path("gone"))):
                self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
                self.assertRegex(answer.json["detail"], "0 of 1 replicas had the write within 1 s; the write may stand")
                self.assertIn("Retry-After", answer.headers)
            self.assertGreater(time.monotonic() - begun, 3)
            # A read finds what stands, so the next write begins from that.
            self.assertEqual(self.ask(node, "GET", session_path("s")).status, 200)
            # Reads wait for nobody, even during a write.
            with concurrent.futures.ThreadPoolExecutor(1) as threads:
                writing = threads.submit(self.insert, node, "c")
                for _ in range(10):
                    self.assertEqual(self.ask(node, "GET", session_path("s")).status, 200)
                self.assertFalse(writing.done())
                self.assertEqual(writing.result().status, 503)
            self.assertFalse(self.is_ready(node))
            node.server.wait_for_line("store unavailable: redis: 0 of 1 replicas had the write within 1 s")
        finally:
            self.group.replica.process.send_signal(signal.SIGCONT)
        self.eventually(lambda: self.is_ready(node), "it is ready")
        # It was done, and its key tells.
        self.assertEqual(self.insert(node, "b").status, 200)
        self.assertEqual(self.insert(node, "b", "another").status, 422)
        items = self.ask(node, "GET", session_path("s")).json["state"]["sections"][0]["items"]
        self.assertEqual([each["id"] if isinstance(each, dict) else each for each in items], ["a", "b", "c"])

    def test_a_planned_failover_loses_nothing(self):
        nodes = [self.node(self.group.address, "--store-replicas", "1") for _ in range(2)]
        self.assertEqual(self.post(nodes[0], "s", []).status, 201)
        is_over, acknowledged, resets = threading.Event(), [], []

        def write(number):
            for count in itertools.count():
                name = f"{number}-{count}"
                while not is_over.is_set():
                    answer = self.insert(random.choice(nodes), name)
                    if answer.status == 200:
                        acknowledged.append(name)
                        break
                    self.assertEqual(answer.status, 503, answer)
                    pause(0.1, "a writer that is refused")
                if is_over.wait(0.05):
                    return

        def read(node):
            stream = Stream(node, session_path("s", "changes"))
            try:
                resets.append(stream.next_event().changeset["reset"])
                while not is_over.is_set():
                    event = stream.next_event(20)
                    if event.event == "changes" and "reset" in event.changeset:
                        resets.append(event.changeset["reset"])
            finally:
                stream.close()

        with concurrent.futures.ThreadPoolExecutor(14) as threads:
            running = [threads.submit(write, number) for number in range(10)] + [threads.submit(read, node) for node in nodes * 2]
            try:
                wait_for(lambda: len(acknowledged) > 20 and len(resets) == 4, "all write and read")
                self.assertIn(b"OK", self.group.sentinels[0].say("SENTINEL", "FAILOVER", Group.NAME))
                port = str(self.group.replica.port).encode()
                wait_for(lambda: all(
                    port in each.say("SENTINEL", "get-master-addr-by-name", Group.NAME) for each in self.group.sentinels), "it is over")
                # Sentinels would have it follow ten seconds later; until then no replica has a write.
                self.group.primary.say("REPLICAOF", "127.0.0.1", port)
                count = len(acknowledged)
                self.eventually(lambda: len(acknowledged) > count + 20, "writes go on")
            finally:
                is_over.set()
                self.eventually(lambda: self.insert(nodes[0], "last").status == 200, "the readers wake up")
            for each in running:
                each.result()
        kept = {each["id"] if isinstance(each, dict) else each
                for each in self.ask(nodes[1], "GET", session_path("s")).json["state"]["sections"][0]["items"]}
        self.assertEqual(set(acknowledged) - kept, set())
        self.assertEqual(resets, ["initial"] * 4)


class Keys(RedisCase):
    """Nodes with one digest key continue, whoever empties Redis; one with another key is refused."""

    def test_after_redis_was_emptied_and_one_node_was_started_again(self):
        redis = self.redis()
        nodes = [self.node(self.address(redis)) for _ in range(2)]
        self.assertEqual(self.post(nodes[1], "before", ["x"]).status, 201)
        for turn in range(2):
            redis.say("FLUSHALL")
            nodes[0].stop()
            nodes[0].start()
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

    def test_a_node_does_not_start_with_another_key(self):
        redis = self.redis()
        self.node(self.address(redis), "--digest-key", "ours")
        for options, complaint in (
            (("--digest-key", "theirs"), "in use with a different --digest-key"),
            ((), "requires --digest-key, the same on all nodes; `openssl rand -hex 32` makes one"),
        ):
            run = subprocess.run([binary(), "serve", "--listen", "127.0.0.1:0", "--store", self.address(redis), *options],
                                 capture_output=True, text=True, timeout=20, env=environment())
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(complaint, run.stderr)

    def test_a_node_that_started_while_redis_was_away_touches_no_records_of_another_key(self):
        redis = self.redis()
        ours = self.node(self.address(redis))
        made = self.post(ours, "s", ["a"]).json["to"]
        redis.process.send_signal(signal.SIGSTOP)
        try:
            theirs = self.node(self.address(redis), "--digest-key", "another")
        finally:
            redis.process.send_signal(signal.SIGCONT)
        theirs.server.wait_for_line("store unavailable: redis")
        # By then it has its connection again.
        stays(lambda: {self.ask(theirs, method, session_path("s"), body).status
                       for method, body in (("PUT", {"state": ["x"]}), ("DELETE", None), ("GET", None))} == {503}, "all is refused", 3)
        self.assertFalse(self.is_ready(theirs))
        self.assertEqual(self.ask(ours, "GET", session_path("s")).json["revision"], made)

    def test_a_key_of_another_type_is_told_and_not_overwritten(self):
        redis = self.redis()
        redis.say("LPUSH", "diffserver:records", "x")
        node = self.node(self.address(redis))
        node.server.wait_for_line("store unavailable: redis: WRONGTYPE")
        self.assertEqual(self.post(node, "s", ["a"]).status, 503)
        self.assertIn(b"list", redis.say("TYPE", "diffserver:records"))
        redis.say("DEL", "diffserver:records")
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)

    def test_revocations_of_another_type_are_told_and_refuse_all(self):
        redis = self.redis()
        node = self.node(self.address(redis))
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        redis.say("SET", "diffserver:revoked", "x")
        redis.say("CLIENT", "KILL", "TYPE", "pubsub")
        node.server.wait_for_line("unavailable: redis: WRONGTYPE")
        self.assertFalse(self.is_ready(node))
        for method, body in (("GET", None), ("PUT", {"state": []})):
            self.assertEqual(self.ask(node, method, session_path("s"), body).status, 503)
        self.assertEqual(redis.say("GET", "diffserver:revoked"), b"$1\r\nx\r\n")
        redis.say("DEL", "diffserver:revoked")
        self.eventually(lambda: self.is_ready(node), "it is ready")
        self.assertEqual(self.post(node, "s", ["b"]).status, 200)

    def test_a_node_is_not_ready_while_redis_holds_what_it_cannot_read(self):
        redis = self.redis()
        node = self.node(self.address(redis))
        ours = redis.say("GET", "diffserver:records").split(b"\r\n")[1].decode()
        self.assertNotIn("the key", ours)
        for found, complaint in (("7 0123456789abcdef", "in use with a different --digest-key"),
                                 ("5", r"in use by another version of diffserver \(format 5; this one reads 7\)")):
            redis.say("FLUSHALL")
            redis.say("SET", "diffserver:records", found)
            redis.say("CLIENT", "KILL", "TYPE", "normal")
            node.server.wait_for_line("store unavailable: redis: " + complaint)
            self.assertFalse(self.is_ready(node))
            redis.say("DEL", "diffserver:records")
            self.eventually(lambda: self.is_ready(node), "it is ready")
            self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        self.assertEqual(redis.say("GET", "diffserver:records").split(b"\r\n")[1].decode(), ours)


class Failover(RedisCase):
    def test_a_primary_that_lives_on_is_left_as_soon_as_sentinels_name_another(self):
        group = Group()
        self.addCleanup(group.close)
        node = self.node(group.address)
        self.assertEqual(self.post(node, "s", ["a"]).status, 201)
        old, new = group.primary, group.replica
        old.say("WAIT", "1", "2000")
        # Sentinels consider the primary dead while it is only deaf to them: it continues to answer the node.
        for sentinel in group.sentinels:
            sentinel.say("SENTINEL", "SET", group.NAME, "down-after-milliseconds", "100")
        self.assertIn(b"OK", group.sentinels[0].say("SENTINEL", "FAILOVER", group.NAME))
        wait_for(lambda: b"role:master" in new.say("INFO", "replication"), "the replica is promoted")
        node.server.wait_for_line(f"127.0.0.1:{new.port} is the primary now", 10)
        states = itertools.count()

        def writes_to_the_new_one():
            # Writes to the old one before it is demoted are lost, as with any failover.
            self.post(node, "s", ["a", next(states)])
            return b"\r\n1-" not in new.say("HGET", "diffserver:{s}", "r")
        self.eventually(writes_to_the_new_one, "it writes to the new one")


class Clusters(RedisCase):
    SESSIONS = ("one", "two", "three")  # of one primary each

    @classmethod
    def setUpClass(cls):
        cls.shards = Shards()
        cls.addClassCleanup(cls.shards.close)

    def node(self, *options):
        node = super().node(self.shards.address, "--digest-key", "shared", *options)
        self.eventually(lambda: self.metric(node), "all of the store can be used")
        return node

    def metric(self, node):
        """Whether the node says that all of the store can be used."""
        return "\ndiffserver_store_ready 1\n" in self.ask(node, "GET", "/metrics").text

    def test_a_node_is_ready_while_a_primary_answers(self):
        node = self.node()
        for session in self.SESSIONS:
            self.assertEqual(self.post(node, session, ["a"]).status, 201)
        self.assertEqual(len({self.shards.owner(session).port for session in self.SESSIONS}), 3)
        primary = self.shards.owner("one")
        replica = self.shards.nodes[self.shards.nodes.index(primary) + 3]
        for each in (replica, primary):
            each.kill()
        self.eventually(lambda: not self.metric(node), "not all of the store can be used")
        answer = self.post(node, "one", ["b"])
        self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
        self.assertIn("Retry-After", answer.headers)
        self.assertTrue(self.is_ready(node))
        for each in (primary, replica):
            each.start()
        self.eventually(lambda: self.metric(node), "all of it can be used again")
        # The primary kept nothing, the others everything.
        self.assertEqual([self.post(node, each, ["b"]).status for each in self.SESSIONS], [201, 200, 200])
        node.server.wait_for_line("store available again")
        log = self.log(node)
        self.assertEqual(len(log), 2, log)

    def test_one_full_primary_is_said_once(self):
        node, full = self.node(), self.shards.nodes[0]
        self.assertEqual(self.post(node, "else", ["a"]).status, 201)
        for words in (("maxmemory-policy", "noeviction"), ("maxmemory", "1")):
            full.say("CONFIG", "SET", *words)
        self.addCleanup(full.say, "CONFIG", "SET", "maxmemory", "0")
        statuses = {self.post(node, f"s{number}", ["a"]).status for number in range(30)}
        self.assertEqual(statuses, {201, 503})
        self.assertEqual((self.is_ready(node), self.metric(node)), (True, False))
        for each in self.shards.nodes[1:3]:
            for words in (("maxmemory-policy", "noeviction"), ("maxmemory", "1")):
                each.say("CONFIG", "SET", *words)
            self.addCleanup(each.say, "CONFIG", "SET", "maxmemory", "0")
        self.eventually(lambda: not self.is_ready(node), "no primary takes writes")
        for each in self.shards.nodes[:3]:
            each.say("CONFIG", "SET", "maxmemory", "0")
        self.eventually(lambda: self.metric(node), "all of it can be used again")
        self.assertTrue(self.is_ready(node))
        node.server.wait_for_line("store available again")
        log = self.log(node)
        self.assertEqual(len(log), 2, log)
        self.assertRegex(log[0], "^error: store unavailable: redis: OOM ")

    def test_what_is_emptied_is_written_by_all_with_one_key(self):
        nodes = [self.node(), self.node()]
        self.assertEqual(self.post(nodes[0], "emptied", ["a"]).status, 201)
        for each in self.shards.nodes[:3]:
            each.say("FLUSHALL")
        nodes[0].stop()
        nodes[0].start()
        for writer, other in (nodes, nodes[::-1]):
            for session in self.SESSIONS:
                answer = self.post(writer, session, [writer.port])
                self.assertIn(answer.status, (200, 201), answer)
                read = self.ask(other, "GET", session_path(session))
                self.assertEqual((read.status, read.json["revision"]), (200, answer.json["to"]), read)

    def test_a_node_with_another_key_is_refused(self):
        self.node()
        run = subprocess.run(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--store", self.shards.address, "--digest-key", "other"],
            capture_output=True, text=True, timeout=20, env=environment())
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("in use with a different --digest-key", run.stderr)


class OtherRecords(RedisCase):
    def test_a_record_of_another_format_is_told_from_damage(self):
        redis = self.redis()
        node = self.node(self.address(redis))
        self.ask(node, "PUT", session_path("s"), {"state": ["a", "b"]})
        key = "diffserver:{s}"
        value = lambda *words: redis.say(*words).split(b"\r\n", 1)[1][:-2]  # noqa: E731
        base = value("HGET", key, "b").decode()
        meta = value("HGET", key, f"m{base}").replace(b'"format":7', b'"format":5')
        redis.say("HSET", key, f"m{base}", meta)
        answer = self.ask(self.node(self.address(redis)), "GET", session_path("s"))
        self.assertEqual(answer.status, 503, answer)
        self.assertIn('the record of "s" has format 5', answer.json["detail"])


class BadNetworks(RedisCase):
    """A proxy between a node and Redis cuts, flips, doubles and delays; another node sees the truth."""

    def test_nothing_acknowledged_is_lost_and_nothing_wrong_is_shown(self):
        redis = self.redis()
        proxy = Proxy(redis.port, 5)
        self.addCleanup(proxy.close)
        bad = self.node(f"redis://127.0.0.1:{proxy.port}", "--max-sessions", "2")
        good = self.node(self.address(redis))
        for faults in ([cut], [flip], [double], [delay], [cut, flip, double, delay]):
            with self.subTest([each.__name__ for each in faults]):
                proxy.count = 0
                proxy.faults = faults
                with concurrent.futures.ThreadPoolExecutor(6) as threads:
                    name = "-".join(each.__name__ for each in faults)
                    known = list(threads.map(lambda seed: self.write_and_read(bad, f"{name}-{seed}", seed), range(6)))
                proxy.faults = []
                self.assertGreater(proxy.count, 5)
                self.eventually(lambda: self.is_ready(bad), "it is ready")
                for session, allowed in known:
                    for node in (good, bad):
                        answer = self.ask(node, "GET", session_path(session))
                        self.assertIn(answer.status, (200, 404), answer)
                        self.assertIn(self.shown(answer), allowed)

    @staticmethod
    def shown(answer):
        if answer.status == 404:
            return None
        rows = [row for section in answer.json["state"]["sections"] for row in section["items"]]
        return tuple((row["id"], str(row["content"])) for row in rows)

    def write_and_read(self, node, session, seed):
        """The only writer of its session: returns which states may be there. A reader follows beside it."""
        chance, allowed, replica = random.Random(seed), [None], Replica("keyed")
        for turn in range(8):
            content = f"{turn} {seed} " + "x" * 50
            rows = [{"id": number, "content": content} for number in range(chance.randrange(1, 12))]
            answer = self.ask(node, "POST", session_path(session, "changes"), {"state": rows})
            state = tuple((row["id"], row["content"]) for row in rows)
            if answer.status in (200, 201):
                allowed = [state]
            else:
                self.assertEqual(answer.status, 503, answer)
                allowed.append(state)
            query = {"since": replica.revision} if replica.revision else {}
            answer = self.ask(node, "GET", target(session_path(session, "changes"), query))
            if answer.status == 200:
                self.assertNotEqual(replica.receive(answer.exact), "ask", answer)
            else:
                self.assertIn(answer.status, (503, 404) if None in allowed else (503,), answer)
            answer = self.ask(node, "GET", session_path(session))
            if answer.status != 503:
                self.assertIn(self.shown(answer), allowed)
            if answer.status == 200:
                if replica.revision == answer.json["revision"]:
                    self.assertTrue(replica.shows(answer.exact["state"]))
        return session, allowed
