"""Three nodes share lists that fetch themselves: their source is asked once an interval for all of them, whoever dies. CONTRACT §11."""

import random
import threading
import unittest

from support.client import Client, session_path, target
from support.clock import let_pass, pause, pause_at_random, stays, wait_for
from support.events import Stream
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis
from support.sources import KEY, KEYS, QUIET, WEBHOOK_SECRET, ListsFile, ids, insert
from support.store import names_its_stores
from support.tokens import bearer, token
from support.upstream import Held, Upstream, says, tagged

INTERVAL = 0.5
READ = bearer(KEY)
# The node is gone, or was just killed while it answered.
GONE = (OSError, ValueError, IndexError)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class NodeCase(unittest.TestCase):
    def setUp(self):
        self.redis, self.upstream = Redis(), Upstream()
        self.addCleanup(self.redis.close)
        self.addCleanup(self.upstream.close)
        self.file = ListsFile(self.lists(self.upstream.url))
        self.addCleanup(self.file.close)
        self.nodes = [self.node() for _ in range(3)]
        self.over = threading.Event()
        self.threads = []

    def tearDown(self):
        self.over.set()
        for each in self.threads:
            each.join(20)
        for node in self.nodes:
            node.stop()

    def lists(self, url):
        hook = {"url": url + "/hook", "secret": "env:HOOK_SECRET"}
        return {
            "l:{name}": {"source": {"url": f"{url}/l/{{name}}", "every": INTERVAL, "timeout": 5}},
            "seldom:{name}": {"source": {"url": f"{url}/seldom/{{name}}", "every": 3600, "timeout": 20}},
            "board": {"source": {"url": f"{url}/board", "every": 0.2, "timeout": 5}, "hook": hook},
        }

    def node(self):
        store = f"redis://127.0.0.1:{self.redis.port}"
        return Node("--lists", str(self.file.path), "--store", store, "--digest-key", "shared", *KEYS,
                    variables={**QUIET, "HOOK_SECRET": WEBHOOK_SECRET})

    def request(self, node, method, path, body=None, query=None, timeout=20, **headers):
        client = Client(node, timeout)
        try:
            return client.request(method, target(path, query), body, {**READ, **headers})
        finally:
            client.close()

    def get(self, node, name):
        return self.request(node, "GET", session_path(name))

    def shows(self, node, name, *expected):
        def holds():
            answer = self.get(node, name)
            return answer.status == 200 and ids(answer.json["state"]) == list(expected)
        wait_for(holds, f"{name} is {expected}")

    def runs(self, work, *arguments):
        """Runs on a separate thread, again and again, until the test is over."""
        def run():
            while not self.over.is_set():
                try:
                    work(*arguments)
                except GONE:
                    pause(0.05, "a client that lost its node")
        thread = threading.Thread(target=run, daemon=True)
        self.threads.append(thread)
        thread.start()

    # Readers

    def streams(self, node, name):
        """Follows by a stream until it breaks."""
        stream = Stream(node, session_path(name, "changes"), None, READ, timeout=5)
        try:
            while not self.over.is_set() and stream.status == 200:
                try:
                    if stream.next(0.5) is None:
                        return
                except TimeoutError:
                    # What was being read cannot be continued.
                    return
        finally:
            stream.close()

    def holds(self, node, name, revisions):
        """Follows by a held request."""
        since = {"since": revisions[node]} if node in revisions else {}
        answer = self.request(node, "GET", session_path(name, "changes"), None, {"wait": 1, **since})
        if answer.status == 200:
            revisions[node] = answer.json["to"]

    def looks(self, node, name):
        self.get(node, name)
        pause(0.1, "a reader that looks now and then")

    def read_on_all(self, name):
        revisions = {}
        for node in self.nodes:
            self.runs(self.streams, node, name)
            self.runs(self.holds, node, name, revisions)
            self.runs(self.looks, node, name)

    def assertOncePerInterval(self, path, since, least, interval=INTERVAL):
        """All requests from one on: at least this many, and none before it was due."""
        gaps = self.upstream.gaps(path)[since:]
        self.assertGreaterEqual(len(gaps), least)
        # One may have been noted late, but not all.
        self.assertGreaterEqual(min(gaps), interval * 0.5, gaps)
        self.assertGreaterEqual(sum(gaps), interval * (len(gaps) - 0.5), gaps)


