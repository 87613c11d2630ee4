"""Tokens with a view, which nothing gets past: CONTRACT §9 and §10.

All that the view leaves out is marked. No answer to the token may contain the mark, and two histories that differ only in
marked things must look the same.
"""

import gzip
import re

from support.appliers import DIALECTS
from support.client import session_path, target
from support.events import Stream
from support.jsontext import text
from support.tokens import token
from test_tokens_and_keys import KEY, Guarded
from test_views import CURSOR, view_query

MARK = "SECRET"
VIEW = {"sections": ["open", "bare"], "where": [{"at": "/content/public", "is": True}], "order": [{"at": "/content/n"}],
        "fields": ["/content/public", "/content/n", "/content/deep/shown"]}


def row(name, n, *items, **members):
    """An item that the view shows."""
    content = {"public": True, "n": n, "deep": {"shown": n}}
    return {"id": name, "content": content, **members, **({"items": list(items)} if items else {})}


def secret(name, *items):
    return {"id": f"{MARK}-{name}", "kind": f"{MARK}-kind", "content": {"public": False, MARK: name, "n": MARK},
            **({"items": list(items)} if items else {})}


def veiled(state, noise):
    """The state with things in it that the view does not show."""
    def item(given, number):
        content = {f"{MARK}-a": noise, **given["content"], "deep": {**given["content"]["deep"], MARK: [MARK]}, MARK: {MARK: 1}}
        inner = [secret(f"child {number} of {given['id']}", row(f"{MARK}-grandchild of {given['id']}", 0))]
        inner += [item(each, number) for number, each in enumerate(given.get("items", []))]
        return {**given, "content": content, "items": inner}

    def section(given):
        own = [secret(f"first of {given['id']}")] + [item(each, number) for number, each in enumerate(given["items"])]
        return {**given, "content": {MARK: noise}, "items": own + [secret(f"last of {given['id']}, {noise}")]}

    closed = [{"id": f"{MARK}-section-{number}", "content": MARK, "items": [row(f"{MARK}-{number}-{noise}", 1)]} for number in range(2)]
    return {"content": {MARK: noise}, "sections": [closed[0], *map(section, state["sections"]), closed[1]]}


def plainly(state, noise):
    """The same with nothing hidden but a number, so that there are as many revisions."""
    return {"content": {"noise": noise}, **state}


def of(*rows, bare=()):
    return {"sections": [{"id": "open", "items": list(rows)}, {"id": "bare", "expanded": not bare, "items": list(bare)}]}


# What the view shows at each revision: the same twice if only hidden things change.
STATES = [
    of(row("a", 1), row("b", 2, row("b1", 1), row("b2", 2))), of(row("a", 1), row("b", 2, row("b1", 1), row("b2", 2))),
    of(row("b", 2, row("b2", 2)), row("a", 3), row("c", 9)), of(row("b", 2, row("b2", 2), expanded=False), row("a", 3), row("c", 9)),
    of(row("b", 2, row("b2", 2), expanded=False), row("a", 3), row("c", 9)),
    of(row("d", 1, kind="k"), row("a", 3), row("c", 9), bare=[row("e", 1)]),
]


