"""What is remembered, and for how long: CONTRACT §8."""


from support.appliers import DIALECTS
from support.case import ServiceCase
from support.clock import let_pass, wait_for
from support.replica import Replica
from support.states import canonical

from test_views import ViewCase


class Revisions(ServiceCase):
    options = ("--history-revisions", "4")

    def test_the_oldest_of_the_limit_is_usable_and_the_next_older_is_not(self):
        session, first = self.made(["0"])
        revisions = [first] + [self.wrote(session, [str(number)]) for number in range(1, 10)]
        usable = ["changes" in self.get_changes(session, {"since": each}).json for each in revisions]
        self.assertEqual(usable, sorted(usable))
        self.assertIn(sum(usable), (4, 5))
        self.assertEqual(self.get_changes(session, {"since": revisions[0]}).json["reset"], "expired")

    def test_a_post_of_the_same_state_takes_no_room(self):
        session, first = self.made(["0"])
        self.wrote(session, ["1"])
        for _ in range(10):
            self.wrote(session, ["1"])
        self.assertIn("changes", self.get_changes(session, {"since": first}).json)


class SixtyFour(ServiceCase):
    def test_sixty_four_revisions_are_kept_by_default(self):
        session, first = self.made(["0"])
        revisions = [first] + [self.wrote(session, [str(number)]) for number in range(1, 70)]
        usable = sum("changes" in self.get_changes(session, {"since": each}).json for each in revisions)
        self.assertIn(usable, (64, 65))


class Age(ServiceCase):
    options = ("--history-age", "1s")

    def test_a_revision_that_is_too_old_is_expired(self):
        session, first = self.made(["0"])
        second = self.wrote(session, ["1"])
        self.assertIn("changes", self.get_changes(session, {"since": first}).json)
        let_pass(1.3, "history age")
        self.wrote(session, ["2"])
        self.assertEqual(self.get_changes(session, {"since": first}).json.get("reset"), "expired")
        self.assertIn("changes", self.get_changes(session, {"since": second}).json)
        let_pass(1.3, "history age")
        self.assertEqual(self.get_changes(session, {"since": second}).json.get("reset"), "expired")

    def test_the_head_is_never_too_old(self):
        session, head = self.made(["0"])
        let_pass(1.3, "history age")
        self.assertEqual(self.get_changes(session, {"since": head}).json["changes"], [])


class Bytes(ServiceCase):
    options = ("--history-bytes", "20000")

    def test_what_does_not_fit_is_expired(self):
        session, first = self.made([f"0 {number} {'x' * 90}" for number in range(20)])
        revisions = [first]
        for count in range(1, 21):
            revisions.append(self.wrote(session, [f"{count} {number} {'x' * 90}" for number in range(20)]))
        usable = ["changes" in self.get_changes(session, {"since": each}).json for each in revisions]
        self.assertEqual(usable, sorted(usable))
        self.assertFalse(usable[0])
        self.assertTrue(usable[-1])
        self.assertEqual(self.get_changes(session, {"since": first}).json["reset"], "expired")


