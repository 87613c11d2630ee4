"""Edits of a list with an owner: what the owner is told, and what each answer does. CONTRACT §11."""

import base64
import hashlib
import hmac
import json
import tempfile
import threading
import time
import unittest

from support.client import Client, session_path
from support.clock import pause, wait_for
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis
from support.sources import KEY, KEYS, QUIET, WEBHOOK_KEYS, WEBHOOK_SECRET, ListsFile, SourceCase, ids, insert
from support.store import names_its_stores
from support.tokens import bearer, token
from support.upstream import Held, Upstream, never_answers, refuses_by_reset, says, tagged, trickling

YES = says(b"", 204)


def is_signed(request, key):
    """Verified as Standard Webhooks describe."""
    content = f"{request['webhook-id']}.{request['webhook-timestamp']}.".encode() + request.body
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return expected in request["webhook-signature"].split(" ")


class HookCase(SourceCase):
    options = KEYS
    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url):
        hook = {"url": f"{url}/hook/{{name}}", "secret": "env:HOOK_SECRET"}
        return {
            "h:{name}": {"hook": {**hook, "timeout": 10}},
            "signed:{name}": {"hook": hook},
            "quick:{name}": {"hook": {**hook, "timeout": 0.4}},
            "other:{name}": {"hook": {**hook, "url": hook["url"].replace("127.0.0.1", "localhost"), "timeout": 10}},
            "b:{name}": {"source": {"url": f"{url}/b/{{name}}", "every": 0.2}, "hook": hook},
            "slow:{name}": {"source": {"url": f"{url}/slow/{{name}}", "every": 3600}, "hook": hook},
        }

    def new_board(self, behaviour=YES, kind="h", state=("a", "b")):
        """A session with a hook, and the hook's path."""
        number = self.new_name()
        path = f"/hook/{number}"
        self.upstream.set(path, behaviour)
        name = f"{kind}:{number}"
        if kind in ("b", "slow"):
            self.upstream.set(f"/{kind}/{number}", list(state))
            self.assertStatus(self.get_session(name, **bearer(KEY)), 200)
        else:
            self.assertStatus(self.post_changes(name, list(state), **bearer(KEY)), 201)
        return name, path

    def may(self, name, scope="read edit", **claims):
        return bearer(token(name, scope, **claims))

    def edit(self, name, body, query=None, **headers):
        return self.post_changes(name, body, query, **{**self.may(name), **headers})

    def head(self, name):
        answer = self.get_session(name, **bearer(KEY)).json
        return ids(answer["state"]), answer["revision"]

    def asked_to_edit(self, name, body, **headers):
        """A concurrent edit."""
        return self.ask(session_path(name, "changes"), method="POST", body=body, **{**self.may(name), **headers})


