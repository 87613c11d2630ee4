"""Windows: some of the rows that a reader sees: CONTRACT §10."""

import random

from support.appliers import DIALECTS, rows
from support.client import session_path
from support.jsontext import exact, text
from support.replica import Replica
from support.states import canonical, random_state
from support.views import Window, random_view, viewed
from test_views import ViewCase, board, view_query

PLACED = r"^[0-9]+-[0-9a-f]{16}~[0-9]+\.[0-9]+\.[0-9]+$"
WINDOW_DIALECTS = [name for name in DIALECTS if name != "json-patch"]
THREE = {"sections": [
    {"id": "first", "items": []},
    {"id": "s", "content": "S", "items": ["a", {"id": "p", "items": ["p1", {"id": "p2", "items": ["p21"]}]}, "b"]},
    {"id": "hollow", "content": "H", "items": []}, {"id": "shut", "expanded": False, "items": ["x"]},
    {"id": "t", "items": ["c", "d"]}, {"id": "last", "items": []}]}
SHUT = {"sections": [
    {"id": "first", "items": []},
    {"id": "s", "content": "S", "items": ["a", {"id": "p", "expanded": False, "items": ["p1", {"id": "p2", "items": ["p21"]}]}, "b"]},
    {"id": "t", "items": ["c", "d"]}]}


