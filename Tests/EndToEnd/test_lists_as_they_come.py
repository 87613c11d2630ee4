"""What other people's lists look like: null for empty, members left out, holes, a byte order mark: CONTRACT §2."""

import gzip
import re

from support.case import ServiceCase
from support.client import session_path
from support.shaped import Shaped
from support.states import canonical

BOM = "\ufeff"


class Empty(Shaped):
    def test_null_where_a_list_stands_is_an_empty_one(self):
        for body, query in (
                ({"total": 0, "items": None}, {"itemsAt": "/items"}), (None, {"idAt": "/id"}), ({"rooms": None}, {"itemsAt": "/rooms", "map": "true"}),
                (None, {"idAt": "/id", "itemsAt": ""}), ({"items": None}, {})):
            with self.subTest(body, query=query):
                self.assertEqual(self.sections("null" if body is None else body, query), [{"id": "main", "items": []}])
        for body, query in (({"sections": None}, {}), ({"s": None}, {"sectionsAt": "/s"}), ("null", {"sectionsAt": ""}),
                            ({"s": None}, {"sectionsAt": "/s", "map": "true"})):
            with self.subTest(body, query=query):
                self.assertEqual(self.sections(body, query), [])

    def test_the_last_row_goes(self):
        query = {"itemsAt": "/items"}
        session, _ = self.made({"items": [{"id": 1}]}, query=query)
        changes = self.assertChangeset(self.post_changes(session, {"items": None}, query))["changes"]
        self.assertEqual(changes, [{"op": "remove", "items": [1]}])

    def test_the_document_null_is_a_state_where_a_shape_takes_it(self):
        session = self.new_name()
        self.assertProblem(self.post_changes(session, {"state": None}), 422, "invalid-state")
        self.assertProblem(self.post_changes(session, "null"), 422, "wrong-shape")
        self.assertStatus(self.put_session(session, {"state": None, "shape": {"idAt": "/id"}}), 201)
        self.assertEqual(self.get_session(session).exact["state"], canonical([]))
        self.assertStatus(self.post_changes(session, [{"id": 1}]), 200)
        self.assertStatus(self.post_changes(session, "null"), 200)
        self.assertEqual(self.get_session(session).exact["state"], canonical([]))

    def test_sections_and_items_without_items(self):
        state = {"sections": [{"id": "a"}, {"id": "b", "items": None}, {"id": "c", "items": [{"id": 1, "items": None}]}]}
        expected = {"sections": [{"id": "a", "items": []}, {"id": "b", "items": []}, {"id": "c", "items": [1]}]}
        session, _ = self.made(state)
        self.assertEqual(self.get_session(session).exact["state"], canonical(expected))
        self.assertEqual(self.diff(state, expected).json["changes"], [])

    def test_in_edits_a_list_is_a_list(self):
        session, _ = self.made(["a"])
        for edit in ({"op": "insert", "items": None}, {"op": "delete", "items": None}, {"op": "insert", "sections": None},
                     {"op": "update", "items": None}, {"op": "clear", "sections": None}):
            with self.subTest(edit):
                answer = self.post_changes(session, {"edits": [edit]})
                member = "items" if "items" in edit else "sections"
                self.assertErrors(answer, "invalid-edit", (f"/edits/0/{member}", "wrong-shape"))
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "insert", "sections": [{"id": "s"}, {"id": "t", "items": None}]}]}), 200)