class Calls(HookCase):
    def test_what_an_owner_is_told(self):
        name, path = self.new_board()
        _, revision = self.head(name)
        own = {"exp": int(time.time()) + 60, "name": "Zoë", "roles": ["a", {"b": None}], "n": 1.5}
        body = '{ "edits" : [{"op":"insert","items":[{"id":"c","content":{"x":1.50,"é":"\\u00e9"}}],"after":"a"}] }'
        before = int(time.time())
        answer = self.post_changes(name, body.encode(), **bearer(token(name, "read edit", **own)))
        self.assertEqual([each["op"] for each in self.assertChangeset(answer)["changes"]], ["insert"])
        request, = self.upstream.requests(path)
        self.assertEqual((request.method, request["Content-Type"]), ("POST", "application/json"))
        self.assertEqual(request.json, {"session": name, "revision": revision, "edits": json.loads(body)["edits"],
                                        "token": {"sub": name, "scope": "read edit", **own}})
        # As written.
        self.assertIn(b'{"x":1.50,"\xc3\xa9":"\\u00e9"}', request.body)
        for key in WEBHOOK_KEYS:
            self.assertTrue(is_signed(request, key))
        self.assertFalse(is_signed(request, b"another secret of the webhook"))
        self.assertRegex(request["webhook-id"], r"^msg_[A-Za-z0-9_-]{32}$")
        self.assertIn(int(request["webhook-timestamp"]), range(before, int(time.time()) + 1))
        names = {each.lower() for each, _ in request.headers}
        self.assertEqual(names, {"host", "user-agent", "accept", "accept-encoding", "content-type", "content-length",
                                 "webhook-id", "webhook-timestamp", "webhook-signature"})
        self.assertEqual(self.head(name)[0], ["a", "c", "b"])

    def test_a_trace_goes_on(self):
        name, path = self.new_board()
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for given, sent in ((trace, trace), ("00-0AF7-no-01", None)):
            self.assertChangeset(self.edit(name, {"edits": [{"op": "reload", "items": ["a"]}]}, traceparent=given))
            self.assertEqual(self.upstream.requests(path)[-1]["traceparent"], sent)

    def test_keys_are_not_asked_about(self):
        name, path = self.new_board(says({}, 403))
        self.assertStatus(self.post_changes(name, insert("c"), **bearer(KEY)), 200)
        self.assertStatus(self.post_changes(name, ["z"], **bearer(KEY)), 200)
        self.assertEqual((self.head(name)[0], self.upstream.count(path)), (["z"], 0))

    def test_a_session_without_a_hook_asks_nobody(self):
        name, _ = self.new_name(), None
        self.assertStatus(self.post_changes(name, ["a"], **bearer(KEY)), 201)
        count = self.upstream.total
        self.assertStatus(self.edit(name, insert("b")), 200)
        self.assertEqual(self.upstream.total, count)

    def test_each_check_comes_before_the_call(self):
        name, path = self.new_board()
        revision = self.head(name)[1]
        rows = (
            (insert("a"), {}, 422, "invalid-edit"), (insert("c", after="none"), {}, 422, "invalid-edit"),
            ({"edits": [{"op": "fly"}]}, {}, 422, None), ({"edits": []}, {"If_Match": '"1-0123456789abcdef"'}, 412, "revision-mismatch"),
            (insert("c"), {"If_Match": '"1-0123456789abcdef"'}, 412, "revision-mismatch"), (["c"], {}, 403, "forbidden"),
            (b"{", {}, 400, "malformed-json"), (insert("c"), {"Content_Type": "text/plain"}, 415, "unsupported-media-type"),
            (insert("c"), {"Accept": "text/html"}, 406, "not-acceptable"),
            (insert("c"), {"Idempotency_Key": "x" * 256}, 400, "malformed-request"),
            (insert("c"), self.may(name, "read edit:move"), 403, "forbidden"), (insert("c"), self.may(name, "read"), 403, "forbidden"),
            (insert("c"), self.may("h:other"), 403, "forbidden"), (insert("c"), self.may(name, seconds=-9), 401, "unauthenticated"),
            (insert("c"), {"Authorization": None}, 401, "unauthenticated"), (insert(*[f"n{n}" for n in range(100_001)]), {}, 422, None),
        )
        for body, headers, status, problem in rows:
            with self.subTest(body=str(body)[:60], headers=headers):
                answer = self.edit(name, body, **headers)
                self.assertStatus(answer, status)
                if problem:
                    self.assertProblem(answer, status, problem)
        self.assertProblem(self.edit(name, insert("c"), {"sinse": "x"}), 400, "unknown-parameter")
        self.assertProblem(self.edit("h:none", insert("c")), 404, "session-not-found")
        self.assertEqual((self.upstream.count(path), self.head(name)), (0, (["a", "b"], revision)))
        self.assertEqual(self.upstream.count("/hook/none"), 0)
        self.assertStatus(self.edit(name, insert("c"), If_Match=f'"{revision}"'), 200)
        self.assertEqual(self.upstream.count(path), 1)

    def test_what_an_owner_may_answer(self):
        long = "x" * 3000
        detail = {"title": "No", "detail": "only on Sundays"}
        rows = (
            (says(b"", 200), 200, None), (says(b"", 202), 200, None), (says(b"<p>fine", 200), 200, None),
            (says(b"x" * 300_000, 200), 200, None),
            (says(detail, 403), 422, "only on Sundays"),
            (says(detail, 400, Content_Type="application/problem+json"), 422, "only on Sundays"),
            (says({"detail": long}, 422), 422, long[:1024]), (says({"title": "No"}, 404), 422, None), (says(b"", 410), 422, None),
            (says(b"no", 409), 422, None), (says(b"<html>", 401), 422, None), (says({"detail": 1}, 451), 422, None),
            (says([1], 499), 422, None),
            (says({"detail": ""}, 418), 422, None), (says({"detail": "\u0000\r\nSet-Cookie: a"}, 418), 422, "\u0000\r\nSet-Cookie: a"),
            (says(b"\xff" * 200_000, 400), 422, None),
            (says(detail, 408), 503, None), (says(detail, 429), 503, None), (says(detail, 500), 503, None),
            (says(detail, 503, Retry_After="7"), 503, 7),
            (says(b"", 302, Location="/hook/yes"), 503, None), (says(b"", 304), 503, None), (refuses_by_reset, 503, None),
            (lambda exchange: exchange.close(), 503, None),
            (lambda exchange: exchange.send("nonsense\r\n\r\n") or exchange.close(), 503, None),
        )
        self.upstream.set("/hook/yes", YES)
        for number, (behaviour, status, told) in enumerate(rows):
            with self.subTest(number):
                name, path = self.new_board(behaviour)
                before = self.head(name)
                answer = self.edit(name, insert("c"))
                self.assertStatus(answer, status)
                # If a reused connection ends, the call is tried once more on another one: the same call.
                self.assertEqual(len({request["webhook-id"] for request in self.upstream.requests(path)}), 1)
                self.assertLessEqual(self.upstream.count(path), 1 if number < len(rows) - 3 else 2)
                if status == 200:
                    self.assertEqual(self.head(name)[0], ["a", "b", "c"])
                    continue
                self.assertEqual(self.head(name), before)
                if status == 422:
                    problem = self.assertProblem(answer, 422, "edit-refused")
                    self.assertEqual(problem["detail"], told or "the list's owner refused it")
                else:
                    self.assertProblem(answer, 503, "hook-unavailable")
                    self.assertEqual(answer.headers["Retry-After"], str(told or 1))
        self.assertEqual(self.upstream.count("/hook/yes"), 0)

    def test_an_owner_who_does_not_answer_in_time(self):
        for behaviour in (never_answers, trickling(b" ", lambda exchange: exchange.head(200))):
            name, path = self.new_board(behaviour, "quick")
            before = self.head(name)
            self.assertProblem(self.edit(name, insert("c")), 503, "hook-unavailable")
            self.assertEqual(self.head(name), before)

    def test_an_answer_to_edits_is_as_ever(self):
        name, path = self.new_board()
        first = self.head(name)[1]
        answer = self.edit(name, insert("c"), {"since": first, "dialect": "indexed"})
        self.assertEqual(self.assertChangeset(answer, dialect="indexed")["from"], first)
        answer = self.edit(name, insert("d"), Prefer="return=minimal")
        self.assertEqual(set(answer.json), {"session", "from", "to"})
        self.assertStatus(self.post_changes(name, insert("e"), **self.may(name, "edit")), 200)
        # An edit that changes nothing counts, too.
        self.assertEqual(self.assertChangeset(self.edit(name, {"edits": [{"op": "delete", "items": ["none"]}]}))["changes"], [])
        self.assertEqual(self.upstream.count(path), 4)

    def test_it_is_told_to_nobody(self):
        name, path = self.new_board(says({}, 500))
        self.edit(name, insert("c"))
        texts = [*self.server.lines, self.get("/metrics", **bearer(KEY)).text]
        for each in WEBHOOK_SECRET.split(" "):
            self.assertFalse([text for text in texts if each.removeprefix("whsec_") in text])

    def test_the_log_says_once_that_an_owner_refuses_the_calls(self):
        name, path = self.new_board(kind="signed")
        rows = ((401, 422), (403, 422), (401, 422), (503, 503), (429, 503), (204, 200), (204, 200), (503, 503), (204, 200),
                (204, 200), (204, 200), (403, 422), (422, 422))
        for number, (answered, status) in enumerate(rows):
            self.upstream.set(path, says({}, answered))
            self.assertStatus(self.edit(name, insert(f"i{number}")), status)
        place = f"list=signed:{{name}} session={name}"
        expected = [
            f"warning: list hook refuses calls: it answered 401 {place}", f"warning: list hook fails: it answered 503 {place}",
            f"list hook accepts calls again {place}", f"list hook is back {place}",
            f"warning: list hook refuses calls: it answered 403 {place}", f"list hook accepts calls again {place}",
        ]
        wait_for(lambda: self.told() == expected, f"the log says {expected}, not {self.told()}")
        metrics = self.get("/metrics", **bearer(KEY)).text
        for outcome, count in (("agreed", 5), ("refused", 1), ("unauthorized", 4), ("failed", 3), ("skipped", 0)):
            self.assertIn(f'\ndiffserver_hook_calls_total{{list="signed:{{name}}",outcome="{outcome}"}} {count}\n', metrics)
        self.assertIn('\ndiffserver_hook_duration_seconds_count{list="signed:{name}"} 13\n', metrics)

    def told(self):
        return [line for line in self.server.lines if "list=signed:" in line]


