"""Lists whose shape is guessed of what their source answers: "shape":"guess" in a file of lists (CONTRACT §11)."""

import pathlib
import tempfile
import unittest

from support.client import Client, session_path
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis
from support.sources import KEY, KEYS, QUIET, ListsFile, SourceCase, ids
from support.store import names_its_stores
from support.tokens import bearer
from support.upstream import Upstream, says


def titled(*titles):
    """Rows with ids."""
    return [{"id": at, "title": title} for at, title in enumerate(titles)]


def contents(state):
    return [item.get("content") for section in state["sections"] for item in section["items"]]


class Guesses(SourceCase):
    """Each fetch is asked for, so that a test knows which answer is which."""

    @classmethod
    def lists(cls, url):
        return {"f:{name}": {"source": {"url": f"{url}/f/{{name}}", "every": 3600}, "shape": "guess"}}

    def fetched_as(self, name, path, answer):
        """What the next answer changes."""
        self.upstream.set(path, answer)
        found = self.request("POST", session_path(name, "fetch"))
        self.assertStatus(found, 200)
        return found.json

    def rows(self, name):
        return contents(self.get_session(name).json["state"])

    def is_corrected(self, name, before):
        """Whether a reader that has a revision is told that the list began anew."""
        told = self.get_changes(name, {"since": before}).json
        return told.get("reset") == "replaced"

    def follow(self, first, *later):
        """Whether each later answer corrects the guess, and the rows after it."""
        name, path = self.new_list(first)
        revision = self.get_session(name).json["revision"]
        for answer, corrects, rows in later:
            with self.subTest(first=first, answer=answer):
                self.fetched_as(name, path, answer)
                self.assertEqual((self.is_corrected(name, revision), self.rows(name)), (corrects, rows))
                revision = self.get_session(name).json["revision"]
        return name, path

    def test_the_first_answer_with_elements_makes_the_shape(self):
        for empty in ("[]", '{"items": [], "total": 0}', "{}", "null", '{"data": {"rows": []}}'):
            with self.subTest(empty):
                name, path = self.new_list(says(empty.encode()))
                self.assertEqual(self.rows(name), [])
                rows = titled("a", "b")
                # It is no correction: nothing was guessed before.
                self.assertNotIn("reset", self.fetched_as(name, path, {"data": {"rows": rows}}))
                self.assertEqual((ids(self.get_session(name).json["state"]), self.rows(name)), ([0, 1], rows))

    def test_an_outage_is_no_list(self):
        """Nor does one keep the list away that comes later, although an answer tells of it in a list of its own."""
        rows = titled("a", "b")
        name, path = self.new_list({"errors": [{"message": "timeout", "path": "a"}], "data": None})
        self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.upstream.set(path, {"data": {"rows": rows}})
        self.assertStatus(self.request("POST", session_path(name, "fetch")), 201)
        self.assertEqual(self.rows(name), rows)
        pages = [{"status": "maintenance", "messages": [{"text": f"back in {minutes} min"}]} for minutes in (3, 2, 1)]
        name, path = self.new_list(pages[0])
        self.assertEqual(self.rows(name), pages[0]["messages"])
        for page in pages[1:]:
            self.fetched_as(name, path, page)
        self.assertEqual(self.rows(name), page["messages"])
        revision = self.get_session(name).json["revision"]
        self.fetched_as(name, path, {"status": "ok", "data": rows})
        self.assertTrue(self.is_corrected(name, revision))
        self.assertEqual(self.rows(name), rows)

    def test_a_list_that_was_empty_beside_another_one_takes_over_when_it_has_rows(self):
        """However late that is, and whether the other one has elements then or not."""
        rows = [{"id": at, "line": f"U{at}", "to": "Messestadt"} for at in range(3)]
        def page(departures, *messages):
            return {"messages": [{"text": each} for each in messages], "departures": departures}
        for empty in ([], None):
            for between in ((), (page(empty),), (page(empty), page(empty, "again"))):
                with self.subTest(empty=empty, between=between):
                    name, path = self.new_list(page(empty, "no data at 10:01"))
                    self.assertEqual(self.rows(name), [{"text": "no data at 10:01"}])
                    for each in (page(empty, "no data at 10:02"), page(empty, "at 10:03"), page(empty, "at 10:04"), *between):
                        self.fetched_as(name, path, each)
                        self.assertEqual(self.rows(name), each["messages"])
                    revision = self.get_session(name).json["revision"]
                    self.fetched_as(name, path, page(rows, "delays"))
                    self.assertTrue(self.is_corrected(name, revision))
                    self.assertEqual((ids(self.get_session(name).json["state"]), self.rows(name)), ([0, 1, 2], rows))
                    revision = self.get_session(name).json["revision"]
                    for each in (page(rows[:1], *"abcdefgh"), page([], "a"), page(rows, "a")):
                        self.fetched_as(name, path, each)
                        self.assertEqual((self.is_corrected(name, revision), self.rows(name)), (False, each["departures"]))
                        revision = self.get_session(name).json["revision"]
        # A few alerts are no list that was meant.
        hours = [[{"at": f"{hour}:00", "temp": 10.5 + hour + day} for hour in range(24)] for day in range(5)]
        name, path = self.new_list({"hours": hours[0], "alerts": []})
        self.assertEqual(self.rows(name), hours[0])
        for day in hours[1:]:
            self.fetched_as(name, path, {"hours": day, "alerts": [] if day is hours[1] else [{"id": 1, "text": "storm"}]})
            self.assertEqual(self.rows(name), day)

    def test_a_source_sends_no_edits(self):
        rows = titled("a", "b")
        name, _ = self.new_list({"op": "delete", "items": rows})
        self.assertEqual(self.rows(name), rows)

    def test_the_second_and_the_third_may_correct_it(self):
        same, twice = titled("a", "b"), [{"id": 1, "title": "x"}, {"id": 1, "title": "y"}]
        self.follow(same, (same[::-1], False, same[::-1]), (twice, True, twice), (twice[::-1], False, twice[::-1]))
        self.follow(same, (twice, True, twice), (same, False, same))
        # A number that each answer draws anew is no id.
        drawn = [{"id": at + 7, "title": title} for at, title in enumerate("abc")]
        self.follow(titled("a", "b", "c"), (drawn, True, drawn))
        # What seemed to be the list was beside it.
        rows = titled("a longer title", "another one")
        self.follow({"tags": ["x"], "items": []}, ({"tags": ["x"], "items": rows}, True, rows))

    def test_codes_that_stay_are_ids_where_matching_loses_rows(self):
        def bookings(*rows):
            return [{"booking": booking, "status": status, "changed": f"at {time}"} for booking, status, time in rows]
        first = bookings(("A-1", "open", 1), ("A-2", "open", 1), ("A-3", "paid", 1), ("A-4", "open", 1))
        moved = bookings(("A-4", "paid", 2), ("A-1", "paid", 2), ("A-3", "sent", 2), ("A-2", "lost", 2), ("A-5", "open", 2))
        again = bookings(("A-2", "open", 3), ("A-5", "paid", 3), ("A-4", "sent", 3), ("A-1", "sent", 3))
        name, _ = self.follow(first, (moved, True, moved), (again, False, again))
        self.assertEqual(ids(self.get_session(name).json["state"]), ["A-2", "A-5", "A-4", "A-1"])
        # Words, times and measures may be unique by accident.
        for old, new in (("A-", "Line "), ("A-", "ab"), ("A-", "1")):
            def other(rows):
                if new == "ab":
                    return [{**row, "booking": "abcdefgh"[int(row["booking"][2:])] * 2} for row in rows]
                return [{**row, "booking": row["booking"].replace(old, new)} for row in rows]
            self.follow(other(first), (other(moved), False, other(moved)))

    def test_what_tells_nothing_new_is_not_counted(self):
        rows, twice = titled("a", "b"), [{"id": 1, "title": "x"}, {"id": 1, "title": "y"}]
        self.follow(rows, *[(rows, False, rows)] * 4, ([], False, []), (rows, False, rows), (twice, True, twice))

    def settled(self):
        rows = [titled("a", "b"), titled("c", "d"), titled("e", "f")]
        return self.follow(rows[0], *[(each, False, each) for each in rows[1:]])

    def test_after_that_nothing_stops_the_list(self):
        name, path = self.settled()
        for answer, rows, warnings in (
                # The first of several, and what has an id.
                ([{"id": 1, "n": 1}, {"id": 1, "n": 2}, {"id": 2, "n": 3}], [{"id": 1, "n": 1}, {"id": 2, "n": 3}],
                 [{"code": "duplicate-id", "pointer": "/1/id", "id": 1}]),
                ([{"n": 1}, {"id": None}, {"id": 2, "n": 3}, None], [{"id": 2, "n": 3}],
                 [{"code": "skipped", "pointer": each} for each in ("/0", "/1", "/3")]), ([], [], None)):
            with self.subTest(answer):
                before = self.get_session(name).json["revision"]
                told = self.fetched_as(name, path, answer)
                self.assertEqual((told.get("warnings"), self.get_changes(name, {"since": before}).json.get("warnings")), (warnings, None))
                self.wait_for_lines(1 if warnings else 0, "list source repeats ids, or lacks them: left out what is at", f"session={name}")
                # Also where that changes nothing.
                self.assertEqual(self.fetched_as(name, path, answer).get("warnings"), warnings)
                self.assertEqual((self.rows(name), self.is_corrected(name, before)), (rows, False))
                self.assertNotIn("Diffserver-Stale", self.get_session(name).headers)

    def test_nor_does_it_stop_a_state_of_our_own(self):
        def state(*contents):
            return [{"id": at, "content": each, "kind": "k"} for at, each in enumerate(contents)]
        twice = [*state("a", "b"), {"id": 1, "content": "c"}]
        name, path = self.follow(state("a", "b"), (state("b", "a"), False, ["b", "a"]), (twice, False, ["a", "b"]))
        for answer, rows in (
                (twice[::-1], ["c", "a"]), ([{"content": 1}, None, *state("d")], ["d"]),
                ([{"id": 1, "content": "a", "due": 7}, {"id": 2, "content": "b", "kind": 5}, {"id": 3, "items": {}}], ["a", "b", None]),
                ({"items": state("a"), "total": 1}, ["a"])):
            with self.subTest(answer):
                before = self.get_session(name).json["revision"]
                self.fetched_as(name, path, answer)
                self.assertEqual((self.rows(name), self.is_corrected(name, before)), (rows, False))
        self.upstream.set(path, {"error": {"code": 500}})
        self.assertProblem(self.request("POST", session_path(name, "fetch")), 503, "source-unavailable")
        self.assertEqual(self.rows(name), ["a"])

    def test_a_kind_that_is_none_stops_no_list(self):
        rows = [{"id": 1, "type": "a"}, {"id": 2, "type": "b"}]
        name, path = self.follow(rows, (rows[::-1], False, rows[::-1]), (rows, False, rows))
        odd = [{"id": 1, "type": {"a": 1}}, {"id": 2, "type": "b"}]
        self.fetched_as(name, path, odd)
        self.assertEqual(self.rows(name), odd)

    def test_an_error_page_is_no_list(self):
        name, path = self.settled()
        before = self.get_session(name).json["state"]
        self.upstream.set(path, {"error": {"code": 500, "details": [{"reason": "x"}, {"reason": "y"}]}})
        self.assertProblem(self.request("POST", session_path(name, "fetch")), 503, "source-unavailable")
        self.assertEqual(self.get_session(name).json["state"], before)
        name, path = self.new_list({"error": {"code": 500}})
        self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.assertIn("no list was found", self.request("POST", session_path(name, "fetch")).json["detail"])

    def test_a_state_that_repeats_ids_is_told_so(self):
        name, _ = self.new_list([{"id": "a", "content": 1}, {"id": "a", "content": 2}])
        self.assertProblem(self.get_session(name), 503, "source-unavailable")
        self.assertIn("duplicate id", self.request("POST", session_path(name, "fetch")).json["detail"])

    def test_the_log_says_what_was_guessed_and_what_else_it_may_be(self):
        name, path = self.new_list({"data": titled("a", "b")})
        self.get_session(name)
        self.wait_for_lines(1, "list shape guessed: itemsAt=/data&idAt=/id, or ", f"session={name}")
        self.fetched_as(name, path, {"data": [{"id": 1, "title": "x"}, {"id": 1, "title": "y"}]})
        self.wait_for_lines(1, "list shape corrected: itemsAt=/data&idBy=match", f"session={name}")

    def test_a_reader_is_told_of_a_correction_once(self):
        name, path = self.new_list(titled("a", "b"))
        stream = self.stream(name)
        self.assertEqual(stream.next_event().json["reset"], "initial")
        for answer, told in (([{"id": 1, "title": "x"}, {"id": 1, "title": "y"}], "replaced"), ([{"id": 1, "title": "y"}, {"id": 1, "title": "z"}], None)):
            self.fetched_as(name, path, answer)
            self.assertEqual(self.news(stream).get("reset"), told)