class Turns(NodeCase):
    def test_one_request_an_interval_for_readers_on_all_nodes(self):
        self.upstream.set("/l/1", ["a"])
        self.read_on_all("l:1")
        self.upstream.wait_for("/l/1", 3)
        before = self.upstream.count("/l/1")
        self.upstream.wait_for("/l/1", before + 8)
        self.assertOncePerInterval("/l/1", 0, 10)

    def test_first_reads_on_all_nodes_at_once_are_one_request(self):
        for number in range(3):
            path = f"/seldom/{number}"
            held = self.upstream.set(path, Held(["a"]))
            found = []
            threads = [threading.Thread(target=lambda node=node: found.append(self.get(node, f"seldom:{number}")))
                       for node in self.nodes * 4]
            for each in threads:
                each.start()
            self.upstream.wait_for(path, 1)
            stays(lambda: not found, "all wait for the one request", 0.2)  # noqa: B023
            held.release()
            for each in threads:
                each.join(20)
            self.assertEqual([(each.status, ids(each.json["state"])) for each in found], [(200, ["a"])] * 12)
            self.assertEqual(self.upstream.count(path), 1)

    def test_first_reads_of_one_that_is_not_there_are_one_request_too(self):
        for status, told in ((404, 404), (500, 503)):
            path = f"/seldom/x{status}"
            self.upstream.set(path, says({}, status))
            self.assertEqual([self.get(node, f"seldom:x{status}").status for node in self.nodes], [told] * 3)
            self.assertEqual(self.upstream.count(path), 1)

    def test_what_one_node_fetched_is_news_on_all(self):
        self.upstream.set("/l/2", tagged(["a"], '"1"'))
        streams = [Stream(node, session_path("l:2", "changes"), None, READ) for node in self.nodes]
        for each in streams:
            self.addCleanup(each.close)
            self.assertEqual(each.next_event().json["reset"], "initial")
        self.upstream.set("/l/2", tagged(["a", "b"], '"2"'))
        for each in streams:
            event = each.next_event().json
            self.assertEqual(([op["op"] for op in event["changes"]], "stale" in event), (["insert"], False))
        # The next node to ask knows what another one was told.
        wait_for(lambda: [each["If-None-Match"] for each in self.upstream.requests("/l/2")[-4:]] == ['"2"'] * 4, "the tag goes back")

    def test_silence_is_told_on_all_nodes_and_its_end(self):
        self.upstream.set("/l/3", ["a"])
        streams = [Stream(node, session_path("l:3", "changes"), None, READ) for node in self.nodes]
        for each in streams:
            self.addCleanup(each.close)
            each.next_event()
        self.upstream.set("/l/3", says({}, 500))
        for each in streams:
            event = each.next_event().json
            self.assertEqual((event["changes"], event["stale"] >= 1), ([], True))
        for node in self.nodes:
            self.assertIn("Diffserver-Stale", self.get(node, "l:3").headers)
        self.assertEqual(self.told("fails"), 1)
        self.upstream.set("/l/3", ["a"])
        for each in streams:
            event = each.next_event().json
            self.assertEqual((event["changes"], "stale" in event), ([], False))
        for node in self.nodes:
            self.assertNotIn("Diffserver-Stale", self.get(node, "l:3").headers)
        # The node that heard of its end reports it.
        wait_for(lambda: self.told("is back") == 1, "a line says that it is back")

    def test_a_node_learns_that_another_one_has_heard_from_a_source_that_failed(self):
        self.upstream.set("/l/9", ["a"])
        for node in self.nodes:
            self.shows(node, "l:9", "a")
        self.upstream.set("/l/9", says({}, 503, **{"Retry-After": "60"}))
        asked, first = self.upstream.count("/l/9"), self.nodes[0]

        def is_stale():
            return "stale" in self.request(first, "GET", session_path("l:9", "changes")).json
        wait_for(is_stale, "the first node says that the list is stale")
        self.assertEqual(self.upstream.count("/l/9"), asked + 1)
        self.upstream.set("/l/9", ["a", "b"])
        self.assertEqual(self.request(self.nodes[1], "POST", session_path("l:9", "fetch")).status, 200)
        # It would ask the source itself in a minute.
        wait_for(lambda: not is_stale(), "the first node says that the list is fresh again")
        self.upstream.set("/l/9", ["c"])
        self.shows(first, "l:9", "c")

    def test_a_source_that_wants_to_be_left_alone_is_when_redis_has_forgotten_that(self):
        self.upstream.set("/l/10", ["a"])
        self.shows(self.nodes[0], "l:10", "a")
        self.upstream.set("/l/10", says({}, 503, **{"Retry-After": "60"}))
        asked = self.upstream.count("/l/10")

        def is_asked():
            self.get(self.nodes[0], "l:10")
            return self.upstream.count("/l/10") > asked
        wait_for(is_asked, "the source is asked again")
        self.assertEqual(self.redis.say("DEL", "diffserver:{l:10}:source"), b":1\r\n")
        stays(lambda: self.get(self.nodes[0], "l:10") and self.upstream.count("/l/10") == asked + 1, "it is left alone", 4 * INTERVAL + 1)
        # And now the other nodes know it again.
        self.get(self.nodes[1], "l:10")
        self.assertEqual(self.upstream.count("/l/10"), asked + 1)

    def told(self, what):
        """Lines in the logs of all nodes."""
        return sum(f"list source {what}" in line for node in self.nodes for line in node.server.lines)

    def test_one_that_is_deleted_is_made_again_on_any_node(self):
        self.upstream.set("/l/4", ["a"])
        for node in self.nodes:
            self.shows(node, "l:4", "a")
        for node, other in zip(self.nodes, self.nodes[1:]):
            self.assertEqual(self.request(node, "DELETE", session_path("l:4")).status, 204)
            self.assertEqual(self.get(other, "l:4").status, 200)

    def test_a_lease_or_a_note_of_another_type_is_replaced(self):
        for name in ("source", "note"):
            self.upstream.set(f"/l/{name}", ["a"])
            self.redis.say("RPUSH", f"diffserver:{{l:{name}}}:{name}", "x")
            self.assertEqual([self.get(node, f"l:{name}").status for node in self.nodes], [200] * 3)
            self.upstream.set(f"/l/{name}", ["b"])
            wait_for(lambda: ids(self.get(self.nodes[0], f"l:{name}").json["state"]) == ["b"], "it is fetched again")  # noqa: B023

    def test_a_fetch_that_is_ordered_is_one_that_begins_then(self):
        self.upstream.set("/seldom/5", ["a"])
        self.shows(self.nodes[0], "seldom:5", "a")
        held = self.upstream.set("/seldom/5", Held(["old"]))
        first = threading.Thread(target=self.request, args=(self.nodes[0], "POST", session_path("seldom:5", "fetch")))
        first.start()
        self.upstream.wait_for("/seldom/5", 2)
        self.upstream.set("/seldom/5", ["new"])
        found = []
        second = threading.Thread(target=lambda: found.append(self.request(self.nodes[1], "POST", session_path("seldom:5", "fetch"))))
        second.start()
        stays(lambda: not found, "the second waits for a fetch of its own", 0.2)
        held.release()
        first.join(20)
        second.join(20)
        self.assertEqual(found[0].status, 200)
        for node in self.nodes:
            self.shows(node, "seldom:5", "new")


