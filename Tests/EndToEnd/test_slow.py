"""--log-slow: which requests took long, and where their time went."""

import json
import unittest

from support.client import Client, session_path, target
from support.clock import pause
from support.events import Stream
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import Server
from support.sources import WEBHOOK_SECRET, SourceCase
from support.store import names_its_stores
from support.upstream import Held, says

PARTS = ("receive", "queue", "store", "source", "hook", "compute")


def slow(server, request_id):
    """The line of a slow request."""
    return json.loads(server.wait_for_line(f'.*"slow request".*"requestId":"{request_id}".*').group())


class Slow(SourceCase):
    """Of a request that takes 0.4 s, where 0.3 s are long."""

    options = ("--log", "json", "--log-slow", "300", "--log-requests")
    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url):
        return {**super().lists(url),
                "h:{name}": {"hook": {"url": f"{url}/hook/{{name}}", "secret": "env:HOOK_SECRET", "timeout": 10}}}

    def assertSlow(self, answer, part, **members):
        """One line says that it was slow, and that this part was."""
        line = slow(self.server, answer.headers["X-Request-Id"])
        self.assertEqual(line["level"], "warning")
        self.assertEqual({name: line.get(name) for name in members}, members)
        self.assertGreaterEqual(line[part], 400, line)
        self.assertLessEqual(sum(line[each] for each in PARTS), line["milliseconds"], line)
        self.assertEqual(sum('"slow request"' in each and answer.headers["X-Request-Id"] in each for each in self.server.lines), 1)

    def kept_waiting(self, asked, held, path, whose):
        """The answer to a request that somebody else keeps waiting."""
        self.upstream.wait_for(path, 1)
        pause(0.45, whose)
        held.release()
        answer = asked.answer()
        self.assertStatus(answer, 200)
        return answer

    def test_an_owner_who_thinks(self):
        name, path = self.new_list(kind="h")
        self.made(["a"], name)
        held = Held(says(b"", 204))
        self.upstream.set(f"/hook/{name.partition(':')[2]}", held)
        asked = self.ask(session_path(name, "changes"), None, "POST", {"edits": [{"op": "reload", "items": ["a"]}]})
        answer = self.kept_waiting(asked, held, f"/hook/{name.partition(':')[2]}", "an owner who thinks")
        self.assertSlow(answer, "hook", method="POST", route="changes", session=name, status=200)

    def test_a_source_that_is_slow(self):
        held = Held([{"id": "a"}])
        name, path = self.new_list(held)
        answer = self.kept_waiting(self.ask(session_path(name)), held, path, "a source that is slow")
        self.assertSlow(answer, "source", method="GET", route="session", session=name, status=200)

    def test_a_client_that_is_slow(self):
        connection = self.raw()
        connection.send("POST /v1/sessions/slow-client/changes HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        self.assertEqual(connection.answer().status, 100)
        pause(0.45, "a client that is slow")
        connection.send('["a"]')
        answer = connection.answer()
        self.assertStatus(answer, 201)
        self.assertSlow(answer, "receive", method="POST", route="changes", session="slow-client", status=201)

    def test_what_is_held_on_purpose_is_not_slow(self):
        name, revision = self.made(["a"])
        answer = self.get_changes(name, {"since": revision, "wait": 1})
        self.assertStatus(answer, 200)
        stream = Stream(self.server, session_path(name, "changes"), None, {"X-Request-Id": "a-stream"})
        stream.next_event()
        pause(0.45, "a reader that stays")
        self.wrote(name, ["a", "b"])
        stream.next_event()
        stream.close()
        for request_id in (answer.headers["X-Request-Id"], "a-stream"):
            self.server.wait_for_line(f'.*"message":"request".*"requestId":"{request_id}"')
            self.assertFalse([line for line in self.server.lines if "slow request" in line and request_id in line])


@names_its_stores
class Others(unittest.TestCase):
    def start(self, *options):
        server = Server(*options)
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        return server, client

    def test_work_that_is_long_in_words(self):
        server, client = self.start("--log-slow", "1")
        state = [{"id": number, "content": "x" * 100} for number in range(40_000)]
        self.assertEqual(client.request("POST", "/v1/diff", {"old": [], "new": state}).status, 200)
        found = server.wait_for_line("^warning: slow request method=POST route=diff status=200 milliseconds=([0-9]+) receive=[0-9]+ queue=[0-9]+ "
                                     "store=0 source=0 hook=0 compute=([0-9]+) requestId=[0-9a-f]{16}$")
        self.assertGreater(int(found[2]), 0)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_a_store_that_is_slow(self):
        redis = Redis()
        self.addCleanup(redis.close)
        server, client = self.start("--log", "json", "--log-slow", "100", "--store", f"redis://127.0.0.1:{redis.port}", "--digest-key", "d")
        path = session_path("s", "changes")
        self.assertEqual(client.request("POST", path, ["a"]).status, 201)
        for method, body in (("GET", None), ("POST", ["b"])):
            with self.subTest(method):
                redis.say("CLIENT", "PAUSE", "900", "ALL")
                answer = client.request(method, target(path), body)
                self.assertEqual(answer.status, 200)
                line = slow(server, answer.headers["X-Request-Id"])
                self.assertEqual((line["method"], line["route"], line["session"]), (method, "changes", "s"))
                self.assertGreater(line["store"], 100, line)
