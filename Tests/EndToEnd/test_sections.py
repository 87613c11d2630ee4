"""POST of one section: its rows from a document of their own, all others stay (CONTRACT §3)."""

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import Client, session_path
from support.events import Stream
from support.jsontext import text
from support.sources import KEY, KEYS
from support.tokens import bearer, token

SCREEN = {"sections": [
    {"id": "popular", "content": {"title": "Popular"}, "items": [{"id": "s1", "content": {"n": 1}}, "s2", "s3"]},
    {"id": "latest", "expanded": False, "items": [{"id": "l1", "items": ["l2"]}]}]}


class SectionCase(ServiceCase):
    def post(self, session, section, body, query=None, **headers):
        return self.request("POST", session_path(session, "sections", section, "changes"), body, query, **headers)

    def shows(self, session, *sections):
        """The state's sections are these."""
        self.assertEqual(self.get_session(session).json["state"]["sections"], list(sections))

    def rows(self, session):
        """The ids of each section's items."""
        state = self.get_session(session).json["state"]
        return {each["id"]: [item["id"] for item in each["items"]] for each in state["sections"]}


class Bodies(SectionCase):
    def test_an_array_replaces_the_rows_of_its_section(self):
        session, before = self.made(SCREEN)
        answer = self.post(session, "popular", ["s2", {"id": "s1", "content": {"n": 2}}, "new"])
        changeset = self.assertChangeset(answer)
        self.assertEqual(changeset["from"], before)
        self.assertEqual(sorted(each["op"] for each in changeset["changes"]), ["insert", "move", "remove", "update"])
        self.shows(session, {"id": "popular", "content": {"title": "Popular"}, "items": [
            {"id": "s2"}, {"id": "s1", "content": {"n": 2}}, {"id": "new"}]}, SCREEN["sections"][1] | {
                "items": [{"id": "l1", "items": [{"id": "l2"}]}]})

    def test_what_is_left_out_stays(self):
        session, _ = self.made(SCREEN)
        for body, content, expanded, items in (
                ({"content": {"title": "Now"}}, {"title": "Now"}, True, ["s1", "s2", "s3"]),
                ({"expanded": False}, {"title": "Now"}, False, ["s1", "s2", "s3"]),
                ({"items": ["s3"]}, {"title": "Now"}, False, ["s3"]),
                ({"items": None, "expanded": True}, {"title": "Now"}, True, []),
                ({"content": None, "items": ["a"]}, None, True, ["a"]), ({}, None, True, ["a"])):
            with self.subTest(body):
                self.assertStatus(self.post(session, "popular", body), 200)
                section = self.get_session(session).json["state"]["sections"][0]
                self.assertEqual((section["content"], section.get("expanded", True)), (content, expanded))
                self.assertEqual([each["id"] for each in section["items"]], items)

    def test_a_section_that_is_not_there_is_made_at_the_end(self):
        session, _ = self.made(SCREEN)
        changes = self.assertChangeset(self.post(session, "a/b é", {"items": ["x"], "content": 1}))["changes"]
        self.assertEqual(changes, [{"op": "insert", "section": {"id": "a/b é", "content": 1, "items": [{"id": "x"}]}, "before": None}])
        self.assertEqual(list(self.rows(session)), ["popular", "latest", "a/b é"])

    def test_a_missing_session_is_made_with_the_section(self):
        session = self.new_name()
        answer = self.post(session, "popular", ["a"])
        self.assertReset(answer, "initial", 201)
        self.assertEqual(answer.headers["Location"], session_path(session))
        self.shows(session, {"id": "popular", "items": [{"id": "a"}]})
        self.assertReset(self.post(self.new_name(), "s", [], {"since": "1-0123456789abcdef"}), "unknown", 201)

    def test_the_same_rows_are_no_revision(self):
        session, before = self.made(SCREEN)
        for body in (["s1", "s2", "s3"], [{"content": {"n": 1.0}, "id": "s1"}]):
            self.post(session, "popular", body)
        revision = self.get_session(session).json["revision"]
        answer = self.post(session, "popular", ' [ {"content" : {"n":1.0},"id":"s1" } ] ')
        self.assertEqual((answer.json["to"], answer.json["changes"]), (revision, []))
        self.assertNotEqual(revision, before)

    def test_ids_are_their_texts(self):
        session, _ = self.made({"sections": [{"id": 7, "items": [1, 2]}]})
        self.assertEqual(self.post(session, "7", ["1", 2]).json["changes"], [])
        self.assertEqual(self.rows(session), {7: [1, 2]})

    def test_what_is_no_section_is_told_with_its_place(self):
        session, before = self.made(SCREEN)
        wrong = [("7", "", "wrong-type"), ('"[]"', "", "wrong-type"), ("null", "", "wrong-type"),
                 ('{"items":[],"state":[]}', "/state", "unknown-member"), ('{"edits":[]}', "/edits", "unknown-member"),
                 ('{"sections":[]}', "/sections", "unknown-member"), ('{"ttl":1}', "/ttl", "unknown-member")]
        for body, pointer, code in wrong:
            with self.subTest(body):
                self.assertErrors(self.post(session, "popular", body), "wrong-shape", (pointer, code))
        for body, pointer, code in (
                ([{"id": "a", "title": 1}], "/0/title", "unknown-member"), ({"items": [{}]}, "/items/0", "missing-id"),
                (["a", {"id": "b", "items": ["a"]}], "/0", "duplicate-id"), ({"items": {}}, "/items", "not-an-array"),
                ({"expanded": 1}, "/expanded", "wrong-type")):
            with self.subTest(body):
                found = [(each["pointer"], each["code"]) for each in self.assertProblem(
                    self.post(session, "popular", body), 422, "invalid-state")["errors"]]
                self.assertIn((pointer, code), found)
        self.assertProblem(self.post(session, "popular", "[1,"), 400, "malformed-json", offset=3)
        self.assertErrors(self.post(session, "x" * 2049, []), "invalid-state", ("", "invalid-id"))
        self.assertProblem(self.post(session, "popular", [], Content_Type="application/merge-patch+json"), 415, "unsupported-media-type")
        self.assertEqual(self.get_session(session).json["revision"], before)

    def test_an_id_of_another_section_is_refused_where_it_stands(self):
        session, before = self.made(SCREEN)
        answer = self.post(session, "popular", {"items": ["s1", {"id": "new", "items": ["l2"]}, "l1"]})
        problem = self.assertErrors(
            answer, "invalid-state", ("/items/1/items/0", "duplicate-id"), ("/items/2", "duplicate-id"))
        self.assertIn("idScope=section", problem["detail"])
        for query in ({"idAt": "/k", "duplicates": "first"}, {"idAt": ["/k", "/k"]}):
            other = {"k": "l1"} if len(query) > 1 else {"k": "l"}
            self.post(session, "other", ["l/l"])
            self.assertErrors(self.post(session, "popular", [{"k": "z"}, other], query), "invalid-state",
                              ("/1/k" if len(query) > 1 else "/1", "duplicate-id"))
        self.assertEqual(self.rows(session)["popular"], ["s1", "s2", "s3"])

    def test_limits_count_the_whole_list(self):
        session, _ = self.made({"sections": [{"id": "a", "items": [f"a{each}" for each in range(60_000)]}]})
        problem = self.assertProblem(self.post(session, "b", [f"b{each}" for each in range(40_001)]), 422, "limit-exceeded")
        self.assertEqual((problem["limit"], problem["actual"]), (100_000, 100_001))
        self.assertStatus(self.post(session, "b", [f"b{each}" for each in range(40_000)]), 200)