class Lines(HookCase):
    """Concurrent edits."""

    def test_one_call_of_a_session_at_a_time(self):
        name, path = self.new_board(state=[])
        gauge = Gauge(0.03)
        self.upstream.set(path, gauge)
        asked = [self.asked_to_edit(name, insert(f"i{number}")) for number in range(8)]
        self.assertEqual([each.answer().status for each in asked], [200] * 8)
        self.assertEqual((gauge.most, gauge.count), (1, 8))
        self.assertEqual(sorted(self.head(name)[0]), [f"i{number}" for number in range(8)])
        # Each was told of the head made by the previous one.
        revisions = [request.json["revision"] for request in self.upstream.requests(path)]
        self.assertEqual(len(set(revisions)), 8)

    def test_a_line_has_an_end(self):
        name, path = self.new_board()
        held = self.upstream.set(path, Held(YES))
        asked = [self.asked_to_edit(name, insert("i0"))]
        self.upstream.wait_for(path, 1)
        asked += [self.asked_to_edit(name, insert(f"i{number}")) for number in range(1, 12)]
        wait_for(lambda: sum(each.is_done for each in asked) == 3, "eight wait, and three are told that they cannot")
        held.release()
        answers = [each.answer() for each in asked]
        self.assertEqual(sorted(each.status for each in answers), [200] * 9 + [503] * 3)
        for each in answers:
            if each.status == 503:
                self.assertProblem(each, 503, "hook-unavailable")
                self.assertTrue(each.headers["Retry-After"])
        metrics = self.get("/metrics", **bearer(KEY)).text
        self.assertRegex(metrics, r'\ndiffserver_hook_calls_total\{list="[^"]*",outcome="skipped"\} [1-9]')

    def test_sixty_four_of_a_list_at_a_time(self):
        held = Held(YES)
        names = [self.new_board(held)[0] for _ in range(64)]
        other, path = self.new_board()
        count = self.upstream.total
        asked = [self.asked_to_edit(name, insert("c")) for name in names]
        # All of them at once, however many belong to the same host.
        wait_for(lambda: self.upstream.total == count + 64, "all are asked about")
        self.assertProblem(self.edit(other, insert("c")), 503, "hook-unavailable")
        self.assertEqual(self.upstream.count(path), 0)
        # Another owner is asked all the same.
        self.assertStatus(self.edit(self.new_board(kind="other")[0], insert("c")), 200)
        held.release()
        self.assertEqual({each.answer().status for each in asked}, {200})
        wait_for(lambda: self.edit(other, insert("c")).status == 200, "there is room again")

    def test_slow_sources_of_the_same_host_do_not_delay_it(self):
        name, _ = self.new_board()
        self.upstream.set("*", never_answers)
        asked = [self.ask(session_path(f"slow:never{number}"), **bearer(KEY)) for number in range(60)]
        self.upstream.wait_for("/slow/never0", 1)
        self.assertStatus(self.edit(name, insert("c")), 200)
        # Before the sources' time is up.
        self.assertFalse(any(each.is_done for each in asked))
        self.upstream.set("*", says({}, 500))
        self.upstream.hang_up()
        for each in asked:
            each.answer()

    def test_whoever_has_gone_holds_up_nobody(self):
        name, path = self.new_board()
        held = self.upstream.set(path, Held(YES))
        with self.raw() as raw:
            body = json.dumps(insert("x"))
            raw.send(f"POST {session_path(name, 'changes')} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: {self.may(name)['Authorization']}\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}")
            self.upstream.wait_for(path, 1)
        held.release()
        self.assertStatus(self.edit(name, insert("y")), 200)


