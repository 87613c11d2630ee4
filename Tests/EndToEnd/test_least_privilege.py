"""A token that may edit and not read learns nothing of contents: CONTRACT §9."""

from support.client import Client, session_path
from support.tokens import token
from test_tokens_and_keys import KEY, Guarded

ROWS = [{"id": "a", "content": {"salary": 51234}, "kind": "k"}, {"id": "b", "content": {"salary": 48000}}]
EDITING = ("edit", "edit:move", "edit:insert edit:delete")


class EditOnly(Guarded):
    def setUp(self):
        self.session = self.new_name()
        self.first = self.ask("PUT", session_path(self.session), KEY, {"state": ROWS}).json["revision"]

    def post(self, scope, query, body=None):
        return self.request("POST", session_path(self.session, "changes"), body or {"edits": []}, query,
                            Authorization=f"Bearer {token(self.session, scope)}")

    def test_what_is_seen_may_not_be_asked(self):
        views = ('{"where":[{"at":"/content/salary","above":50000}]}', '{"limit":1}', "{}", '{"fields":["/content/salary"]}')
        asked = [{"view": view} for view in views] + [{"at": "start"}, {"around": "a"}, {"before": 1}, {"after": 5}]
        for scope in EDITING:
            for query in asked:
                with self.subTest(scope, query=query):
                    answer = self.post(scope, {**query, "dialect": "staged"})
                    self.assertProblem(answer, 403, "forbidden")
                    self.assertIn(next(iter(query)), answer.json["detail"])
        self.assertStatus(self.post("read edit", {"view": '{"limit":1}', "at": "start"}), 200)

    def test_names_count_before_values(self):
        for query in ("view=%7B", "view=", "at=nowhere", "before=x", "after=-1", "around=", "view=%7B&view=%7B"):
            with self.subTest(query):
                self.assertProblem(self.post("edit", query), 403, "forbidden")

    def test_the_answer_names_the_plain_revision_and_nothing_else(self):
        for query in ({}, {"since": self.first}, {"since": ""}, {"dialect": "json-patch", "content": "patch", "smallest": "true"}):
            with self.subTest(query):
                answer = self.post("edit:move", query)
                self.assertStatus(answer, 200)
                self.assertEqual(set(answer.json), {"session", "from", "to"})
                self.assertEqual((answer.json["to"], answer.headers["Preference-Applied"]), (self.first, "return=minimal"))

    def test_other_mistakes_are_told_as_ever(self):
        for query, name in (({"dialect": "x"}, "malformed-request"), ({"sinse": "1"}, "unknown-parameter"),
                            ({"since": "x"}, "malformed-revision"), ({"maxChanges": "x"}, "malformed-request")):
            with self.subTest(query):
                self.assertProblem(self.post("edit", query), 400, name)

    def test_a_row_is_no_oracle(self):
        """Twenty questions for a number of five digits: none is answered."""
        client = Client(self.server)
        self.addCleanup(client.close)
        for bit in range(17):
            view = f'{{"where":[{{"at":"/content/salary","above":{1 << bit}}},{{"at":"/id","is":"a"}}]}}'
            answer = self.post("edit:move", {"view": view, "at": "start", "after": 1000})
            self.assertProblem(answer, 403, "forbidden")


class Clients(Guarded):
    """`client_id` keeps Idempotency-Keys apart."""

    def post(self, session, by, body, key="1"):
        return self.request("POST", session_path(session, "changes"), body, None, Authorization=f"Bearer {by}", Idempotency_Key=key)

    def insert(self, name):
        return {"edits": [{"op": "insert", "items": [{"id": name}]}]}

    def rows(self, session):
        state = self.ask("GET", session_path(session), KEY).json["state"]
        return [each["id"] for each in state["sections"][0]["items"]]

    def test_two_clients_never_meet(self):
        session = self.new_name()
        self.make(session)
        one, other = (token(session, "edit", client_id=name) for name in ("one", "other"))
        self.assertStatus(self.post(session, one, self.insert("x")), 200)
        self.assertProblem(self.post(session, other, self.insert("x")), 422, "invalid-edit")
        self.assertStatus(self.post(session, other, self.insert("y")), 200)
        self.assertStatus(self.post(session, one, self.insert("x")), 200)
        self.assertEqual(self.rows(session), ["a", "x", "y"])
        self.assertProblem(self.post(session, one, self.insert("z")), 422, "idempotency-key-reused")

    def test_a_new_token_of_the_same_client_repeats(self):
        session = self.new_name()
        self.make(session)
        for seconds in (60, 90, 120):
            self.assertStatus(self.post(session, token(session, "edit", seconds, client_id="é" * 64), self.insert("x")), 200)
        self.assertEqual(self.rows(session), ["a", "x"])

    def test_clients_keys_and_tokens_without_a_name_never_coincide(self):
        session = self.new_name()
        self.make(session)
        writers = [KEY, token(session, "edit"), token(session, "edit", client_id="writer"), token(session, "edit", client_id="key:writer"),
                   token(session, "edit", client_id=f"token:{session}"), token(session, "edit", client_id=session)]
        for number, writer in enumerate(writers):
            self.assertStatus(self.post(session, writer, self.insert(f"w{number}")), 200)
        self.assertEqual(self.rows(session), ["a", "w0", "w1", "w2", "w3", "w4", "w5"])
        # All tokens of the session that name no client share theirs.
        self.assertStatus(self.post(session, token(session, "edit read"), self.insert("w1")), 200)
        self.assertEqual(len(self.rows(session)), 7)

    def test_it_is_minted_and_checked(self):
        session = self.new_name()
        self.make(session)
        path = session_path(session, "tokens")
        minted = [self.ask("POST", path, KEY, {"scope": ["edit"], "client_id": name}).json["token"] for name in ("a", "b", "a")]
        self.assertStatus(self.post(session, minted[0], self.insert("x")), 200)
        self.assertProblem(self.post(session, minted[1], self.insert("x")), 422, "invalid-edit")
        self.assertStatus(self.post(session, minted[2], self.insert("x")), 200)
        for bad in ("", "x" * 129, "é" * 65, 7, None, ["a"]):
            with self.subTest(bad):
                self.assertErrors(self.ask("POST", path, KEY, {"client_id": bad}), "wrong-shape", ("/client_id", "wrong-type"))
                if bad is not None:
                    claimed = token(session, "read edit", client_id=bad)
                    self.assertProblem(self.ask("GET", session_path(session), claimed), 401, "unauthenticated")

    def test_all_share_the_room_for_keys(self):
        session = self.new_name()
        self.make(session)
        one, other = (token(session, "edit", client_id=name) for name in ("one", "other"))
        self.assertStatus(self.post(session, one, self.insert("first"), "first"), 200)
        for number in range(100):
            self.assertStatus(self.post(session, other, self.insert(f"o{number}"), f"k{number}"), 200)
        self.assertStatus(self.post(session, one, self.insert("first"), "first"), 200)
        for number in range(100):
            self.assertStatus(self.post(session, other, self.insert(f"o{number}"), f"k{number}"), 200)
        self.assertEqual(len(self.rows(session)), 102)
