"""Permissions: keys of writers, tokens of thin clients: CONTRACT §9."""

import base64
import collections
import hashlib
import json
import pathlib
import signal
import tempfile
import threading
import time
from datetime import datetime

from support.case import ServiceCase
from support.client import Client, RawConnection, session_path, target
from support.clock import let_pass, wait_for
from support.events import Stream
from support.outside import wait_until_held, wait_until_read
from support.server import Server
from support.sources import Asked
from support.tokens import SECRET, bearer, part, token

KEY, TEAM_KEY = "a-writer's-key", "the-key-of-team-a"


def hashed(key):
    return hashlib.sha256(key.encode()).hexdigest()


class Guarded(ServiceCase):
    options = ("--key", f"writer:{hashed(KEY)}", "--key", f"team:{hashed(TEAM_KEY)}:team-a:", "--token-secret", SECRET)

    def ask(self, method, path, authorization=None, body=None, **headers):
        return self.request(method, path, body, None, Authorization=authorization and f"Bearer {authorization}", **headers)

    def make(self, session, state=("a",)):
        answer = self.ask("PUT", session_path(session), KEY, {"state": list(state)})
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["revision"]


class Keys(Guarded):
    PROTECTED = [("POST", "/v1/diff"), ("PUT", "/v1/sessions/s"), ("GET", "/v1/sessions/s"), ("DELETE", "/v1/sessions/s"),
                 ("POST", "/v1/sessions/s/changes"), ("GET", "/v1/sessions/s/changes"), ("GET", "/v1/sessions/s/items"),
                 ("GET", "/v1/sessions/s/items/i"), ("PATCH", "/v1/sessions/s/items/i"), ("GET", "/v1/sessions/s/sections/i"),
                 ("PATCH", "/v1/sessions/s/sections/i"), ("POST", "/v1/sessions/s/tokens"),
                 ("POST", "/v1/tokens"),
                 ("GET", "/unknown"), ("PATCH", "/v1/diff"), ("GET", "/v1/nothing")]

    def test_without_credentials_everything_but_the_public_is_401(self):
        for method, path in self.PROTECTED:
            with self.subTest(method, path=path):
                answer = self.ask(method, path)
                self.assertProblem(answer, 401, "unauthenticated")
                self.assertIn("Bearer", answer.headers["WWW-Authenticate"])

    def test_the_public_needs_none(self):
        for path in ("/livez", "/readyz", "/", "/client.js", "/openapi.json", "/problems/internal"):
            with self.subTest(path):
                self.assertStatus(self.ask("GET", path), 200)

    def test_wrong_credentials_are_401(self):
        for given in ("wrong", KEY + "x", KEY[:-1], "", hashed(KEY), "writer"):
            with self.subTest(given):
                answer = self.request("GET", "/v1/sessions/s", None, None, Authorization=f"Bearer {given}")
                self.assertProblem(answer, 401, "unauthenticated")
        for header in (f"Basic {KEY}", KEY, "Bearer"):
            with self.subTest(header):
                self.assertProblem(self.request("GET", "/v1/sessions/s", None, None, Authorization=header), 401, "unauthenticated")

    def test_a_key_writes_and_reads(self):
        session = self.new_name()
        self.make(session)
        self.assertStatus(self.ask("GET", session_path(session), KEY), 200)
        self.assertStatus(self.ask("POST", session_path(session, "changes"), KEY, ["b"]), 200)
        self.assertStatus(self.ask("DELETE", session_path(session), KEY), 204)
        self.assertStatus(self.ask("POST", "/v1/diff", KEY, {"old": [], "new": []}), 200)

    def test_the_scheme_is_case_insensitive(self):
        answer = self.request("POST", "/v1/diff", {"old": [], "new": []}, None, Authorization=f"bearer {KEY}")
        self.assertStatus(answer, 200)

    def test_a_key_of_a_prefix_sees_only_its_sessions_whether_others_exist_or_not(self):
        self.make("team-a:1")
        self.make("team-b:1")
        self.assertStatus(self.ask("GET", session_path("team-a:1"), TEAM_KEY), 200)
        self.assertStatus(self.ask("POST", session_path("team-a:2", "changes"), TEAM_KEY, ["a"]), 201)
        for name in ("team-b:1", "team-b:none", "team-a", "Team-a:1"):
            for method, rest in (("GET", ()), ("PUT", ()), ("DELETE", ()), ("GET", ("changes",)), ("POST", ("changes",)),
                                 ("POST", ("tokens",))):
                with self.subTest(name, method=method, rest=rest):
                    self.assertProblem(self.ask(method, session_path(name, *rest), TEAM_KEY), 403, "forbidden")

    def test_a_403_says_what_is_missing(self):
        name = self.new_name()
        self.make(name)
        path, read = session_path(name), token(name, "read")
        for method, place, given, detail in (
                ("GET", path, TEAM_KEY, "this key is for sessions whose names start with another prefix"),
                ("DELETE", path, read, "this requires a key; a token is not enough"),
                ("POST", "/v1/diff", read, "this requires a key; a token is not enough"),
                ("GET", "/v1/sessions", read, "this requires a key; a token is not enough"),
                ("POST", path + "/changes", read, "this token does not allow edits: its scope is not enough"),
                ("GET", path, token(name, "edit"), "this token does not allow reading: its scope is not enough"),
                # Whether the session exists is not revealed.
                ("GET", session_path("none"), read, "this token is not for this session"),
                ("GET", path, token("none", "read"), "this token is not for this session")):
            with self.subTest(method, path=place, detail=detail):
                answer = self.ask(method, place, given)
                self.assertProblem(answer, 403, "forbidden")
                self.assertEqual(answer.json["detail"], detail)

    def test_401_comes_before_404_and_405_and_403_before_any_look_up(self):
        self.assertProblem(self.ask("BREW", "/v1/diff"), 401, "unauthenticated")
        self.assertProblem(self.ask("BREW", "/v1/diff", KEY), 405, "method-not-allowed")
        self.assertProblem(self.ask("GET", "/nothing", KEY), 404, "route-not-found")
        self.assertProblem(self.ask("GET", "/v1/sessions/team-b:1?sinse=1", TEAM_KEY), 403, "forbidden")
        self.assertProblem(self.ask("BREW", "/v1/sessions/team-b:1", TEAM_KEY), 403, "forbidden")
        self.assertProblem(self.ask("BREW", "/v1/sessions/team-a:1", TEAM_KEY), 405, "method-not-allowed")

    def test_framing_and_sizes_come_before_401_and_all_else_after_it(self):
        get, post = "GET /v1/sessions/s HTTP/1.1\r\n", "POST /v1/diff HTTP/1.1\r\nHost: localhost\r\n"
        cases = {
            "framing": (f"{get}Host: localhost\r\nHost: localhost\r\n\r\n", 400, "malformed-request"),
            "the line": (f"GET /{'x' * 17_000} HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "uri-too-long"),
            "the headers": (f"{get}Host: localhost\r\nX: {'x' * 40000}\r\n\r\n", 431, "headers-too-large"),
            "the query": ("GET /v1/sessions/s?sinse=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 401, "unauthenticated"),
            "Accept": (f"{get}Host: localhost\r\nAccept: text/html\r\n\r\n", 401, "unauthenticated"),
            "the type": (f"{post}Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n[]", 401, "unauthenticated"),
            "the size": (f"{post}Content-Length: 99999999\r\n\r\n", 401, "unauthenticated"),
            "100 Continue": (f"{post}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", 401, "unauthenticated"),
            "the body": (f"{post}Content-Length: 1\r\n\r\n[", 401, "unauthenticated"),
        }
        for name, (request, status, problem) in cases.items():
            with self.subTest(name):
                connection = self.raw()
                connection.send(request)
                answer = connection.answer()
                self.assertEqual((answer.status, answer.json["type"]), (status, f"/problems/{problem}"), answer)

    def test_idempotency_keys_are_per_writer(self):
        name = "team-a:keys"
        self.make(name)
        path = session_path(name, "changes")
        self.assertStatus(self.ask("POST", path, KEY, ["one"], Idempotency_Key="k"), 200)
        self.assertStatus(self.ask("POST", path, TEAM_KEY, ["two"], Idempotency_Key="k"), 200)
        self.assertIn('"two"', self.ask("GET", session_path(name), KEY).text)

    def test_metrics_are_open_on_the_loopback(self):
        self.assertStatus(self.ask("GET", "/metrics"), 200)

    def test_no_key_appears_in_the_log(self):
        self.ask("GET", "/v1/sessions/s", KEY)
        self.assertNotIn(KEY, "\n".join(self.server.lines))


class Tokens(Guarded):
    def setUp(self):
        self.session = self.new_name()
        self.revision = self.make(self.session)
        self.path = session_path(self.session)

    EDIT = {"edits": [{"op": "insert", "items": [{"id": "b"}]}]}

    def test_read_opens_every_get_below_the_session(self):
        read = token(self.session)
        for path in ("", "/changes", "/items/a", "/items?id=a", "/sections/main", "/sections?at=0"):
            with self.subTest(path):
                self.assertStatus(self.ask("GET", self.path + path, read), 200)
                self.assertStatus(self.ask("HEAD", self.path + path, read), 200)

    def test_read_writes_nothing(self):
        read = token(self.session)
        for method, path, body in (("POST", "/changes", self.EDIT), ("POST", "/changes", ["b"]), ("PUT", "", {"state": []}),
                                   ("DELETE", "", None), ("POST", "/tokens", {"scope": ["read"]})):
            with self.subTest(method, path=path):
                self.assertProblem(self.ask(method, self.path + path, read, body), 403, "forbidden")
        self.assertEqual(self.ask("GET", self.path, KEY).json["revision"], self.revision)

    def test_edit_posts_edits_and_never_a_state(self):
        edit = token(self.session, "read edit")
        self.assertStatus(self.ask("POST", self.path + "/changes", edit, self.EDIT), 200)
        for body in (["x"], {"state": ["x"]}, {"items": []}, {"sections": []}):
            with self.subTest(body):
                self.assertProblem(self.ask("POST", self.path + "/changes", edit, body), 403, "forbidden")
        for method, path, body in (("PUT", "", {"state": []}), ("DELETE", "", None), ("POST", "/tokens", {"scope": ["edit"]})):
            with self.subTest(method, path=path):
                self.assertProblem(self.ask(method, self.path + path, edit, body), 403, "forbidden")

    def test_edit_alone_posts_edits(self):
        edit = token(self.session, "edit")
        self.assertStatus(self.ask("POST", self.path + "/changes", edit, self.EDIT), 200)

    OPERATIONS = {
        "insert": {"items": [{"id": "n"}]}, "delete": {"items": ["a"]}, "move": {"items": ["a"]}, "update": {"items": [{"id": "a"}]},
        "reload": {"items": ["a"]}, "reconfigure": {"items": ["a"]}, "expand": {"items": ["a"]}, "collapse": {"items": ["a"]},
        "clear": {},
    }

    def test_a_scope_of_one_operation_permits_that_and_no_other(self):
        for permitted in self.OPERATIONS:
            given = token(self.session, f"read edit:{permitted}")
            for operation, operands in self.OPERATIONS.items():
                with self.subTest(permitted, operation=operation):
                    answer = self.ask("POST", self.path + "/changes", given, {"edits": [{"op": operation, **operands}]})
                    if operation == permitted:
                        self.assertChangeset(answer)
                    else:
                        self.assertProblem(answer, 403, "forbidden")
                self.make(self.session)
            both = {"edits": [{"op": each, **self.OPERATIONS[each]} for each in sorted({permitted, "clear", "move"})]}
            self.assertProblem(self.ask("POST", self.path + "/changes", given, both), 403, "forbidden")

    def test_scopes_add_up(self):
        given = token(self.session, "edit:move edit:insert")
        body = {"edits": [{"op": each, **self.OPERATIONS[each]} for each in ("insert", "move")]}
        answer = self.ask("POST", self.path + "/changes", given, body)
        self.assertEqual(set(answer.json), {"session", "from", "to"}, answer)
        self.assertProblem(self.ask("GET", self.path, given), 403, "forbidden")

    def test_what_may_not_be_done_is_told_behind_the_json_and_before_the_session(self):
        given, path = token("none", "read edit:move"), session_path("none", "changes")
        clear = {"edits": [{"op": "clear"}]}
        self.assertProblem(self.ask("POST", path, given, clear), 403, "forbidden")
        self.assertProblem(self.ask("POST", path, given, clear, If_Match='"1-0000000000000000"'), 403, "forbidden")
        self.assertProblem(self.ask("POST", path, given, '{"edits":[{"op":"clear"}'), 400, "malformed-json")
        self.assertProblem(self.ask("POST", path, given, {"edits": [{"op": "move", "items": ["a"]}]}), 404, "session-not-found")
        self.assertProblem(self.ask("POST", path + "?idAt=/x", given, clear), 403, "forbidden")

    def test_to_have_all_drawn_again_is_to_reload(self):
        moves = {"edits": [{"op": "move", "items": ["a"]}]}
        for scope, status in (("edit", 200), ("edit:move edit:reload", 200), ("edit:move", 403)):
            with self.subTest(scope):
                answer = self.ask("POST", self.path + "/changes?reload=true", token(self.session, scope), moves)
                self.assertStatus(answer, status)

    def test_a_token_may_be_of_several_sessions(self):
        names = [self.session, self.new_name(), self.new_name()]
        for name in names[1:]:
            self.make(name)
        given = token(None, "read edit", sub=None, sessions=names[:2])
        for name in names[:2]:
            self.assertStatus(self.ask("GET", session_path(name), given), 200)
            answer = self.ask("POST", session_path(name, "changes"), given, self.EDIT, Idempotency_Key="k")
            self.assertStatus(answer, 200)
            # A client with a new token repeats its request.
            again = self.ask("POST", session_path(name, "changes"), token(name, "edit"), self.EDIT, Idempotency_Key="k")
            self.assertEqual((again.status, again.json["to"]), (200, answer.json["to"]))
        self.assertProblem(self.ask("GET", session_path(names[2]), given), 403, "forbidden")

    def test_a_state_from_a_thin_client_is_refused_unread(self):
        edit = token(self.session, "edit")
        for body in ('[{"id":', '{"state": x', '{"items": [x', '{"ttl": 1, "sections": ', "[" * 100):
            with self.subTest(body):
                self.assertProblem(self.ask("POST", self.path + "/changes", edit, body), 403, "forbidden")
        self.assertProblem(self.ask("POST", self.path + "/changes?idAt=/x", edit, "["), 403, "forbidden")

    def test_edit_alone_is_told_revisions_and_nothing_of_the_state(self):
        edit, both = token(self.session, "edit"), token(self.session, "read edit")
        first = self.revision
        for number, (query, headers) in enumerate((
                ("", {}), ("?since=", {}), ("?since=0-0000000000000000", {}), (f"?since={first}", {}),
                ("?dialect=indexed", {}), ("", {"Accept": "application/json-patch+json"}), ("", {"Prefer": "wait=1"}),
                ("?since=", {"Idempotency_Key": "k"}), ("?since=", {"Idempotency_Key": "k"}))):
            with self.subTest(query, headers=headers):
                item = {"id": "k" if "Idempotency_Key" in headers else f"i{number}", "content": "secret"}
                body = {"edits": [{"op": "insert", "items": [item]}]}
                answer = self.ask("POST", f"{self.path}/changes{query}", edit, body, **headers)
                self.assertStatus(answer, 200)
                self.assertEqual(set(answer.json), {"session", "from", "to"}, answer)
        answer = self.ask("POST", f"{self.path}/changes?since=", both, self.EDIT)
        self.assertEqual(self.assertChangeset(answer)["reset"], "initial")

    def test_a_token_is_of_one_session_only(self):
        other = self.new_name()
        self.make(other)
        read = token(self.session)
        for name in (other, "none", self.session + "x"):
            with self.subTest(name):
                self.assertProblem(self.ask("GET", session_path(name), read), 403, "forbidden")
                self.assertProblem(self.ask("PATCH", session_path(name, "changes"), read), 403, "forbidden")
                self.assertProblem(self.ask("GET", session_path(name, "tokens"), read), 403, "forbidden")
        self.assertProblem(self.ask("PATCH", session_path(self.session, "changes"), read), 405, "method-not-allowed")
        self.assertProblem(self.ask("POST", "/v1/diff", read, {"old": [], "new": []}), 403, "forbidden")

    def test_what_is_no_token_is_401(self):
        good = token(self.session)
        head, body, signature = good.split(".")
        cases = {
            "another secret": token(self.session, secret="b" * 40),
            "expired": token(self.session, seconds=-120),
            "no exp": token(self.session, exp=None),
            "not yet": token(self.session, nbf=int(time.time()) + 120),
            "alg none": token(self.session, header={"alg": "none"}),
            "alg none, unsigned": token(self.session, header={"alg": "none"}).rsplit(".", 1)[0] + ".",
            "alg None": token(self.session, header={"alg": "None"}),
            "HS512": token(self.session, header={"alg": "HS512"}),
            "RS256": token(self.session, header={"alg": "RS256"}),
            "no alg": token(self.session, header={"typ": "JWT"}),
            "unsigned": f"{head}.{body}.",
            "two parts": f"{head}.{body}",
            "four parts": f"{good}.x",
            "another body": f"{head}.{part(b'{}')}.{signature}",
            "another signature": f"{head}.{body}.{signature[:-4]}AAAA",
            "padding": good + "=",
            "exp is text": token(self.session, exp="9999999999"),
            "no session": token(None, sub=None),
            "a session and sessions": token(self.session, sessions=[self.session]),
            "no sessions": token(None, sub=None, sessions=[]),
            "65 sessions": token(None, sub=None, sessions=[self.session] * 65),
            "sessions are text": token(None, sub=None, sessions=self.session),
            "a view, and edits": token(self.session, scope="read edit:move", view={"limit": 1}),
            "a view that is not understood": token(self.session, view={"limits": 1}),
            "a view of too much": token(self.session, view={"order": [{"at": "/id"}] * 5}),
            "a view that is none": token(self.session, view=[]),
            "made later": token(self.session, iat=time.time() + 120),
        }
        for name, given in cases.items():
            with self.subTest(name):
                self.assertProblem(self.ask("GET", self.path, given), 401, "unauthenticated")

    def test_nbf_that_has_come_and_other_claims_are_fine(self):
        given = token(self.session, nbf=int(time.time()) - 60, iss="someone", aud=["x"], iat=1, deep={"x": [1]})
        self.assertStatus(self.ask("GET", self.path, given), 200)

    def test_a_scope_that_is_not_known_permits_nothing(self):
        for scope in ("", "write", "Read", "readedit", "read:move", "edit:", "edit:sort", "edit:Move", None):
            with self.subTest(scope):
                answer = self.ask("GET", self.path, token(self.session, scope))
                self.assertIn(answer.status, (401, 403), answer)

    def assertLivesFor(self, seconds, answer, before):
        """A token that was minted between then and now."""
        made = datetime.fromisoformat(answer.json["expiresAt"]).timestamp() - seconds
        self.assertTrue(before - 1 <= made <= time.time() + 1, answer.json)

    def test_the_endpoint_mints_a_token(self):
        before = time.time()
        answer = self.ask("POST", self.path + "/tokens", KEY, {"ttl": 100, "scope": ["read", "edit"]})
        self.assertStatus(answer, 201)
        self.assertEqual(set(answer.json), {"token", "expiresAt", "jti"})
        self.assertLivesFor(100, answer, before)
        self.assertIn("no-store", answer.headers.get("Cache-Control", ""))
        minted = answer.json["token"]
        self.assertStatus(self.ask("GET", self.path, minted), 200)
        self.assertStatus(self.ask("POST", self.path + "/changes", minted, self.EDIT), 200)
        self.assertProblem(self.ask("DELETE", self.path, minted), 403, "forbidden")

    def test_a_token_lives_an_hour_unless_told_and_at_most_seven_days(self):
        before = time.time()
        answer = self.ask("POST", self.path + "/tokens", KEY, {"scope": ["read"]})
        self.assertLivesFor(3600, answer, before)
        answer = self.ask("POST", self.path + "/tokens", KEY, {"ttl": 7 * 86400 + 1, "scope": ["read"]})
        if answer.status == 201:
            self.assertLivesFor(7 * 86400, answer, before)
        else:
            self.assertIn(answer.status, (400, 422), answer)
        self.assertStatus(self.ask("POST", self.path + "/tokens", KEY, {"ttl": 7 * 86400, "scope": ["read"]}), 201)

    def test_a_token_may_be_minted_before_the_session_exists(self):
        session = self.new_name()
        answer = self.ask("POST", session_path(session, "tokens"), KEY, {"scope": ["read"]})
        self.assertStatus(answer, 201)
        self.assertProblem(self.ask("GET", session_path(session), answer.json["token"]), 404, "session-not-found")
        self.make(session)
        self.assertStatus(self.ask("GET", session_path(session), answer.json["token"]), 200)

    def test_scopes_and_times_that_are_none_are_refused(self):
        for body in ({"scope": []}, {"scope": ["write"]}, {"scope": ["edit:sort"]}, {"scope": ["read", "edit:"]}, {"view": {"limits": 1}},
                     {"view": {"limit": 1}, "scope": ["read", "edit"]}, {"view": None}, {"view": {"where": [{"at": "/id"}] * 17}},
                     {"sessions": ["s"]}, {"scope": "read"}, {"scope": ["read"], "ttl": 0},
                     {"scope": ["read"], "ttl": -1}, {"scope": ["read"], "ttl": "1h"}, {"scope": ["read"], "more": 1}, []):
            with self.subTest(body):
                answer = self.ask("POST", self.path + "/tokens", KEY, body)
                self.assertIn(answer.status, (400, 422), answer)
                self.assertEqual(answer.media_type, "application/problem+json")

    def test_a_token_says_when_it_was_made_in_milliseconds(self):
        before = int(time.time() * 1000)
        minted = self.ask("POST", self.path + "/tokens", KEY, {"scope": ["read", "edit:move"]}).json["token"]
        claims = json.loads(base64.urlsafe_b64decode(minted.split(".")[1] + "=="))
        self.assertLessEqual(before, round(claims["iat"] * 1000))
        self.assertLessEqual(round(claims["iat"] * 1000), time.time() * 1000)
        self.assertEqual((claims["sub"], claims["scope"]), (self.session, "read edit:move"))

    def test_a_key_mints_for_several_sessions_before_they_exist(self):
        names = [self.session, self.new_name()]
        answer = self.ask("POST", "/v1/tokens", KEY, {"sessions": names, "scope": ["read", "edit:insert"], "ttl": 100})
        self.assertStatus(answer, 201)
        self.assertEqual(set(answer.json), {"token", "expiresAt", "jti"})
        minted = answer.json["token"]
        self.assertStatus(self.ask("GET", self.path, minted), 200)
        self.assertStatus(self.ask("POST", self.path + "/changes", minted, self.EDIT), 200)
        self.assertProblem(self.ask("GET", session_path(names[1]), minted), 404, "session-not-found")
        self.assertProblem(self.ask("GET", session_path("other"), minted), 403, "forbidden")
        self.assertProblem(self.ask("POST", "/v1/tokens", minted, {"sessions": names}), 403, "forbidden")
        longest = [f"{number:0128}" for number in range(64)]
        minted = self.ask("POST", "/v1/tokens", KEY, {"sessions": longest}).json["token"]
        self.assertProblem(self.ask("GET", session_path(longest[63]), minted), 404, "session-not-found")

    def test_sessions_of_a_token_are_1_to_64_names(self):
        for sessions in ([], "s", None, ["a b"], ["s", ""], ["s", ".."], ["x" * 129], [1]):
            with self.subTest(sessions):
                self.assertProblem(self.ask("POST", "/v1/tokens", KEY, {"sessions": sessions}), 422, "wrong-shape")
        self.assertProblem(self.ask("POST", "/v1/tokens", KEY, {"scope": ["read"]}), 422, "wrong-shape")
        self.assertProblem(self.ask("POST", "/v1/tokens", KEY, {"sessions": ["s"], "view": []}), 422, "wrong-shape")
        long = {"sessions": [f"{number:0128}" for number in range(64)], "view": {"sections": [f"{n}" * 2000 for n in range(4)]}}
        self.assertProblem(self.ask("POST", "/v1/tokens", KEY, long), 422,
                           "limit-exceeded", limit=16384)
        many = self.ask("POST", "/v1/tokens", KEY, {"sessions": ["s"] * 65})
        self.assertProblem(many, 422, "limit-exceeded", limit=64, actual=65)

    def test_a_key_of_a_prefix_mints_for_what_starts_with_it(self):
        self.assertStatus(self.ask("POST", "/v1/tokens", TEAM_KEY, {"sessions": ["team-a:1", "team-a:2"]}), 201)
        for sessions in (["team-b:1"], ["team-a:1", "team-b:1"], ["team-a"]):
            with self.subTest(sessions):
                self.assertProblem(self.ask("POST", "/v1/tokens", TEAM_KEY, {"sessions": sessions}), 403, "forbidden")

    def test_a_token_that_never_ends_opens_a_stream(self):
        for expiry in (10**15, 2**63 - 1, 2**63, 1e300, 10**400):
            with self.subTest(expiry):
                stream = Stream(self.server, f"{self.path}/changes", headers=bearer(token(self.session, exp=expiry)))
                self.addCleanup(stream.close)
                self.assertEqual(stream.next_event().changeset["reset"], "initial")

    def test_a_stream_ends_when_its_token_expires(self):
        given = token(self.session, seconds=2)
        stream = Stream(self.server, self.path + "/changes", {"since": self.revision}, bearer(given))
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200)
        event = stream.next_event()
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))
        self.assertIsNone(stream.next())

    def test_a_stream_of_a_token_of_another_session_is_403(self):
        stream = Stream(self.server, session_path("another", "changes"), None, bearer(token(self.session)))
        self.addCleanup(stream.close)
        self.assertEqual((stream.status, stream.problem["type"]), (403, "/problems/forbidden"))