class Gauge:
    """Agrees after a while, and counts concurrent calls."""

    def __init__(self, seconds):
        self.seconds, self.lock, self.now, self.most, self.count = seconds, threading.Lock(), 0, 0, 0

    def __call__(self, exchange):
        with self.lock:
            self.now += 1
            self.count += 1
            self.most = max(self.most, self.now)
        pause(self.seconds, "a slow hook")
        with self.lock:
            self.now -= 1
        YES(exchange)


class Repeats(HookCase):
    """One Idempotency-Key is one call, however often it is repeated."""

    def test_the_id_says_so(self):
        name, path = self.new_board(says({}, 500))
        for item, key in (("c", "k"), ("c", "k"), ("c", "l"), ("d", "k"), ("c", None), ("c", None)):
            self.assertProblem(self.edit(name, insert(item), Idempotency_Key=key), 503, "hook-unavailable")
        other, other_path = self.new_board(says({}, 500))
        self.edit(other, insert("c"), Idempotency_Key="k")
        sent = [request["webhook-id"] for request in self.upstream.requests(path) + self.upstream.requests(other_path)]
        self.assertEqual(sent[0], sent[1])
        self.assertEqual(len(set(sent)), 6)
        self.upstream.set(path, YES)
        self.assertStatus(self.edit(name, insert("c"), Idempotency_Key="k"), 200)
        self.assertEqual(self.upstream.requests(path)[-1]["webhook-id"], sent[0])

    def test_what_was_done_is_not_asked_again(self):
        name, path = self.new_board()
        first = self.edit(name, insert("c"), Idempotency_Key="k")
        again = self.edit(name, insert("c"), Idempotency_Key="k")
        self.assertEqual((again.status, again.json["to"]), (200, first.json["to"]))
        self.assertEqual(again.json["changes"], first.json["changes"])
        self.assertProblem(self.edit(name, insert("d"), Idempotency_Key="k"), 422, "idempotency-key-reused")
        self.assertEqual(self.upstream.count(path), 1)

    def test_a_refusal_is_not_remembered(self):
        name, path = self.new_board(says({"detail": "no"}, 403))
        self.assertProblem(self.edit(name, insert("c"), Idempotency_Key="k"), 422, "edit-refused")
        self.upstream.set(path, YES)
        self.assertStatus(self.edit(name, insert("c"), Idempotency_Key="k"), 200)
        self.assertEqual(len({request["webhook-id"] for request in self.upstream.requests(path)}), 1)

    def test_two_at_once_are_one(self):
        name, path = self.new_board()
        held = self.upstream.set(path, Held(YES))
        asked = [self.asked_to_edit(name, insert("c"), Idempotency_Key="k") for _ in range(4)]
        self.upstream.wait_for(path, 1)
        held.release()
        self.assertEqual([each.answer().status for each in asked], [200] * 4)
        self.assertEqual((self.upstream.count(path), self.head(name)[0]), (1, ["a", "b", "c"]))