class Missing(Shaped):
    def test_it_is_refused_unless_that_is_said(self):
        for body in ({}, {"data": {}}, {"data": None}, None, [], {"data": []}):
            for missing, status in ((None, 422), ("refuse", 422), ("empty", 201)):
                with self.subTest(body, missing=missing):
                    query = {"itemsAt": "/data/rows", **({"missing": missing} if missing else {})}
                    answer = self.post_changes(self.new_name(), "null" if body is None else body, query)
                    self.assertStatus(answer, status)
                    if status == 422:
                        self.assertErrors(answer, "invalid-state", ("/data/rows", "not-found"))

    def test_what_holds_no_list_is_refused_anyway(self):
        for body in ({"data": 5}, {"data": "an error"}, {"data": {"rows": "none"}}, {"data": {"rows": {}}}, {"data": {"rows": False}}, "true"):
            with self.subTest(body):
                answer = self.post_changes(self.new_name(), body, {"itemsAt": "/data/rows", "missing": "empty"})
                self.assertProblem(answer, 422, "invalid-state")

    def test_the_rest_is_the_document(self):
        session, _ = self.made({"next": "c"}, query={"itemsAt": "/rows", "missing": "empty", "rest": "true"})
        self.assertEqual(self.get_session(session).json["state"]["content"], {"next": "c"})
        session, _ = self.made({"next": "c", "rows": None}, query={"itemsAt": "/rows", "rest": "true"})
        self.assertEqual(self.get_session(session).json["state"]["content"], {"next": "c"})

    def test_some_sections_have_no_items(self):
        query = {"sectionsAt": "/s", "itemsAt": "/rows"}
        body = {"s": [{"id": "a", "n": 1}, {"id": "b", "rows": [{"id": 1}]}, {"id": "c", "rows": None}]}
        self.assertEqual(self.sections(body, query), [
            {"id": "a", "content": {"id": "a", "n": 1}, "items": []},
            {"id": "b", "content": {"id": "b"}, "items": [{"id": 1, "content": {"id": 1}}]},
            {"id": "c", "content": {"id": "c"}, "items": []}])
        none = {"s": [{"id": "a"}, {"id": "b"}]}
        answer = self.post_changes(self.new_name(), none, query)
        self.assertErrors(answer, "invalid-state", ("/s/0", "missing-items"), ("/s/1", "missing-items"))
        self.assertEqual(len(self.sections(none, {**query, "missing": "empty"})), 2)
        self.assertEqual(self.sections({"s": []}, query), [])