class Shapes(SectionCase):
    def test_any_document_by_parameters(self):
        session, _ = self.made(SCREEN)
        document = {"data": [{"no": 1, "t": "ad", "in": [{"no": 2}]}, {"no": 1}, {}], "total": 3, "at": "now"}
        query = {"itemsAt": "/data", "idAt": "/no", "kindAt": "/t", "childrenAt": "/in", "rest": "/total", "duplicates": "first",
                 "invalid": "skip"}
        answer = self.post(session, "popular", document, query)
        self.assertEqual([each["code"] for each in answer.json["warnings"]], ["skipped", "duplicate-id"])
        self.assertEqual(self.get_session(session).json["state"]["sections"][0], {
            "id": "popular", "content": {"total": 3}, "items": [
                {"id": 1, "kind": "ad", "content": {"no": 1, "t": "ad"}, "items": [{"id": 2, "content": {"no": 2}}]}]})
        # Without `rest` the content stays.
        del query["rest"]
        self.post(session, "popular", {"data": []}, query)
        self.assertEqual(self.get_session(session).json["state"]["sections"][0]["content"], {"total": 3})
        self.post(session, "popular", {"b": {"x": 1}, "a": None}, {"map": "true", "itemsAt": ""})
        self.assertEqual(self.rows(session)["popular"], ["b", "a"])
        self.assertErrors(self.post(session, "popular", {"other": []}, query), "invalid-state", ("/data", "not-found"))

    def refused(self, session, body, query=None):
        """The problem with a body of the section `popular`."""
        answer = self.post(session, "popular", body, query)
        self.assertStatus(answer, 422)
        return answer.json

    def test_a_shape_is_guessed_of_a_section_that_is_refused(self):
        session, before = self.made(SCREEN)
        rows = [{"number": 1, "t": "a"}, {"number": 2, "t": "a"}]
        teams = {"teams": [{"name": "red", "people": [{"login": "ann"}, {"login": "bea"}]}]}
        for body, query, shape in (
                (rows, None, {"itemsAt": "", "idAt": "/number"}), (rows, {"idAt": "/numer"}, {"itemsAt": "", "idAt": "/number"}),
                ({"data": rows, "at": 3}, None, {"itemsAt": "/data", "idAt": "/number"}),
                ([[1, "a"], [2, "b"]], None, {"itemsAt": "", "idBy": "match"}),
                # A section has no sections.
                (teams, None, {"itemsAt": "/teams", "idAt": "/name"})):
            with self.subTest(body, query=query):
                problem = self.refused(session, body, query)
                self.assertEqual(problem["shape"], shape)
                self.assertIn("the document looks like ?", problem["detail"])
                self.assertStatus(self.post(self.new_name(), "popular", body, shape), 201)
        for body, query in (
                ({"state": rows}, None), ({"edits": rows}, None), ({"ignore": ["/a", "/b"]}, None), ({"error": "no"}, None),
                # What is wrong is not the shape.
                (["l1"], None), ([{"k": "l1"}, {"k": "b"}], {"idAt": "/k"}), ([{"number": "x"}, {}], {"idAt": "/number"})):
            with self.subTest(body, query=query):
                problem = self.refused(session, body, query)
                self.assertNotIn("shape", problem)
                self.assertEqual("invalid=skip" in problem["detail"], body[-1:] == [{}] if isinstance(body, list) else False)
        self.assertEqual(self.get_session(session).json["revision"], before)
        grouped = self.new_name()
        self.assertStatus(self.request("PUT", session_path(grouped), {"state": [{"k": 1, "g": "a"}], "shape": {"idAt": "/k", "groupAt": "/g"}}), 201)
        self.assertNotIn("shape", self.refused(grouped, rows))

    def test_what_says_where_sections_are_is_unknown(self):
        session, _ = self.made(SCREEN)
        for name, value in (("sectionsAt", "/a"), ("sectionIdAt", "/a"), ("sectionExpandedAt", "/a"), ("groupAt", "/a"), ("groupPrefix", 1)):
            with self.subTest(name):
                self.assertProblem(self.post(session, "popular", [], {"idAt": "/id", name: value}), 400, "unknown-parameter")
        self.assertProblem(self.post(session, "popular", [], {"idScope": "section"}), 400, "malformed-request")

    def test_ids_may_be_those_of_the_section(self):
        session, _ = self.made(SCREEN)
        query = {"idAt": "/k", "idScope": "section"}
        self.post(session, "popular", [{"k": "l1"}, {"k": "a/b"}], query)
        self.post(session, "a~/b", [{"k": "l1"}], query)
        self.assertEqual(self.rows(session), {"popular": ["popular/l1", "popular/a~1b"], "latest": ["l1"], "a~/b": ["a~0~1b/l1"]})
        answer = self.post(session, "popular", [{"k": "x" * 2048}], query)
        self.assertErrors(answer, "invalid-state", ("/0", "invalid-id"))

    def test_the_kept_scope_holds_and_nothing_else_of_the_kept_shape(self):
        session = self.new_name()
        shape = {"sectionsAt": "/s", "itemsAt": "/rows", "idAt": "/k", "idScope": "section"}
        self.post_changes(session, {"state": {"s": [{"id": "a", "rows": [{"k": 1}]}, {"id": "b", "rows": [{"k": 1}]}]}, "shape": shape})
        self.assertChangeset(self.post(session, "a", [1, {"id": 2, "content": {"k": 2}}]))
        self.assertChangeset(self.post(session, "b", [{"no": 1}], {"idAt": "/no"}))
        self.assertEqual(self.rows(session), {"a": ["a/1", "a/2"], "b": ["b/1"]})
        self.assertChangeset(self.post(session, "b", [{"no": 9}], {"idAt": "/no", "idScope": "state"}))
        self.assertEqual(self.rows(session)["b"], [9])

    def test_groups_make_the_sections_themselves(self):
        session = self.new_name()
        self.post_changes(session, {"state": [{"id": 1, "day": "mon"}], "shape": {"groupAt": "/day"}})
        problem = self.assertErrors(self.post(session, "mon", []), "wrong-shape", ("", "wrong-type"))
        self.assertIn("/changes", problem["detail"])
        self.assertProblem(self.post(session, "mon", "[1"), 400, "malformed-json")

    def test_kept_expansion_and_ignored_places(self):
        session = self.new_name()
        state = {"sections": [{"id": "a", "items": [{"id": "x", "expanded": False, "items": ["y"]}, {"id": "z", "content": {"at": 1}}]}]}
        self.post_changes(session, {"state": state, "keep": ["expanded"], "ignore": ["/at"]})
        answer = self.post(session, "a", [{"id": "x", "items": ["y"]}, {"id": "z", "content": {"at": 2}}])
        self.assertEqual(answer.json["changes"], [])
        self.post(session, "a", [{"id": "x", "items": ["y"], "expanded": True}, {"id": "z", "content": {"at": 2}}])
        self.assertNotIn("expanded", self.get_session(session).json["state"]["sections"][0]["items"][0])