class Deaths(NodeCase):
    def test_nodes_die_and_come_back_while_all_are_read(self):
        self.upstream.set("/l/1", ["a"])
        self.read_on_all("l:1")
        self.upstream.wait_for("/l/1", 2)
        chance = random.Random(1)
        for _ in range(4):
            node = chance.choice(self.nodes)
            node.kill()
            self.upstream.wait_for("/l/1", self.upstream.count("/l/1") + 2)
            node.start()
            self.upstream.wait_for("/l/1", self.upstream.count("/l/1") + 1)
        self.assertOncePerInterval("/l/1", 0, 12)

    def test_who_dies_in_the_middle_of_a_fetch_is_missed_soon(self):
        """However seldom the source is asked."""
        held = self.upstream.set("/seldom/1", Held(["late"]))
        dying = threading.Thread(target=lambda: self.dies("seldom:1"), daemon=True)
        dying.start()
        self.upstream.wait_for("/seldom/1", 1)
        found = []
        waiting = threading.Thread(target=lambda: found.append(self.get(self.nodes[1], "seldom:1")))
        waiting.start()
        stays(lambda: not found, "it waits for the fetch", 0.2)
        self.nodes[0].kill()
        self.upstream.set("/seldom/1", ["a"])
        waiting.join(15)
        self.assertEqual((found[0].status, ids(found[0].json["state"])), (200, ["a"]))
        self.assertEqual(self.upstream.count("/seldom/1"), 2)
        held.release()
        dying.join(20)

    def dies(self, name):
        try:
            self.get(self.nodes[0], name)
        except GONE:
            pass

    def test_who_is_slow_is_not_taken_for_dead(self):
        held = self.upstream.set("/seldom/2", Held(["a"]))
        found = []
        threads = [threading.Thread(target=lambda node=node: found.append(self.get(node, "seldom:2"))) for node in self.nodes]
        for each in threads:
            each.start()
        self.upstream.wait_for("/seldom/2", 1)
        stays(lambda: not found and self.upstream.count("/seldom/2") == 1, "all wait for the one request", 5)
        held.release()
        for each in threads:
            each.join(20)
        self.assertEqual(([each.status for each in found], self.upstream.count("/seldom/2")), ([200] * 3, 1))


    def test_redis_goes_and_comes_back_empty(self):
        self.upstream.set("/l/3", ["a"])
        self.read_on_all("l:3")
        self.upstream.wait_for("/l/3", 3)
        self.redis.kill()
        let_pass(INTERVAL, "interval of a source")
        self.upstream.set("/l/3", ["b"])
        self.redis.start()
        before = self.upstream.count("/l/3")
        for node in self.nodes:
            self.shows(node, "l:3", "b")
        self.upstream.wait_for("/l/3", before + 8)
        # After the first of each node, which they could not have agreed on.
        self.assertOncePerInterval("/l/3", before + len(self.nodes), 3)