class Invalid(Shaped):
    ROWS = [{"id": 1}, {"t": "no id"}, None, {"id": ""}, {"id": 1.5}, {"id": {"a": 1}}, "text", {"id": "x" * 2049}, {"id": "\u0007"}, {"id": 2}]

    def test_it_is_refused_unless_that_is_said(self):
        for query in ({"idAt": "/id"}, {"idAt": "/id", "invalid": "refuse"}):
            answer = self.post_changes(self.new_name(), self.ROWS, query)
            problem = self.assertProblem(answer, 422, "invalid-state")
            self.assertEqual([each["pointer"] for each in problem["errors"]], [f"/{place}" for place in range(1, 9)])
            self.assertTrue(problem["detail"].endswith("; and 7 more; invalid=skip leaves elements without a usable id out"), problem)

    def test_elements_without_an_id_are_left_out_and_told(self):
        answer = self.post_changes(self.new_name(), self.ROWS, {"idAt": "/id", "invalid": "skip"})
        self.assertStatus(answer, 201)
        self.assertEqual([each["id"] for each in answer.json["state"]["sections"][0]["items"]], [1, 2])
        self.assertEqual(answer.json["warnings"], [{"code": "skipped", "pointer": f"/{place}"} for place in range(1, 9)])

    def test_with_all_that_is_in_them(self):
        rows = [{"id": 1, "kids": [{"id": 2}, None, {"x": 1, "kids": [{"id": 3}]}]}, {"kids": [{"id": 4}, {"n": 1}], "kind": []},
                {"id": 4}, {"id": 3}]
        query = {"childrenAt": "/kids", "kindAt": "/kind", "invalid": "skip"}
        session, _ = self.made(rows, query=query)
        items = self.get_session(session).json["state"]["sections"][0]["items"]
        self.assertEqual([each["id"] for each in items], [1, 4, 3])
        self.assertEqual([each["id"] for each in items[0]["items"]], [2])
        for _ in range(2):
            # Reported each time, also if the document is unchanged.
            answer = self.post_changes(session, rows, query)
            self.assertEqual(answer.json["warnings"], [{"code": "skipped", "pointer": each} for each in ("/0/kids/1", "/0/kids/2", "/1")])
            self.assertEqual(answer.json["changes"], [])

    def test_sections_go_with_their_items(self):
        body = [{"id": "a", "items": [{"id": 1}, {}]}, {"items": [{"id": 2}, {"id": 1}]}, None, {"id": "b", "items": [{"id": 2}]}]
        answer = self.post_changes(self.new_name(), body, {"sectionsAt": "", "invalid": "skip"})
        self.assertEqual([(each["id"], [row["id"] for row in each["items"]]) for each in answer.json["state"]["sections"]],
                         [("a", [1]), ("b", [2])])
        self.assertEqual([each["pointer"] for each in answer.json["warnings"]], ["/0/items/1", "/1", "/2"])

    def test_sections_that_are_left_out_have_no_say_about_the_others(self):
        query = {"sectionsAt": "/g", "map": "true", "idAt": "/id", "invalid": "skip"}
        for sections, status in (({"": {"n": 1}}, 201), ({"": "text"}, 201), ({"": 5, "a": {}}, 422), ({"": {"items": []}, "a": {}}, 422),
                                 ({"": {}, "a": {"items": []}}, 201), ({"": 5, "a": {"items": 5}}, 422)):
            with self.subTest(sections):
                self.assertStatus(self.post_changes(self.new_name(), {"g": sections}, query), status)
        for sections in ([None], ["text"], [5, {"items": 5}]):
            with self.subTest(sections):
                self.assertStatus(self.post_changes(self.new_name(), {"g": sections}, {"sectionsAt": "/g", "invalid": "skip"}), 201)

    def test_other_mistakes_are_refused_as_ever(self):
        rows = [{"id": 1, "k": []}, {}, {"id": 1}]
        answer = self.post_changes(self.new_name(), rows, {"kindAt": "/k", "invalid": "skip"})
        self.assertErrors(answer, "invalid-state", ("/0/k", "wrong-type"), ("/0/id", "duplicate-id"), ("/2/id", "duplicate-id"))

    def test_beside_duplicates(self):
        rows = [{"id": 1}, {}, {"id": 1, "n": 2}, {"id": 2}]
        answer = self.post_changes(self.new_name(), rows, {"idAt": "/id", "invalid": "skip", "duplicates": "first"})
        self.assertEqual([each["id"] for each in answer.json["state"]["sections"][0]["items"]], [1, 2])
        self.assertEqual(answer.json["warnings"], [{"code": "skipped", "pointer": "/1"},
                                                   {"code": "duplicate-id", "pointer": "/2/id", "id": 1}])

    def test_at_most_twenty_are_told_of_many(self):
        rows = [{"id": number} if number % 2 else None for number in range(50000)]
        answer = self.post_changes(self.new_name(), rows, {"idAt": "/id", "invalid": "skip"}, Prefer="return=minimal")
        self.assertEqual([each["pointer"] for each in answer.json["warnings"]], [f"/{place}" for place in range(0, 40, 2)])

    def test_long_pointers_and_many_mistakes_cost_little(self):
        for pointer in ("/" + "a" * 2048, "/" + "~1" * 1024):
            self.assertProblem(self.post_changes(self.new_name(), [], {"idAt": pointer}), 400, "malformed-request")
            answer = self.put_session(self.new_name(), {"shape": {"idAt": "/id", "kindAt": pointer}})
            self.assertErrors(answer, "wrong-shape", ("/shape/kindAt", "wrong-type"))
        parts = [f"/{name}{'x' * 2000}" for name in "abcd"]
        rows = [{}] * 80000
        answer = self.diff([], rows, {"idAt": parts, "invalid": "skip", "dialect": "counts"})
        self.assertEqual((answer.json["changes"], len(answer.json["warnings"])), ({}, 20))
        # Faults in omitted elements are no reason to accept faults in others.
        wrong = [{"k": []}] * 20000 + [{"id": 1, "k": []}]
        problem = self.assertProblem(self.post_changes(self.new_name(), wrong, {"kindAt": "/k", "invalid": "skip"}), 422, "invalid-state")
        self.assertLess(len(problem["errors"]), 3)
        self.assertStatus(self.post_changes(self.new_name(), wrong[:-1], {"kindAt": "/k", "invalid": "skip"}), 201)

    def test_a_kept_shape_says_them(self):
        session, shape = self.new_name(), {"itemsAt": "/rows", "missing": "empty", "invalid": "skip"}
        self.assertStatus(self.put_session(session, {"state": {}, "shape": shape}), 201)
        answer = self.post_changes(session, {"rows": [{"id": 1}, {}]})
        self.assertEqual(answer.json["warnings"], [{"code": "skipped", "pointer": "/rows/1"}])
        self.assertEqual(self.post_changes(session, {"rowz": []}).json["changes"], [{"op": "remove", "items": [1]}])
        for member, bad in (("missing", "yes"), ("invalid", "first"), ("missing", True)):
            with self.subTest(member, bad=bad):
                answer = self.put_session(self.new_name(), {"shape": {"idAt": "/id", member: bad}})
                self.assertErrors(answer, "wrong-shape", (f"/shape/{member}", "wrong-type"))
        for query in ({"missing": "empty"}, {"invalid": "skip"}, {"missing": "no", "idAt": "/id"}, {"invalid": "no", "idAt": "/id"}):
            with self.subTest(query):
                self.assertProblem(self.post_changes(self.new_name(), [], query), 400, "malformed-request")


