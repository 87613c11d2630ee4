"""A node that does not reach its store says so on its streams after 10 s, and ends them after 60 s: CONTRACT §12."""

import json
import pathlib
import tempfile
import unittest
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from support.client import Client, session_path, target
from support.clock import wait_for
from support.events import Stream
from support.node import Node
from support.proxy import Proxy
from support.redis import IS_INSTALLED, MISSING, Redis
from support.store import names_its_stores

VIEW = json.dumps({"where": [{"at": "/id", "exists": True}]})


class Readers:
    """Streams of all kinds at one node, each of which has read the session `s`."""

    def __init__(self, test, node, revision):
        at_head = {"since": revision}
        path = session_path("s", "changes")
        self.streams = {
            "one": (path, at_head),
            "view": (path, {"view": VIEW}),
            "window": (path, {"at": "start", "after": 1}),
            "counts": (path, {**at_head, "dialect": "counts"}),
            "indexed": (path, {**at_head, "dialect": "indexed"}),
            "many": ("/v1/changes", {"session": f"s@{revision}"}),
        }
        for name, (path, query) in self.streams.items():
            stream = Stream(node, path, query)
            test.addCleanup(stream.close)
            test.assertEqual(stream.status, 200, name)
            if name in ("view", "window"):
                test.assertEqual(stream.next_event().json["reset"], "initial")
            self.streams[name] = stream

    def told(self, seconds):
        """The next event of each that says for how long the list has been stale."""
        def next_stale(stream):
            while "stale" not in (event := stream.next_event(seconds)).json:
                pass
            return event

        with ThreadPoolExecutor(len(self.streams)) as pool:
            return dict(zip(self.streams, pool.map(next_stale, self.streams.values())))


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class CutOff(unittest.TestCase):
    def ask(self, node, method, path, body=None):
        client = Client(node, 30)
        try:
            return client.request(method, path, body)
        finally:
            client.close()

    def assertNothing(self, event, name):
        """No changes, in the reader's dialect."""
        self.assertEqual(event.event, "changes", name)
        empty = {"counts": {"sections": {}, "items": {}}, "indexed": {"sections": {}, "items": {}}}.get(name, [])
        self.assertIn(event.json["changes"], (empty, {}), (name, event))

    def test_one_node_loses_redis_while_others_have_it(self):
        redis = Redis()
        self.addCleanup(redis.close)
        proxy = Proxy(redis.port, seed=1)
        self.addCleanup(proxy.close)
        here, alone = (Node("--store", f"redis://127.0.0.1:{port}", "--digest-key", "shared") for port in (redis.port, proxy.port))
        for node in (here, alone):
            self.addCleanup(node.stop)
        path = session_path("s", "changes")
        first = self.ask(here, "POST", path, ["a"]).json["to"]
        readers = Readers(self, alone, first)
        elsewhere = Stream(here, path, {"since": first})
        self.addCleanup(elsewhere.close)
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(self.ask, alone, "GET", target(path, {"since": first, "wait": 15}))
            wait_for(lambda: self.ask(alone, "GET", "/v1/sessions").json["sessions"][0]["readers"] == 7, "all readers")
            proxy.sever()
            second = self.ask(here, "POST", path, ["a", "b"]).json["to"]
            for name, event in readers.told(15).items():
                self.assertNothing(event, name)
                self.assertGreaterEqual(event.json["stale"], 10, name)
            # A new reader is sent elsewhere at once, and a held one is answered in its time.
            for path_, query in ((path, {}), ("/v1/changes", {"session": "s"})):
                stream = Stream(alone, path_, query)
                self.addCleanup(stream.close)
                self.assertEqual((stream.status, stream.problem["type"]), (503, "/problems/store-unavailable"))
            answer = held.result()
            self.assertEqual((answer.status, answer.json["to"], answer.json["changes"]), (200, first, []))
        proxy.mend()
        # What was missed comes, and the list is stale no more.
        for name, stream in readers.streams.items():
            self.until(second, stream, name)
        self.assertEqual(elsewhere.next_event().json["to"], second)

        # The second time it lasts.
        proxy.sever()
        for name, event in readers.told(15).items():
            self.assertGreaterEqual(event.json["stale"], 10, name)
        with ThreadPoolExecutor(len(readers.streams)) as pool:
            told = {pool.submit(stream.next_event, 120): name for name, stream in readers.streams.items()}
            wait(told, return_when=FIRST_COMPLETED)
            alone.server.wait_for_line("the store does not answer: ending streams within a minute")
            proxy.mend()
            events = {name: each.result() for each, name in told.items()}
        ends = [event.json["type"] for event in events.values() if event.event == "end"]
        self.assertEqual(set(ends), {"/problems/store-unavailable"})
        # Those whose turn has not come stay, and are told that it is over.
        stay = {name: event for name, event in events.items() if event.event != "end"}
        self.assertTrue(stay)
        for name, event in stay.items():
            self.assertNotIn("stale", event.json, name)
            # Counts go on from what the request said.
            if name != "counts":
                self.assertNothing(event, name)
        third = self.ask(here, "POST", path, ["c"]).json["to"]
        for name in stay:
            self.until(third, readers.streams[name], name)

    def until(self, revision, stream, name):
        """Reads what leads to a revision, by its sequence, which views leave as it is."""
        reached = None
        while reached != revision.split("-")[0]:
            event = stream.next_event(10)
            self.assertEqual(event.event, "changes", (name, event))
            self.assertNotIn("stale", event.json, (name, event))
            reached = event.json["to"].split("-")[0]

    def test_a_database_that_is_gone_is_a_store_that_does_not_answer(self):
        folder = tempfile.TemporaryDirectory(prefix="diffserver-cut-off-")
        self.addCleanup(folder.cleanup)
        database = pathlib.Path(folder.name, "sessions.db")
        node = Node("--store", f"sqlite:{database}")
        self.addCleanup(node.stop)
        first = self.ask(node, "POST", session_path("s", "changes"), ["a"]).json["to"]
        readers = Readers(self, node, first)
        database.rename(f"{database}.away")
        for name, event in readers.told(15).items():
            self.assertNothing(event, name)
            self.assertGreaterEqual(event.json["stale"], 10, name)
        pathlib.Path(f"{database}.away").rename(database)
        for name, stream in readers.streams.items():
            event = stream.next_event(10)
            self.assertNothing(event, name)
            self.assertNotIn("stale", event.json, name)
