"""Ignored places, with patches and with readers that see a part: CONTRACT §3, §4."""

from support.appliers.document import applied
from support.case import ServiceCase
from support.jsontext import text

LONG = "x" * 60


class Patches(ServiceCase):
    def history(self, *states, ignored=("/ts",), **settings):
        """A session that went through these states: its revisions, and the documents that GET showed."""
        session = self.new_name()
        self.put_session(session, {"state": states[0], "ignore": list(ignored), **settings})
        found = [self.get_session(session)]
        for state in states[1:]:
            self.assertStatus(self.post_changes(session, state), 200)
            found.append(self.get_session(session))
        return session, found

    def test_a_patch_that_any_client_can_apply(self):
        """The reader was never told of `ts`, so nothing below or at it can be replaced or removed."""
        ways = (
            [[{"id": "a", "content": {"t": 1, "x": LONG}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, 2],
             [{"id": "a", "content": {"t": 2, "x": LONG, "ts": 6}}, 2]],
            [[{"id": "a", "content": {"t": 1, "x": LONG, "ts": {"n": 1}}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG}}, 2],
             [{"id": "a", "content": {"t": 2, "x": LONG, "ts": {"n": 2}}}, 2]],
            [[{"id": "a", "content": {"t": 1, "x": LONG}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, 2],
             [{"id": "a", "content": {"t": 2, "x": LONG}}, 2]],
        )
        for states in ways:
            with self.subTest(states):
                session, (first, second, third) = self.history(*states)
                # A reader of patches that followed: it was told nothing of `a` yet.
                has = second.exact["state"]
                has["sections"][0]["items"][0] = first.exact["state"]["sections"][0]["items"][0]
                patch = self.get_changes(session, {"dialect": "json-patch", "since": second.json["revision"]}).exact["changes"]
                self.assertEqual(text(applied(has, patch)), text(third.exact["state"]))

    def test_what_is_gone_from_a_row_that_did_not_change_is_gone_from_readers(self):
        """The row lost it unnoticed: the base has no value there, and the reader does."""
        states = [[{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG}}, 2],
                  [{"id": "a", "content": {"t": 2, "x": LONG}}, 2]]
        session, (_, second, third) = self.history(*states)
        since = second.json["revision"]
        item = self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"][0]
        self.assertEqual(item, states[2][0])
        changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
        self.assertEqual(changes, [{"op": "replace", "path": "/sections/0/items/0/content", "value": states[2][0]["content"]}])

    def test_what_is_gone_for_a_while_is_gone_from_readers(self):
        """Changed and back, or deleted and back: an earlier reader sees no change of the row, and keeps its value."""
        first, last = [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, "b"], {"t": 1, "x": LONG}
        for between in ([{"id": "a", "content": {"t": 9, "x": LONG}}], ["b"]):
            with self.subTest(between):
                session, found = self.history(first, between, [{"id": "a", "content": last}, "c"], [{"id": "a", "content": {**last, "t": 2}}, "c"])
                skipped = self.get_changes(session, {"since": found[2].json["revision"], "content": "patch"}).json["changes"]
                self.assertEqual(skipped[0]["items"], [{"id": "a", "content": {**last, "t": 2}}])

    def test_what_is_gone_unseen_is_gone_from_readers_of_a_few_fields(self):
        """Whole contents tell of another ignored place, so nothing is lost; through the view the row lost `ts` unnoticed."""
        states = [[{"id": "a", "content": content}] for content in
                  ({"t": 1, "x": LONG, "ts": 5}, {"t": 1, "x": LONG, "seen": 1, "k": 0}, {"t": 2, "x": LONG, "seen": 1, "k": 0})]
        session, how = self.new_name(), {"view": '{"fields":["/content/t","/content/x","/content/ts"]}', "content": "patch"}
        self.put_session(session, {"state": states[0], "ignore": ["/ts", "/seen"]})
        since = self.get_changes(session, how).json["to"]
        self.assertStatus(self.post_changes(session, states[1]), 200)
        step = self.get_changes(session, {**how, "since": since}).json
        self.assertEqual(step["changes"], [], "nothing that it compares has changed")
        self.assertStatus(self.post_changes(session, states[2]), 200)
        step = self.get_changes(session, {**how, "since": step["to"]}).json
        self.assertEqual(step["changes"][0]["items"], [{"id": "a", "content": {"t": 2, "x": LONG}}])

    def test_whoever_read_before_is_patched(self):
        """Another row has lost its value, which a reader from before is told."""
        rows = [{"id": "a", "content": {"t": LONG, "o": 0}}, {"id": "f", "content": {"ts": 1, "t": "two"}}]
        session, (first,) = self.history(rows)
        after = [{"id": "a", "content": {"t": LONG, "o": 1}}, {"id": "f", "content": {"t": "changed"}}]
        answer = self.post_changes(session, after, {"content": "patch"}).json["changes"]
        again = self.get_changes(session, {"content": "patch", "since": first.json["revision"]}).json["changes"]
        self.assertEqual(answer, again)
        self.assertEqual(answer[0]["items"], [{"id": "a", "patch": {"o": 1}}, after[1]])

    def test_what_a_view_did_not_see_change_is_gone_from_its_readers(self):
        view = '{"fields":["/content/t","/content/ts","/content/x"]}'
        session, _ = self.history([{"id": "a", "content": {"t": 1, "n": 1, "x": LONG, "ts": 5}}], [{"id": "a", "content": {"t": 1, "n": 2, "x": LONG}}, "b"])
        since = self.get_changes(session, {"view": view}).json["to"]
        self.post_changes(session, [{"id": "a", "content": {"t": 2, "n": 2, "x": LONG}}, "b"])
        item = self.get_changes(session, {"view": view, "since": since, "content": "patch"}).json["changes"][0]["items"][0]
        self.assertEqual(item, {"id": "a", "content": {"t": 2, "x": LONG}})

    def test_a_row_that_is_marked_brings_what_is_stored(self):
        session, _ = self.history([{"id": "a", "content": {"t": 1, "ts": 5}}, "b"])
        edits = [{"op": "reload", "items": ["a"]}, {"op": "update", "items": [{"id": "a", "content": {"t": 1, "ts": 6}}]}]
        answer = self.post_changes(session, {"edits": edits}).json
        stored = self.get_session(session).json["state"]["sections"][0]["items"][0]["content"]
        self.assertEqual(stored, {"t": 1, "ts": 5})
        self.assertEqual(answer["changes"], [{"op": "update", "items": [{"id": "a", "content": stored}], "as": "reload"}])

    def test_whoever_goes_on_over_a_put_keeps_what_it_had(self):
        session, (first,) = self.history([{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}])
        last = {"t": 1, "x": LONG}
        self.put_session(session, {"state": [{"id": "a", "content": last}], "ignore": ["/ts"]})
        over = self.get_changes(session, {"since": first.json["revision"]}).json
        self.assertEqual(over["changes"], [])
        self.post_changes(session, [{"id": "a", "content": {**last, "t": 2}}])
        item = self.get_changes(session, {"since": over["to"], "content": "patch"}).json["changes"][0]["items"][0]
        self.assertEqual(item, {"id": "a", "content": {**last, "t": 2}})
        # Nobody continues from another state.
        self.put_session(session, {"state": [{"id": "a", "content": {**last, "t": 3}}], "ignore": ["/ts"]})
        answer = self.post_changes(session, [{"id": "a", "content": {**last, "t": 4}}], {"content": "patch"}).json
        self.assertEqual(answer["changes"][0]["items"], [{"id": "a", "patch": {"t": 4}}])

    def test_what_was_ignored_once_is_not_known_of_readers(self):
        session, (_, second) = self.history([{"id": "a", "content": {"t": 1, "x": LONG}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, 2])
        self.put_session(session, {"ignore": []})
        new = {"id": "a", "content": {"t": 1, "x": LONG, "ts": 6}}
        self.post_changes(session, [new, 2])
        since = second.json["revision"]
        self.assertEqual(self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"], [new])
        changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
        self.assertEqual([each["path"] for each in changes], ["/sections/0/items/0/content"])

    def test_an_update_brings_the_whole_content_where_it_holds_what_is_ignored(self):
        first, second = {"t": 1, "x": LONG, "ts": 5}, {"t": 2, "x": LONG, "ts": 6}
        without = [{"t": 1, "x": LONG}, {"t": 2, "x": LONG}]
        for old, new, is_patch in ((first, second, False), (without[0], second, False), (first, without[1], False), (*without, True)):
            with self.subTest(old=old, new=new):
                session, found = self.history([{"id": "a", "content": old}], [{"id": "a", "content": new}])
                since = found[0].json["revision"]
                item = self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"][0]
                self.assertEqual(item, {"id": "a", "patch": {"t": 2}} if is_patch else {"id": "a", "content": new})
                changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
                path = "/sections/0/items/0/content"
                self.assertEqual(changes, [{"op": "replace", "path": f"{path}/t", "value": 2}] if is_patch
                                 else [{"op": "replace", "path": path, "value": new}])

    def test_a_row_that_changes_its_kind_alone_brings_it_too(self):
        old, new = ({"id": "a", "kind": kind, "content": {"x": LONG, "ts": 1}} for kind in ("k", "l"))
        session, found = self.history([old], [new])
        since = found[0].json["revision"]
        self.assertEqual(self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"], [new])
        changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
        self.assertEqual(sorted((each["op"], each["path"].rsplit("/", 1)[1]) for each in changes), [("replace", "content"), ("replace", "kind")])

    def test_a_view_that_cuts_it_away_is_patched(self):
        old, new = ([{"id": "a", "content": {"t": number, "x": LONG, "ts": number}}] for number in (1, 2))
        session, found = self.history(old, new)
        view = '{"fields":["/content/t","/content/x"]}'
        since = self.get_changes(session, {"view": view}).json["to"]
        self.post_changes(session, [{"id": "a", "content": {"t": 3, "x": LONG, "ts": 7}}])
        item = self.get_changes(session, {"since": since, "content": "patch", "view": view}).json["changes"][0]["items"][0]
        self.assertEqual(item, {"id": "a", "patch": {"t": 3}})

    def test_what_is_in_arrays_counts(self):
        old, new = ([{"id": "a", "content": {"t": number, "x": LONG, "list": [number, 2]}}] for number in (1, 2))
        for pointer, is_patch in (("/list/0", False), ("/list/1", False), ("/list/2", True), ("/list/x", True), ("/t/0", True), ("/no/ts", True)):
            with self.subTest(pointer):
                session, found = self.history(old, new, ignored=[pointer])
                item = self.get_changes(session, {"since": found[0].json["revision"], "content": "patch"}).json["changes"][0]["items"][0]
                self.assertEqual("patch" in item, is_patch, item)


class WithoutHistory(ServiceCase):
    options = ("--history-revisions", "0")

    def test_a_write_answers_changes_through_a_view_too(self):
        state = [{"id": number, "content": {"n": number}} for number in range(5)]
        view = '{"where":[{"at":"/content/n","atLeast":2}]}'
        for query in ({"view": view}, {"at": "start", "after": 3}, {"view": view, "around": 3, "before": 1, "after": 1}, {}):
            with self.subTest(query):
                session, _ = self.made(state)
                base = self.get_changes(session, query).json["to"]
                self.assertEqual(self.get_changes(session, {**query, "since": base}).json["changes"], [])
                for since in ({"since": base}, {}):
                    state[3]["content"]["new"] = state[3]["content"].get("new", 0) + 1
                    answer = self.post_changes(session, state, {**query, **since})
                    changes = self.assertChangeset(answer)["changes"]
                    self.assertIn("update", [each["op"] for each in changes])
                    base = answer.json["to"]
                self.assertEqual(self.get_changes(session, {**query, "since": base}).json["changes"], [])
                self.post_changes(session, state[:4])
                self.assertEqual(self.get_changes(session, {**query, "since": base}).json["reset"], "expired")
                self.post_changes(session, state)

    def test_a_reload_is_told_to_the_writer_too(self):
        for query in ({}, {"view": '{"limit":2}'}, {"at": "start", "after": 1}):
            with self.subTest(query):
                session, _ = self.made(["a", "b"])
                self.assertEqual(self.post_changes(session, ["b", "a"], {"reload": "true", **query}).json["reset"], "reloaded")
