"""A store's memory is a cache: leaving it ends nothing, and readers of more than fits are all answered."""

import concurrent.futures
import pathlib
import random
import re
import shutil
import tempfile
import unittest

from support.client import Client, session_path, target
from support.events import Stream
from support.outside import wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis
from support.replica import Replica
from support.server import Server
from support.store import names_its_stores

MEMORY = ("--memory", "64KiB", "--max-sessions", "1")


def state(number, mark):
    return {"state": [{"id": row, "content": [number, mark, "x" * 60]} for row in range(20)]}


class SmallMemory:
    """Holds over each store other than memory, where one session of twelve fits."""

    SESSIONS = 12

    def setUp(self):
        self.server = Server("--store", self.store(), *MEMORY)
        self.addCleanup(self.server.stop)
        self.client = Client(self.server)
        self.addCleanup(self.client.close)
        self.firsts = [self.post(number, "first") for number in range(self.SESSIONS)]

    def post(self, number, mark):
        answer = self.client.request("POST", session_path(f"s{number}", "changes"), state(number, mark))
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["to"]

    def push_out(self):
        """Uses all sessions except the first two until these have left memory."""
        for number in range(2, self.SESSIONS):
            self.assertEqual(self.client.request("GET", session_path(f"s{number}")).status, 200)

    def test_readers_of_what_left_memory_notice_nothing(self):
        stream = Stream(self.server, session_path("s0", "changes"), {"since": self.firsts[0]}, timeout=10)
        self.addCleanup(stream.close)
        while stream.next().id != self.firsts[0]:
            pass
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            def held(wait):
                client = Client(self.server, 20)
                query = {"since": self.firsts[1], "wait": wait}
                answer = client.request("GET", target(session_path("s1", "changes"), query))
                client.close()
                return answer

            short, long = threads.submit(held, 1), threads.submit(held, 15)
            wait_until_held(self.server, 2)
            self.push_out()
            # Its time is up while the session is not in memory.
            answer = short.result(10)
            self.assertEqual((answer.status, answer.json["changes"]), (200, []), answer)
            self.push_out()
            second = self.post(1, "second")
            answer = long.result(10)
            self.assertEqual((answer.status, answer.json["to"]), (200, second), answer)
            self.assertEqual([len(each["items"]) for each in answer.json["changes"]], [20])
        for mark in ("second", "third"):
            self.push_out()
            revision = self.post(0, mark)
            event = stream.next_event()
            self.assertEqual((event.id, event.event), (revision, "changes"), event)
            self.assertEqual([len(each["items"]) for each in event.json["changes"]], [20], event)
        answer = self.client.request("GET", target(session_path("s0", "changes"), {"since": self.firsts[0]}))
        self.assertEqual([len(each["items"]) for each in answer.json["changes"]], [20], answer)

    def test_who_reads_more_at_once_than_fits_is_answered(self):
        """A Redis node asked like this answered 493 of 1,500, and spent all its time rereading the same sessions."""
        known = [{self.firsts[number]: state(number, "first")["state"]} for number in range(5)]

        def work(seed):
            client, chance = Client(self.server, 30), random.Random(seed)
            for turn in range(60):
                number = chance.randrange(5)
                path = session_path(f"s{number}", "changes")
                if chance.random() < 0.3:
                    answer = client.request("POST", path, state(number, [seed, turn]), {"Prefer": "return=minimal"})
                else:
                    answer = client.request("GET", target(path, {"since": self.firsts[number]}))
                self.assertEqual(answer.status, 200, answer)
            client.close()

        before = self.loads()
        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            for each in [threads.submit(work, seed) for seed in range(20)]:
                each.result(60)
        # Each of 1,200 requests may have to read its session a few times, but not for ever.
        self.assertLess(self.loads() - before, 3 * 1200)
        for number in range(5):
            replica = Replica("keyed")
            replica.receive(self.client.request("GET", session_path(f"s{number}", "changes")).exact)
            shown = self.client.request("GET", session_path(f"s{number}")).exact
            self.assertTrue(replica.shows(shown["state"]))

    def loads(self):
        """How often a session was read from the store for a request."""
        text = self.client.request("GET", "/metrics").text
        return int(re.search(r'^diffserver_store_duration_seconds_count\{operation="load"\} (\d+)$', text, re.MULTILINE)[1])

    def test_many_streams_follow_many_writers(self):
        streams = [
            Stream(self.server, session_path(f"s{number}", "changes"), {"since": self.firsts[number]}, timeout=20)
            for number in range(self.SESSIONS)
        ]
        last = {}
        for turn in range(5):
            for number in range(self.SESSIONS):
                last[number] = self.post(number, f"turn {turn}")
        for number, stream in enumerate(streams):
            while True:
                event = stream.next_event()
                self.assertIsNotNone(event)
                self.assertEqual(event.event, "changes", event)
                self.assertNotIn("reset", event.json)
                if event.id == last[number]:
                    break
            stream.close()


@names_its_stores
class SmallMemorySQLite(SmallMemory, unittest.TestCase):
    def store(self):
        directory = tempfile.mkdtemp(prefix="diffserver-sqlite-")
        self.addCleanup(shutil.rmtree, directory)
        return f"sqlite:{pathlib.Path(directory) / 'sessions.db'}"


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class SmallMemoryRedis(SmallMemory, unittest.TestCase):
    def store(self):
        redis = Redis()
        self.addCleanup(redis.close)
        return f"redis://127.0.0.1:{redis.port}"
