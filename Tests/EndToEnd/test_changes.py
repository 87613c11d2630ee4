"""POST …/changes with states: the table of CONTRACT §3."""

from support.appliers import DIALECTS
from support.case import ServiceCase
from support.client import session_path
from support.states import canonical


class Posts(ServiceCase):
    def test_a_state_that_differs_answers_from_the_head_before_to_the_new_one(self):
        session, first = self.made(["a", "b"])
        changeset = self.assertChangeset(self.post_changes(session, ["b", "a"]))
        self.assertEqual((changeset["session"], changeset["from"]), (session, first))
        self.assertNotEqual(changeset["to"], first)
        self.assertEqual([each["op"] for each in changeset["changes"]], ["move"])

    def test_a_state_that_differs_answers_since_to_the_new_head(self):
        session, first = self.made(["a"])
        self.wrote(session, ["a", "b"])
        changeset = self.assertChangeset(self.post_changes(session, ["a", "b", "c"], {"since": first}))
        self.assertEqual(changeset["from"], first)
        self.assertEqual([each["id"] for each in changeset["changes"][0]["items"]], ["b", "c"])

    def test_a_state_equal_to_the_head_makes_no_revision(self):
        session, first = self.made([{"id": "a", "content": {"x": 1, "y": 2}}])
        changeset = self.assertChangeset(self.post_changes(session, '[{"content":{"y":2, "x":1},"id":"a"}]'))
        self.assertEqual((changeset["from"], changeset["to"], changeset["changes"]), (first, first, []))

    def test_a_state_equal_to_the_head_still_answers_since(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["b"])
        changeset = self.assertChangeset(self.post_changes(session, ["b"], {"since": first}))
        self.assertEqual((changeset["from"], changeset["to"]), (first, second))
        self.assertEqual(len(changeset["changes"]), 2)

    def test_a_post_that_creates_is_201_with_a_location_and_an_initial_reset(self):
        session = self.new_name()
        answer = self.post_changes(session, ["a"])
        changeset = self.assertReset(answer, "initial", status=201)
        self.assertEqual(answer.headers["Location"], session_path(session))
        self.assertEqual((changeset["session"], changeset["from"]), (session, None))
        self.assertEqual(changeset["state"], canonical(["a"]))
        self.assertEqual(changeset["to"], self.get_session(session).json["revision"])

    def test_a_post_that_creates_with_a_since_is_an_unknown_reset(self):
        answer = self.post_changes(self.new_name(), ["a"], {"since": "3-0123456789abcdef"})
        self.assertEqual(self.assertReset(answer, "unknown", status=201)["from"], "3-0123456789abcdef")

    def test_an_empty_since_is_an_initial_reset(self):
        session, _ = self.made(["a"])
        changeset = self.assertReset(self.post_changes(session, ["b"], {"since": ""}), "initial")
        self.assertEqual(changeset["from"], None)
        self.assertEqual(changeset["state"], canonical(["b"]))

    def test_every_shape_of_the_body(self):
        section = {"id": "main", "items": [{"id": "a"}]}
        for body in ({"state": ["a"]}, {"state": {"items": ["a"]}}, {"state": {"sections": [section]}}, ["a"],
                     {"items": ["a"]}, {"sections": [section]}):
            with self.subTest(body):
                session, _ = self.made(body)
                self.assertEqual(self.get_session(session).json["state"], {"sections": [section]})

    def test_more_than_one_shape_or_none_is_wrong(self):
        for body in ({"state": [], "edits": []}, {"state": [], "sections": []}, {"sections": [], "items": []},
                     {"edits": [], "items": []}, {}, "text", 1, None, True, {"stat": []}):
            with self.subTest(body):
                answer = self.request("POST", session_path("shapes", "changes"), "null" if body is None else
                                      f'"{body}"' if isinstance(body, str) else body)
                self.assertProblem(answer, 422, "wrong-shape")

    def test_a_document_of_another_form_is_told_of_the_shape(self):
        path = session_path("shapes", "changes")
        errors = self.request("POST", path, {"data": [{"id": 1}]}).json["errors"]
        self.assertEqual([(each["pointer"], each["code"]) for each in errors], [("/data", "unknown-member"), ("", "wrong-shape")])
        self.assertIn("?itemsAt=", errors[1]["detail"])
        self.assertNotIn("?itemsAt=", self.request("POST", path, {"state": [], "edits": []}).text)

    def test_return_minimal_answers_the_revisions_only(self):
        session, first = self.made(["a"])
        answer = self.post_changes(session, ["b"], Prefer="return=minimal")
        self.assertStatus(answer, 200)
        self.assertEqual(answer.json, {"session": session, "from": first,
                                       "to": self.get_session(session).json["revision"]})
        self.assertIn("return=minimal", answer.headers["Preference-Applied"])

    def test_return_minimal_when_it_creates(self):
        session = self.new_name()
        answer = self.post_changes(session, ["a"], Prefer="return=minimal")
        self.assertStatus(answer, 201)
        self.assertEqual(set(answer.json), {"session", "from", "to"})
        self.assertIsNone(answer.json["from"])

    def test_return_minimal_leads_from_since_too_and_for_edits(self):
        session, first = self.made(["a"])
        second = self.wrote(session, ["b"])
        answer = self.post_changes(session, ["b"], {"since": first}, Prefer="return=minimal")
        self.assertStatus(answer, 200)
        self.assertEqual(answer.json, {"session": session, "from": first, "to": second})
        answer = self.post_changes(session, {"edits": [{"op": "clear"}]}, Prefer="return=minimal")
        self.assertStatus(answer, 200)
        self.assertEqual(answer.json, {"session": session, "from": second, "to": self.get_session(session).json["revision"]})
        self.assertIn("return=minimal", answer.headers["Preference-Applied"])

    def test_without_the_preference_nothing_is_said_to_be_applied(self):
        session, _ = self.made(["a"])
        self.assertNotIn("Preference-Applied", self.post_changes(session, ["b"], Prefer="return=representation").headers)

    def test_the_dialect_staging_and_content_of_a_post(self):
        session, first = self.made([{"id": "a", "content": {"long": "x" * 99, "n": 1}}])
        for dialect in DIALECTS:
            with self.subTest(dialect):
                state = [{"id": "a", "content": {"long": "x" * 99, "n": dialect}}]
                answer = self.post_changes(session, state, {"dialect": dialect, "staging": "compact", "content": "patch"})
                self.assertChangeset(answer, dialect=dialect)
                if dialect in ("keyed", "indexed", "staged", "sequential"):
                    self.assertIn('"patch":{"n":', answer.text)

    def test_more_than_max_changes_is_a_large_reset(self):
        session, first = self.made(["a"])
        changeset = self.assertReset(self.post_changes(session, ["b"], {"maxChanges": 1}), "large")
        self.assertEqual(changeset["from"], first)
        self.assertIn("changes", self.post_changes(session, ["c"], {"maxChanges": 2}).json)

    def test_max_changes_counts_sections_and_rows(self):
        session, _ = self.made({"sections": [{"id": "s", "content": 1, "items": ["a", "b"]}]})
        body = {"sections": [{"id": "s", "content": 2, "items": ["b", "a"]}]}
        self.assertReset(self.post_changes(session, body, {"maxChanges": 1}), "large")
        body["sections"][0]["content"] = 3
        self.assertIn("changes", self.post_changes(session, body, {"maxChanges": 1}).json)

    def test_ttl_and_ignore_may_stand_in_every_post_of_a_state(self):
        session = self.new_name()
        for items, status in ((["a"], 201), (["b"], 200)):
            self.assertStatus(self.post_changes(session, {"state": items, "ttl": 60, "ignore": ["/x"]}), status)

    def test_an_idempotency_key_that_is_none_is_400(self):
        session, head = self.made(["a"])
        for key in ("", "x" * 5000):
            with self.subTest(key[:3]):
                self.assertProblem(self.post_changes(session, ["b"], Idempotency_Key=key), 400, "malformed-request")
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_a_session_keeps_the_bytes_that_made_its_revision(self):
        session, _ = self.made([{"id": "a", "content": {"x": 1, "y": 2}}])
        self.post_changes(session, '[{"id":"a","content":{"y":2,"x":1}}]')
        self.assertIn('{"x":1,"y":2}', self.get_session(session).text.replace(" ", ""))

    def test_last_writer_wins_without_conditions(self):
        session, _ = self.made(["a"])
        self.wrote(session, ["b"])
        self.wrote(session, ["c"])
        self.assertEqual(self.get_session(session).exact["state"], canonical(["c"]))