@names_its_stores
class Killed(unittest.TestCase):
    """The process dies when the owner has agreed, before it can answer."""

    def test_over_sqlite(self):
        directory = tempfile.TemporaryDirectory(prefix="diffserver-hooks-")
        self.addCleanup(directory.cleanup)
        self.assertAsksForTheSame(f"sqlite:{directory.name}/sessions.db")

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_over_redis(self):
        redis = Redis()
        self.addCleanup(redis.close)
        self.assertAsksForTheSame(f"redis://127.0.0.1:{redis.port}")

    def assertAsksForTheSame(self, store):
        upstream = Upstream()
        self.addCleanup(upstream.close)
        file = ListsFile({"board": {"hook": {"url": upstream.url + "/hook", "secret": "env:HOOK_SECRET"}}})
        self.addCleanup(file.close)
        node = Node("--lists", str(file.path), "--store", store, *KEYS, variables={**QUIET, "HOOK_SECRET": WEBHOOK_SECRET})
        self.addCleanup(node.stop)

        def post(body, credentials, **headers):
            client = Client(node)
            try:
                return client.request("POST", session_path("board", "changes"), body, {**credentials, **headers})
            finally:
                client.close()

        def dies(exchange):
            node.server.process.kill()
            YES(exchange)

        self.assertEqual(post(["a"], bearer(KEY)).status, 201)
        edit = lambda: post(insert("b"), bearer(token("board", "read edit")), **{"Idempotency-Key": "k"})
        upstream.set("/hook", dies)
        with self.assertRaises(OSError):
            edit()
        node.server.ended()
        node.start()
        upstream.set("/hook", YES)
        answer = edit()
        self.assertEqual((answer.status, [each["op"] for each in answer.json["changes"]]), (200, ["insert"]))
        first, second = upstream.requests("/hook")
        self.assertEqual(first["webhook-id"], second["webhook-id"])
        self.assertTrue(is_signed(second, WEBHOOK_KEYS[0]))
        # It is done now, and not repeated, neither by this process nor by the next.
        self.assertEqual(edit().json["to"], answer.json["to"])
        node.kill()
        node.start()
        self.assertEqual(edit().json["to"], answer.json["to"])
        self.assertEqual(upstream.count("/hook"), 2)