class Answers(SectionCase):
    def test_every_dialect_leads_to_the_new_state(self):
        for dialect, applier in DIALECTS.items():
            with self.subTest(dialect):
                session, before = self.made(SCREEN)
                states = [self.get_changes(session, {"since": "", "dialect": dialect}).json["state"]]
                answer = self.post(session, "popular", ["s3", "s2", {"id": "n", "kind": "k"}], {"dialect": dialect})
                states.append(self.get_changes(session, {"since": "", "dialect": dialect}).json["state"])
                self.assertEqual(answer.json["from"], before)
                old, new = map(applier.shown, states)
                self.assertEqual(applier.applied(old, answer.json["changes"]), new)

    def test_views_windows_and_since(self):
        session, first = self.made(SCREEN)
        view = text({"sections": ["latest"]})
        self.assertEqual(self.post(session, "popular", ["s1"], {"view": view}).json["changes"], [])
        answer = self.post(session, "popular", [f"r{each}" for each in range(50)], {"at": "start", "after": 1, "since": first})
        self.assertEqual(answer.json["window"], {"anchor": "r0", "above": 0, "below": 48})
        self.assertEqual(self.post(session, "popular", [], Prefer="return=minimal").json.keys(), {"session", "from", "to"})
        self.assertReset(self.post(session, "popular", ["s1"], {"reload": "true"}), "reloaded")
        self.assertEqual(self.post(session, "popular", ["s1"], {"since": first, "dialect": "counts"}).json["dialect"], "counts")
        self.assertProblem(self.post(session, "popular", [], {"sinse": first}), 400, "unknown-parameter")

    def test_a_stream_hears_of_it(self):
        session, _ = self.made(SCREEN)
        stream = Stream(self.server, session_path(session, "changes"))
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().event, "changes")
        to = self.post(session, "latest", ["l3"]).json["to"]
        self.assertEqual(stream.next_event().json["to"], to)

    def test_conditions(self):
        session, first = self.made(SCREEN)
        self.assertProblem(self.post(self.new_name(), "a", [], If_Match=f'"{first}"'), 412, "revision-mismatch", current=None)
        answer = self.post(session, "popular", ["s1"], If_Match=f'"{first}"')
        self.assertStatus(answer, 200)
        # The answer was lost: the same body with the same condition.
        again = self.post(session, "popular", ["s1"], If_Match=f'"{first}"')
        self.assertEqual((again.status, again.json["to"]), (200, answer.json["to"]))
        self.assertEqual(again.json["changes"], answer.json["changes"])
        # So is one that says the same in other words, as of a whole state.
        for body in ('[ "s1"]', {"items": ["s1"]}, {"content": {"title": "Popular"}, "items": [{"id": "s1"}]}):
            with self.subTest(body=body):
                again = self.post(session, "popular", body, If_Match=f'"{first}"')
                self.assertEqual((again.status, again.json["to"], again.json["changes"]), (200, answer.json["to"], answer.json["changes"]))
        # Somebody else's: another state, one that cannot be, and one that this was not made from.
        latest = SCREEN["sections"][1]
        for section, body in (("popular", ["s1", "s2"]), ("latest", ["s1"]), ("latest", latest["items"]), ("popular", {"content": 1, "items": ["s1"]})):
            with self.subTest(section=section, body=body):
                answer = self.post(session, section, body, If_Match=f'"{first}"')
                self.assertProblem(answer, 412, "revision-mismatch")
        answer = self.post(session, "popular", '[ "s1"]', If_Match=f'"{first}"', Idempotency_Key="new")
        self.assertProblem(answer, 412, "revision-mismatch")

    def test_a_lost_answer_of_documents(self):
        session, first = self.made({"sections": [{"id": "a", "items": [{"id": 1, "content": {"no": 1}}]}]})
        for query, sent, again in (({"idAt": "/no"}, '[{"no":1,"t":2},{"no":3}]', '[{"t":2,"no":1}, {"no":3}]'),
                                   ({"idBy": "match"}, '[{"t":"x","n":1},{"t":"y"}]', '[{"n":1,"t":"x"}, {"t":"y"}]')):
            with self.subTest(query):
                answer = self.post(session, "a", sent, query, If_Match=f'"{first}"')
                self.assertStatus(answer, 200)
                repeated = self.post(session, "a", again, query, If_Match=f'"{first}"')
                self.assertEqual((repeated.status, repeated.json["to"]), (200, answer.json["to"]))
                first = answer.json["to"]

    def test_a_key_is_of_one_section(self):
        session, _ = self.made(SCREEN)
        first = self.post(session, "popular", ["s1"], Idempotency_Key="k")
        self.post(session, "popular", ["s2"])
        again = self.post(session, "popular", ["s1"], Idempotency_Key="k")
        self.assertStatus(again, 200)
        self.assertEqual(self.rows(session)["popular"], ["s2"])
        self.assertNotEqual(again.json["to"], first.json["to"])
        for path in (("sections", "latest", "changes"), ("changes",)):
            answer = self.request("POST", session_path(session, *path), ["s1"], Idempotency_Key="k")
            self.assertProblem(answer, 422, "idempotency-key-reused")
        made = self.new_name()
        for _ in range(2):
            self.assertStatus(self.post(made, "a", ["x"], Idempotency_Key="m"), 201)

    def test_two_writers_of_two_sections(self):
        session, _ = self.made({"sections": []})
        def writes(section):
            def run(client):
                for each in range(40):
                    answer = client.request("POST", session_path(session, "sections", section, "changes"), text([f"{section}{each}"]), {})
                    assert answer.status == 200, answer
            return run
        self.run_together(*[writes(each) for each in "abcd"])
        self.assertEqual({name: items for name, items in sorted(self.rows(session).items())},
                         {each: [f"{each}39"] for each in "abcd"})

    def test_options_say_what_the_path_takes(self):
        answer = self.request("OPTIONS", session_path("s", "sections", "a", "changes"))
        self.assertEqual((answer.status, answer.headers["Allow"]), (204, "OPTIONS, POST"))
        self.assertProblem(self.get(session_path("s", "sections", "a", "changes")), 405, "method-not-allowed")


