"""Waiting readers that see a part: invisible changes wake nobody: CONTRACT §3 and §10."""

import re
import time

from support.client import session_path
from support.clock import let_pass, wait_for
from support.events import Stream
from support.jsontext import key
from support.tokens import SECRET, bearer, token
from test_views import SHOWN, ViewCase, board, view_query


class Held(ViewCase):
    def test_what_is_not_seen_wakes_nobody(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        answer = self.held(session, view_query(SHOWN, since=base, wait=30))
        self.wait_for_readers(session)
        for hidden in (2, 3):
            self.wrote(session, board(1, hidden))
        self.wrote(session, board(2, 3))
        changeset = self.assertChangeset(answer())
        self.assertEqual([operation["op"] for operation in changeset["changes"]], ["insert"])
        self.assertEqual(changeset["to"], self.base(session, SHOWN))

    def test_what_changed_before_comes_at_once(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        self.wrote(session, board(2, 1))
        answer = self.get_changes(session, view_query(SHOWN, since=base, wait=30)).json
        self.assertEqual(len(answer["changes"]), 1)

    def test_an_unusable_base_is_not_held(self):
        session, plain = self.made(board(1, 1))
        self.assertReset(self.get_changes(session, view_query(SHOWN, since=plain, wait=30)), "unknown")

    def test_when_its_time_is_up_there_is_nothing(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        answer = self.held(session, view_query(SHOWN, since=base, wait=1))
        self.wrote(session, board(1, 2))
        self.assertEqual(answer().json["changes"], [])

    def test_what_another_was_told_of_nothing_is_not_told_at_once(self):
        view = {"where": [{"at": "/content/n", "is": 1}]}
        session, _ = self.made([{"id": "a", "content": {"n": 1}}, {"id": "b", "content": {"n": 0}}])
        base = self.get_changes(session, view_query(view)).json["to"]
        self.wrote(session, {"edits": [{"op": "update", "items": [{"id": "b", "content": {"n": 5}}]}]})
        for _ in range(2):
            start = time.monotonic()
            self.assertEqual(self.get_changes(session, view_query(view, since=base, wait=1)).json["changes"], [])
            self.assertGreater(time.monotonic() - start, 0.9)


class Ignored(ViewCase):
    """A view may look at ignored places: then equal states show different things."""

    VIEW = {"where": [{"at": "/content/seen", "is": True}]}

    def setUp(self):
        super().setUp()
        self.session = self.new_name()
        self.assertStatus(self.put_session(self.session, {"ignore": ["/seen"], "state": self.state(False, 1)}), 201)

    def state(self, seen, text):
        return [{"id": "a", "content": {"seen": seen, "t": text}}]

    def test_a_base_with_the_digest_of_the_head_is_not_the_head(self):
        base = self.base(self.session, self.VIEW)
        held = self.held(self.session, view_query(self.VIEW, since=base, wait=30))
        self.wait_for_readers(self.session)
        stream = self.opened(self.session, base, **view_query(self.VIEW))
        self.wrote(self.session, self.state(False, 2))
        self.wrote(self.session, self.state(True, 1))
        for answer in (held().json, self.get_changes(self.session, view_query(self.VIEW, since=base)).json,
                       self.assertBatch(stream.next_event())):
            self.assertEqual([each["op"] for each in answer["changes"]], ["insert"], answer)

    def test_a_view_follows_what_changes_beside_another_change(self):
        state = self.state(False, 1) + [{"id": "b", "content": {"seen": True, "t": 1}}]
        self.wrote(self.session, state)
        stream = self.opened(self.session, self.base(self.session, self.VIEW), **view_query(self.VIEW))
        state[0]["content"]["seen"], state[1]["content"]["t"] = True, 2
        self.wrote(self.session, state)
        changes = self.assertBatch(stream.next_event())["changes"]
        self.assertEqual([each["op"] for each in changes], ["insert", "update"], changes)
        self.assertEqual(self.ids(self.session, self.VIEW), ["a", "b"])


class Counts(ViewCase):
    def test_counts_tell_of_what_is_seen_and_of_nothing_else(self):
        session, _ = self.made(board(1, 1))
        stream = self.opened(session, self.base(session, SHOWN), **view_query(SHOWN, dialect="counts"))
        for number in range(2, 5):
            self.wrote(session, board(2, number))
            if number == 2:
                self.assertEqual(stream.next_event().json["changes"], {"items": {"inserted": 1}})
        self.wrote(session, board(1, 4))
        self.assertEqual(stream.next_event().json["changes"], {})


class Streams(ViewCase):
    options = ("--history-revisions", "4")

    def test_a_stream_through_a_view(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        stream = self.opened(session, base, **view_query(SHOWN))
        self.wrote(session, board(1, 2))
        self.wrote(session, board(2, 2))
        changeset = self.assertBatch(stream.next_event())
        self.assertEqual([operation["op"] for operation in changeset["changes"]], ["insert"])
        self.assertEqual(changeset["to"], self.base(session, SHOWN))
        self.wrote(session, board(2, 3))
        self.wrote(session, board(2, 3, extra=1))
        self.wrote(session, board(1, 3))
        changeset = self.assertBatch(stream.next_event())
        self.assertEqual([operation["op"] for operation in changeset["changes"]], ["remove"])

    def test_its_base_is_renewed_before_it_is_forgotten(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        stream = self.opened(session, base, **view_query(SHOWN))
        answer = self.held(session, view_query(SHOWN, since=base, wait=60))
        self.wait_for_readers(session)
        for number in range(2, 8):
            self.wrote(session, board(1, number))
            # A reader is told later than the writer, and only four writes are remembered.
            let_pass(0.2, "turn of a reader after a commit")
        event = stream.next()
        self.assertEqual(set(event.fields), {"id"}, event)
        found = answer().json
        self.assertEqual((found["from"], found["changes"]), (base, []))
        self.assertNotEqual(found["to"], base)
        stream.close()
        self.wrote(session, board(2, 1))
        again = self.stream(session, view_query(SHOWN), Last_Event_ID=event.id)
        self.assertEqual(self.primer(again).id, event.id)
        self.assertEqual([each["op"] for each in self.assertBatch(again.next_event())["changes"]], ["insert"])

    def test_a_mark_outlives_a_base_whose_state_is_there_again(self):
        session, _ = self.made(board(1, 1))
        stream = self.opened(session, self.base(session, SHOWN), **view_query(SHOWN, every=3))
        self.wrote(session, board(2, 1))
        row = self.assertBatch(stream.next_event())["changes"][0]["items"][0]["id"]
        # Until the pace allows the next event, the base moves on over hidden changes.
        for number in (2, 3, 4):
            self.wrote(session, board(2, number))
            let_pass(0.2, "turn of a reader after a commit")
        self.assertEqual(set(stream.next().fields), {"id"})
        self.wrote(session, {"edits": [{"op": "reload", "items": [row]}]})
        for number in (5, 4, 6, 7):
            self.wrote(session, board(2, number))
            let_pass(0.2, "turn of a reader after a commit")
        operation, = self.assertBatch(stream.next_event())["changes"]
        self.assertEqual((operation["op"], operation["as"]), ("update", "reload"))

    def test_a_base_that_is_forgotten_has_expired(self):
        session, _ = self.made(board(1, 1))
        cursors = []
        for number in range(2, 8):
            cursors.append(self.base(session, SHOWN))
            self.wrote(session, board(1, number))
        self.assertReset(self.get_changes(session, view_query(SHOWN, since=cursors[0])), "expired")
        self.assertReset(self.get_changes(session, view_query(SHOWN, since=cursors[0] + "~0.1.0", at=0)), "expired")
        self.assertEqual(self.get_changes(session, view_query(SHOWN, since=cursors[-1])).json["changes"], [])

    def test_a_document_has_hidden_items_too(self):
        def state(kind, expanded):
            return {"sections": [{"id": "s", "expanded": expanded, "items": [{"id": "a", "kind": kind, "content": {"shown": True}}]}]}

        session, _ = self.made(state("x", False))
        base = self.base(session, SHOWN)
        patches = self.opened(session, base, **view_query(SHOWN, dialect="json-patch"))
        rows_alone = self.opened(session, base, **view_query(SHOWN))
        for kind, expanded, changes in (("y", False, [{"op": "replace", "path": "/sections/0/items/0/kind", "value": "y"}]),
                                        ("y", True, [{"op": "remove", "path": "/sections/0/expanded"}])):
            self.wrote(session, state(kind, expanded))
            self.assertEqual(self.assertBatch(patches.next_event(), "json-patch")["changes"], changes)
        self.assertEqual([each["op"] for each in self.assertBatch(rows_alone.next_event())["changes"]], ["insert", "update"])

    def test_cursors_of_another_view_begin_anew(self):
        session, plain = self.made(board(1, 1))
        for headers, query in (({"Last-Event-ID": plain}, {}), ({}, {"since": plain}), ({"Last-Event-ID": "nonsense"}, {})):
            stream = self.stream(session, view_query(SHOWN, **query), **headers)
            changeset = self.assertBatch(stream.next_event())
            self.assertEqual((changeset["reset"], len(changeset["state"]["sections"][0]["items"])), ("unknown", 1))

    def test_readers_of_many_views_share_nothing_but_the_session(self):
        session, _ = self.made([{"id": number, "content": {"n": number}} for number in range(6)])
        views = [None] + [{"where": [{"at": "/content/n", "is": number}]} for number in range(6)]
        streams = [(view, self.opened(session, self.head(session, view).json["revision"], **(view_query(view) if view else {})))
                   for view in views]
        # Each is told before the history has forgotten the beginning.
        for number, (_, stream) in enumerate(streams[1:]):
            self.wrote(session, {"edits": [{"op": "update", "items": [{"id": number, "content": {"n": number, "x": 1}}]}]})
            changes = self.assertBatch(stream.next_event())["changes"]
            self.assertEqual([item["id"] for each in changes for item in each["items"]], [number])


class CountsThroughViews(ViewCase):
    """A stream of counts hears of what it sees, and of nothing else."""

    STATE = {"sections": [{"id": "s", "items": [{"id": "p", "content": {"n": 1}, "items": [{"id": "a"}]}, {"id": "q", "content": {"n": 0}}]},
                          {"id": "t", "items": []}]}

    def test_what_is_hidden_wakes_nobody(self):
        secret = [{"at": "/content/secret", "exists": False}]
        cases = (
            ({"where": secret}, {"op": "insert", "items": [{"id": "h", "content": {"secret": 1}}], "into": {"item": "p"}}),
            ({"sections": ["s"]}, {"op": "move", "sections": ["t"], "at": "start"}),
            ({"order": [{"at": "/content/n"}]}, {"op": "move", "items": ["q"], "before": "p"}),
            ({"where": secret, "fields": ["/content/n"]}, {"op": "update", "items": [{"id": "q", "content": {"n": 0, "x": 1}}]}),
        )
        for view, edit in cases:
            with self.subTest(view, edit=edit):
                session, _ = self.made(self.STATE)
                stream = self.stream(session, view_query(view, dialect="counts"))
                self.assertEqual(stream.next_event().json["reset"], "initial")
                self.assertStatus(self.post_changes(session, {"edits": [edit]}), 200)
                # Longer than the gap between two events, or both would be one.
                let_pass(0.3, "gap between two events")
                self.wrote(session, {"edits": [{"op": "insert", "items": [{"id": "new", "content": {"n": 2}}], "into": {"section": "s"}}]})
                self.assertEqual(stream.next_event().json["rows"], 4)


class StartedOver(ViewCase):
    def test_a_reader_of_what_stays_the_same_can_resume(self):
        """After a PUT of an equal state nothing changed, but the reader's revision is forgotten."""
        session, _ = self.made(board(1, 1))
        stream = self.stream(session, view_query(SHOWN))
        first = stream.next_event()
        self.put_session(session, {"state": board(1, 1)})
        moved = stream.next()
        self.assertEqual((moved.event, moved.id != first.id), (None, True))
        self.assertEqual(self.get_changes(session, view_query(SHOWN, since=moved.id)).json["changes"], [])


class Crowded(ViewCase):
    """More views than fit into their part of the memory."""

    options = ("--memory", "8MiB", "--token-secret", SECRET)
    ROWS = 2_000

    def setUp(self):
        super().setUp()
        self.session, _ = self.made([{"id": number, "content": {"n": number, "t": "text"}} for number in range(self.ROWS)])

    def follow(self, view, **headers):
        stream = Stream(self.server, session_path(self.session, "changes"), view_query(view, at="start", after=2), headers, timeout=120)
        self.addCleanup(stream.close)
        return stream

    def told(self, stream):
        event = stream.next_event(120)
        self.assertEqual(event.event, "changes", event)
        return event.changeset

    def metric(self, name):
        return int(float(re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics").text, re.M).group(1)))

    def test_nobody_is_refused_for_a_view(self):
        lent = token(self.session, view={"where": [{"at": "/content/n", "not": -1}], "fields": ["/content/n"]})
        views = [{"where": [{"at": "/content/n", "not": -number}]} for number in range(2, 142)]
        own = [{"order": [{"at": "/content/n"}], "limit": number} for number in range(100, 120)]
        streams = [self.follow(view) for view in views] + [self.follow(view, **bearer(lent)) for view in own]
        for stream in streams:
            self.assertEqual(self.told(stream)["reset"], "initial")
        for number in (5, 6):
            edits = [{"op": "update", "items": [{"id": 1, "content": {"n": 1 / number, "t": "new"}}]}]
            self.wrote(self.session, {"edits": edits})
            for stream in streams:
                changeset = self.told(stream)
                self.assertEqual([(each["op"], [key(item["id"]) for item in each["items"]]) for each in changeset["changes"]],
                                 [("update", ["1"])], changeset)
        self.assertGreater(self.metric("diffserver_views_let_go_total"), 0)
        self.assertGreater(self.metric("diffserver_views_made_anew_total"), 20)
        # What a view showed before is released once the reader that advanced it is done.
        wait_for(lambda: self.metric('diffserver_memory_bytes{part="views"}') < (1 << 20) + (256 << 10), "they fit again")


class Counted(ViewCase):
    """A look through a view counts for the rate like as many requests as it costs."""

    options = ("--rate", "1", "--token-secret", SECRET)

    def test_a_view_of_a_long_list_counts_for_more_than_one(self):
        session, _ = self.made([{"id": number, "content": {"n": number, "t": "text" * 9}} for number in range(20_000)])
        # No item passes the first test, so that the others take no time.
        dear = {"where": [{"at": f"/content/{number}", "exists": True} for number in range(15)]}
        path = session_path(session, "changes")
        one, other = (bearer(token(session, client_id=name)) for name in ("one", "other"))
        self.assertStatus(self.get(path, view_query(dear, at="start"), **one), 200)
        refused = self.get(path, {"at": "start"}, **one)
        self.assertStatus(refused, 429)
        self.assertGreater(int(refused.headers["Retry-After"]), 5)
        self.assertStatus(self.get(path, {"at": "start", "after": 3}, **other), 200)