class Meanwhile(HookCase):
    """Others write while the owner is asked."""

    def writes(self, name, body):
        """Agrees once somebody with a key has written."""
        def behaviour(exchange):
            client = Client(self.server)
            assert client.request("POST", session_path(name, "changes"), body, bearer(KEY)).status == 200
            client.close()
            YES(exchange)
        return behaviour

    def test_edits_that_still_apply_are_applied_to_what_is_there(self):
        name, path = self.new_board()
        self.upstream.set(path, self.writes(name, ["b", "a", "z"]))
        self.assertStatus(self.edit(name, insert("c", after="a")), 200)
        self.assertEqual(self.head(name)[0], ["b", "a", "c", "z"])

    def test_edits_that_no_longer_do_are_dropped(self):
        for edits in (insert("c", after="a"), insert("z"), {"edits": [{"op": "update", "items": [{"id": "a", "content": 1}]}]},
                      {"edits": [{"op": "insert", "items": ["c"]}, {"op": "move", "items": ["a"], "at": "start"}]}):
            for headers in ({}, {"Idempotency_Key": "k"}):
                with self.subTest(edits=edits, headers=headers):
                    name, path = self.new_board()
                    base = self.head(name)[1]
                    self.upstream.set(path, self.writes(name, ["b", "z"]))
                    answer = self.edit(name, edits, **headers)
                    changeset = self.assertChangeset(answer)
                    self.assertEqual((changeset["from"], changeset["to"]), (base, self.head(name)[1]))
                    self.assertEqual({each["op"] for each in changeset["changes"]}, {"remove", "insert"})
                    self.assertEqual(self.head(name)[0], ["b", "z"])
                    if headers:
                        again = self.edit(name, edits, **headers)
                        self.assertEqual((again.status, again.json["to"]), (200, changeset["to"]))
                        self.assertEqual(self.upstream.count(path), 1)

    def test_a_condition_that_held_when_the_owner_was_asked(self):
        name, path = self.new_board()
        base = self.head(name)[1]
        self.upstream.set(path, self.writes(name, ["a", "b", "z"]))
        self.assertStatus(self.edit(name, insert("c", at="start"), If_Match=f'"{base}"'), 200)
        self.assertEqual(self.head(name)[0], ["c", "a", "b", "z"])

    def test_one_that_is_deleted_meanwhile(self):
        name, path = self.new_board()

        def behaviour(exchange):
            client = Client(self.server)
            client.request("DELETE", session_path(name), None, bearer(KEY))
            client.close()
            YES(exchange)
        self.upstream.set(path, behaviour)
        self.assertProblem(self.edit(name, insert("c")), 404, "session-not-found")


