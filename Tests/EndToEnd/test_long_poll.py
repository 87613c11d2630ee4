"""GET …/changes that waits: CONTRACT §3."""

import contextlib
import socket
import threading
import time

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import Client, session_path, target


class Waiting:
    """A request on a separate connection and thread."""

    def __init__(self, case, session, query, **headers):
        self.client = Client(case.server, 90)
        self.answer = None
        self.seconds = None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.thread = threading.Thread(target=self._run, args=(target(session_path(session, "changes"), query), named))
        self.thread.start()

    def _run(self, path, headers):
        start = time.monotonic()
        self.answer = self.client.request("GET", path, None, headers)
        self.seconds = time.monotonic() - start
        self.client.close()

    def result(self, seconds=30):
        self.thread.join(seconds)
        return self.answer

    def is_held(self, seconds=0.2):
        self.thread.join(seconds)
        return self.thread.is_alive()


class LongPoll(ServiceCase):
    @contextlib.contextmanager
    def at_once(self, wait=25):
        """What is answered here is answered before a request that was held earlier, for as long."""
        session, first = self.made(["a"])
        held = Waiting(self, session, {"since": first, "wait": wait})
        self.assertTrue(held.is_held())
        try:
            yield
            self.assertTrue(held.is_held(0))
        finally:
            self.wrote(session, ["b"])
            held.result()

    def test_it_is_held_until_the_head_differs(self):
        for query, headers in (({"wait": 25}, {}), ({}, {"Prefer": "wait=25"}), ({}, {"Prefer": "respond-async, wait=25"})):
            with self.subTest(query, headers=headers):
                session, first = self.made(["a"])
                with self.at_once():
                    held = Waiting(self, session, {"since": first, **query}, **headers)
                    self.assertTrue(held.is_held())
                    head = self.wrote(session, ["a", "b"])
                    changeset = self.assertChangeset(held.result())
                self.assertEqual((changeset["from"], changeset["to"]), (first, head))

    def test_when_the_time_is_up_it_is_200_without_changes(self):
        session, first = self.made(["a"])
        start = time.monotonic()
        answer = self.get_changes(session, {"since": first, "wait": 1})
        self.assertGreater(time.monotonic() - start, 0.9)
        changeset = self.assertChangeset(answer)
        self.assertEqual((changeset["from"], changeset["to"], changeset["changes"]), (first, first, []))
        self.assertIn("no-store", answer.headers["Cache-Control"])

    def test_when_the_time_is_up_indexed_is_an_empty_object(self):
        session, first = self.made(["a"])
        answer = self.get_changes(session, {"since": first, "wait": 1, "dialect": "indexed"})
        self.assertEqual(answer.json["changes"], {})

    def test_no_wait_is_answered_at_once(self):
        session, first = self.made(["a"])
        for query in ({"wait": 0}, {}):
            with self.at_once():
                self.get_changes(session, {"since": first, **query})

    def test_a_head_that_differs_already_is_answered_at_once(self):
        session, first = self.made(["a"])
        self.wrote(session, ["b"])
        with self.at_once():
            self.assertIn("changes", self.get_changes(session, {"since": first, "wait": 25}).json)

    def test_an_unusable_base_is_never_held(self):
        session, _ = self.made(["a"])
        for query in ({}, {"since": ""}, {"since": "9-0123456789abcdef"}):
            with self.at_once():
                self.assertIn("reset", self.get_changes(session, {**query, "wait": 25}).json)

    def test_an_equal_write_wakes_nobody(self):
        session, first = self.made(["a"])
        held = Waiting(self, session, {"since": first, "wait": 25})
        self.assertTrue(held.is_held())
        self.wrote(session, ["a"])
        self.assertTrue(held.is_held(0.3))
        self.wrote(session, ["b"])
        self.assertEqual(len(held.result().json["changes"]), 2)

    def test_marks_wake_it(self):
        session, first = self.made(["a"])
        held = Waiting(self, session, {"since": first, "wait": 25})
        self.assertTrue(held.is_held())
        self.post_changes(session, {"edits": [{"op": "reload", "items": ["a"]}]})
        self.assertEqual([each["as"] for each in held.result().json["changes"]], ["reload"])

    def test_a_put_wakes_it_with_a_reset_or_a_changeset(self):
        session, first = self.made(["a"])
        held = Waiting(self, session, {"since": first, "wait": 25})
        self.assertTrue(held.is_held())
        head = self.put_session(session, {"state": ["b"]}).json["revision"]
        self.assertEqual(held.result().json["to"], head)

    def test_the_end_of_the_session_ends_it(self):
        session, first = self.made(["a"])
        held = Waiting(self, session, {"since": first, "wait": 25})
        self.assertTrue(held.is_held())
        self.delete_session(session)
        self.assertProblem(held.result(), 404, "session-not-found")

    def test_a_wait_above_sixty_counts_as_sixty(self):
        session, first = self.made(["a"])
        for query, headers in (({"wait": 100000}, {}), ({}, {"Prefer": "wait=100000"})):
            held = Waiting(self, session, {"since": first, **query}, **headers)
            self.assertTrue(held.is_held())
            first = self.wrote(session, [str(len(str(query)))])
            self.assertStatus(held.result(), 200)

    def test_each_waiting_dialect_gets_its_own(self):
        session, first = self.made(["a"])
        held = {dialect: Waiting(self, session, {"since": first, "wait": 25, "dialect": dialect})
                for dialect in DIALECTS}
        self.assertTrue(all(each.is_held(0.1) for each in held.values()))
        self.wrote(session, ["b"])
        for dialect, each in held.items():
            self.assertChangeset(each.result(), dialect=dialect)


