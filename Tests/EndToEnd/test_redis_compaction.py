"""Checkpoints in Redis, and the logs before them: nodes that are killed while writing them or write them at the same time,
and a failover that loses some of either."""

import concurrent.futures
import random
import re
import socket
import threading
import unittest

from support.client import Client, session_path, target
from support.clock import pause, pause_at_random, wait_for
from support.node import Node
from support.proxy import Proxy
from support.readers import BreakingReader, PollingReader, problems
from support.redis import IS_INSTALLED, MISSING, Redis
from support.replica import Replica
from support.rewriter import Rewriter
from support.seen import Seen
from support.states import canonical
from support.store import names_its_stores

REMEMBERED = 4


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class CompactionCase(unittest.TestCase):
    def redis(self, *settings):
        redis = Redis(*settings)
        self.addCleanup(redis.close)
        return redis

    def node(self, port, *options, remembered=REMEMBERED):
        node = Node("--store", f"redis://127.0.0.1:{port}", "--history-revisions", str(remembered), *options)
        self.addCleanup(node.stop)
        return node

    def fields(self, redis, session):
        """What Redis holds of a session: names and values, as text where they are text."""
        words = re.findall(rb"\$\d+\r\n([^\r]*)\r\n", redis.say("HKEYS", f"diffserver:{{{session}}}"))
        return {word.decode() for word in words}

    def value(self, redis, session, name):
        return redis.say("HGET", f"diffserver:{{{session}}}", name).split(b"\r\n")[1].decode()

    def assertNothingIsLeftOver(self, redis, session):
        """A checkpoint, a log without a gap, and nothing else."""
        base, first, last = (self.value(redis, session, name) for name in "bfn")
        log = {f"e{position}" for position in range(int(first), int(last) + 1)}
        self.assertEqual(self.fields(redis, session), {*"vritnfcb", f"m{base}", f"h{base}"} | log)


class MissingParts(CompactionCase):
    def test_a_session_without_one_is_damaged_until_it_is_put(self):
        redis = self.redis()
        node, late = self.node(redis.port), Client(self.node(redis.port))
        self.addCleanup(late.close)
        client = Client(node)
        self.addCleanup(client.close)
        for part in ("hb", "mb", "en"):
            with self.subTest(part):
                path = session_path(part)
                for count in range(3):
                    state = [{"id": row, "content": [row, count if row == 7 else 0]} for row in range(40)]
                    self.assertIn(client.request("POST", path + "/changes", {"state": state}).status, (200, 201))
                self.assertNotEqual(self.value(redis, part, "c"), self.value(redis, part, "n"))
                redis.say("HDEL", f"diffserver:{{{part}}}", part[0] + self.value(redis, part, part[1]))
                for method, path_of, body in (("GET", path, None), ("POST", path + "/changes", {"state": []})):
                    answer = late.request(method, path_of, body)
                    self.assertEqual((answer.status, answer.headers["Retry-After"]), (500, None), answer)
                    self.assertIn("damaged", answer.json["detail"])
                self.assertEqual(late.request("PUT", path, {"state": ["new"]}).status, 201)
                for each in (late, client):
                    self.assertEqual(each.request("GET", path).exact["state"], canonical(["new"]))
                self.assertNothingIsLeftOver(redis, part)


class Doubled(CompactionCase):
    def test_a_checkpoint_that_is_written_again_later_takes_nothing_away(self):
        """A middlebox may resend what it considers lost, after others have written."""
        redis, sent = self.redis(), []

        def kept(_, data, is_request):
            if is_request and b"MULTI" in data:
                sent.append(data)
            return data
        proxy = Proxy(redis.port, 1)
        self.addCleanup(proxy.close)
        first, second = self.node(proxy.port), self.node(redis.port)
        proxy.chance, proxy.faults = Always(), [kept]
        state = [{"id": row, "content": row} for row in range(30)]
        for node, change in ((first, 0), (second, 1)):
            client = Client(node)
            answer = client.request("POST", session_path("s", "changes"), [*state, f"added-{change}"])
            self.assertIn(answer.status, (200, 201), answer)
            client.close()
        with socket.create_connection(("127.0.0.1", redis.port), 5) as connection:
            connection.sendall(sent[-1])
            connection.recv(65536)
        self.assertNothingIsLeftOver(redis, "s")
        client = Client(self.node(redis.port))
        self.assertEqual(client.request("GET", session_path("s")).json["revision"], answer.json["to"])
        client.close()