class Sources(HookCase):
    """A list with both: what its owner agreed to is not undone by its source's earlier answer."""

    def test_a_fetch_that_began_before_an_edit_never_undoes_it(self):
        name, hook = self.new_board(kind="b")
        path = "/b/" + name[2:]
        stream = self.stream(name, None, **bearer(KEY))
        stream.next_event()
        old = self.upstream.set(path, Held(["a", "b"]))
        count = len(self.upstream.wait_for(path, self.upstream.count(path) + 1))
        self.assertStatus(self.edit(name, insert("c")), 200)
        self.assertEqual([each["op"] for each in self.news(stream)["changes"]], ["insert"])
        self.upstream.set(path, ["a", "b", "c", "d"])
        old.release()
        # Nothing is removed, and the source is asked again at once.
        changes = self.news(stream)["changes"]
        self.assertEqual([(each["op"], [row["id"] for row in each["items"]]) for each in changes], [("insert", ["d"])])
        self.upstream.wait_for(path, count + 1)

    def test_the_next_one_is_without_a_condition(self):
        name, hook = self.new_board(kind="b")
        path = "/b/" + name[2:]
        self.upstream.set(path, tagged(["a", "b"], '"1"'))
        stream = self.stream(name, None, **bearer(KEY))
        wait_for(lambda: self.upstream.requests(path)[-1]["If-None-Match"] == '"1"', "the tag goes back")
        count = self.upstream.count(path)
        self.assertStatus(self.edit(name, insert("c")), 200)
        # One may have been under way. If the owner repeats its earlier answer, that is final.
        wait_for(lambda: any(each["If-None-Match"] is None for each in self.upstream.requests(path)[count:]),
                 "it is asked without a condition")
        self.wait_until(name, ["a", "b"])
        stream.close()

    def test_who_edits_without_pause_does_not_keep_the_source_away_for_ever(self):
        name, hook = self.new_board(kind="b")
        path = "/b/" + name[2:]
        stream = self.stream(name, None, **bearer(KEY))
        over = threading.Event()

        def edits():
            client, number = Client(self.server), 0
            while not over.is_set():
                number += 1
                client.request("POST", session_path(name, "changes"), insert(f"i{number}"), self.may(name))
            client.close()
        thread = threading.Thread(target=edits, daemon=True)
        thread.start()
        self.upstream.set(path, lambda exchange: pause(0.05, "a slow source") or exchange.answer(["z"]))
        self.upstream.wait_for(path, self.upstream.count(path) + 6)
        over.set()
        thread.join()
        self.wait_until(name, ["z"])
        stream.close()

    def wait_until(self, name, expected):
        wait_for(lambda: self.head(name)[0] == expected, f"{name} is {expected}")