class Maps(Shaped):
    def test_an_array_is_an_object_of_its_indexes_with_holes(self):
        query = {"itemsAt": "/rooms", "map": "true"}
        session, _ = self.made({"rooms": [None, {"t": 1}, {"t": 2}]}, query=query)
        same = self.post_changes(session, {"rooms": {"1": {"t": 1}, "2": {"t": 2}}}, query)
        self.assertEqual(same.json["changes"], [])
        changes = self.post_changes(session, {"rooms": {"1": {"t": 1}, "2": {"t": 2}, "9": {"t": 9}}}, query).json["changes"]
        self.assertEqual([each["op"] for each in changes], ["insert"])
        self.assertEqual(self.items({"rooms": {"a": None}}, query), [{"id": "a", "content": None}])

    def test_what_is_wrong_in_them_is_named_where_it_stands(self):
        query = {"itemsAt": "/r", "map": "true", "kindAt": "/k"}
        answer = self.post_changes(self.new_name(), {"r": [None, {"k": []}, {"k": {}}]}, query)
        self.assertErrors(answer, "invalid-state", ("/r/1/k", "wrong-type"), ("/r/2/k", "wrong-type"))
        answer = self.post_changes(self.new_name(), {"r": 7}, query)
        self.assertErrors(answer, "invalid-state", ("/r", "not-an-object"))

    def test_children_and_sections_too(self):
        query = {"sectionsAt": "/s", "itemsAt": "/rows", "map": "true", "childrenAt": "/kids"}
        body = {"s": {"one": {"n": 1, "rows": {"a": {"kids": [None, {"x": 1}]}}}, "two": {"rows": {"b": 7}}, "no/ne": None}}
        self.assertEqual(self.sections(body, query), [
            {"id": "one", "content": {"n": 1}, "items": [{"id": "a", "content": {}, "items": [{"id": "1", "content": {"x": 1}}]}]},
            {"id": "two", "content": {}, "items": [{"id": "b", "content": 7}]},
            {"id": "no/ne", "content": None, "items": []}])
        wrong = {"s": {"a/b": {"rows": []}, "": {"rows": {"": 1}}}}
        answer = self.post_changes(self.new_name(), wrong, query)
        self.assertErrors(answer, "invalid-state", ("/s/", "invalid-id"), ("/s//rows/", "invalid-id"))
        twice = {"s": {"a~": {"rows": {"x": 1}}, "b": {"rows": {"x": 2}}}}
        answer = self.post_changes(self.new_name(), twice, query)
        self.assertErrors(answer, "invalid-state", ("/s/a~0/rows/x", "duplicate-id"), ("/s/b/rows/x", "duplicate-id"))

    def test_lists_stay_lists_where_ids_have_a_place(self):
        self.assertEqual(self.sections({"A": [{"id": 1}], "B": []}, {"sectionsAt": "", "itemsAt": "", "map": "true", "idAt": "/id"}), [
            {"id": "A", "items": [{"id": 1, "content": {"id": 1}}]}, {"id": "B", "items": []}])
        body = [{"name": "A", "rows": {"x": 1}}]
        self.assertEqual(self.sections(body, {"sectionsAt": "", "sectionIdAt": "/name", "itemsAt": "/rows", "map": "true"}), [
            {"id": "A", "content": {"name": "A"}, "items": [{"id": "x", "content": 1}]}])

    def test_a_kept_shape_says_them(self):
        for shape, body in (({"sectionsAt": "", "itemsAt": "", "map": True, "idAt": "/id"}, {"A": [{"id": 1}]}),
                            ({"sectionsAt": "", "itemsAt": "", "map": True}, {"A": {"1": {"id": 1}}}),
                            ({"sectionsAt": "", "sectionIdAt": "/n", "itemsAt": "/r", "map": True}, [{"n": "A", "r": {"1": {"id": 1}}}])):
            with self.subTest(shape):
                session = self.new_name()
                self.assertStatus(self.put_session(session, {"state": body, "shape": shape}), 201)
                self.assertEqual(self.post_changes(session, body).json["changes"], [])


