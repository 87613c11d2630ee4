"""What takes long because the session is large is no loop's work, however small the request is."""

from support.case import ServiceCase
from support.client import session_path
from support.events import Stream

ROWS = 50_000


class LongSession(ServiceCase):
    """Asked by what the threads use of the processor: on a loop it is far less than on a worker."""

    def setUp(self):
        self.session = self.new_name()
        state = [{"id": str(number), "content": {"title": "x" * 60}} for number in range(ROWS)]
        self.revision = self.post_changes(self.session, state, Prefer="return=minimal").json["to"]

    def is_work_of_workers(self, work):
        before = [self.server.processor_ticks(each) for each in ("loop", "worker")]
        work()
        loop, worker = (self.server.processor_ticks(each) - ticks for each, ticks in zip(("loop", "worker"), before))
        self.assertGreater(worker, 10, "too little to compare")
        self.assertLess(loop, worker / 2)

    def move(self, number):
        edit = {"op": "move", "items": [str(number)], "at": "end"}
        return self.post_changes(self.session, {"edits": [edit]}, Prefer="return=minimal")

    def test_edits(self):
        self.is_work_of_workers(lambda: [self.assertStatus(self.move(number), 200) for number in range(40)])

    def test_changes_from_a_past_revision(self):
        self.move(1)
        query = {"since": self.revision, "dialect": "indexed"}

        def ask():
            for number in range(20):
                self.move(number)
                self.assertStatus(self.get_changes(self.session, query), 200)
        self.is_work_of_workers(ask)

    def test_streams_and_held_requests(self):
        streams = [Stream(self.server, session_path(self.session, "changes"), {"since": self.revision}) for _ in range(4)]

        def follow():
            for number in range(20):
                self.move(number)
            for stream in streams:
                self.assertEqual(stream.next_event().event or "changes", "changes")
        self.is_work_of_workers(follow)
