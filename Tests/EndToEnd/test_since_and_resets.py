"""`since`, and the reasons of a reset: CONTRACT §1, §3 and §4."""

from support.case import ServiceCase
from support.states import canonical

NEVER = "7-0123456789abcdef"


class Since(ServiceCase):
    def test_get_without_since_or_with_an_empty_one_is_an_initial_reset(self):
        session, revision = self.made(["a"])
        for query in ({}, {"since": ""}):
            with self.subTest(query):
                changeset = self.assertReset(self.get_changes(session, query), "initial")
                self.assertEqual((changeset["from"], changeset["to"]), (None, revision))
                self.assertEqual(changeset["state"], canonical(["a"]))

    def test_get_from_a_remembered_revision_squashes_everything_between(self):
        session, first = self.made(["a", "b", "c"])
        self.wrote(session, ["a", "b", "c", "gone again"])
        self.wrote(session, ["c"])
        head = self.wrote(session, ["c", "b", {"id": "a", "content": 1}])
        changeset = self.assertChangeset(self.get_changes(session, {"since": first}))
        self.assertEqual((changeset["from"], changeset["to"]), (first, head))
        self.assertEqual(sorted(each["op"] for each in changeset["changes"]), ["move", "move", "update"])

    def test_get_from_the_head_is_nothing(self):
        session, revision = self.made(["a"])
        changeset = self.assertChangeset(self.get_changes(session, {"since": revision}))
        self.assertEqual((changeset["from"], changeset["to"], changeset["changes"]), (revision, revision, []))

    def test_a_since_that_is_no_revision_is_400(self):
        session, revision = self.made(["a"])
        for since in ("1", "x", "1-", "-0123456789abcdef", "1-0123456789abcde", "1-0123456789abcdeF", "1-0123456789abcdef0",
                      f" {revision}", f'"{revision}"', "*", "null", "1_0123456789abcdef", "+1-0123456789abcdef"):
            with self.subTest(since):
                self.assertProblem(self.get_changes(session, {"since": since}), 400, "malformed-revision")
                self.assertProblem(self.post_changes(session, ["a"], {"since": since}), 400, "malformed-revision")

    def test_from_echoes_the_base_as_the_reader_named_it(self):
        session, head = self.made(["a"])
        digest = head.split("-")[1]
        for sequence in ("9" * 40, "007", "0", str(2 ** 64), str(2 ** 63)):
            with self.subTest(sequence):
                unknown = self.assertReset(self.get_changes(session, {"since": f"{sequence}-0123456789abcdef"}), "unknown")
                self.assertEqual(unknown["from"], f"{sequence}-0123456789abcdef")
                usable = self.assertChangeset(self.get_changes(session, {"since": f"{sequence}-{digest}"}))
                self.assertEqual((usable["from"], usable.get("changes")), (f"{sequence}-{digest}", []))

    def test_a_base_that_was_never_here_is_an_unknown_reset(self):
        session, revision = self.made(["a"])
        for since in (NEVER, "1-0123456789abcdef"):
            with self.subTest(since):
                changeset = self.assertReset(self.get_changes(session, {"since": since}), "unknown")
                self.assertEqual((changeset["from"], changeset["to"]), (since, revision))

    def test_a_base_with_the_heads_digest_is_usable_whatever_its_sequence(self):
        session, revision = self.made(["a"])
        since = f"99-{revision.split('-')[1]}"
        changeset = self.assertChangeset(self.get_changes(session, {"since": since}))
        self.assertEqual((changeset["from"], changeset["to"], changeset["changes"]), (since, revision, []))

    def test_a_base_with_a_remembered_digest_is_usable_whatever_its_sequence(self):
        session, first = self.made(["a"])
        head = self.wrote(session, ["a", "b"])
        since = f"99-{first.split('-')[1]}"
        changeset = self.assertChangeset(self.get_changes(session, {"since": since}))
        self.assertEqual((changeset["from"], changeset["to"]), (since, head))
        self.assertEqual(len(changeset["changes"]), 1)

    def test_a_session_that_was_deleted_and_posted_again_unchanged_answers_nothing(self):
        session, revision = self.made([{"id": "a", "content": {"x": 1}}])
        self.delete_session(session)
        answer = self.post_changes(session, [{"id": "a", "content": {"x": 1}}], {"since": revision})
        self.assertStatus(answer, 201)
        self.assertEqual((answer.json["from"], answer.json.get("changes")), (revision, []))

    def test_a_base_before_a_put_is_a_replaced_reset(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["b"])
        self.put_session(session, {"state": ["c"]})
        for since in (first, second):
            with self.subTest(since):
                changeset = self.assertReset(self.get_changes(session, {"since": since}), "replaced")
                self.assertEqual(changeset["state"], canonical(["c"]))

    def test_a_revision_back_at_an_old_state_has_a_sequence_of_its_own(self):
        session, first = self.made(["a"])
        self.wrote(session, ["b"])
        third = self.wrote(session, ["a"])
        self.assertEqual(self.get_changes(session, {"since": first}).json["changes"], [])
        self.assertNotEqual(first, third)

    def test_changes_are_never_cached(self):
        session, _ = self.made(["a"])
        self.assertIn("no-store", self.get_changes(session).headers["Cache-Control"])