class Folding(Shaped):
    QUERY = {"sectionsAt": "/s", "itemsAt": "/rows", "sectionExpandedAt": "/open"}

    def test_a_section_says_whether_it_is_expanded(self):
        body = {"s": [{"id": value, "open": value, "rows": []} for value in ("x",)]}
        for value, expected in ((True, {}), (False, {"expanded": False}), (None, {})):
            body["s"] = [{"id": "x", "open": value, "rows": [{"id": 1}]}, {"id": "y", "rows": []}]
            sections = self.sections(body, self.QUERY)
            self.assertEqual({name: each for name, each in sections[0].items() if name == "expanded"}, expected)
        body["s"] = [{"id": "x", "open": "yes", "rows": []}, {"id": "y", "open": [], "rows": []}]
        answer = self.post_changes(self.new_name(), body, self.QUERY)
        self.assertErrors(answer, "invalid-state", ("/s/0/open", "wrong-type"), ("/s/1/open", "wrong-type"))

    def test_with_keep_what_is_said_counts(self):
        shape = dict(self.QUERY)
        state = {"s": [{"id": "x", "open": False, "rows": [{"id": 1}]}]}
        session = self.new_name()
        self.assertStatus(self.put_session(session, {"state": state, "shape": shape, "keep": ["expanded"]}), 201)
        said = {None: False, True: True, "left out": True}
        state["s"][0]["open"] = None
        self.post_changes(session, state)
        self.assertIs(self.get_session(session).json["state"]["sections"][0].get("expanded", True), said[None])
        state["s"][0]["open"] = True
        self.post_changes(session, state)
        self.assertIs(self.get_session(session).json["state"]["sections"][0].get("expanded", True), said[True])
        self.post_changes(session, {"edits": [{"op": "collapse", "sections": ["x"]}]})
        del state["s"][0]["open"]
        self.post_changes(session, state)
        self.assertIs(self.get_session(session).json["state"]["sections"][0].get("expanded", True), False)
        state["s"][0]["open"] = True
        self.post_changes(session, state)
        self.assertIs(self.get_session(session).json["state"]["sections"][0].get("expanded", True), True)


class ByteOrderMarks(ServiceCase):
    def test_one_before_a_document_is_skipped(self):
        session = self.new_name()
        self.assertStatus(self.post_changes(session, BOM + '["a"]'), 201)
        self.assertStatus(self.put_session(session, BOM + '{"state":["b"]}'), 200)
        self.assertStatus(self.post_changes(session, BOM + ' {"edits":[{"op":"insert","items":[{"id":"c"}]}]}'), 200)
        self.assertStatus(self.post_changes(session, BOM + '[{"id":1}]', {"idAt": "/id"}), 200)
        self.assertStatus(self.request("POST", "/v1/diff", BOM + '{"old":[],"new":["a"]}'), 200)
        self.assertEqual(self.get_session(session).exact["state"], canonical([{"id": 1, "content": {"id": 1}}]))

    def test_only_there_and_only_once(self):
        for body, offset in ((BOM * 2 + "[]", 3), ("[]" + BOM, 2), (" " + BOM + "[]", 1), (BOM + "[1,]", 6), (BOM, 3)):
            with self.subTest(body):
                answer = self.post_changes(self.new_name(), body)
                self.assertProblem(answer, 400, "malformed-json", offset=offset)


    def test_an_error_is_where_an_editor_shows_it(self):
        session = self.new_name()
        zipped = {"Content-Encoding": "gzip"}
        for text, place in ((BOM + "[1,x]", "line 1, column 4 (byte 6)"), (BOM + '{\r\n "\u00e9": x', "line 2, column 7 (byte 13)")):
            for old in ("", '{"old":[],"new":'):
                body = text.replace(BOM, BOM + old).encode()
                line, column, byte = (int(each) for each in re.findall(r"\d+", place))
                shown = f"line {line}, column {column + (len(old) if line == 1 else 0)} (byte {byte + len(old)})"
                path = "/v1/diff" if old else session_path(session, "changes")
                for data, headers in ((body, {}), (gzip.compress(body), zipped)):
                    with self.subTest(text, old=old, headers=headers):
                        answer = self.request("POST", path, data, **headers)
                        problem = self.assertProblem(answer, 400, "malformed-json", offset=byte + len(old))
                        self.assertIn(shown, problem["detail"])