class OtherFiles(SourceCase):
    """The file names a shape, or asks for a guess, later."""

    @classmethod
    def lists(cls, url):
        return {"f:{name}": {"source": {"url": f"{url}/f/{{name}}", "every": 0.2}, "shape": {"idAt": "/title"}}}

    def test_a_guess_can_be_asked_for_and_taken_back(self):
        name, _ = self.new_list(titled("a", "b"))
        self.shows(name, "a", "b")
        lists = self.lists(self.upstream.url)
        self.addCleanup(self.reload, lists)
        self.reload({"f:{name}": {**lists["f:{name}"], "shape": "guess"}})
        self.shows(name, 0, 1)
        self.reload(lists)
        self.shows(name, "a", "b")


class Kept(unittest.TestCase):
    """A guess outlives its process, and all nodes know it: the third answer settles it, wherever it is read."""

    def lists(self):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        file = ListsFile({"l": {"source": {"url": upstream.url + "/l", "every": 3600}, "shape": "guess"}})
        self.addCleanup(file.close)
        return upstream, file

    def node(self, file, store):
        node = Node("--lists", str(file.path), "--store", store, "--digest-key", "kept", *KEYS, variables=QUIET)
        self.addCleanup(node.stop)
        return node

    def request(self, node, method, *rest):
        client = Client(node)
        try:
            return client.request(method, session_path("l", *rest), None, bearer(KEY))
        finally:
            client.close()

    def follow(self, upstream, nodes):
        """Each answer comes through the next node."""
        for node, answer, found in zip(nodes, (
                titled("a", "b"), titled("c", "d"), titled("e", "f"), [{"id": 5, "n": 1}, {"id": 5, "n": 2}]), ([0, 1], [0, 1], [0, 1], [5])):
            upstream.set("/l", answer)
            node = node()
            self.assertIn(self.request(node, "POST", "fetch").status, (200, 201))
            self.assertEqual(ids(self.request(node, "GET").json["state"]), found)

    @names_its_stores
    def test_over_restarts(self):
        upstream, file = self.lists()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        node = self.node(file, f"sqlite:{pathlib.Path(folder.name) / 'sessions.db'}")

        def restarted():
            node.stop()
            node.start()
            return node
        self.follow(upstream, [lambda: node, restarted, restarted, restarted])

    @names_its_stores
    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_over_nodes(self):
        redis = Redis()
        self.addCleanup(redis.close)
        upstream, file = self.lists()
        nodes = [self.node(file, f"redis://127.0.0.1:{redis.port}") for _ in range(3)]
        self.follow(upstream, [lambda node=node: node for node in (*nodes, nodes[0])])


if __name__ == "__main__":
    unittest.main()