class Windows(ViewCase):
    """Which rows and sections a window shows."""

    def window(self, session, query, view=None):
        """What a new reader gets, compared with the oracle."""
        answer = self.get_changes(session, {**(view_query(view) if view else {}), **query})
        self.assertStatus(answer, 200)
        changeset = answer.exact
        wanted = Window(viewed(self.state(session), view or {}), **query)
        self.assertEqual(rows.shown(changeset["state"]), wanted.rows)
        self.assertEqual(changeset["window"], exact(text(wanted.told)))
        self.assertEqual(changeset["to"].split("~")[1], wanted.place)
        self.assertRegex(changeset["to"], PLACED)
        return answer.json

    def laid_out(self, answer):
        return {str(each["id"]): "".join(f" {row['id']}" for row in each["items"]).strip() for each in answer["state"]["sections"]}

    def test_places(self):
        session, _ = self.made(THREE)
        cases = {
            (("at", "start"), ("after", 1)): ({"first": "", "s": "a p"}, "a", 0, 6),
            (("at", "end"), ("before", 1)): ({"t": "c d", "last": ""}, "d", 6, 0),
            (("at", 1), ("after", 2)): ({"s": "p p1 p2"}, "p", 1, 4),
            (("at", 4), ("after", 2)): ({"s": "p21 b", "hollow": "", "shut": "", "t": "c"}, "p21", 4, 1),
            (("at", 99),): ({"t": "d", "last": ""}, "d", 7, 0),
            (("at", 99999999999999999999), ("before", 1)): ({"t": "c d", "last": ""}, "d", 6, 0),
            (("around", "p2"), ("before", 1), ("after", 0)): ({"s": "p1 p2"}, "p2", 2, 4),
            (("around", "none"), ("after", 0)): ({"first": "", "s": "a"}, "a", 0, 7),
            (("around", "x"), ("after", 0)): ({"first": "", "s": "a"}, "a", 0, 7),
            (("at", "start"),): ({"first": "", "s": "a p p1 p2 p21 b", "hollow": "", "shut": "", "t": "c d", "last": ""}, "a", 0, 0),
            (("at", "end"),): ({"first": "", "s": "a p p1 p2 p21 b", "hollow": "", "shut": "", "t": "c d", "last": ""}, "d", 0, 0),
        }
        for query, (layout, anchor, above, below) in cases.items():
            with self.subTest(query):
                answer = self.window(session, dict(query))
                self.assertEqual(self.laid_out(answer), layout)
                self.assertEqual(answer["window"], {"anchor": anchor, "above": above, "below": below})

    def test_rows_say_what_they_are_in_the_view(self):
        session, _ = self.made(THREE)
        answer = self.window(session, {"at": 3, "after": 1})
        self.assertEqual(answer["state"]["sections"], [{"id": "s", "content": "S", "items": [
            {"id": "p2", "level": 1, "parent": "p", "children": 1}, {"id": "p21", "level": 2, "parent": "p2"}]}])
        through = self.window(session, {"at": 1, "after": 0}, {"where": [{"at": "/id", "not": "p1"}]})
        self.assertEqual(through["state"]["sections"][0]["items"], [{"id": "p", "children": 1}])

    def test_a_list_without_rows_has_no_anchor(self):
        shut = {"sections": [{"id": "s", "content": 1, "expanded": False, "items": ["a"]}, {"id": "t", "items": []}]}
        for state in ([], {"sections": []}, shut):
            session, _ = self.made(state)
            for query in ({"at": "start"}, {"at": "end"}, {"at": 3}, {"around": "a"}):
                answer = self.window(session, query)
                self.assertEqual((answer["window"], answer["to"].split("~")[1]), ({"anchor": None, "above": 0, "below": 0}, "0.0.0"))
                self.assertEqual(len(answer["state"]["sections"]), len(canonical(state)["sections"]))

    def test_indexes_count_within_the_window(self):
        session, _ = self.made(THREE)
        first = self.window(session, {"at": 4, "after": 3})["to"]
        self.wrote(session, {"edits": [{"op": "insert", "items": ["new"], "before": "d"}]})
        answer = self.get_changes(session, {"at": 4, "after": 3, "since": first, "dialect": "indexed"}).json
        self.assertEqual(answer["changes"], {
            "sections": {"deleted": [4]}, "items": {"deleted": [[3, 1]], "inserted": [{"at": [3, 1], "item": {"id": "new"}}]}})

    def followed(self, states, query, steps):
        """Readers of each dialect with these queries while the state changes; returns the window's words each time."""
        told = []
        session, _ = self.made(states[0])
        replicas = [Replica(dialect) for dialect in WINDOW_DIALECTS]
        places = {}
        for number, (state, asked) in enumerate([(states[0], query), *steps]):
            if number:
                self.wrote(session, state)
            for replica in replicas:
                since = {"since": replica.revision} if replica.revision else {}
                answer = self.get_changes(session, {"dialect": replica.dialect, **asked, **since})
                self.assertChangeset(answer, dialect=replica.dialect)
                self.assertEqual("reset" in answer.json, number == 0)
                self.assertEqual(replica.receive(answer.exact), "adopted")
                wanted = Window(canonical(state), places.get("base"), **asked)
                self.assertTrue(replica.shows_rows(wanted.rows), (replica.dialect, asked, replica.model, wanted.rows))
                self.assertEqual(answer.exact["window"], exact(text(wanted.told)))
            places["base"] = (canonical(state), wanted.row)
            told.append((wanted.anchor, wanted.above, wanted.below))
        return told

    def test_a_pinned_window_shows_what_stands_there(self):
        told = self.followed([list("abcdefgh")], {"at": "start", "after": 2}, [
            (list("xabcdefgh"), {"at": "start", "after": 2}), (list("fgh"), {"at": "start", "after": 2}), ([], {"at": "start", "after": 2}),
            (list("pqrst"), {"at": "end", "before": 1}), (list("pqrs"), {"at": "end", "before": 1}),
            (list("pqrs"), {"at": 1, "before": 9, "after": 0})])
        self.assertEqual(told, [("a", 0, 5), ("x", 0, 6), ("f", 0, 0), (None, 0, 0), ("t", 3, 0), ("s", 2, 0), ("q", 0, 2)])

    def test_an_anchor_that_moves_is_followed(self):
        around = {"around": "d", "before": 1, "after": 1}
        told = self.followed([list("abcdefgh")], around, [
            (list("dabcefgh"), around), (list("abcefghd"), around),
            ({"sections": [{"id": "main", "items": list("abc")}, {"id": "t", "items": ["x", "d", "y"]}]}, around)])
        self.assertEqual(told, [("d", 2, 3), ("d", 0, 6), ("d", 6, 0), ("d", 3, 0)])

    def test_an_anchor_that_goes_leaves_the_next_one(self):
        around = {"around": "d", "before": 1, "after": 1}
        states = [list("abcdefgh"), list("abcgh"), list("abc"), list("xyabc"), list("pq"), list("dpq")]
        told = self.followed(states[:1], around, [(state, around) for state in states[1:]])
        self.assertEqual(told, [("d", 2, 3), ("g", 2, 0), ("c", 1, 0), ("c", 3, 0), ("q", 0, 0), ("d", 0, 1)])

    def test_an_anchor_that_goes_leaves_the_next_one_to_a_reader_of_all(self):
        session, _ = self.made({"sections": [{"id": "s", "items": list("abcdefgh")}, {"id": "t", "items": ["x"]}]})
        view = view_query({"fields": []})
        bases = [(query, self.get_changes(session, query).json["to"]) for query in ({}, view)]
        self.wrote(session, {"sections": [{"id": "s", "items": list("bgacf")}, {"id": "t", "expanded": False, "items": ["x"]}]})
        for query, base in bases:
            for around, anchor in {"c": "c", "d": "f", "h": "g", "x": "g", "none": "b"}.items():
                with self.subTest(around, base=base):
                    answer = self.get_changes(session, {**query, "around": around, "after": 0, "since": base}).json
                    self.assertEqual((answer["from"], answer["window"]["anchor"]), (base, anchor))

    def test_an_anchor_that_hides_is_its_nearest_visible_ancestor(self):
        around = {"around": "p21", "before": 0, "after": 1}
        told = self.followed([THREE], around, [(SHUT, around), (THREE, around)])
        self.assertEqual(told, [("p21", 4, 2), ("p", 1, 2), ("p21", 4, 2)])

    def test_from_a_window_to_all_and_back(self):
        session, _ = self.made(THREE)
        for dialect in WINDOW_DIALECTS:
            replica = Replica(dialect)
            for query in ({"at": 3, "after": 1}, {}, {"at": 1, "after": 2}, {"at": "end", "before": 0}):
                since = {"since": replica.revision} if replica.revision else {}
                answer = self.get_changes(session, {"dialect": dialect, **query, **since})
                self.assertEqual(("window" in answer.json, "~" in answer.json["to"]), (bool(query), bool(query)))
                self.assertEqual(replica.receive(answer.exact), "adopted")
                wanted = Window(canonical(THREE), **query).rows if query else rows.visible(canonical(THREE))
                self.assertTrue(replica.shows_rows(wanted), (dialect, query, replica.model))

    def test_rows_that_stay_are_not_sent_again(self):
        session, _ = self.made([{"id": number, "content": {"n": number}} for number in range(100)])
        first = self.get_changes(session, {"at": 10, "after": 9}).json["to"]
        changes = self.get_changes(session, {"at": 13, "after": 9, "since": first}).json["changes"]
        self.assertEqual(changes[0], {"op": "remove", "items": [10, 11, 12]})
        self.assertEqual([(each["op"], [item["id"] for item in each["items"]]) for each in changes[1:]], [("insert", [20, 21, 22])])

    def test_above_and_below_count_what_is_outside(self):
        session, _ = self.made(list("abcdefgh"))
        first = self.get_changes(session, {"around": "d", "after": 1}).json
        self.assertEqual(first["window"], {"anchor": "d", "above": 3, "below": 3})
        self.wrote(session, list("bcdefghi"))
        answer = self.get_changes(session, {"around": "d", "after": 1, "since": first["to"]}).json
        self.assertEqual((answer["changes"], answer["window"]), ([], {"anchor": "d", "above": 2, "below": 4}))

    def test_a_writer_s_own_window(self):
        session, _ = self.made(list("abcdefgh"))
        first = self.get_changes(session, {"at": "start", "after": 2}).json["to"]
        answer = self.post_changes(session, list("xabcdefgh"), {"at": "start", "after": 2, "since": first})
        self.assertEqual([each["op"] for each in answer.json["changes"]], ["remove", "insert"])
        self.assertEqual(answer.json["window"], {"anchor": "x", "above": 0, "below": 6})
        again = self.post_changes(session, list("yxabcdefgh"), {"at": "start", "after": 2, "since": answer.json["to"]})
        self.assertEqual(again.json["from"], answer.json["to"])

    def test_the_list_s_content_comes_along(self):
        session, _ = self.made({"content": 1, "items": list("abcdef")})
        first = self.get_changes(session, {"at": 4}).json
        self.assertEqual(first["state"]["content"], 1)
        self.wrote(session, {"content": 2, "items": list("abcdef")})
        answer = self.get_changes(session, {"at": 4, "since": first["to"]}).json
        self.assertEqual((answer["list"], answer["changes"]), ({"content": 2}, []))

    def test_random_windows_of_random_states(self):
        chance = random.Random(7)
        for _ in range(60):
            state, view = random_state(chance), random_view(chance) if chance.random() < 0.5 else {}
            session, _ = self.made(state)
            query = chance.choice([{"at": "start"}, {"at": "end"}, {"at": chance.randint(0, 9)}, {"around": chance.choice("abcdef")}])
            query.update({name: chance.randint(0, 4) for name in ("before", "after") if chance.random() < 0.8})
            with self.subTest(state=state, view=view, query=query):
                self.window(session, query, view)