class LargeIntegers(ServiceCase):
    """An integer that a double cannot hold is echoed as a string."""

    WIDE = ("9007199254740992", "-9007199254740992", "9007199254740993", "1" * 40)
    SAFE = ("9007199254740991", "-9007199254740991", "1", "-0")

    def test_everywhere(self):
        for written in (*self.WIDE, *self.SAFE):
            shown = f'"{written}"' if written in self.WIDE else written
            with self.subTest(written):
                session = self.new_name()
                path = session_path(session, "changes")
                body = f'{{"sections":[{{"id":{written},"items":[{{"id":{written},"items":["x"]}},"y"]}}]}}'
                first = self.request("POST", path, body).json["to"]
                answers = [self.get_session(session)]
                for dialect in ("keyed", "staged", "diffable", "sequential", "indexed", "json-patch"):
                    answers.append(self.get_changes(session, {"dialect": dialect}))
                answers.append(self.get(session_path(session, "items"), {"at": "0,0", "id": "x"}))
                answers.append(self.get(session_path(session, "items", written)))
                answers.append(self.get(session_path(session, "sections"), {"id": written}))
                answers.append(self.get_changes(session, {"around": written, "before": 0, "after": 0}))
                self.assertStatus(self.post_changes(session, {"edits": [{"op": "update", "items": [{"id": written, "content": 1}]}]}), 200)
                self.post_changes(session, {"edits": [{"op": "move", "items": ["y"], "before": written}]})
                for dialect in ("keyed", "staged", "diffable", "sequential", "indexed"):
                    answers.append(self.get_changes(session, {"dialect": dialect, "since": first}))
                self.post_changes(session, {"edits": [{"op": "delete", "items": [written]}, {"op": "delete", "sections": [written]}]})
                answers.append(self.get_changes(session, {"since": first}))
                for answer in answers:
                    self.assertStatus(answer, 200)
                    quoted = answer.text.replace(f'"{written}"', "").count(written)
                    self.assertIn(shown, answer.text)
                    self.assertEqual(quoted > 0, shown == written, answer)

    def test_they_are_the_ids_they_were(self):
        session, _ = self.made('[{"id":9007199254740992},{"id":9007199254740993}]')
        again = self.post_changes(session, '[{"id":"9007199254740993"},{"id":9007199254740992}]')
        self.assertEqual([each["op"] for each in again.json["changes"]], ["move"])

    def test_views_take_them_for_the_numbers_that_they_are(self):
        session, _ = self.made('[{"id":9007199254740993},{"id":"a"},{"id":5},{"id":"9007199254740994"}]')
        for test, shown in (('{"at":"/id","has":""}', ["9007199254740993", "a", 5, "9007199254740994"]),
                            ('{"at":"/id","above":9007199254740993}', ["9007199254740994"]),
                            ('{"at":"/id","is":9007199254740993}', ["9007199254740993"]), ('{"at":"/id","in":["9007199254740993",5]}', ["9007199254740993", 5])):
            with self.subTest(test):
                state = self.get(session_path(session), {"view": f'{{"where":[{test}]}}'}).json["state"]
                self.assertEqual([each["id"] for each in state["sections"][0]["items"]], shown)
        state = self.get(session_path(session), {"view": '{"order":[{"at":"/id"}]}'}).json["state"]
        self.assertEqual([each["id"] for each in state["sections"][0]["items"]], [5, "9007199254740993", "9007199254740994", "a"])

    def test_contents_are_verbatim(self):
        session, _ = self.made('[{"id":9007199254740993,"n":9007199254740993}]', query={"idAt": "/id"})
        self.assertIn('{"id":"9007199254740993","content":{"id":9007199254740993,"n":9007199254740993}}', self.get_session(session).text)