class Rights(SectionCase):
    options = KEYS

    def test_it_takes_a_key(self):
        session = self.new_name()
        self.assertStatus(self.post(session, "a", ["x"], Authorization=f"Bearer {KEY}"), 201)
        for scope in ("read", "edit", "read edit"):
            self.assertProblem(self.post(session, "a", [], **bearer(token(session, scope, 60))), 403, "forbidden")
        self.assertProblem(self.post(session, "a", []), 401, "unauthenticated")


class WithoutHistory(SectionCase):
    options = ("--history-revisions", "0")

    def test_the_same_bytes_are_a_lost_answer(self):
        session, first = self.made(SCREEN)
        answer = self.post(session, "popular", ["s1"], If_Match=f'"{first}"')
        again = self.post(session, "popular", ["s1"], If_Match=f'"{first}"')
        self.assertEqual((again.status, again.json["to"]), (200, answer.json["to"]))


class OfOneNode(SectionCase):
    def test_large_lists_are_written_by_workers(self):
        session, _ = self.made({"sections": [
            {"id": "a", "items": [{"id": each, "content": {"text": "x" * 40}} for each in range(20_000)]}, {"id": "b", "items": []}]})
        client = Client(self.server, 60)
        self.addCleanup(client.close)
        rows = [{"id": each, "content": {"text": "x" * 40}} for each in range(20_000)]
        rows[7]["content"]["text"] = "y"
        answer = self.post(session, "a", rows)
        self.assertEqual([each["items"][0]["id"] for each in answer.json["changes"]], [7])