class Waiting(ViewCase):
    """Held requests and streams."""

    def test_a_window_that_is_not_shown_comes_at_once(self):
        session, _ = self.made(board(30))
        first = self.get_changes(session, {"at": 0, "after": 4}).json["to"]
        moved = self.get_changes(session, {"at": 10, "after": 4, "since": first, "wait": 30}).json
        self.assertEqual([operation["op"] for operation in moved["changes"]], ["remove", "insert"])
        wider = self.get_changes(session, {"at": 10, "before": 1, "after": 4, "since": moved["to"], "wait": 30}).json
        self.assertEqual(wider["window"], {"anchor": "row10", "above": 9, "below": 15})

    def test_rows_outside_wake_nobody(self):
        session, _ = self.made(board(30))
        first = self.get_changes(session, {"around": "row10", "after": 2}).json["to"]
        answer = self.held(session, {"around": "row10", "after": 2, "since": first, "wait": 30})
        self.wait_for_readers(session)
        self.wrote(session, board(29))
        self.wrote(session, {"edits": [{"op": "delete", "items": ["row3"]}]})
        self.wrote(session, {"edits": [{"op": "delete", "items": ["row11"]}]})
        changeset = answer().json
        self.assertEqual(changeset["window"], {"anchor": "row10", "above": 9, "below": 15})
        self.assertEqual([operation["items"][0] for operation in changeset["changes"] if operation["op"] == "remove"], ["row11"])

    def test_an_answer_is_the_same_whoever_else_waited(self):
        """The anchor goes after a row came in behind it, outside of the window, of which nobody who waits is told."""
        states = [list("ABCDE"), list("ABCXDE"), list("XD")]
        for query, wanted in (({"around": "A", "before": 0, "after": 2}, "D"), ({"around": "C", "before": 2, "after": 0}, "D"),
                              ({"around": "B", "before": 1, "after": 1, **view_query({"limit": 9})}, "D")):
            told = []
            for ways in ((), ("held",), ("held", "stream")):
                session, _ = self.made(states[0])
                since = self.get_changes(session, query).json["to"]
                ask = {**query, "since": since}
                held = self.held(session, {**ask, "wait": 30}) if "held" in ways else None
                stream = self.stream(session, ask) if "stream" in ways else None
                if ways:
                    self.wait_for_readers(session, len(ways))
                self.wrote(session, states[1])
                # Where nothing has changed, a request of the same rows lets the server see the state between.
                self.assertEqual(self.get_changes(session, ask).json["changes"], [])
                self.wrote(session, states[2])
                answers = [self.get_changes(session, ask).json]
                answers += [held().json] if held else []
                if stream:
                    self.assertEqual(self.primer(stream).id, since)
                    answers.append(stream.next_event().json)
                for each in answers:
                    self.assertEqual(each["window"]["anchor"], wanted)
                    told.append({name: value for name, value in each.items() if name not in ("session", "from", "to")})
            self.assertEqual(told, [told[0]] * 6)

    def test_a_stream_of_a_window(self):
        session, _ = self.made(list("abcdefgh"))
        query = {"around": "d", "before": 1, "after": 1}
        stream = self.stream(session, query)
        first = self.assertBatch(stream.next_event())
        self.assertEqual((first["reset"], first["window"]), ("initial", {"anchor": "d", "above": 2, "below": 3}))
        self.wrote(session, list("bcdefgh"))
        self.wrote(session, list("bcdxefgh"))
        event = self.assertBatch(stream.next_event())
        self.assertEqual([each["op"] for each in event["changes"]], ["remove", "insert"])
        self.assertEqual(event["window"], {"anchor": "d", "above": 1, "below": 4})

    def test_the_anchor_of_a_resumed_stream_is_its_cursor_s(self):
        session, _ = self.made(list("abcdef"))
        query = {"around": "c", "before": 1, "after": 1}
        stream = self.stream(session, query)
        self.assertEqual(stream.next_event().json["window"]["anchor"], "c")
        self.wrote(session, list("abdef"))
        event = stream.next_event()
        self.assertEqual((event.json["window"]["anchor"], event.id), ("d", event.json["to"]))
        self.wrote(session, list("abcdef"))
        self.assertEqual(stream.next_event().json["window"], {"anchor": "d", "above": 2, "below": 1})
        cursor = event.id
        stream.close()
        again = self.stream(session, query, Last_Event_ID=cursor)
        self.assertEqual(self.primer(again).id, cursor)
        self.assertEqual(again.next_event().json["window"], {"anchor": "d", "above": 2, "below": 1})