class RateLimit(Guarded):
    options = Guarded.options + ("--rate", "3")

    def test_more_than_the_rate_is_429_with_retry_after_for_that_key_alone(self):
        self.assertStatus(self.ask("GET", "/livez"), 200)
        answers = [self.ask("POST", "/v1/diff", KEY, {"old": [], "new": []}) for _ in range(20)]
        refused = [each for each in answers if each.status != 200]
        self.assertTrue(refused)
        self.assertEqual(answers[0].status, 200)
        self.assertProblem(refused[0], 429, "too-many-requests")
        self.assertRegex(refused[0].headers["Retry-After"], "^[0-9]+$")
        self.assertProblem(self.ask("GET", "/v1/sessions/none", KEY), 429, "too-many-requests")
        self.assertProblem(self.ask("GET", "/v1/sessions/team-a:none", TEAM_KEY), 404, "session-not-found")
        self.assertProblem(self.ask("GET", "/v1/sessions/team-b:none", TEAM_KEY), 403, "forbidden")
        for _ in range(20):
            self.assertStatus(self.ask("GET", "/livez"), 200)
        let_pass(1.2, "second of a rate")
        self.assertStatus(self.ask("POST", "/v1/diff", KEY, {"old": [], "new": []}), 200)


class RateOrder(Guarded):
    options = Guarded.options + ("--rate", "1")

    def drain(self, credentials):
        """Asks until the rate is used up, which it then is for a second."""
        for _ in range(100):
            if self.ask("GET", "/v1/sessions/team-a:none", credentials).status == 429:
                return
        self.fail("nothing was ever refused")

    def test_the_rate_comes_before_404_and_405_and_after_401_and_403(self):
        for method, path in (("GET", "/nothing"), ("PATCH", session_path("s")), ("GET", session_path("not a name"))):
            with self.subTest(path):
                self.drain(KEY)
                self.assertProblem(self.ask(method, path, KEY), 429, "too-many-requests")
                self.assertProblem(self.ask(method, path), 401, "unauthenticated")
        self.drain(TEAM_KEY)
        self.assertProblem(self.ask("GET", "/v1/sessions/team-b:none", TEAM_KEY), 403, "forbidden")

    def test_each_token_of_a_session_has_a_rate_of_its_own(self):
        one, other = (token("team-a:none", "read", seconds) for seconds in (60, 61))
        self.drain(one)
        self.assertProblem(self.ask("GET", session_path("team-a:none"), other), 404, "session-not-found")