class Open(HookCase):
    """Without identities, everybody's edits are asked about."""

    options = ()

    def test_nobodys_edits(self):
        name, path = "h:open", "/hook/open"
        self.upstream.set(path, YES)
        self.made(["a"], name)
        self.assertStatus(self.post_changes(name, insert("b")), 200)
        self.assertIsNone(self.upstream.requests(path)[0].json["token"])
        minted = self.request("POST", session_path(name, "tokens"), {"scope": ["read", "edit"]}).json["token"]
        self.assertStatus(self.post_changes(name, insert("c"), **bearer(minted)), 200)
        claims = self.upstream.requests(path)[1].json["token"]
        self.assertEqual((claims["sub"], claims["scope"]), (name, "read edit"))


class Deep(HookCase):
    options = ("--max-depth", "512")

    def test_an_owner_is_told_of_edits_of_any_depth(self):
        name, path = "h:deep", "/hook/deep"
        self.upstream.set(path, YES)
        self.made(["a"], name)
        for depth in (50, 100, 507):
            content = "[" * depth + "]" * depth
            edits = f'[{{"op":"insert","items":[{{"id":"{depth}","content":{content}}}]}}]'
            self.assertStatus(self.post_changes(name, f'{{"edits":{edits}}}'.encode()), 200)
            self.assertIn(f'"edits":{edits},'.encode(), self.upstream.requests(path)[-1].body)
        asked = self.upstream.count(path)
        # However the member is written.
        edits = '[{"op":"insert","items":["marked"]}]'
        for body in (f'\ufeff{{"edits":{edits}}}', f'{{"\\u0065dits":{edits}}}'.replace("marked", "escaped")):
            self.assertStatus(self.post_changes(name, body.encode()), 200)
        told = [request.json["edits"][0]["items"] for request in self.upstream.requests(path)[asked:]]
        self.assertEqual(told, [["marked"], ["escaped"]])
        twice = f'{{"edits":{edits},"edits":[]}}'.encode()
        self.assertProblem(self.post_changes(name, twice), 400, "malformed-json")


class Rated(HookCase):
    options = (*KEYS, "--rate", "5")

    def test_who_asks_too_often_does_not_get_that_far(self):
        name, path = self.new_board()
        statuses = [self.edit(name, insert(f"i{number}")).status for number in range(40)]
        self.assertIn(429, statuses)
        self.assertEqual(self.upstream.count(path), statuses.count(200))


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class Nodes(unittest.TestCase):
    def test_one_call_of_a_session_at_a_time_over_all_nodes(self):
        redis, upstream = Redis(), Upstream()
        self.addCleanup(redis.close)
        self.addCleanup(upstream.close)
        file = ListsFile({"board": {"hook": {"url": upstream.url + "/hook", "secret": "env:HOOK_SECRET", "timeout": 10}}})
        self.addCleanup(file.close)
        nodes = [Node("--lists", str(file.path), "--store", f"redis://127.0.0.1:{redis.port}", *KEYS,
                      variables={**QUIET, "HOOK_SECRET": WEBHOOK_SECRET}) for _ in range(3)]
        for node in nodes:
            self.addCleanup(node.stop)
        gauge = upstream.set("/hook", Gauge(0.02))
        path = session_path("board", "changes")

        def post(node, body, credentials):
            client = Client(node)
            answer = client.request("POST", path, body, credentials)
            client.close()
            return answer

        self.assertEqual(post(nodes[0], [], bearer(KEY)).status, 201)
        statuses = []

        def edits(number):
            for turn in range(5):
                statuses.append(post(nodes[number % 3], insert(f"i{number}-{turn}"), bearer(token("board", "read edit"))).status)
        threads = [threading.Thread(target=edits, args=(number,)) for number in range(9)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual((statuses, gauge.most, gauge.count), ([200] * 45, 1, 45))
        revisions = [request.json["revision"] for request in upstream.requests("/hook")]
        self.assertEqual(len(set(revisions)), 45)