class SixtySeconds(ServiceCase):
    def test_nobody_is_held_any_longer(self):
        session, first = self.made(["a"])
        held = [Waiting(self, session, {"since": first, "wait": 100000}),
                Waiting(self, session, {"since": first}, Prefer="wait=100000")]
        for each in held:
            changeset = self.assertChangeset(each.result(90))
            self.assertEqual((changeset["from"], changeset["to"], changeset["changes"]), (first, first, []))
            self.assertGreater(each.seconds, 59)


class GivenUp(ServiceCase):
    options = ("--log-requests", "--loops", "1")

    def held(self, session, first, wait):
        """A raw request that is held, which shows as a reader of the session."""
        connection = self.raw()
        connection.send(f"GET {session_path(session, 'changes')}?since={first}&wait={wait} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection

    @staticmethod
    def final(connection):
        while (answer := connection.answer()).status == 100:
            pass
        return answer

    def test_a_client_that_shuts_its_side_is_answered_when_there_is_something_to_say(self):
        session, first = self.made(["a"])
        for state in ["a", "b"], ["a", "b", "c"]:
            connection = self.held(session, first, 50)
            connection.socket.shutdown(socket.SHUT_WR)
            # The one loop has seen it once it has answered others.
            for _ in range(5):
                self.assertStatus(self.get("/livez"), 200)
            connection.socket.setblocking(False)
            with self.assertRaises(BlockingIOError):
                connection.socket.recv(1)
            connection.socket.settimeout(20)
            head = self.wrote(session, state)
            answer = self.final(connection)
            self.assertEqual((answer.status, answer.json["from"], answer.json["to"]), (200, first, head))
            self.assertTrue(connection.is_closed())
            first = head

    def test_and_when_its_time_is_up(self):
        session, first = self.made(["a"])
        connection = self.held(session, first, 3)
        connection.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(connection.answer().status, 100, "whether it is there")
        self.assertEqual(connection.answer().json["changes"], [])

    def test_a_client_that_is_gone_is_forgotten_and_no_fault_of_the_server(self):
        session, first = self.made(["a"])
        connection = self.held(session, first, 50)
        for _ in range(5):
            self.assertStatus(self.get("/livez"), 200)
        connection.close()
        self.server.wait_for_line(rf"^request method=GET path={session_path(session, 'changes')} status=499 .* bytesOut=0 ")
        figures = self.get("/metrics").text
        self.assertIn('diffserver_requests_total{route="other",status="499"} 1\n', figures)
        self.assertNotIn('status="5', figures)
        self.assertNotIn('status="0"', figures)
        self.wrote(session, ["b"])