def masked(written):
    """Text without the hashes of cursors, and without times."""
    written = re.sub(r"\b(\d+)-[0-9a-f]{16}\b", r"\1-(hash)", written)
    return re.sub(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|\d{4}-\d\d-\d\dT[\d:.]+Z", "(time)", written)


class Veiled(Guarded):
    def thin(self, session, view=None, **claims):
        return token(session, view=VIEW if view is None else view, **claims)

    def asked(self, given, path, query=None, method="GET", body=None, **headers):
        return self.ask(method, target(path, query), given, body, **headers)

    def write(self, session, state):
        answer = self.ask("POST", session_path(session, "changes"), KEY, {"state": state}, Prefer="return=minimal")
        self.assertIn(answer.status, (200, 201), answer)
        return answer.json["to"]

    def cursor(self, session, given, query=None):
        return self.asked(given, session_path(session), query).json["revision"]

    def stream(self, given, path, query=None, **headers):
        stream = Stream(self.server, path, query, {"Authorization": f"Bearer {given}", **headers})
        self.addCleanup(stream.close)
        return stream

    def assertUnmarked(self, answer):
        written = f"{answer.headers}\n{answer.text}"
        self.assertNotIn(MARK, written)


class Requests:
    """Everything that a token holder may ask of a session, and the answers."""

    def __init__(self, case, session, cursors):
        self.case, self.session, self.cursors = case, session, cursors
        self.given = case.thin(session)

    def targets(self):
        """Paths and queries, without a mark in them."""
        own = session_path(self.session)
        changes, items, sections = f"{own}/changes", f"{own}/items", f"{own}/sections"
        yield own, {}
        for view in ({"fields": ["/content"]}, {"sectionFields": ["/content"], "listFields": ["/content"]}, {"limit": 1},
                     {"order": [{"at": "/kind"}, {"at": "/id", "descending": True}]},
                     {"where": [{"at": "/content/public", "not": True}]}, {}):
            yield own, view_query(view)
            yield changes, view_query(view)
        for dialect in [*DIALECTS, "counts"]:
            yield changes, {"dialect": dialect}
            for cursor in self.cursors:
                for query in ({}, {"content": "patch"}, {"smallest": "true"}, {"maxChanges": 1}, {"maxChanges": 0}):
                    yield changes, {"dialect": dialect, "since": cursor, **query}
        for dialect in [name for name in DIALECTS if name != "json-patch"]:
            for window in ({"at": "start", "after": 1}, {"at": "end", "before": 1}, {"at": 2, "after": 0}, {"at": 9}, {"around": "b2"},
                           {"around": "a", "before": 1, "after": 1}):
                yield changes, {"dialect": dialect, **window}
                for cursor in self.cursors:
                    yield changes, {"dialect": dialect, "since": cursor, **window}
        for section in range(4):
            yield sections, {"at": section}
            for index in range(6):
                yield items, {"at": f"{section},{index}"}
        for cursor in self.cursors:
            yield items, {"revision": cursor, "at": ["0,0", "0,1", "0,2", "0,3", "1,0", "2,0"], "id": ["a", "b", "b1", "b2", "c"]}
            yield sections, {"revision": cursor, "at": [0, 1, 2], "id": ["open", "bare"]}
            yield "/v1/changes", {"session": f"{self.session}@{cursor}"}
            yield "/v1/changes", {"session": f"{self.session}@{cursor}", "dialect": "counts"}
        for name in ("a", "b", "b1", "b2", "c", "none"):
            yield f"{items}/{name}", {}
        for name in ("open", "bare", "none"):
            yield f"{sections}/{name}", {}
        yield "/v1/changes", {"session": self.session}
        for query in ({"view": "{"}, {"view": '{"limits":1}'}, {"since": "x"}, {"sinse": 1}, {"before": 1},
                      {"at": "start", "dialect": "counts"}):
            yield changes, query
        yield items, {"at": "x"}
        yield items, {"revision": "9-0123456789abcdef", "id": "a"}
        yield changes, {"since": "1-0123456789abcdef"}

    def marked(self):
        """Those that name what is hidden."""
        own = session_path(self.session)
        for name in (f"{MARK}-first of open", f"{MARK}-grandchild of a", f"{MARK}-0-5"):
            yield session_path(self.session, "items", name), {}
            yield f"{own}/items", {"id": name, "revision": self.cursors[0]}
            yield f"{own}/changes", {"around": name, "after": 1}
            yield f"{own}/changes", {"around": name, "after": 1, "since": self.cursors[1]}
        yield session_path(self.session, "sections", f"{MARK}-section-0"), {}
        yield f"{own}/sections", {"id": f"{MARK}-section-0"}
        for view in ({"where": [{"at": f"/content/{MARK}", "exists": True}]}, {"order": [{"at": f"/content/deep/{MARK}"}]},
                     {"fields": [f"/content/{MARK}", f"/content/deep/{MARK}"]}, {"sections": [f"{MARK}-section-0", "open"]},
                     {"sectionFields": [f"/content/{MARK}"], "listFields": [f"/content/{MARK}"]}, {"where": [{"at": "/id", "has": MARK}]},
                     {"where": [{"at": "/kind", "is": f"{MARK}-kind"}]}, {"where": [{"at": f"/content/{MARK}-a", "not": 5}]}):
            yield own, view_query(view)
            yield f"{own}/changes", view_query(view)
            yield f"{own}/changes", view_query(view, dialect="counts")

    def answer(self, path, query, method="GET", **headers):
        return self.case.asked(self.given, path, query, method, **headers)


class NothingHidden(Veiled):
    def setUp(self):
        self.session = self.new_name()

    def told(self, dress):
        """All answers to the token, as the history goes on, in the dress that hides things or not."""
        cursors, found = [], []
        given = self.thin(self.session)
        for number, state in enumerate(STATES):
            self.write(self.session, dress(state, number))
            cursors.append(self.cursor(self.session, given))
        requests = Requests(self, self.session, cursors)
        for path, query in [*requests.targets(), *requests.marked()]:
            answer = requests.answer(path, query)
            found.append((masked(f"{path} {query}"), answer.status, masked(answer.text), self.headers(answer)))
            head = requests.answer(path, query, "HEAD")
            self.assertEqual((head.status, self.headers(head)), (answer.status, self.headers(answer)), (path, query))
        self.assertStatus(self.ask("DELETE", session_path(self.session), KEY), 204)
        return found

    def headers(self, answer):
        return [(name, masked(value)) for name, value in answer.headers.items() if name not in ("Date", "X-Request-Id")]

    def test_no_answer_tells_two_histories_apart_that_differ_in_what_is_hidden(self):
        found, wanted = self.told(veiled), self.told(plainly)
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            with self.subTest(one[0]):
                self.assertEqual(one, other)

    def test_no_answer_holds_what_is_hidden(self):
        given = self.thin(self.session)
        cursors = []
        for number, state in enumerate(STATES):
            self.write(self.session, veiled(state, number))
            cursors.append(self.cursor(self.session, given))
            requests = Requests(self, self.session, cursors)
            for path, query in requests.targets() if number in (1, len(STATES) - 1) else []:
                with self.subTest(path, query=query):
                    # Asked by somebody who may see everything, the answer differs from the token's.
                    self.asked(KEY, path, query)
                    self.assertUnmarked(requests.answer(path, query))
                    packed = requests.answer(path, query, Accept_Encoding="gzip")
                    if packed.headers.get("Content-Encoding") == "gzip":
                        self.assertNotIn(MARK, gzip.decompress(packed.body).decode())

    def test_the_mark_is_there_for_who_may_see_it(self):
        self.write(self.session, veiled(STATES[0], 0))
        self.assertIn(MARK, self.asked(KEY, session_path(self.session)).text)
        self.assertIn(MARK, self.asked(token(self.session), session_path(self.session)).text)

    def test_what_the_token_shows(self):
        self.write(self.session, veiled(STATES[2], 0))
        self.assertEqual(self.asked(self.thin(self.session), session_path(self.session)).json["state"], {"sections": [
            {"id": "open", "items": [row("b", 2, row("b2", 2)), row("a", 3), row("c", 9)]}, {"id": "bare", "items": []}]})

    def test_lists_and_sections_show_their_content_only_where_the_view_says_so(self):
        self.write(self.session, veiled(STATES[0], 7))
        for view, state, section in (({}, None, None), ({"sectionFields": ["/content"]}, None, {MARK: 7}),
                                     ({"listFields": ["/content"], "sectionFields": ["/content/none"]}, {MARK: 7}, {})):
            with self.subTest(view):
                found = self.asked(self.thin(self.session, view), session_path(self.session)).json["state"]
                self.assertEqual((found.get("content"), found["sections"][1].get("content")), (state, section))

    def test_the_request_s_view_is_applied_to_what_the_token_s_shows(self):
        self.write(self.session, veiled(STATES[2], 0))
        given = self.thin(self.session, {**VIEW, "limit": 2})
        alone, path = self.cursor(self.session, given), session_path(self.session)
        shown = self.asked(given, path, view_query({"order": [{"at": "/content/n", "descending": True}], "limit": 5})).json
        self.assertEqual([item["id"] for item in shown["state"]["sections"][0]["items"]], ["a", "b"])
        self.assertRegex(shown["revision"], CURSOR)
        self.assertNotEqual(shown["revision"], alone)
        self.assertEqual(self.cursor(self.session, given, {"view": "{}"}), alone)
        shown = self.asked(given, path, view_query({"fields": ["/content/n"]})).json["state"]
        self.assertEqual(shown["sections"][0]["items"][1], {"id": "a", "content": {"n": 3}})


class Cursors(Veiled):
    """Of another view, or of none."""

    def setUp(self):
        self.session = self.new_name()
        self.path = session_path(self.session)
        self.given = self.thin(self.session)
        self.plain = [self.write(self.session, veiled(STATES[0], 0)), self.write(self.session, veiled(STATES[2], 1))]
        other = self.thin(self.session, {"limit": 9})
        self.foreign = [*self.plain, self.cursor(self.session, other), self.cursor(self.session, self.given, view_query({"limit": 9})),
                        self.asked(KEY, self.path, view_query(VIEW)).json["revision"] + "~0.1.0"]

    def invented(self, cursor):
        """One of the same sequence that nobody was ever told."""
        return re.sub(r"-[0-9a-f]{16}", "-0123456789abcdef", cursor)

    def test_they_are_no_base_and_nothing_tells_them_from_invented_ones(self):
        for cursor in self.foreign:
            for dialect in (*DIALECTS, "counts"):
                with self.subTest(cursor, dialect=dialect):
                    told = []
                    for since in (cursor, self.invented(cursor)):
                        answer = self.asked(self.given, self.path + "/changes", {"since": since, "dialect": dialect})
                        self.assertIn(answer.json["reset"], ("unknown", "expired"))
                        self.assertUnmarked(answer)
                        told.append(masked(answer.text))
                    self.assertEqual(*told)

    def test_nothing_is_looked_up_at_them(self):
        for cursor in self.foreign[:-1]:
            for path in ("/items?id=a", "/items/a", "/sections/open", "/sections?at=0"):
                with self.subTest(cursor, path=path):
                    separator = "&" if "?" in path else "?"
                    told = [self.ask("GET", f"{self.path}{path}{separator}revision={each}", self.given)
                            for each in (cursor, self.invented(cursor))]
                    self.assertProblem(told[0], 410, "revision-gone")
                    self.assertEqual(masked(told[0].text), masked(told[1].text))
                    self.assertUnmarked(told[0])

    def test_they_are_no_condition(self):
        for cursor in self.foreign[:-1]:
            answer = self.asked(self.given, self.path, If_None_Match=f'"{cursor}"')
            self.assertStatus(answer, 200)
            self.assertUnmarked(answer)
        own = self.cursor(self.session, self.given)
        answer = self.asked(self.given, self.path, If_None_Match=f'"{own}"')
        self.assertEqual((answer.status, answer.body), (304, b""))

    def test_they_do_not_resume_a_stream(self):
        for cursor in self.foreign:
            stream = self.stream(self.given, self.path + "/changes", **{"Last-Event-ID": cursor})
            event = stream.next_event()
            self.assertEqual((event.event, event.json["reset"], MARK in str(event)), ("changes", "unknown", False))

    def test_its_own_do_not_serve_who_sees_all(self):
        own = self.cursor(self.session, self.given)
        self.assertIn("reset", self.asked(KEY, self.path + "/changes", {"since": own}).json)
        self.assertIn("reset", self.asked(token(self.session), self.path + "/changes", {"since": own}).json)


class Streams(Veiled):
    def test_a_stream_tells_of_what_is_seen_and_of_no_more(self):
        told = []
        for dress in (veiled, plainly):
            session = "streamed"
            given = self.thin(session)
            self.write(session, dress(STATES[0], 0))
            stream = self.stream(given, session_path(session, "changes"), {"content": "patch"})
            many = self.stream(given, "/v1/changes", {"session": session})
            beside = self.stream(KEY, session_path(session, "changes"), {"content": "patch"})
            events = [(stream.next_event(), many.next_event())]
            for number, state in enumerate(STATES[1:], 1):
                self.write(session, dress(state, number))
                self.assertEqual(MARK in str(beside.next_event()), dress is veiled)
                if state != STATES[number - 1]:
                    events.append((stream.next_event(), many.next_event()))
            self.ask("DELETE", session_path(session), KEY)
            events.append((stream.next_event(), many.next_event()))
            self.assertNotIn(MARK, str(events))
            told.append([masked(f"{one.event} {one.data} {other.event} {other.data}") for one, other in events])
            for each in (stream, many, beside):
                each.close()
        self.assertEqual(*told)

    def test_streams_of_other_views_of_one_session_are_apart(self):
        session = self.new_name()
        self.write(session, of(row("a", 1)))
        views = [{"where": [{"at": "/content/n", "is": number}], "fields": ["/content/n"]} for number in range(4)]
        streams = [self.stream(self.thin(session, view), session_path(session, "changes")) for view in views]
        for stream in streams:
            self.assertEqual(stream.next_event().json["reset"], "initial")
        self.write(session, of(*(row(f"row{number}", number) for number in range(4))))
        for number, stream in enumerate(streams):
            changes = [each for each in stream.next_event().json["changes"] if each["op"] == "insert"]
            self.assertEqual([each["items"] for each in changes], [[{"id": f"row{number}", "content": {"n": number}}]])

    def test_marks_of_hidden_rows_wake_nobody(self):
        session = self.new_name()
        self.write(session, veiled(STATES[0], 0))
        stream = self.stream(self.thin(session), session_path(session, "changes"))
        stream.next_event()
        for items in ([f"{MARK}-first of open"], [f"{MARK}-grandchild of a", "a"]):
            edits = {"edits": [{"op": "reload", "items": items}]}
            self.assertStatus(self.ask("POST", session_path(session, "changes"), KEY, edits), 200)
        changes = stream.next_event().json["changes"]
        self.assertEqual([[item["id"] for item in each["items"]] for each in changes], [["a"]])


class Scopes(Veiled):
    def setUp(self):
        self.session = self.new_name()
        self.path = session_path(self.session)
        self.write(self.session, veiled(STATES[0], 0))

    def test_it_writes_nothing(self):
        given = self.thin(self.session)
        edit = {"edits": [{"op": "delete", "items": [f"{MARK}-first of open"]}]}
        before = self.asked(KEY, self.path).text
        for method, path, body in (("POST", "/changes", edit), ("POST", "/changes", ["x"]), ("POST", "/changes", "["),
                                   ("PUT", "", {"state": []}), ("DELETE", "", None), ("POST", "/tokens", {"scope": ["read"]}),
                                   ("DELETE", "/tokens", None)):
            with self.subTest(method, path=path):
                answer = self.asked(given, self.path + path, None, method, body)
                self.assertProblem(answer, 403, "forbidden")
                self.assertUnmarked(answer)
        for path in ("/v1/sessions", "/v1/diff", session_path("another")):
            method, body = ("POST", {"old": [], "new": []}) if path == "/v1/diff" else ("GET", None)
            self.assertProblem(self.asked(given, path, None, method, body), 403, "forbidden")
        self.assertEqual(self.asked(KEY, self.path).text, before)

    def test_minting(self):
        for path, sessions in ((self.path + "/tokens", {}), ("/v1/tokens", {"sessions": [self.session]})):
            answer = self.asked(KEY, path, None, "POST", {"scope": ["read"], "view": VIEW, **sessions})
            self.assertStatus(answer, 201)
            found = self.asked(answer.json["token"], self.path)
            self.assertUnmarked(found)
            self.assertEqual(found.text, self.asked(self.thin(self.session), self.path).text)
            for view in ({"sectionFields": ["/content"]}, {"listFields": ["/content", "/content/m"]},
                         {"limit": 1, "sectionFields": ["/content"], "listFields": ["/content"]}):
                answer = self.asked(KEY, path, None, "POST", {"view": view, **sessions})
                found = self.asked(answer.json["token"], self.path)
                self.assertEqual(found.text, self.asked(self.thin(self.session, view), self.path).text)
            for scope in (["edit"], ["read", "edit"], ["read", "edit:move"]):
                answer = self.asked(KEY, path, None, "POST", {"scope": scope, "view": VIEW, **sessions})
                self.assertStatus(answer, 422)
            for view in ({"limits": 1}, {"where": [{"at": "/title", "is": 1}]}, [], "x", None):
                answer = self.asked(KEY, path, None, "POST", {"scope": ["read"], "view": view, **sessions})
                self.assertIn(answer.status, (400, 422), answer)
            many = {"where": [{"at": "/id", "not": 1}] * 17}
            answer = self.asked(KEY, path, None, "POST", {"scope": ["read"], "view": many, **sessions})
            self.assertProblem(answer, 422, "limit-exceeded", limit=16, actual=17)

    def test_claims_that_are_not_understood_whole_are_401(self):
        cases = {
            "edit": self.thin(self.session, scope="edit"), "read edit": self.thin(self.session, scope="read edit"),
            "edit:move": self.thin(self.session, scope="read edit:move"), "a member": self.thin(self.session, {"limits": 1}),
            "a pointer": self.thin(self.session, {"fields": ["/title"]}), "an array": self.thin(self.session, [1]),
            "text": self.thin(self.session, text(VIEW)), "too many": self.thin(self.session, {"where": [{"at": "/id", "not": 1}] * 17}),
            "too many orders": self.thin(self.session, {"order": [{"at": "/id"}] * 5}),
            "too many fields": self.thin(self.session, {"fields": [f"/content/f{number}" for number in range(65)]}),
        }
        for name, given in cases.items():
            with self.subTest(name):
                for path in ("", "/changes", "/items/a"):
                    answer = self.asked(given, self.path + path)
                    self.assertProblem(answer, 401, "unauthenticated")
                    self.assertUnmarked(answer)

    def test_a_token_of_several_sessions_sees_each_through_its_view(self):
        other = self.new_name()
        self.write(other, veiled(STATES[2], 0))
        given = self.thin(None, sub=None, sessions=[self.session, other])
        answer = self.asked(given, "/v1/changes", {"session": [self.session, other]})
        self.assertUnmarked(answer)
        found = [[item["id"] for item in each["state"]["sections"][0]["items"]] for each in answer.json["answers"]]
        self.assertEqual(found, [["a", "b", "b1", "b2"], ["b", "b2", "a", "c"]])