class Large(ViewCase):
    """One change that is larger than all that is remembered."""

    options = ("--history-bytes", "20000")

    def state(self, mark):
        return [{"id": number, "content": f"{number}{mark}" * 200} for number in range(100)]

    def test_the_newest_change_is_kept_whatever_its_size(self):
        session, first = self.made(self.state(0))
        stream = self.stream(session, {"since": first})
        self.assertEqual(self.primer(stream).id, first)
        held = self.held(session, {"since": first, "wait": 30})
        self.wait_for_readers(session, 2)
        second = self.wrote(session, self.state(1))
        for told in (stream.next_event().json, held().json, self.get_changes(session, {"since": first}).json):
            self.assertEqual((told["from"], told["to"], [each["op"] for each in told["changes"]]), (first, second, ["update"]))
        third = self.wrote(session, self.state(2))
        self.assertEqual(stream.next_event().json["from"], second)
        self.assertEqual(self.get_changes(session, {"since": first}).json["reset"], "expired")
        self.assertEqual(self.get_changes(session, {"since": second}).json["to"], third)
        # A small one behind it fits, but both do not.
        fourth = self.wrote(session, {"edits": [{"op": "delete", "items": [1]}]})
        self.assertEqual(self.get_changes(session, {"since": second}).json["reset"], "expired")
        self.assertEqual(self.get_changes(session, {"since": third}).json["to"], fourth)

    def test_it_leaves_memory_after_seconds(self):
        session, first = self.made(self.state(0))
        small = self.size_of(session)
        second = self.wrote(session, self.state(1))
        self.assertGreater(self.size_of(session), small + 40_000)
        wait_for(lambda: self.size_of(session) < small + 10_000, "it is forgotten")
        self.assertReset(self.get_changes(session, {"since": first}), "expired")
        self.assertEqual(self.get_changes(session, {"since": second}).json["changes"], [])

    def size_of(self, session):
        """Bytes that the session takes in memory."""
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith("diffserver_memory_bytes{part=\"sessions\"}"):
                return float(line.split()[-1])
        raise AssertionError("no figure of it")


class Changes(ServiceCase):
    """Memory grows with the changes, however long the list is."""

    def test_64_commits_of_a_long_list_where_rows_move(self):
        rows = [{"id": f"row-{number}", "content": {"text": "x" * 90, "n": 0}} for number in range(20_000)]
        session, first = self.made(rows)
        revisions = [first]
        for commit in range(1, 65):
            for place in (commit * 17, commit * 101, commit * 307):
                rows[place]["content"] = {"text": "x" * 90, "n": commit}
            rows.insert(commit * 211, rows.pop(commit * 5))
            revisions.append(self.wrote(session, rows))
        for revision in revisions[:-1]:
            answer = self.get_changes(session, {"since": revision, "content": "patch"})
            self.assertNotIn("reset", answer.json)
        last = self.get_changes(session, {"since": revisions[-2], "content": "patch"})
        self.assertLess(len(last.body), 1024)
        self.assertEqual(last.body.count(b'"patch"'), 3)


class Past(ServiceCase):
    """From a remembered revision every dialect leads to the head, contents included."""

    STATES = [
        {"sections": [{"id": "s", "content": {"t": 1}, "items": [{"id": "a", "content": 1}, {"id": "b", "kind": "k", "items": ["c"]}]},
                      {"id": "t", "items": ["d"]}]},
        {"sections": [{"id": "t", "items": ["d", {"id": "a", "content": 1}]}, {"id": "s", "content": {"t": 1}, "items": ["c"]}]},
        {"sections": [{"id": "t", "content": None, "items": [{"id": "d", "items": [{"id": "a", "content": [1]}]}]}]},
        {"sections": []},
        {"sections": [{"id": "s", "content": {"t": 1}, "items": [{"id": "b", "kind": "l"}, {"id": "a"}, {"id": "c", "content": None}]},
                      {"id": "t", "expanded": False, "items": ["d"]}]},
    ]

    def test_every_dialect_from_every_remembered_revision(self):
        session, first = self.made(self.STATES[0])
        revisions = [first] + [self.wrote(session, state) for state in self.STATES[1:]]
        for dialect in DIALECTS:
            for content in ("full", "patch"):
                for state, revision in zip(self.STATES, revisions, strict=True):
                    with self.subTest(dialect, content=content, since=revision):
                        replica = Replica(dialect)
                        replica.model, replica.revision = replica.rules.expected(canonical(state)), revision
                        answer = self.get_changes(session, {"since": revision, "dialect": dialect, "content": content})
                        self.assertIn("changes", answer.json)
                        self.assertEqual(replica.receive(answer.exact), "adopted")
                        self.assertTrue(replica.shows(canonical(self.STATES[-1])), answer)
