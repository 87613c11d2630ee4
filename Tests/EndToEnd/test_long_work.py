"""Work that takes long because the session is large is not a loop's, however small the request is."""

import unittest
from urllib.parse import urlencode

from support.case import ServiceCase
from support.client import session_path
from support.events import Stream
from support.store import KIND

# Enough rows that copying their records, which is all that an edit costs, is more than answering it.
ROWS = 90_000


class LongSession(ServiceCase):
    """Checked by the threads' processor time: on a loop it is far less than on a worker."""

    def setUp(self):
        self.session = self.new_name()
        state = [{"id": str(number), "content": {"title": "x" * 60}} for number in range(ROWS)]
        self.revision = self.post_changes(self.session, state, Prefer="return=minimal").json["to"]

    def is_work_of_workers(self, work):
        before = [self.server.processor_ticks(each) for each in ("loop", "worker")]
        for _ in range(20):  # until there is enough to compare
            work()
            loop, worker = (self.server.processor_ticks(each) - ticks for each, ticks in zip(("loop", "worker"), before))
            if loop + worker > 40:
                break
        self.assertLess(loop, worker / 2)

    def move(self, number):
        edit = {"op": "move", "items": [str(number)], "at": "end"}
        return self.post_changes(self.session, {"edits": [edit]}, Prefer="return=minimal")

    def test_edits(self):
        self.is_work_of_workers(lambda: [self.assertStatus(self.move(number), 200) for number in range(150)])

    def test_changes_from_a_past_revision(self):
        def ask():
            base = self.move(ROWS - 1).json["to"]
            for number in range(60):
                head = self.move(number).json["to"]
                answer = self.get_changes(self.session, {"since": base, "dialect": "indexed"})
                self.assertNotIn("reset", answer.json)
                base = head
        self.is_work_of_workers(ask)

    @unittest.skipIf(KIND == "redis", "the loop's round trip for each list takes as long as its changes")
    def test_many_lists_that_are_short(self):
        """None of which is long work by itself."""
        rows = [{"id": str(number), "content": "x" * 1000} for number in range(400)]
        names = [self.new_name() for _ in range(64)]
        bases = []
        for name in names:
            bases.append([self.post_changes(name, rows, Prefer="return=minimal").json["to"]])
            for number in range(20):
                edit = {"op": "move", "items": [str(number)], "at": "end"}
                bases[-1].append(self.post_changes(name, {"edits": [edit]}, Prefer="return=minimal").json["to"])

        def ask():
            for number in range(20):
                for dialect in ("keyed", "staged", "indexed", "sequential", "diffable"):
                    pairs = [("session", f"{name}@{base[number]}") for name, base in zip(names, bases)]
                    answer = self.request("GET", "/v1/changes?" + urlencode([*pairs, ("dialect", dialect)]))
                    self.assertNotIn("reset", answer.text)
        self.is_work_of_workers(ask)

    def test_streams_and_held_requests(self):
        def follow():
            head = self.move(ROWS - 1).json["to"]
            streams = [Stream(self.server, session_path(self.session, "changes"), {"since": head}) for _ in range(4)]
            for number in range(100):
                self.move(number)
            for stream in streams:
                self.assertEqual(stream.next_event().event or "changes", "changes")
        self.is_work_of_workers(follow)
