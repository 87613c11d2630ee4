"""`reload=true`: a writer that wants nothing animated (CONTRACT §3 and §4)."""

from support.case import ServiceCase
from support.client import session_path
from support.events import Stream

RELOAD = {"reload": "true"}


class Reload(ServiceCase):
    def test_every_older_base_is_answered_the_whole_state(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["a", "b"])
        written = self.assertReset(self.post_changes(session, ["b", "c"], RELOAD), "reloaded")
        self.assertEqual([each["id"] for each in written["state"]["sections"][0]["items"]], ["b", "c"])
        self.assertEqual(written["from"], second)
        for base in (first, second):
            reset = self.assertReset(self.get_changes(session, {"since": base}), "reloaded")
            self.assertEqual((reset["from"], reset["to"], reset["state"]), (base, written["to"], written["state"]))
        self.assertEqual(self.get_changes(session, {"since": written["to"]}).json["changes"], [])

    def test_it_lasts_as_long_as_its_revision_is_remembered(self):
        session, first = self.made(["a"])
        second = self.post_changes(session, ["a", "b"], RELOAD).json["to"]
        self.wrote(session, ["a", "b", "c"])
        self.assertReset(self.get_changes(session, {"since": first}), "reloaded")
        changeset = self.assertChangeset(self.get_changes(session, {"since": second}))
        self.assertEqual(len(changeset["changes"]), 1)

    def test_it_is_kept_for_an_equal_state_and_beats_an_equal_digest(self):
        session, first = self.made(["a"])
        second = self.post_changes(session, ["a"], RELOAD).json["to"]
        self.assertNotEqual(first, second)
        self.assertEqual(first.split("-")[1], second.split("-")[1])
        self.assertReset(self.get_changes(session, {"since": first}), "reloaded")
        self.assertEqual(self.get_changes(session, {"since": second}).json["changes"], [])
        self.assertEqual(self.wrote(session, ["a"]), second)

    def test_edits_may_want_it_too(self):
        session, first = self.made(["a"])
        edits = {"edits": [{"op": "insert", "items": ["b"]}]}
        self.assertReset(self.post_changes(session, edits, RELOAD), "reloaded")
        self.assertReset(self.get_changes(session, {"since": first}), "reloaded")

    def test_readers_are_woken_by_it(self):
        session, first = self.made(["a"])
        stream = Stream(self.server, session_path(session, "changes"), {}, {"Last-Event-ID": first})
        try:
            second = self.post_changes(session, ["a"], RELOAD).json["to"]
            event = stream.next_event().changeset
            self.assertEqual((event["reset"], event["to"]), ("reloaded", second))
        finally:
            stream.close()

    def test_an_answer_that_was_lost_is_found_again(self):
        session, first = self.made(["a"])
        match = {"If_Match": f'"{first}"'}
        second = self.post_changes(session, ["b"], RELOAD, **match).json["to"]
        again = self.assertReset(self.post_changes(session, ["b"], RELOAD, **match), "reloaded")
        self.assertEqual((again["from"], again["to"]), (first, second))

    def test_a_session_that_is_made_needs_none(self):
        session = self.new_name()
        self.assertReset(self.post_changes(session, ["a"], RELOAD), "initial", status=201)

    def test_where_it_may_not_stand(self):
        session, first = self.made(["a"])
        self.assertProblem(self.put_session(session, {"state": []}, RELOAD), 400, "unknown-parameter")
        self.assertProblem(self.get_changes(session, RELOAD), 400, "unknown-parameter")
        for value in ("1", "yes", ""):
            self.assertProblem(self.post_changes(session, ["b"], {"reload": value}), 400, "malformed-request")
        self.assertEqual(self.get_session(session).json["revision"], first)
