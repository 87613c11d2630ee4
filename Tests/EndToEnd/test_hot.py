"""Which sessions are used most, at this node and of late: GET /debug/hot."""

import pathlib
import tempfile
import threading
import unittest

from support.case import ServiceCase
from support.client import Client, session_path, target
from support.clock import wait_for
from support.events import Stream
from support.node import Node
from support.outside import figure, wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import Server
from support.store import names_its_stores
from support.tokens import bearer, token
from test_tokens_and_keys import KEY, TEAM_KEY, Guarded, hashed


class Hot(ServiceCase):
    def hot(self, by=None):
        answer = self.get("/debug/hot", {"by": by} if by else None)
        self.assertStatus(answer, 200)
        self.assertEqual((answer.json["by"], set(answer.json)), (by or "writes", {"by", "seconds", "sessions"}))
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return answer.json["sessions"]

    def counts(self, by=None):
        return {each["session"]: each["count"] for each in self.hot(by)}

    def shows(self, by, **expected):
        """Waits for these counts, in the answer's order."""
        def holds():
            found = {name: count for name, count in self.counts(by).items() if name in expected}
            return list(found.items()) == [(name, count) for name, count in expected.items() if count]
        wait_for(holds, lambda: f"{expected} by {by}: {self.hot(by)}", not_yet=())

    def test_writes_count_and_neither_reads_nor_refusals_nor_tokens_do(self):
        self.made(["a"], "often")
        self.made(["a"], "seldom")
        for number in range(4):
            self.assertStatus(self.post_changes("often", ["a", number]), 200)
            self.assertStatus(self.get_session("seldom"), 200)
            self.assertStatus(self.post_changes("seldom", [1, 1]), 422)
            self.assertStatus(self.request("POST", session_path("seldom", "tokens"), {}), 201)
        self.assertStatus(self.request("PATCH", session_path("seldom", "items", "a"), {"n": 1},
                                       Content_Type="application/merge-patch+json"), 200)
        self.assertStatus(self.request("PUT", session_path("often"), {"ttl": 60}), 200)
        self.assertStatus(self.delete_session("gone"), 204)
        self.shows(None, often=6, seldom=2, gone=1)
        self.assertEqual({each["error"] for each in self.hot("writes")}, {0})
        self.assertIn(self.get("/debug/hot").json["seconds"], range(0, 62))

    def test_bytes_are_those_of_requests_and_answers_and_of_open_streams(self):
        text = "x" * 50_000
        self.made([{"id": "a", "content": text}], "heavy")
        self.assertGreater(self.counts("bytes")["heavy"], 100_000)
        self.made(["a"], "streamed")
        stream = Stream(self.server, session_path("streamed", "changes"))
        self.addCleanup(stream.close)
        stream.next_event()
        before = self.counts("bytes")["streamed"]
        self.wrote("streamed", ["a", {"id": "b", "content": text}])
        stream.next_event()
        wait_for(lambda: self.counts("bytes")["streamed"] > before + 150_000, lambda: self.hot("bytes"), not_yet=())

    def test_readers_are_those_of_now_also_of_what_is_awaited(self):
        self.made(["a"], "read")
        streams = [Stream(self.server, session_path("read", "changes")) for _ in range(3)]
        client = Client(self.server)
        self.addCleanup(client.close)
        held = threading.Thread(target=client.request, args=("GET", target(session_path("awaited", "changes"), {"wait": 60})))
        held.start()
        wait_until_held(self.server)
        self.shows("readers", read=3, awaited=1)
        self.assertEqual(self.get("/debug/hot", {"by": "readers"}).json["seconds"], 0)
        for stream in streams:
            stream.close()
        self.made(["a"], "awaited")
        held.join(20)
        self.shows("readers", read=0, awaited=0)

    def test_at_most_twenty_are_told(self):
        for number in range(25):
            self.made(["a"], f"many-{number}")
        counts = list(self.counts().values())
        self.assertEqual((len(counts), counts), (20, sorted(counts, reverse=True)))

    def test_what_is_asked_wrongly(self):
        for query in ({"by": "reads"}, {"by": ""}):
            self.assertProblem(self.get("/debug/hot", query), 400, "malformed-request")
        self.assertProblem(self.get("/debug/hot", {"bye": "writes"}), 400, "unknown-parameter")
        self.assertProblem(self.get("/debug/hot", Accept="text/html"), 406, "not-acceptable")
        self.assertProblem(self.request("POST", "/debug/hot"), 405, "method-not-allowed")
        self.assertStatus(self.request("HEAD", "/debug/hot"), 200)
        self.assertEqual(self.request("OPTIONS", "/debug/hot").headers["Allow"], "GET, HEAD, OPTIONS")


class WhoMay(Guarded):
    def test_a_key_for_all_sessions_may_and_no_other(self):
        for credentials, status in ((KEY, 200), (TEAM_KEY, 403), (token("s"), 403), (None, 401), ("wrong", 401)):
            with self.subTest(credentials):
                for method in ("GET", "HEAD"):
                    self.assertStatus(self.ask(method, "/debug/hot?by=readers", credentials), status)

    def test_a_key_for_metrics_may_not(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "keys")
            file.write_text(f"prometheus:{hashed('scrape')}\n")
            file.chmod(0o600)
            server = Server("--metrics-key-file", str(file))
            self.addCleanup(server.stop)
            client = Client(server)
            self.addCleanup(client.close)
            # Without a writer's key, the server is open to this machine.
            statuses = [client.request("GET", "/debug/hot", None, headers).status for headers in (bearer("scrape"), {})]
        self.assertEqual(statuses, [403, 200])


@unittest.skipUnless(IS_INSTALLED, MISSING)
@names_its_stores
class Conflicts(unittest.TestCase):
    def test_a_session_that_two_nodes_write_has_them(self):
        redis = Redis()
        self.addCleanup(redis.close)
        nodes = [Node("--store", f"redis://127.0.0.1:{redis.port}", "--digest-key", "the nodes'") for _ in range(2)]
        for node in nodes:
            self.addCleanup(node.stop)
        clients = [Client(node) for node in nodes]
        clients[0].request("POST", session_path("quiet", "changes"), ["a"])
        is_over = threading.Event()

        def write(client):
            number = 0
            while not is_over.is_set():
                number += 1
                client.request("POST", session_path("contended", "changes"), [number])
            client.close()

        threads = [threading.Thread(target=write, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: any(figure(node, "diffserver_store_conflicts_total") for node in nodes), "they conflict")
        finally:
            is_over.set()
            for thread in threads:
                thread.join(20)
        for node in nodes:
            client = Client(node)
            self.addCleanup(client.close)
            hot = client.request("GET", "/debug/hot?by=conflicts").json["sessions"]
            count = int(figure(node, "diffserver_store_conflicts_total"))
            self.assertEqual(hot, [{"session": "contended", "count": count, "error": 0}] if count else [])