class Errors(ViewCase):
    def test_windows_that_are_none_are_400(self):
        session, revision = self.made(["a"])
        for query in ({"before": 1}, {"after": 1}, {"at": "start", "around": "a"}, {"at": "middle"}, {"at": -1}, {"at": ""}, {"at": "1.0"},
                      {"at": 0, "before": 1001}, {"at": 0, "after": 1001}, {"at": 0, "after": -1}, {"at": 0, "after": "x"},
                      {"at": 0, "before": ""}):
            with self.subTest(query):
                self.assertProblem(self.get_changes(session, query), 400, "malformed-request")
                self.assertProblem(self.post_changes(session, ["b"], query), 400, "malformed-request")
        self.assertStatus(self.get_changes(session, {"at": 0, "before": 1000, "after": 1000}), 200)
        self.assertEqual(self.get_session(session).json["revision"], revision)

    def test_windows_have_no_json_patch_and_no_counts(self):
        session, _ = self.made(["a"])
        for query, headers in (({"dialect": "json-patch"}, {}), ({"dialect": "counts"}, {}),
                               ({}, {"Accept": "application/json-patch+json"}), ({}, {"Accept": "application/vnd.diffserver.counts+json"})):
            with self.subTest(query, **headers):
                self.assertProblem(self.get_changes(session, {"at": "start", **query}, **headers), 400, "malformed-request")

    def test_where_there_is_no_window(self):
        session, _ = self.made(["a"])
        for path in (session_path(session), session_path(session, "items", "a"), session_path(session, "sections", "main")):
            self.assertProblem(self.get(path, {"around": "a"}), 400, "unknown-parameter")
        self.assertProblem(self.diff(["a"], ["b"], {"at": "start"}), 400, "unknown-parameter")
        for query in ({"view": '{"limit":1}'}, {"at": "start"}):
            self.assertProblem(self.get("/v1/sessions", query), 400, "unknown-parameter")
            self.assertProblem(self.get("/v1/changes", {"session": session, **query}), 400, "unknown-parameter")
            self.assertProblem(self.put_session(session, {"state": []}, query), 400, "unknown-parameter")
            self.assertProblem(self.request("DELETE", session_path(session), None, query), 400, "unknown-parameter")

    def test_twice_is_once_too_often(self):
        session, _ = self.made(["a"])
        for name, value in (("at", "start"), ("around", "a")):
            self.assertProblem(self.get_changes(session, {name: [value, value]}), 400, "malformed-request")
        self.assertProblem(self.get_changes(session, {"at": 0, "after": [1, 1]}), 400, "malformed-request")