class Prying(ServiceCase):
    """Cursors of other sessions, of the future and of garbage reveal nothing."""

    SECRET = "a secret of the other session"

    def test_a_cursor_of_another_session_is_like_one_that_never_was(self):
        other, theirs = self.made([{"id": "hidden", "content": self.SECRET}])
        later = self.wrote(other, [{"id": "hidden", "content": 1}])
        session, mine = self.made(["a"])
        for since in (theirs, later, NEVER, "999999-" + theirs.split("-")[1]):
            with self.subTest(since):
                for answer in (self.get_changes(session, {"since": since}), self.post_changes(session, ["a"], {"since": since})):
                    self.assertNotIn(self.SECRET, answer.text)
                    self.assertNotIn("hidden", answer.text)
                    changeset = self.assertReset(answer, "unknown")
                    self.assertEqual((changeset["to"], changeset["state"]), (mine, canonical(["a"])))

    def test_equal_states_of_two_sessions_do_not_share_a_digest(self):
        _, one = self.made(["the same"])
        _, two = self.made(["the same"])
        self.assertNotEqual(one.split("-")[1], two.split("-")[1])

    def test_a_future_sequence_is_answered_at_once_and_never_held(self):
        session, revision = self.made(["a"])
        changeset = self.assertReset(self.get_changes(session, {"since": NEVER, "wait": 30}), "unknown")
        self.assertEqual(changeset["to"], revision)


class ExpiredHistory(ServiceCase):
    options = ("--history-revisions", "2")

    def test_a_base_that_was_forgotten_is_an_expired_reset_at_one_past_the_limit(self):
        session, first = self.made(["0"])
        revisions = [first] + [self.wrote(session, [str(number)]) for number in range(1, 5)]
        self.assertReset(self.get_changes(session, {"since": revisions[0]}), "expired")
        self.assertReset(self.get_changes(session, {"since": revisions[1]}), "expired")
        for usable in revisions[2:]:
            self.assertIn("changes", self.get_changes(session, {"since": usable}).json)

    def test_a_forgotten_base_is_usable_when_its_state_is_the_head_again(self):
        session, first = self.made(["0"])
        for number in (1, 2, 3, 0):
            self.wrote(session, [str(number)])
        self.assertEqual(self.get_changes(session, {"since": first}).json.get("changes"), [])

    def test_a_post_from_a_forgotten_base_is_an_expired_reset(self):
        session, first = self.made(["0"])
        for number in (1, 2, 3):
            self.wrote(session, [str(number)])
        self.assertReset(self.post_changes(session, ["5"], {"since": first}), "expired")
