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
        self.assertEqual(item, {"id": "a", "patch": {"t": 2, "ts": None}})
        changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
        self.assertEqual(changes, [{"op": "replace", "path": "/sections/0/items/0/content", "value": states[2][0]["content"]}])

    def test_what_is_gone_for_a_while_is_gone_from_readers(self):
        """Changed and back, or deleted and back: an earlier reader sees no change of the row, and keeps its value."""
        first, last = [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, "b"], {"t": 1, "x": LONG}
        for between in ([{"id": "a", "content": {"t": 9, "x": LONG}}], ["b"]):
            with self.subTest(between):
                session, found = self.history(first, between, [{"id": "a", "content": last}, "c"], [{"id": "a", "content": {**last, "t": 2}}, "c"])
                skipped = self.get_changes(session, {"since": found[2].json["revision"], "content": "patch"}).json["changes"]
                self.assertEqual(skipped[0]["items"], [{"id": "a", "patch": {"t": 2, "ts": None}}])

    def test_what_is_gone_unseen_is_gone_from_readers_of_a_few_fields(self):
        """Only what the view shows is named, whatever the rest of the content has."""
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
        self.assertEqual(step["changes"][0]["items"], [{"id": "a", "patch": {"t": 2, "ts": None}}])

    def test_what_a_hidden_row_held_decides_nothing(self):
        """Two sessions that differ only in rows which a token hides: what they held, and that they are gone."""
        view = {"where": [{"at": "/content/secret", "exists": False}]}
        shown = {"t": LONG, "n": 1}
        for query in ({"content": "patch"}, {}, {"dialect": "json-patch"}, {"dialect": "staged", "content": "patch"}):
            found = []
            for hidden in ([{"id": "h", "content": {"secret": True, "ts": 5}}], [{"id": "h", "content": {"secret": True, "u": 5}}],
                           [{"id": f"h{number}", "content": {"secret": number, "ts": {"n": number}}} for number in range(3)]):
                session = self.new_name()
                self.put_session(session, {"state": [{"id": "v", "content": shown}, *hidden], "ignore": ["/ts"]})
                own = {**query, "view": text(view)}
                self.assertStatus(self.post_changes(session, [{"id": "v", "content": shown}]), 200)
                since = self.get_changes(session, own).json["to"]
                self.assertStatus(self.post_changes(session, [{"id": "v", "content": {**shown, "n": 2}}]), 200)
                found.append(self.get_changes(session, {**own, "since": since}).json["changes"])
            self.assertEqual(found, [found[0]] * 3)
            if query.get("content"):
                self.assertIn(text({"patch": {"n": 2, "ts": None}})[1:-1], text(found[0]))

    def test_a_row_that_is_marked_brings_what_is_stored(self):
        session, _ = self.history([{"id": "a", "content": {"t": 1, "ts": 5}}, "b"])
        edits = [{"op": "reload", "items": ["a"]}, {"op": "update", "items": [{"id": "a", "content": {"t": 1, "ts": 6}}]}]
        answer = self.post_changes(session, {"edits": edits}).json
        stored = self.get_session(session).json["state"]["sections"][0]["items"][0]["content"]
        self.assertEqual(stored, {"t": 1, "ts": 5})
        self.assertEqual(answer["changes"], [{"op": "update", "items": [{"id": "a", "content": stored}], "as": "reload"}])

    def test_whoever_goes_on_over_a_put_is_told_what_is_there(self):
        session, (first,) = self.history([{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}])
        last = {"t": 1, "x": LONG}
        self.put_session(session, {"state": [{"id": "a", "content": last}], "ignore": ["/ts"]})
        over = self.get_changes(session, {"since": first.json["revision"]}).json
        self.assertEqual(over["changes"], [])
        self.post_changes(session, [{"id": "a", "content": {**last, "t": 2}}])
        item = self.get_changes(session, {"since": over["to"], "content": "patch"}).json["changes"][0]["items"][0]
        self.assertEqual(item, {"id": "a", "patch": {"t": 2, "ts": None}})

    def test_nobody_goes_on_over_a_put_that_compares_more(self):
        """The states are equal, but the reader has a value that is compared by now."""
        session, (first,) = self.history([{"id": "a", "content": {"t": 1, "ts": 5}}])
        self.put_session(session, {"state": [{"id": "a", "content": {"t": 1}}]})
        self.assertReset(self.get_changes(session, {"since": first.json["revision"]}), "replaced")
        self.put_session(session, {"ignore": ["/t"]})
        self.put_session(session, {"ignore": []})
        self.assertStatus(self.post_changes(session, [{"id": "a", "content": {"t": 2}}]), 200)

    def test_nobody_goes_on_over_a_deletion_after_which_more_is_compared(self):
        session, (first,) = self.history([{"id": "a", "content": {"t": 1, "ts": 5}}])
        self.delete_session(session)
        self.put_session(session, {"state": [{"id": "a", "content": {"t": 1}}]})
        self.assertReset(self.get_changes(session, {"since": first.json["revision"]}), "unknown")
        self.delete_session(session)
        self.put_session(session, {"state": [{"id": "a", "content": {"t": 1, "ts": 6}}], "ignore": ["/ts"]})
        self.assertEqual(self.get_changes(session, {"since": first.json["revision"]}).json["changes"], [])

    def test_what_was_ignored_once_is_not_known_of_readers(self):
        session, (_, second) = self.history([{"id": "a", "content": {"t": 1, "x": LONG}}, 1], [{"id": "a", "content": {"t": 1, "x": LONG, "ts": 5}}, 2])
        self.put_session(session, {"ignore": []})
        new = {"id": "a", "content": {"t": 1, "x": LONG, "ts": 6}}
        self.post_changes(session, [new, 2])
        since = second.json["revision"]
        self.assertEqual(self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"], [new])
        changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
        self.assertEqual([each["path"] for each in changes], ["/sections/0/items/0/content"])
        # A state from scratch ends that.
        self.put_session(session, {"state": [{**new, "content": {**new["content"], "t": 8}}]})
        answer = self.post_changes(session, [{**new, "content": {**new["content"], "t": 9}}], {"content": "patch"})
        self.assertEqual(answer.json["changes"][0]["items"], [{"id": "a", "patch": {"t": 9}}])

    def test_an_update_brings_what_is_there(self):
        for old, new, patch in (({"ts": 5}, {"ts": 6}, {"ts": 6}), ({"ts": 5}, {"ts": 5}, {"ts": 5}), ({}, {"ts": "x"}, {"ts": "x"}),
                                ({"ts": {"n": 1}}, {}, {"ts": None}), ({}, {}, {"ts": None}), ({}, {"ts": [1, None]}, {"ts": [1, None]}),
                                ({"ts": 5}, {"ts": {}}, None), ({"ts": 5}, {"ts": None}, None)):
            old, new = {"t": 1, "x": LONG, **old}, {"t": 2, "x": LONG, **new}
            with self.subTest(old=old, new=new):
                session, found = self.history([{"id": "a", "content": old}], [{"id": "a", "content": new}])
                since = found[0].json["revision"]
                item = self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"][0]
                self.assertEqual(item, {"id": "a", "content": new} if patch is None else {"id": "a", "patch": {"t": 2, **patch}})
                changes = self.get_changes(session, {"since": since, "dialect": "json-patch"}).json["changes"]
                self.assertEqual(changes, [{"op": "replace", "path": "/sections/0/items/0/content", "value": new}])

    def test_a_row_that_changes_its_kind_alone_brings_it_too(self):
        old, new = ({"id": "a", "kind": kind, "content": {"x": LONG, "ts": 1}} for kind in ("k", "l"))
        session, found = self.history([old], [new])
        since = found[0].json["revision"]
        self.assertEqual(self.get_changes(session, {"since": since, "content": "patch"}).json["changes"][0]["items"],
                         [{"id": "a", "kind": "l", "patch": {"ts": 1}}])
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
        old, new = ([{"id": "a", "content": {"t": number, "x": LONG, "list": [number, 2], "m": {}}}] for number in (1, 2))
        for pointer, patch in (("/list/0", None), ("/list/1", None), ("/list/2", None), ("/list/x", {}), ("/t/0", {}), ("/no/ts", {}),
                               ("/m/ts", {"m": {"ts": None}})):
            with self.subTest(pointer):
                session, found = self.history(old, new, ignored=[pointer])
                item = self.get_changes(session, {"since": found[0].json["revision"], "content": "patch"}).json["changes"][0]["items"][0]
                whole = {"id": "a", "content": new[0]["content"]}
                self.assertEqual(item, whole if patch is None else {"id": "a", "patch": {"t": 2, "list": [2, 2], **patch}})


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