class Always:
    """Without randomness."""

    def random(self):
        return 0

    def choice(self, options):
        return options[0]


class KilledNode(CompactionCase):
    def test_another_node_reads_and_writes_on(self):
        redis = self.redis()
        nodes = [self.node(redis.port), self.node(redis.port)]
        writers = [Rewriter(f"s{number}", number) for number in range(10)]
        chance = random.Random(5)
        with concurrent.futures.ThreadPoolExecutor(len(writers)) as threads:
            for turn in range(16):
                killed, other = nodes[turn % 2], nodes[1 - turn % 2]
                running = [threads.submit(writer.run, killed) for writer in writers]
                pause_at_random(chance, 0.23, 0.03)
                killed.kill()
                for each in running:
                    each.result(20)
                for writer in writers:
                    writer.check(other, REMEMBERED)
                killed.start()
        self.assertGreater(sum(writer.count for writer in writers), 500)
        for number in range(len(writers)):
            self.assertNothingIsLeftOver(redis, f"s{number}")


class TwoNodes(CompactionCase):
    WRITERS, TIMES = ("a", "b", "c", "d"), 60

    def row(self, writer, count):
        """A quarter of the state."""
        return {"id": writer, "content": [count, writer * 4000]}

    def write(self, node, writer):
        client = Client(node)
        for count in range(1, self.TIMES + 1):
            edit = {"edits": [{"op": "update", "items": [self.row(writer, count)]}]}
            answer = client.request("POST", session_path("s", "changes"), edit, {"Prefer": "return=minimal"})
            assert answer.status == 200, answer
        client.close()

    def test_checkpoints_at_once_lose_nothing(self):
        redis, seen = self.redis(), Seen()
        # Each fifth commit has twice as many entries before it as there are revisions to remember, and so is a checkpoint.
        nodes = [self.node(redis.port, remembered=2), self.node(redis.port, remembered=2)]
        client = Client(nodes[0])
        self.addCleanup(client.close)
        first = {"state": [self.row(writer, 0) for writer in self.WRITERS]}
        self.assertEqual(client.request("POST", session_path("s", "changes"), first).status, 201)
        final = canonical([self.row(writer, self.TIMES) for writer in self.WRITERS])
        readers = []
        for number, kind in enumerate((Polling, Breaking) * 4):
            dialect = ("keyed", "indexed", "json-patch", "staged")[number // 2]
            readers.append(kind(nodes[number % 4 // 2], session_path("s", "changes"), dialect, final, number))
            readers[-1].seen = seen
            readers[-1].start()
        with concurrent.futures.ThreadPoolExecutor(len(self.WRITERS)) as threads:
            for each in [threads.submit(self.write, nodes[n % 2], writer) for n, writer in enumerate(self.WRITERS)]:
                each.result(60)
        self.assertEqual(problems(readers), [])
        self.assertEqual(client.request("GET", session_path("s")).exact["state"], final)
        self.assertNothingIsLeftOver(redis, "s")
        # Each checkpoint is a transaction. A node that was overtaken sends nothing that would come too late.
        calls = int(re.search(rb"cmdstat_multi:calls=(\d+)", redis.say("INFO", "commandstats")).group(1))
        self.assertGreater(calls, len(self.WRITERS) * self.TIMES / 7)
        self.assertGreater(min(self.conflicts(node) for node in nodes), 0)

    def conflicts(self, node):
        client = Client(node)
        text = client.request("GET", "/metrics").text
        client.close()
        return float(re.search(r"(?m)^diffserver_store_conflicts_total (\S+)$", text).group(1))


class Checked:
    """Checks whatever it shows."""

    def receive(self, changeset):
        super().receive(changeset)
        self.seen.check(self.replica)


class Polling(Checked, PollingReader):
    pass


class Breaking(Checked, BreakingReader):
    pass


class Failover(CompactionCase):
    """A replica that takes the primary's place has part of its log: up to the middle of a checkpoint, or to before or after
    one."""

    SESSIONS, ROUNDS = 6, 6

    def setUp(self):
        self.primary, self.replica = self.redis(), self.redis()
        self.front = Proxy(self.primary.port, 1)
        self.addCleanup(self.front.close)
        self.chance = random.Random(11)
        self.lock = threading.Lock()
        # The states of each session, by what distinguishes them, and by digest.
        self.posted, self.known = {}, {}
        self.follow()

    def follow(self):
        """Has the replica follow, through a proxy."""
        self.stream = Proxy(self.primary.port, 1)
        self.addCleanup(self.stream.close)
        self.replica.say("REPLICAOF", "127.0.0.1", str(self.stream.port))
        wait_for(lambda: b"master_link_status:up" in self.replica.say("INFO", "replication"), "the replica follows")

    def fail_over(self):
        self.primary.kill()
        self.replica.say("REPLICAOF", "NO", "ONE")
        self.front.server_port = self.replica.port
        self.primary, self.replica = self.replica, self.primary

    def test_what_is_lost_makes_no_session_damaged_and_no_list_wrong(self):
        nodes = [self.node(self.front.port), self.node(self.front.port)]
        for number in range(self.SESSIONS):
            self.write(nodes, number, once=True)
        for _ in range(self.ROUNDS):
            wait_for(lambda: self.offset(self.primary) == self.offset(self.replica), "the replica has all")
            self.stream.left = self.chance.randrange(40_000)
            self.is_over = threading.Event()
            with concurrent.futures.ThreadPoolExecutor(self.SESSIONS) as threads:
                running = [threads.submit(self.write, nodes, number) for number in range(self.SESSIONS)]
                pause(0.2, "the failover, while all write")
                self.fail_over()
                pause(0.1, "the end, while all write again")
                self.is_over.set()
                for each in running:
                    each.result(20)
            for number in range(self.SESSIONS):
                for node in nodes:
                    self.check(node, number)
            self.replica.start()
            self.follow()
        self.assertGreater(len(self.known), self.SESSIONS * self.ROUNDS)

    def offset(self, redis):
        return re.search(rb"(?:master|slave)_repl_offset:(\d+)", redis.say("INFO", "replication")).group(1)

    def write(self, nodes, number, once=False):
        """Posts states to a session, over any node; half of them are small changes of the previous one."""
        chance, rows = random.Random(self.chance.random()), None
        while True:
            count = len(self.posted.setdefault(number, []))
            if rows and chance.random() < 0.5:
                rows = [*rows[:-1], {"id": rows[-1]["id"], "content": [count]}]
            else:
                rows = [{"id": f"{count}-{row}", "content": ["x" * 40, row]} for row in range(chance.randint(4, 25))]
            self.posted[number].append(canonical(rows))
            try:
                client = Client(chance.choice(nodes), 5)
                path = session_path(f"s{number}", "changes")
                answer = client.request("POST", path, {"state": rows}, {"Prefer": "return=minimal"})
                client.close()
            except OSError as problem:
                raise AssertionError("a node does not answer") from problem
            if answer.status in (200, 201):
                self.note(number, answer.json["to"], canonical(rows))
            else:
                assert answer.status == 503 and "damaged" not in answer.json["detail"], answer
            if once or self.is_over.is_set():
                return

    def note(self, number, revision, state):
        """Equal digests mean equal states."""
        with self.lock:
            known = self.known.setdefault((number, revision.split("-")[1]), (revision, state))
        assert known[1] == state, (number, revision)

    def check(self, node, number):
        """The node shows some posted state, and leads there from any other, or resets the reader."""
        client, path, answers = Client(node, 5), session_path(f"s{number}"), []

        def is_there():
            answers.append(client.request("GET", path))
            return answers[-1].status == 200
        wait_for(is_there, f"{path} is there")
        shown, revision = answers[-1].exact["state"], answers[-1].json["revision"]
        self.assertIn(shown, self.posted[number])
        self.note(number, revision, shown)
        for since, state in [known for (session, _), known in self.known.items() if session == number][-12:]:
            changeset = client.request("GET", target(path + "/changes", {"since": since})).exact
            replica = Replica("keyed")
            replica.receive({"reset": "initial", "state": state, "to": since})
            self.assertNotEqual(replica.receive(changeset), "ask")
            self.assertTrue(replica.shows(shown), (path, since, changeset))
        client.close()
