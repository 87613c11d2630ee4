"""Examples/edge: a crowd that polls public sessions through a cache, and what such a cache must never serve."""

import asyncio
import pathlib
import random
import re
import signal
import time
import unittest
from email.utils import parsedate_to_datetime

from support import jsontext
from support.client import Client, RawConnection, once, session_path, target
from support.clock import pause, pause_beside_others, wait_for
from support.events import Stream
from support.nginx import IS_INSTALLED, MISSING, Nginx
from support.node import Node
from support.outside import figure, wait_until_held, wait_until_read
from support.replica import Replica
from support.tokens import SECRET, bearer, token
from test_tokens_and_keys import KEY, hashed

OPTIONS = ("--key", f"writer:{hashed(KEY)}", "--token-secret", SECRET)
EXAMPLE = "edge/nginx.conf"
# max-age=1 and stale-while-revalidate=10, and nginx counts whole seconds.
STALE = 1 + 10 + 1


class Edge(unittest.TestCase):
    """A node, and the example before it."""

    changes = ()

    @classmethod
    def setUpClass(cls):
        cls.node = Node(*OPTIONS)
        cls.nginx = Nginx(EXAMPLE, [cls.node.port], changes=cls.changes)
        cls.writer, cls.reader = Client(cls.node), Client(cls.nginx)

    @classmethod
    def tearDownClass(cls):
        cls.writer.close()
        cls.reader.close()
        cls.nginx.close()
        cls.node.stop()

    def put(self, session, body):
        answer = self.writer.request("PUT", session_path(session), body, bearer(KEY))
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["revision"]

    def write(self, session, state):
        answer = self.writer.request("POST", session_path(session, "changes"), state, bearer(KEY))
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["to"]

    def get(self, path, query=None, credentials=None, **headers):
        """Through the edge."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.reader.request("GET", target(path, query), None, {**(bearer(credentials) if credentials else {}), **named})

    def at_origin(self):
        """How many answers to readers without credentials the node has given."""
        return sum(figure(self.node, f'diffserver_answers_total{{cache="{kind}"}}', KEY) for kind in ("public", "no-store"))


class Reader:
    """One of a crowd: a connection, a replica, and a pace."""

    def __init__(self, nginx, session, chance):
        self.nginx, self.path, self.replica = nginx, session_path(session, "changes"), Replica("keyed")
        self.period, self.phase = chance.uniform(0.9, 1.1), chance.uniform(0, 1)
        self.bytes, self.polls = {"news": 0, "nothing": 0}, {"news": 0, "nothing": 0}
        self.is_over = False

    async def follow(self):
        await pause_beside_others(self.phase, "the readers' polls are spread over a second")
        self.streams = await asyncio.open_connection(self.nginx.host, self.nginx.port)
        try:
            while not self.is_over:
                start = time.monotonic()
                await self.poll()
                await pause_beside_others(self.period - (time.monotonic() - start), "a reader between two polls")
        finally:
            self.streams[1].close()

    async def poll(self):
        reader, writer = self.streams
        since = f"&since={self.replica.revision}" if self.replica.revision else ""
        writer.write(f"GET {self.path}?content=delta&dialect=keyed{since} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        body = await reader.readexactly(int(re.search(rb"Content-Length: (\d+)", head, re.I)[1]))
        before = self.replica.revision
        done = self.replica.receive(jsontext.value(body.decode()))
        assert done != "ask", f"{self.path} since {before} was answered {body}"
        kind = "nothing" if before == self.replica.revision else "news"
        self.bytes[kind] += len(head) + len(body)
        self.polls[kind] += 1


def board(number):
    """A match and its last minutes, after so many events."""
    events = [{"id": f"e{each}", "content": {"minute": each, "text": f"Event {each} of the match, told in a sentence of some length."}}
              for each in range(max(0, number - 19), number + 1)]
    return [{"id": "score", "content": {"home": number // 7, "away": number // 11, "minute": number}}, *reversed(events)]


class Crowd:
    readers, commits, silence = 500, 8, 8

    def test_it_costs_the_origin_what_one_reader_would(self):
        self.put("score", {"state": board(0), "public": True})
        asyncio.run(self.run_crowd())

    async def run_crowd(self):
        chance = random.Random(1)
        crowd = [Reader(self.nginx, "score", chance) for _ in range(self.readers)]
        tasks = [asyncio.ensure_future(reader.follow()) for reader in crowd]
        try:
            head = await asyncio.to_thread(self.written, 0)
            await self.until_all_show(crowd, tasks, head)
            await self.commit(crowd, tasks)
            await self.stay_silent()
        finally:
            for reader in crowd:
                reader.is_over = True
            problems = [each for each in await asyncio.gather(*tasks, return_exceptions=True) if each]
        self.assertEqual(problems, [])
        state = self.writer.request("GET", session_path("score"), None, bearer(KEY)).json["state"]
        self.assertEqual([reader.replica.revision for reader in crowd if not reader.replica.shows(state)], [])
        for kind in ("news", "nothing"):
            polls = sum(reader.polls[kind] for reader in crowd)
            self.assertGreater(polls, self.readers)
            self.tell(f"{polls} polls with {kind}, {sum(reader.bytes[kind] for reader in crowd) / polls:.0f} bytes each")

    def written(self, number):
        return self.write("score", board(number))

    async def commit(self, crowd, tasks):
        before, start = self.at_origin(), time.monotonic()
        for number in range(1, self.commits + 1):
            head = await asyncio.to_thread(self.written, number)
            await pause_beside_others(1, "the writer commits each second")
        await self.until_all_show(crowd, tasks, head)
        asked, seconds = self.at_origin() - before, time.monotonic() - start
        self.tell(f"{asked:.0f} requests in {seconds:.1f} s for {self.commits} commits")
        # Where a machine is slow, commits are further apart.
        self.assertLessEqual(asked, 3 * max(self.commits, seconds))

    async def stay_silent(self):
        before, start = self.at_origin(), time.monotonic()
        await pause_beside_others(self.silence, "the writer is silent")
        asked, seconds = self.at_origin() - before, time.monotonic() - start
        self.tell(f"{asked:.0f} requests in {seconds:.1f} s of silence")
        self.assertLessEqual(asked, 2 * seconds)
        self.assertGreater(asked, 0)

    async def until_all_show(self, crowd, tasks, head):
        def others():
            return [reader.replica.revision for reader in crowd if reader.replica.revision != head]
        def all_show():
            return not others() or any(task.done() for task in tasks)
        await asyncio.to_thread(wait_for, all_show, lambda: f"all are at {head}: {others()}", 60)

    def tell(self, text):
        pass


@unittest.skipUnless(IS_INSTALLED, MISSING)
class CrowdForAMoment(Crowd, Edge):
    pass


@unittest.skipUnless(IS_INSTALLED, MISSING)
class CrowdForLong(Crowd, Edge):
    commits, silence = 30, 60

    def tell(self, text):
        """The figures of docs/scale.md."""
        print(f"edge: {text}")


class Private:
    """Holds for any cache that leaves out what has `Authorization`, whether or not it heeds `Vary`."""

    READS = ("", "/changes", "/items/a", "/items?id=a", "/sections/main", "/sections?id=main")

    def assertRefused(self, answer):
        self.assertEqual((answer.status, answer.headers["Cache-Control"]), (401, "no-store"), answer)

    def kept(self):
        """What the cache has written."""
        return b"".join(path.read_bytes() for path in pathlib.Path(self.nginx.directory).glob("cache-*/**/*") if path.is_file())

    def test_it_reads_its_configuration_without_a_warning(self):
        self.assertEqual(self.nginx.warnings(), [])

    def test_one_answer_is_for_all(self):
        head = self.put("all", {"state": ["a"], "public": True})
        before = self.at_origin()
        answers = [once(self.nginx, "GET", target(session_path("all", "changes"), {"since": head})) for _ in range(50)]
        self.assertEqual({(answer.status, answer.body) for answer in answers}, {(200, answers[0].body)})
        self.assertLess(self.at_origin() - before, 10)
        self.assertIn(answers[0].body.strip(), self.kept())

    def test_a_burst_is_one_request(self):
        head = self.put("burst", {"state": ["a"], "public": True})
        readers = [RawConnection(self.nginx) for _ in range(20)]
        for reader in readers:
            self.addCleanup(reader.close)
        before = self.at_origin()
        self.node.server.signal(signal.SIGSTOP)
        try:
            for reader in readers:
                reader.send(f"GET {session_path('burst', 'changes')}?since={head} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until_read(self.nginx, *(reader.socket for reader in readers))
        finally:
            self.node.server.signal(signal.SIGCONT)
        self.assertEqual({(answer.status, answer.json["to"]) for answer in (reader.answer() for reader in readers)}, {(200, head)})
        self.assertEqual(self.at_origin() - before, 1)

    def test_what_a_key_reads_is_for_nobody_else(self):
        self.put("private", {"state": [{"id": "a", "content": "a secret of private"}]})
        for read in self.READS:
            path = session_path("private") + read
            for _ in range(2):
                self.assertRefused(self.get(path))
                self.assertEqual(self.get(path, credentials=KEY).status, 200)
            self.assertEqual(self.get(path, credentials="x" * 40).status, 401)
            self.assertRefused(self.get(path))
        self.assertRefused(self.get("/v1/changes", {"session": "private"}))
        self.assertNotIn(b"a secret of private", self.kept())

    def test_conditions_are_met(self):
        self.put("conditions", {"state": ["a"], "public": True})
        path = session_path("conditions")
        for credentials in (None, KEY, token("conditions")):
            known = self.get(path, None, credentials).headers["ETag"]
            self.assertEqual(self.get(path, None, credentials, If_None_Match=known).status, 304)

    def test_what_a_token_sees_is_for_nobody_else(self):
        state = [{"id": "a", "content": "seen"}, {"id": "b", "content": "unseen"}]
        view = {"limit": 1}
        for name, is_public in (("open", True), ("shut", False)):
            self.put(name, {"state": state, "public": is_public})
            narrow, wide = token(name, view=view), token(name)
            # Each meets the other's answer, whoever asks first.
            orders = {"keyed": [None, narrow, wide, None], "indexed": [narrow, None, wide, narrow], "diffable": [wide, None, narrow, None]}
            for dialect, callers in orders.items():
                for read, query in (("", None), ("/changes", {"dialect": dialect})):
                    for caller in callers:
                        answer = self.get(session_path(name) + read, query, caller)
                        with self.subTest(name, read=read, caller=caller):
                            if caller is None and not is_public:
                                self.assertRefused(answer)
                                continue
                            self.assertEqual(answer.status, 200, answer)
                            self.assertIn(b'"seen"', answer.body)
                            self.assertEqual(b'"unseen"' in answer.body, caller != narrow)
                            self.assertEqual("public" in answer.headers["Cache-Control"], caller is None)
        # A token's reader whose session is another's, and one with none.
        self.assertEqual(self.get(session_path("open"), None, token("shut")).status, 403)
        self.assertEqual(self.get(session_path("open"), None, token("open", secret="x" * 40)).status, 401)

    def test_what_is_public_no_more_is_served_no_more(self):
        names = ("ceases", "deleted")
        for name in names:
            self.put(name, {"state": ["was public"], "public": True})
        paths = [session_path(name) + read for name in names for read in ("", "/changes")]
        for path in paths:
            self.assertEqual(self.get(path).status, 200)
        self.put("ceases", {"public": None})
        self.write("ceases", ["a secret since"])
        closed = parsedate_to_datetime(self.writer.request("DELETE", session_path("deleted"), None, bearer(KEY)).headers["Date"])
        self.put("deleted", {"state": ["a secret since"]})
        end = time.monotonic() + STALE
        while time.monotonic() < end:
            for path in paths:
                answer = self.get(path)
                self.assertIn(answer.status, (200, 401), answer)
                self.assertNotIn(b"a secret since", answer.body)
                if answer.status == 200:
                    # By it a second cache, such as a browser's, knows how old the answer is.
                    self.assertLessEqual(parsedate_to_datetime(answer.headers["Date"]), closed)
            pause(0.1, "a reader that polls, so that its answers stay in the cache")
        for path in paths:
            self.assertRefused(self.get(path))
            self.assertIn(b"a secret since", self.get(path, credentials=KEY).body)
            self.assertRefused(self.get(path))
        self.assertNotIn(b"a secret since", self.kept())

    def test_what_was_private_is_served_once_it_is_public(self):
        self.put("becomes", {"state": ["a"]})
        self.assertRefused(self.get(session_path("becomes")))
        self.put("becomes", {"public": True})
        self.assertEqual(self.get(session_path("becomes")).status, 200)

    def test_a_form_has_a_url_of_its_own(self):
        first = self.put("forms", {"state": ["a", "b"], "public": True})
        self.write("forms", ["b", "a"])
        path = session_path("forms", "changes")
        queries = [{"since": first, "dialect": dialect} for dialect in ("keyed", "indexed", "diffable", "json-patch", "counts")]
        for _ in range(2):
            for query in queries:
                answer = self.get(path, query)
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.body, once(self.node, "GET", target(path, query)).body)

    def test_streams_and_held_polls_pass(self):
        first = self.put("flows", {"state": ["a"], "public": True})
        path = session_path("flows", "changes")
        self.assertEqual(self.get(path, {"since": first}).json["changes"], [])
        # By the same URL.
        stream = Stream(self.nginx, path, {"since": first})
        self.addCleanup(stream.close)
        self.assertEqual((stream.status, stream.headers["Content-Type"]), (200, "text/event-stream"))
        polls = [RawConnection(self.nginx) for _ in range(2)]
        for poll in polls:
            self.addCleanup(poll.close)
            poll.send(f"GET {path}?since={first}&wait=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until_held(self.node, 2, KEY)
        for number in range(3):
            head = self.write("flows", ["a", str(number)])
            event = stream.next_event()
            while event.event != "changes":
                event = stream.next_event()
            # If held back, such a small event would never come.
            self.assertEqual(event.id, head)
        for poll in polls:
            self.assertEqual(poll.answer().json["from"], first)

    def test_figures_are_not_for_the_world(self):
        for path in ("/metrics", "/metrics?x=1", "/%6detrics", "//metrics", "/./metrics", "/x/../metrics"):
            with RawConnection(self.nginx) as connection:
                connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n\r\n")
                self.assertEqual(connection.answer().status, 404, path)


@unittest.skipUnless(IS_INSTALLED, MISSING)
class ThatHeedsVary(Private, Edge):
    def test_what_a_header_asks_for_is_answered(self):
        """Also by a URL whose usual answer is in the cache."""
        self.put("headers", {"state": [{"id": "a", "content": "the same again " * 100}], "public": True})
        path = session_path("headers", "changes")
        own = "application/vnd.diffserver.indexed+json"
        for _ in range(2):
            self.assertEqual(self.get(path).json["dialect"], "keyed")
            self.assertEqual(self.get(path, Accept=own).json["dialect"], "indexed")
            self.assertEqual(self.get(path, Accept_Encoding="gzip").headers["Content-Encoding"], "gzip")
            self.assertIsNone(self.get(path).headers["Content-Encoding"])


@unittest.skipUnless(IS_INSTALLED, MISSING)
class ThatHeedsNoVary(Private, Edge):
    changes = (("proxy_cache_lock on", "proxy_cache_lock on; proxy_ignore_headers Vary"),)


if __name__ == "__main__":
    unittest.main()