class Rotation(ServiceCase):
    """One secret replaces another while clients of both are served."""

    OLD, NEW = "the old secret of at least 32 bytes", "the new secret of at least 32 bytes"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="diffserver-secrets-")
        cls.file = pathlib.Path(cls.folder.name, "secrets")
        cls.file.write_text(cls.OLD + "\n")
        cls.file.chmod(0o600)
        cls.options = ("--key", f"writer:{hashed(KEY)}", "--token-secret-file", str(cls.file))
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        try:
            super().tearDownClass()
        finally:
            cls.folder.cleanup()

    def say(self, *secrets, line="token secrets reloaded"):
        """Makes the server read its secrets again, and waits until it has."""
        told = sum(line in each for each in self.server.lines)
        new = self.file.with_suffix(".new")
        new.write_text("".join(f"{each}\n" for each in secrets))
        new.chmod(0o600)
        new.replace(self.file)
        self.server.signal(signal.SIGHUP)
        wait_for(lambda: sum(line in each for each in self.server.lines) > told, lambda: f"{line} in {self.server.lines}")

    def status(self, given):
        return self.get(session_path("list"), Authorization=f"Bearer {given}").status

    def setUp(self):
        self.say(self.OLD)
        answer = self.put_session("list", {"state": ["a"]}, Authorization=f"Bearer {KEY}")
        self.assertIn(answer.status, (200, 201))

    def test_a_file_that_has_changed_is_read_again_without_a_signal(self):
        old, new = (token("list", secret=each) for each in (self.OLD, self.NEW))
        for text, line, statuses in ((f"{self.NEW}\n", "token secrets reloaded", (401, 200)), ("half", "token secrets not reloaded", (401, 200)),
                                     (f"{self.OLD}\n", "token secrets reloaded", (200, 401))):
            told = sum(line in each for each in self.server.lines)
            self.file.write_text(text)
            wait_for(lambda: sum(line in each for each in self.server.lines) > told, lambda: f"{line} in {self.server.lines}", 30)
            self.assertEqual((self.status(old), self.status(new)), statuses)
        # What has no fault is read once.
        self.assertEqual(sum("token secrets not reloaded" in each for each in self.server.lines), 1)

    def test_a_file_that_is_being_written_is_not_read(self):
        """Half of a secret may be one as well. The server looks every ten seconds."""
        told, whole = len(self.server.lines), f"{self.OLD}\n{self.NEW}\n"
        end = time.monotonic() + 12
        while time.monotonic() < end:
            self.file.write_text(whole[:-len(self.NEW) // 2])
            let_pass(0.2, "a writer's pauses")
            self.assertEqual(self.status(token("list", secret=self.OLD)), 200)
        self.assertEqual(self.server.lines[told:], [])
        self.file.write_text(whole)
        wait_for(lambda: "token secrets reloaded (2 secrets)" in self.server.lines, lambda: self.server.lines, 30)

    def test_each_secret_is_good_while_it_is_in_the_file(self):
        old, new = (token("list", secret=each) for each in (self.OLD, self.NEW))
        self.assertEqual((self.status(old), self.status(new)), (200, 401))
        self.say(self.NEW, self.OLD)
        self.assertEqual((self.status(old), self.status(new)), (200, 200))
        self.say(self.NEW)
        self.assertEqual((self.status(old), self.status(new)), (401, 200))

    def test_readers_of_a_secret_end_with_it_and_no_others(self):
        self.say(self.OLD, self.NEW)
        old, new = (bearer(token("list", secret=each)) for each in (self.OLD, self.NEW))
        path = session_path("list", "changes")
        many = {"session": "list"}
        ending = [Stream(self.server, path, None, old), Stream(self.server, "/v1/changes", many, old)]
        staying = [Stream(self.server, path, None, new), Stream(self.server, "/v1/changes", many, new)]
        for stream in ending + staying:
            self.addCleanup(stream.close)
            self.assertEqual(stream.next_event().changeset["reset"], "initial")
        revision = self.get_session("list", **new).json["revision"]
        held, kept = (Asked(self.server, "GET", target(path, {"since": revision, "wait": 30}), None, each) for each in (old, new))
        wait_until_held(self.server, 2, KEY)
        self.say(self.NEW)
        for stream in ending:
            event = stream.next_event()
            self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))
            self.assertIsNone(stream.next())
        self.assertEqual(held.answer(10).status, 401)
        self.assertEqual(self.post_changes("list", ["b"], **bearer(KEY)).status, 200)
        self.assertEqual([stream.next_event().event for stream in staying], ["changes"] * 2)
        self.assertEqual(kept.answer(10).status, 200)

    def test_a_request_whose_body_comes_after_its_secret_was_replaced_is_401(self):
        edit = json.dumps({"edits": [{"op": "clear"}]}).encode()
        with RawConnection(self.server) as connection:
            connection.send(f"POST {session_path('list', 'changes')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(edit)}\r\n"
                            f"Authorization: Bearer {token('list', 'edit', secret=self.OLD)}\r\n\r\n".encode() + edit[:5])
            wait_until_read(self.server, connection.socket)
            self.say(self.NEW)
            connection.send(edit[5:])
            self.assertEqual(connection.answer().status, 401)

    def test_the_log_names_nothing_that_is_not_there(self):
        self.assertNotIn("certificates", "\n".join(self.server.lines))

    def test_a_file_that_is_of_no_use_changes_nothing(self):
        self.say("short", line="token secrets not reloaded, old ones stay in use")
        self.assertEqual(self.status(token("list", secret=self.OLD)), 200)
        self.assertNotIn("short", "\n".join(self.server.lines))

    def test_nobody_is_refused_meanwhile(self):
        used, done, refused, asked = [[self.OLD]], threading.Event(), [], collections.Counter()

        def ask(number):
            client = Client(self.server)
            while not done.is_set():
                if number % 2:
                    minted = client.request("POST", session_path("list", "tokens"), {"scope": ["read", "edit"]}, bearer(KEY))
                    given = minted.json["token"]
                else:
                    secrets = used[0]
                    given = token("list", "read edit", secret=secrets[number // 2 % len(secrets)])
                edits = {"edits": [{"op": "update", "items": [{"id": "a", "content": number}]}]}
                for answer in (client.request("GET", session_path("list"), None, bearer(given)),
                               client.request("POST", session_path("list", "changes"), edits, bearer(given))):
                    if answer.status != 200:
                        refused.append(answer)
                asked[number] += 1
            client.close()

        def wait_for_a_round():
            """Until each has begun and ended at least one round."""
            before = dict(asked)
            wait_for(lambda: refused or all(asked[number] >= before.get(number, 0) + 2 for number in range(6)), "all go on", 60)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for old, new in [(self.OLD, self.NEW), (self.NEW, self.OLD)] * 3:
            self.say(old, new)
            used[0] = [old, new]
            wait_for_a_round()
            self.say(new, old)
            wait_for_a_round()
            used[0] = [new]
            wait_for_a_round()
            self.say(new)
            wait_for_a_round()
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(refused, [])


class KeyFile(ServiceCase):
    """A file of keys that changes while clients of them are served."""

    OLD, NEW = "the old key", "the new key"
    FAULT = "is not NAME:SHA256 or NAME:SHA256:PREFIX, with a hash of 64 hexadecimal digits; diffserver key makes one"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="diffserver-keys-")
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name, "keys")
        cls.write(f"team:{hashed(cls.OLD)}")
        cls.options = ("--key", f"writer:{hashed(KEY)}", "--key-file", str(cls.file))
        super().setUpClass()

    @classmethod
    def write(cls, *lines):
        cls.file.write_text("".join(f"{each}\n" for each in lines))
        cls.file.chmod(0o600)

    def say(self, *lines, line):
        told = sum(each == line for each in self.server.lines)
        self.write(*lines)
        self.server.signal(signal.SIGHUP)
        wait_for(lambda: sum(each == line for each in self.server.lines) > told, lambda: f"{line} in {self.server.lines}")

    def setUp(self):
        self.say(f"team:{hashed(self.OLD)}", line="keys reloaded (1 key)")
        self.assertIn(self.put_session("s", {"state": ["a"]}, **bearer(KEY)).status, (200, 201))

    def status(self, key):
        return self.get(session_path("s"), **bearer(key)).status

    def test_each_key_is_good_while_it_is_in_the_file(self):
        self.assertEqual((self.status(self.OLD), self.status(self.NEW), self.status(KEY)), (200, 401, 200))
        self.say(f"team:{hashed(self.OLD)}", "", f"team:{hashed(self.NEW)}:s", line="keys reloaded (2 keys)")
        self.assertEqual((self.status(self.OLD), self.status(self.NEW), self.status(KEY)), (200, 200, 200))
        self.say(f"team:{hashed(self.NEW)}:t", line="keys reloaded (1 key)")
        self.assertEqual((self.status(self.OLD), self.status(self.NEW), self.status(KEY)), (401, 403, 200))

    def test_a_request_whose_body_comes_after_its_key_was_withdrawn_is_401(self):
        bodies = {(session_path("s"), "PUT"): b'{"state":["late"]}', ("/v1/tokens", "POST"): b'{"sessions":["s"],"ttl":60}'}
        connections = []
        for (path, method), body in bodies.items():
            for key in (self.OLD, KEY):
                connection = RawConnection(self.server)
                self.addCleanup(connection.close)
                connection.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
                                f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:5])
                connections.append((connection, body[5:], 401 if key == self.OLD else (200, 201)))
        wait_until_read(self.server, *(connection.socket for connection, *_ in connections))
        self.say(f"team:{hashed(self.NEW)}", line="keys reloaded (1 key)")
        for connection, rest, status in connections:
            connection.send(rest)
            self.assertIn(connection.answer().status, status if isinstance(status, tuple) else (status,))

    def test_a_file_that_is_of_no_use_changes_nothing(self):
        for lines, reason in ((("nonsense",), f"line 1 of the --key-file {self.FAULT}"), ((), "the --key-file is empty")):
            self.say(*lines, line=f"error: keys not reloaded, old ones stay in use: {reason}")
            self.assertEqual((self.status(self.OLD), self.status(KEY)), (200, 200))
        self.assertNotIn("nonsense", "\n".join(self.server.lines))

    def test_a_key_for_metrics_opens_nothing_else_and_is_read_again(self):
        metrics = self.file.with_suffix(".metrics")
        write = lambda *keys: metrics.write_text("".join(f"prometheus:{hashed(key)}\n" for key in keys))  # noqa: E731
        write("scrape")
        metrics.chmod(0o600)
        server = Server("--key-file", str(self.file), "--metrics-key-file", str(metrics))
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        status = lambda key, path="/metrics", method="GET": client.request(method, path, None, bearer(key)).status  # noqa: E731
        self.assertEqual([status("scrape"), status(self.OLD), status("other")], [200, 200, 401])
        for path in ("/v1/sessions", "/v1/sessions/s", "/nothing"):
            self.assertEqual((status("scrape", path), status("scrape", path, "POST")), (403, 403), path)
        write("another")
        server.signal(signal.SIGHUP)
        server.wait_for_line(r"^metrics keys reloaded \(1 key\)$")
        self.assertEqual([status("scrape"), status("another"), status(self.OLD)], [401, 200, 200])
        metrics.write_text(f"prometheus:{hashed('x')}:prefix\n")
        server.signal(signal.SIGHUP)
        server.wait_for_line("^error: metrics keys not reloaded, old ones stay in use: line 1 of the --metrics-key-file is not NAME:SHA256, ")
        self.assertEqual(status("another"), 200)

    def test_readers_of_a_key_end_with_it_and_no_others(self):
        # Only one of two keys with the same name is withdrawn.
        self.say(f"team:{hashed(self.OLD)}", f"team:{hashed(self.NEW)}", line="keys reloaded (2 keys)")
        path = session_path("s", "changes")
        streams = {key: Stream(self.server, path, None, bearer(key)) for key in (self.OLD, self.NEW, KEY)}
        for stream in streams.values():
            self.addCleanup(stream.close)
            self.assertEqual(stream.next_event().changeset["reset"], "initial")
        revision = self.get_session("s", **bearer(KEY)).json["revision"]
        held = Asked(self.server, "GET", target(path, {"since": revision, "wait": 30}), None, bearer(self.OLD))
        wait_until_held(self.server, 1, KEY)
        self.say(f"team:{hashed(self.NEW)}", line="keys reloaded (1 key)")
        event = streams[self.OLD].next_event()
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/unauthenticated"))
        self.assertEqual(held.answer(10).status, 401)
        self.assertEqual(self.post_changes("s", ["b"], **bearer(KEY)).status, 200)
        self.assertEqual([streams[key].next_event().event for key in (self.NEW, KEY)], ["changes"] * 2)


class NoSecret(ServiceCase):
    """No secret is configured: one is generated at the start, so tokens end with the process."""

    options = ("--key", f"writer:{hashed(KEY)}")

    def test_a_token_of_no_other_process_is_taken(self):
        minted = self.request("POST", session_path("s", "tokens"), {"scope": ["read"]}, Authorization=f"Bearer {KEY}")
        self.assertStatus(minted, 201)
        ours = self.request("GET", session_path("s"), Authorization=f"Bearer {minted.json['token']}")
        self.assertProblem(ours, 404, "session-not-found")
        other = Server(*self.options)
        self.addCleanup(other.stop)
        connection = RawConnection(other)
        self.addCleanup(connection.close)
        connection.send(f"GET /v1/sessions/s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {minted.json['token']}\r\n\r\n")
        self.assertProblem(connection.answer(), 401, "unauthenticated")
        for secret in (SECRET, "", "\0" * 32):
            theirs = self.request("GET", session_path("s"), Authorization=f"Bearer {token('s', secret=secret)}")
            self.assertProblem(theirs, 401, "unauthenticated")
