"""Many writers and readers at once, small and large: nothing is lost, and nobody waits for the large ones."""

import statistics
import threading
import time

from support.case import ServiceCase
from support.client import session_path
from support.clock import pause
from support.replica import Replica
from support.events import Stream


class Together(ServiceCase):
    def counted(self, session, times, writer, size=1):
        """A task that adds one to the session's counter under If-Match, and tries again until it succeeds.

        The writer's name is in the state: two writers that make the same state of the same revision are one write
        whose answer was lost, by the contract's rule.
        """
        def task(client):
            for _ in range(times):
                while True:
                    read = client.request("GET", session_path(session))
                    counter = read.json["state"]["sections"][0]["content"]
                    items = [{"id": number, "content": [writer, counter, number]} for number in range(size)]
                    state = {"sections": [{"id": "s", "content": counter + 1, "items": items}]}
                    answer = client.request("POST", session_path(session, "changes"), state,
                                            {"If-Match": read.headers["ETag"], "Prefer": "return=minimal"})
                    if answer.status == 200:
                        break
                    assert answer.status == 412, answer
        return task

    def test_writers_under_if_match_lose_nothing(self):
        session, _ = self.made({"sections": [{"id": "s", "content": 0, "items": []}]})
        self.run_together(*[self.counted(session, 15, writer) for writer in range(4)])
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["content"], 60)

    def test_writers_of_large_states_under_if_match_lose_nothing(self):
        session, _ = self.made({"sections": [{"id": "s", "content": 0, "items": []}]})
        self.run_together(*[self.counted(session, 3, writer, 2000) for writer in range(3)])
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["content"], 9)

    def test_a_session_that_is_deleted_and_made_while_others_write(self):
        session, _ = self.made(["0"])

        def write(client):
            for number in range(60):
                answer = client.request("POST", session_path(session, "changes"), [f"{number}"])
                assert answer.status in (200, 201), answer

        def read(client):
            for _ in range(60):
                answer = client.request("GET", session_path(session, "changes"), None, {})
                assert answer.status in (200, 404), answer

        def delete(client):
            for _ in range(30):
                answer = client.request("DELETE", session_path(session))
                assert answer.status == 204, answer
                pause(0.005, "a client that deletes")

        def replace(client):
            for number in range(30):
                answer = client.request("PUT", session_path(session), {"state": [number], "ttl": 5})
                assert answer.status in (200, 201), answer

        self.run_together(write, write, read, delete, replace)
        made_anew = self.get_session(session).status == 404
        self.assertStatus(self.put_session(session, {"state": []}), 201 if made_anew else 200)

    def test_small_requests_are_answered_while_large_states_come_in(self):
        large = [{"id": number, "content": {"text": "x" * 80, "number": number}} for number in range(10000)]
        over = threading.Event()
        times = {"large": [], "small": []}

        def heavy(client):
            for turn in range(3):
                start = time.monotonic()
                answer = client.request("POST", session_path("heavy", "changes"), large[turn:] + large[:turn],
                                        {"Prefer": "return=minimal"})
                assert answer.status in (200, 201), answer
                times["large"].append(time.monotonic() - start)
            over.set()

        def small(client):
            while not over.is_set():
                start = time.monotonic()
                answer = client.request("POST", session_path("small", "changes"), [str(start)])
                assert answer.status in (200, 201), answer
                times["small"].append(time.monotonic() - start)

        self.run_together(heavy, small)
        # Several during each large one.
        self.assertGreater(len(times["small"]), 5)
        self.assertLess(statistics.median(times["small"]), statistics.median(times["large"]) / 2)

    def test_a_stream_follows_large_states(self):
        session, first = self.made([])
        stream = Stream(self.server, session_path(session, "changes"), {"since": first}, timeout=30)
        self.addCleanup(stream.close)
        replica = Replica("keyed")
        replica.receive(self.get_changes(session).exact)
        for turn in range(3):
            state = [{"id": (number * 7 + turn) % 5003, "content": number} for number in range(5000)]
            head = self.wrote(session, state, Prefer="return=minimal")
        # Read first, and applied afterwards: that takes seconds, in which the server would give up on the reader.
        changesets = []
        while not changesets or changesets[-1]["to"] != head:
            changesets.append(stream.next_event(30).changeset)
        for changeset in changesets:
            self.assertEqual(replica.receive(changeset), "adopted")
        self.assertTrue(replica.shows(self.get_session(session).exact["state"]))

    def test_readers_at_many_bases_get_what_belongs_to_each(self):
        session, first = self.made(["0"])
        revisions = [first] + [self.wrote(session, [str(number), "x"]) for number in range(1, 20)]

        def read(client):
            for number, since in enumerate(revisions):
                for dialect in ("keyed", "indexed"):
                    answer = client.request("GET", session_path(session, "changes") + f"?since={since}&dialect={dialect}").json
                    assert (answer["from"], answer["to"], answer["dialect"]) == (since, revisions[-1], dialect)
                    removed = [each for each in answer["changes"] if dialect == "keyed" and each["op"] == "remove"]
                    assert [each["items"] for each in removed] == ([[str(number)]] if number < 19 and removed else []), answer

        self.run_together(*[read] * 4)