class OtherFiles(NodeCase):
    """The store remembers the result of another file."""

    def test_a_node_that_starts_with_another_shape_reads_it_anew(self):
        document = {"items": [{"id": "a"}], "others": [{"id": "o"}]}
        self.upstream.set("/l/1", tagged(document, '"1"'))
        for at, expected in (("/items", "a"), ("/others", "o")):
            for node in self.nodes:
                node.stop()
            self.file.write({"l:{name}": {"source": {"url": self.upstream.url + "/l/{name}", "every": 3600}, "shape": {"itemsAt": at}}})
            for node in self.nodes:
                node.start()
            for node in self.nodes:
                self.shows(node, "l:1", expected)
        self.assertEqual(self.upstream.count("/l/1"), 2)
        self.assertIsNone(self.upstream.requests("/l/1")[1]["If-None-Match"])


class AtRandom(NodeCase):
    """The upstream changes, edits go through the hook, nodes die: at rest every node's head is the upstream's list."""

    def test_at_rest_all_is_as_the_upstream_says(self):
        chance, lock = random.Random(7), threading.Lock()
        rows, versions = ["r0"], [0]

        def changed(change):
            with lock:
                change(rows)
                versions[0] += 1

        def source(exchange):
            with lock:
                state, version = list(rows), versions[0]
            pause_at_random(chance, 0.1)
            tagged(state, f'"{version}"')(exchange)

        def hook(exchange):
            """Applies to its list what it agrees to, once, however often it is asked."""
            if chance.random() < 0.2:
                return exchange.answer({"detail": "no"}, chance.choice([403, 500]))
            request = exchange.request
            with lock:
                if request["webhook-id"] not in done:
                    done.add(request["webhook-id"])
                    for edit in request.json["edits"]:
                        if edit["op"] == "insert":
                            rows[:] = [row for row in rows if row not in edit["items"]] + edit["items"]
                        else:
                            rows[:] = [row for row in rows if row not in edit["items"]]
                    versions[0] += 1
            pause_at_random(chance, 0.05)
            exchange.answer(b"", 204)

        done = set()
        self.upstream.set("/board", source)
        self.upstream.set("/hook", hook)
        credentials = bearer(token("board", "read edit", seconds=600))
        counter, statuses = iter(range(10**6)), []

        def edits():
            number = next(counter)
            with lock:
                gone = chance.choice(rows) if rows and chance.random() < 0.5 else None
            body = {"edits": [{"op": "delete", "items": [gone]}]} if gone else insert(f"e{number}")
            for _ in range(20):
                try:
                    answer = self.request(chance.choice(self.nodes), "POST", session_path("board", "changes"), body, None, 5, **credentials,
                                          **{"Idempotency-Key": f"k{number}"})
                except GONE:
                    pause(0.05, "a client that lost its node")
                    continue
                statuses.append(answer.status)
                if answer.status != 503:
                    break
                pause(0.02, "a client that was refused")
            pause_at_random(chance, 0.05)

        revisions = {}
        for node in self.nodes:
            self.runs(self.streams, node, "board")
            self.runs(self.holds, node, "board", revisions)
        for _ in range(3):
            self.runs(edits)
        for number in range(40):
            pause(0.1, "who changes the list")
            changed(lambda rows: rows.append(f"u{number}") or (rows.pop(0) if len(rows) > 8 else None))
            if number % 10 == 5:
                node = chance.choice(self.nodes)
                node.kill()
                pause(0.2, "a node that is away")
                node.start()
        self.over.set()
        for each in self.threads:
            each.join(20)
        self.assertLessEqual(set(statuses), {200, 422, 503})
        self.assertGreater(statuses.count(200), 10)
        for node in self.nodes:
            self.shows(node, "board", *rows)
        revisions = {self.get(node, "board").json["revision"] for node in self.nodes}
        self.assertEqual(len(revisions), 1)