class Ignoring(ServiceCase):
    """`ignore`: pointers that equality and digest leave out."""

    def item(self, name, seen):
        return {"id": "a", "content": {"name": name, "meta": {"seen": seen}}}

    def test_a_state_that_differs_only_there_equals_the_head_and_is_not_stored(self):
        for make in ("POST", "PUT"):
            with self.subTest(make):
                session = self.new_name()
                body = {"state": [self.item("x", 1)], "ignore": ["/meta/seen"]}
                made = self.post_changes(session, body) if make == "POST" else self.put_session(session, body)
                self.assertStatus(made, 201)
                head = self.get_session(session).json["revision"]
                self.assertEqual(self.wrote(session, [self.item("x", 2)]), head)
                self.assertEqual(self.get_session(session).exact["state"], canonical([self.item("x", 1)]))

    def test_a_state_that_differs_elsewhere_too_is_stored_whole(self):
        session, _ = self.made({"state": [self.item("x", 1)], "ignore": ["/meta/seen"]})
        changeset = self.post_changes(session, [self.item("y", 2)]).json
        self.assertEqual(len(changeset["changes"]), 1)
        self.assertEqual(self.get_session(session).exact["state"], canonical([self.item("y", 2)]))

    def test_an_item_that_differs_only_there_is_no_update(self):
        session, _ = self.made({"state": [self.item("x", 1)], "ignore": ["/meta/seen"]})
        changeset = self.post_changes(session, [self.item("x", 2), "b"]).json
        self.assertEqual([each["op"] for each in changeset["changes"]], ["insert"])

    def test_the_digest_leaves_them_out(self):
        session, first = self.made({"state": [self.item("x", 1)], "ignore": ["/meta/seen"]})
        self.wrote(session, ["b"])
        head = self.wrote(session, [self.item("x", 2)])
        self.assertEqual(first.split("-")[1], head.split("-")[1])
        self.assertEqual(self.get_changes(session, {"since": first}).json["changes"], [])
        other = self.wrote(session, [self.item("y", 2)])
        self.assertNotEqual(first.split("-")[1], other.split("-")[1])

    def test_a_put_starts_over_with_its_own(self):
        session = self.new_name()
        self.put_session(session, {"state": [self.item("x", 1)], "ignore": ["/meta/seen"]})
        head = self.put_session(session, {"state": [self.item("x", 1)], "ignore": ["/name"]}).json["revision"]
        self.assertEqual(self.wrote(session, [self.item("y", 1)]), head)
        self.assertNotEqual(self.wrote(session, [self.item("y", 2)]), head)

    def test_sixty_four_places_and_one_more(self):
        places = [f"/{number}" for number in range(65)]
        self.assertStatus(self.post_changes(self.new_name(), {"state": ["a"], "ignore": places[:64]}), 201)
        for answer in (self.post_changes(self.new_name(), {"state": ["a"], "ignore": places}),
                       self.put_session(self.new_name(), {"state": ["a"], "ignore": places})):
            self.assertProblem(answer, 422, "limit-exceeded", limit=64, actual=65)

    def test_a_pointer_that_is_none_is_refused(self):
        for pointer in ("meta", "/a" * 65):
            answer = self.post_changes(self.new_name(), {"state": [], "ignore": [pointer]})
            self.assertProblem(answer, 422, "wrong-shape")
        self.assertStatus(self.post_changes(self.new_name(), {"state": [], "ignore": ["/a" * 64]}), 201)
