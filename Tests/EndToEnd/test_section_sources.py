"""A screen of several answers: each section of a list is fetched from a source of its own (CONTRACT §11)."""

import re
import subprocess
import unittest

from support.appliers import keyed
from support.clock import let_pass, stays, wait_for
from support.client import Client, session_path
from support.database import SQLiteCase
from support.events import Stream
from support.node import Node
from support.redis import IS_INSTALLED, MISSING
from support.server import ROOT
from support.sources import KEY, KEYS, QUIET, WEBHOOK_SECRET, ListsFile, SourceCase, insert
from support.store import memory_only, names_its_stores
from support.tokens import bearer, token
from support.upstream import Held, Upstream, refuses_by_reset, says, tagged
from test_shared_sources import NodeCase

PARTS = ("top", "middle", "end")


def sections_of(url, name, every, parts=PARTS, **more):
    return {part: {"source": {"url": f"{url}/{part}/{name}", "every": every, "timeout": 5}, **more.get(part, {})} for part in parts}


class ScreenCase(SourceCase):
    @classmethod
    def lists(cls, url):
        shape = {"shape": {"itemsAt": "/rows", "idAt": "/no", "rest": ["/total"], "duplicates": "first"}}
        return {"s:{name}": {"sections": sections_of(url, "{name}", cls.interval, top=shape, middle={"content": {"title": "Middle"}})},
                "seldom:{name}": {"sections": sections_of(url, "{name}", 3600)},
                "plain:{name}": {"source": {"url": f"{url}/plain/{{name}}", "every": cls.interval}}}

    # What the sources say, unless a test says otherwise.
    SAYS = {"top": {"rows": [{"no": 1}], "total": 1}, "middle": ["a", "b"], "end": {"items": ["a"], "content": {"n": 1}}}

    def new_screen(self, kind="s", **behaviours):
        """A list, and the path of each of its sources."""
        number = self.new_name()
        paths = {part: f"/{part}/{number}" for part in PARTS}
        for part in PARTS:
            behaviour = behaviours.get(part, self.SAYS[part])
            if behaviour is not None:
                self.upstream.set(paths[part], behaviour)
        return f"{kind}:{number}", paths

    def sections(self, name):
        answer = self.get_session(name)
        self.assertStatus(answer, 200)
        return {each["id"]: [item["id"] for item in each["items"]] for each in answer.json["state"]["sections"]}

    def is_shown(self, name, **expected):
        wait_for(lambda: self.sections(name).items() >= expected.items(), lambda: f"{expected} in {self.sections(name)}")


class Reading(ScreenCase):
    def test_the_first_read_waits_for_all_of_them(self):
        late = Held(self.SAYS["middle"])
        name, paths = self.new_screen(middle=late)
        asked = self.ask(session_path(name))
        for part in PARTS:
            self.upstream.wait_for(paths[part], 1)
        stays(lambda: not asked.is_done, "the first read waits", 0.3)
        late.release()
        self.assertEqual(asked.answer().json["state"]["sections"], [
            {"id": "top", "content": {"total": 1}, "items": [{"id": "top/1", "content": {"no": 1}}]},
            {"id": "middle", "content": {"title": "Middle"}, "items": [{"id": "middle/a"}, {"id": "middle/b"}]},
            {"id": "end", "content": {"n": 1}, "items": [{"id": "end/a"}]}])
        self.assertEqual([self.upstream.count(paths[part]) for part in PARTS], [1, 1, 1])

    def test_what_did_not_come_has_no_rows(self):
        name, _ = self.new_screen(top=refuses_by_reset, end=says({}, 404))
        self.assertEqual(self.sections(name), {"top": [], "middle": ["middle/a", "middle/b"], "end": []})
        self.assertEqual(self.get_session(name).json["state"]["sections"][1]["content"], {"title": "Middle"})

    def test_only_where_nothing_comes_it_is_a_failure(self):
        fails, missing = says({}, 500), says({}, 404)
        for behaviours, status, problem in (((fails, fails, fails), 503, "source-unavailable"), ((fails, missing, missing), 503, "source-unavailable"),
                                            ((missing, missing, missing), 404, "session-not-found")):
            name, _ = self.new_screen(**dict(zip(PARTS, behaviours)))
            answer = self.get_session(name)
            self.assertProblem(answer, status, problem)
            self.assertEqual(answer.headers["Retry-After"] is not None, status == 503)

    def test_one_that_fails_keeps_its_rows_and_is_stale(self):
        name, paths = self.new_screen()
        stream = self.stream(name)
        self.assertEqual(stream.next_event().json["reset"], "initial")
        self.upstream.set(paths["top"], says({}, 500))
        wait_for(lambda: self.get_session(name).headers["Diffserver-Stale"], "the screen is stale")
        self.assertGreaterEqual(stream.next_event().json["stale"], 1)
        self.upstream.set(paths["end"], ["new"])
        told = self.news(stream)
        self.assertEqual([each["op"] for each in told["changes"]], ["remove", "insert"])
        self.assertIn("stale", told)
        self.assertEqual(self.sections(name)["top"], ["top/1"])
        self.upstream.set(paths["top"], {"rows": [{"no": 1}], "total": 1})
        wait_for(lambda: "stale" not in stream.next_event().json, "it is over")
        self.wait_for_lines(1, "list source is back", f"session={name}", "section=top")

    def test_a_fetch_names_what_was_left_out(self):
        name, paths = self.new_screen(top={"rows": [{"no": 1}, {"no": 2}, {"no": 1}]})
        answer = self.request("POST", session_path(name, "fetch"))
        self.assertStatus(answer, 201)
        self.assertEqual(answer.json["warnings"], [{"code": "duplicate-id", "pointer": "/rows/2/no", "id": "top/1"}])

    def test_an_answer_that_is_no_section_is_told(self):
        name, paths = self.new_screen(middle=[{"id": 1, "title": "x"}])
        self.assertEqual(self.sections(name)["middle"], [])
        self.wait_for_lines(1, f"session={name}", "section=middle", "title")

    def test_validators_are_the_section_s_own(self):
        name, paths = self.new_screen(**{part: tagged(self.SAYS[part], f'"{part}"') for part in PARTS})
        stream = self.stream(name)
        self.assertEqual(stream.next_event().json["reset"], "initial")
        self.upstream.set(paths["end"], ["other"])
        self.assertEqual(self.news(stream)["changes"][0]["op"], "remove")
        # The commit of another section is no reason to ask without them.
        for part in ("top", "middle"):
            request = self.upstream.next(paths[part])
            self.assertEqual(request["If-None-Match"], f'"{part}"')

    def test_what_comes_at_once_is_one_event(self):
        name, paths = self.new_screen("seldom", top=["t"])
        stream = self.stream(name)
        self.assertEqual(stream.next_event().json["reset"], "initial")
        for each in range(5):
            held = {part: Held([f"{part}{each}"]) for part in PARTS}
            for part in PARTS:
                self.upstream.set(paths[part], held[part])
            asked = self.ask(session_path(name, "fetch"), method="POST")
            for part in PARTS:
                self.upstream.wait_for(paths[part], each + 2)
            for part in PARTS:
                held[part].release()
            self.assertStatus(asked.answer(), 200)
            told = stream.next_event().json
            self.assertEqual(told["to"], self.get_session(name).json["revision"], told)

    def test_a_fetch_asks_all_and_answers_what_changed(self):
        name, paths = self.new_screen("seldom", top=["t"])
        self.sections(name)
        self.upstream.set(paths["top"], ["t", "u"])
        self.upstream.set(paths["middle"], says({}, 500))
        self.upstream.set(paths["end"], [])
        answer = self.request("POST", session_path(name, "fetch"))
        self.assertStatus(answer, 200)
        self.assertEqual([each["op"] for each in answer.json["changes"]], ["remove", "insert"])
        self.assertEqual([self.upstream.count(paths[part]) for part in PARTS], [2, 2, 2])
        for part in PARTS:
            self.upstream.set(paths[part], says({}, 500))
        self.assertProblem(self.request("POST", session_path(name, "fetch")), 503, "source-unavailable")

    def test_states_and_sections_are_not_posted(self):
        name, _ = self.new_screen()
        section = session_path(name, "sections", "top", "changes")
        for path, method, body in ((section, "POST", ["x"]), (section, "POST", {"edits": []}), (session_path(name, "changes"), "POST", ["x"]),
                                   (session_path(name), "PUT", {"state": []})):
            self.assertProblem(self.request(method, path, body), 409, "has-source")
        self.assertProblem(self.request("POST", section, "[1"), 400, "malformed-json")
        plain = self.new_list(["a"], "plain")[0]
        self.assertProblem(self.request("POST", session_path(plain, "sections", "main", "changes"), ["x"]), 409, "has-source")

    def test_a_list_that_was_deleted_comes_back_whole(self):
        name, paths = self.new_screen(**{part: tagged(self.SAYS[part], '"1"') for part in PARTS})
        before = self.sections(name)
        for _ in range(3):
            self.assertStatus(self.delete_session(name), 204)
            self.assertEqual(self.sections(name), before)

    def test_one_request_an_interval_and_section(self):
        name, paths = self.new_screen(top=says({}, 404))
        streams = [self.stream(name) for _ in range(3)]
        for _ in range(20):
            self.get_session(name)
        for part in ("middle", "end"):
            self.upstream.wait_for(paths[part], 6)
            self.assertGreaterEqual(min(self.upstream.gaps(paths[part])), self.interval * 0.5)
        self.assertEqual(len(streams), 3)
        self.assertLessEqual(self.upstream.count(paths["top"]), 3)

    @memory_only
    def test_metrics_name_the_section(self):
        name, _ = self.new_screen()
        self.sections(name)
        metrics = self.get("/metrics").body.decode()
        for part in PARTS:
            self.assertRegex(metrics, f'diffserver_source_fetches_total{{list="s:{{name}}",section="{part}",outcome="fetched"}} [1-9]')
            self.assertIn(f'diffserver_source_age_seconds{{list="s:{{name}}",section="{part}"}}', metrics)


class Edits(ScreenCase):
    options = KEYS
    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url):
        hook = {"url": url + "/hook", "secret": "env:HOOK_SECRET"}
        return {"s:{name}": {"sections": sections_of(url, "{name}", cls.interval, PARTS)},
                "h:{name}": {"sections": sections_of(url, "{name}", 3600, PARTS), "hook": hook}}

    SAYS = {part: [part[0]] for part in PARTS}

    def get_session(self, session, **headers):
        return super().get_session(session, **bearer(KEY))

    def test_an_edit_drops_the_fetches_of_all_sections(self):
        for kind in "sh":
            with self.subTest(kind):
                name, paths = self.new_screen(kind, **{part: tagged(self.SAYS[part], '"1"') for part in PARTS})
                self.sections(name)
                held = {part: Held([part[0]]) for part in PARTS}
                for part in PARTS:
                    self.upstream.set(paths[part], held[part])
                asked = self.ask(session_path(name, "fetch"), method="POST", **bearer(KEY))
                for part in PARTS:
                    self.upstream.wait_for(paths[part], 2)
                self.upstream.set("/hook", says(b"", 204))
                who = bearer(KEY) if kind == "s" else bearer(token(name, "read edit", 60))
                answer = self.post_changes(name, insert("end/new", into={"section": "end"}), **who)
                self.assertStatus(answer, 200)
                for part in PARTS:
                    self.upstream.set(paths[part], [part[0]] + (["new"] if part == "end" else []))
                    held[part].release()
                self.assertStatus(asked.answer(), 200)
                self.assertEqual(self.sections(name)["end"], ["end/e", "end/new"])
                for part in PARTS:
                    # What was under way is dropped, and asked for again, unconditionally.
                    requests = self.upstream.wait_for(paths[part], 3)
                    self.assertIsNone(requests[2]["If-None-Match"], part)

    def test_what_an_edit_moved_is_where_the_sources_have_it_in_the_end(self):
        name, paths = self.new_screen()
        self.sections(name)
        stream = Stream(self.server, session_path(name, "changes"), None, bearer(KEY))
        self.addCleanup(stream.close)
        self.post_changes(name, {"edits": [{"op": "move", "items": ["top/t"], "into": {"section": "end"}}]}, **bearer(KEY))
        self.is_shown(name, top=["top/t"], end=["end/e"])

    def test_tokens_post_no_section(self):
        name, _ = self.new_screen()
        answer = self.request("POST", session_path(name, "sections", "top", "changes"), ["x"], **bearer(token(name, "read edit", 60)))
        self.assertProblem(answer, 403, "forbidden")

    def test_without_a_hook_edits_take_a_key(self):
        name, _ = self.new_screen()
        able = bearer(token(name, "read edit", 60))
        self.assertProblem(self.post_changes(name, insert("end/new", into={"section": "end"}), **able), 409, "has-source")
        for kind, identity in (("items", "top/t"), ("sections", "top")):
            path = session_path(name, kind, identity)
            patch = lambda who: self.request("PATCH", path, {"n": 1}, Content_Type="application/merge-patch+json", **who)
            self.assertProblem(patch(able), 409, "has-source")
            self.assertStatus(patch(bearer(KEY)), 200)


# The edits, by a key; rows of the sections; members of a few items; and what the sources say then, which is nothing new.
FOLLOWED = [
    ("a kind", [{"op": "update", "items": [{"id": "top/1", "patch": {"type": "re"}}]}],
     {"top": ["top/1", "top/2"]}, {"top/1": {"kind": "re"}}, {"top": [{"no": 1, "type": "re", "open": True}, {"no": 2}]}),
    ("a kind that another section would not read", [{"op": "update", "items": [{"id": "middle/am", "patch": {"sky": "fog", "type": "x"}}]}],
     {"middle": ["middle/am", "middle/pm"]}, {"middle/am": {"kind": "fog"}}, {"middle": {"am": {"sky": "fog", "type": "x"}, "pm": {"sky": "rain"}}}),
    ("what is folded", [{"op": "collapse", "items": ["top/1"]}],
     {}, {"top/1": {"expanded": False, "content": {"no": 1, "type": "ice", "open": False}}}, {"top": [{"no": 1, "type": "ice", "open": False}, {"no": 2}]}),
    ("nothing without a shape", [{"op": "update", "items": [{"id": "end/e", "content": {"type": "x", "no": 9}}]}],
     {}, {"end/e": {"kind": None}}, {"end": [{"id": "e", "content": {"type": "x", "no": 9}}]}),
    ("elements where an edit says", [{"op": "insert", "elements": [{"no": 3, "type": "s"}], "into": {"section": "top"}, "at": "start"}],
     {"top": ["top/3", "top/1", "top/2"]}, {"top/3": {"kind": "s"}},
     {"top": [{"no": 3, "type": "s"}, {"no": 1, "type": "ice", "open": True}, {"no": 2}]}),
    ("elements beside a row, and beside these", [
        {"op": "insert", "elements": {"eve": {"sky": "moon"}}, "before": "middle/pm"},
        {"op": "insert", "elements": {"noon": {"sky": "sun"}}, "before": "middle/eve"}],
     {"middle": ["middle/am", "middle/noon", "middle/eve", "middle/pm"]}, {"middle/eve": {"kind": "moon"}},
     {"middle": {"am": {"sky": "sun"}, "noon": {"sky": "sun"}, "eve": {"sky": "moon"}, "pm": {"sky": "rain"}}}),
    ("elements without ids", [{"op": "insert", "elements": [{"text": "new"}], "into": "log"}], {}, {}, {"log": [{"text": "old"}, {"text": "new"}]}),
]
# The edits; the pointer below /edits and the code of each error.
REFUSED = [
    ([{"op": "update", "items": [{"id": "top/1", "patch": {"no": 9}}]}], ("/0/items/0/patch", "id-changed")),
    ([{"op": "update", "items": [{"id": "middle/am", "patch": {"sky": [], "no": 9}}]}], ("/0/items/0/patch", "wrong-shape")),
    ([{"op": "insert", "elements": [{"no": 1}], "before": "top/2"}, {"op": "insert", "elements": [], "before": "middle/am"},
      {"op": "insert", "elements": ["x"], "into": {"section": "end"}}, {"op": "move", "items": ["nobody"], "at": "start"}],
     ("/0/elements/0/no", "duplicate-id"), ("/1/elements", "wrong-shape"), ("/2/elements", "wrong-shape"), ("/3/items/0", "unknown-id")),
]


class ShapedEdits(ScreenCase):
    """What a section's own shape reads, follows edits there."""

    options = KEYS
    variables = {"HOOK_SECRET": WEBHOOK_SECRET}
    SAYS = {"top": [{"no": 1, "type": "ice", "open": True}, {"no": 2}], "middle": {"am": {"sky": "sun"}, "pm": {"sky": "rain"}},
            "end": ["e"], "log": [{"text": "old"}]}

    @classmethod
    def lists(cls, url):
        shapes = {"top": {"idAt": "/no", "kindAt": "/type", "expandedAt": "/open"}, "middle": {"map": True, "itemsAt": "", "kindAt": "/sky"},
                  "log": {"idBy": "match"}}
        more = {part: {"shape": shape} for part, shape in shapes.items()}
        sections = sections_of(url, "{name}", 3600, tuple(cls.SAYS), **more)
        return {"s:{name}": {"sections": sections},
                "h:{name}": {"sections": sections, "hook": {"url": url + "/hook/{name}", "secret": "env:HOOK_SECRET"}}}

    def new_screen(self, kind="s"):
        number = self.new_name()
        self.say(number, self.SAYS)
        name = f"{kind}:{number}"
        self.assertStatus(self.get_session(name), 200)
        return name, number

    def say(self, number, documents):
        for part, document in documents.items():
            self.upstream.set(f"/{part}/{number}", document)

    def get_session(self, session, **headers):
        return super().get_session(session, **bearer(KEY))

    def items(self, name):
        sections = self.get_session(name).json["state"]["sections"]
        return {each["id"]: {"kind": None, "expanded": True, **each} for section in sections for each in section["items"]}

    def test_they_follow_and_the_next_documents_say_nothing_new(self):
        for what, edits, rows, items, documents in FOLLOWED:
            with self.subTest(what):
                name, number = self.new_screen()
                self.assertChangeset(self.post_changes(name, {"edits": edits}, **bearer(KEY)))
                self.assertEqual(self.sections(name) | rows, self.sections(name))
                found = self.items(name)
                self.assertEqual({each: {member: found[each][member] for member in members} for each, members in items.items()}, items)
                head = self.get_session(name).json["revision"]
                self.say(number, documents)
                answer = self.request("POST", session_path(name, "fetch"), **bearer(KEY))
                self.assertEqual((answer.status, answer.json["changes"], answer.json["to"]), (200, [], head))

    def test_what_does_not_fit_is_refused_whole(self):
        name, _ = self.new_screen()
        head = self.get_session(name).json["revision"]
        for edits, *errors in REFUSED:
            with self.subTest(edits):
                answer = self.post_changes(name, {"edits": edits}, **bearer(KEY))
                self.assertErrors(answer, "invalid-edit", *((f"/edits{pointer}", code) for pointer, code in errors))
        self.assertEqual(self.get_session(name).json["revision"], head)

    def test_a_request_may_bring_its_own(self):
        name, _ = self.new_screen()
        edits = {"edits": [{"op": "insert", "elements": [{"k": "x"}], "into": {"section": "end"}}]}
        self.assertStatus(self.post_changes(name, edits, {"idAt": "/k"}, **bearer(KEY)), 200)
        self.assertEqual(self.sections(name)["end"], ["end/e", "x"])
        answer = self.post_changes(name, {"edits": [{"op": "insert", "elements": [], "into": {"section": "top"}}]}, {"shape": "native"}, **bearer(KEY))
        self.assertErrors(answer, "invalid-edit", ("/edits/0/elements", "wrong-shape"))

    def test_patch_and_a_lost_answer(self):
        name, _ = self.new_screen()
        patch = lambda body, **headers: self.request(
            "PATCH", session_path(name, "items", "top/2"), body, Content_Type="application/merge-patch+json", **bearer(KEY), **headers)
        head = self.get_session(name).json["revision"]
        answers = [patch({"type": "re"}, If_Match=f'"{head}"') for _ in range(2)]
        self.assertEqual([each.status for each in answers], [200, 200])
        self.assertEqual(answers[0].json["to"], answers[1].json["to"])
        self.assertEqual(self.items(name)["top/2"]["kind"], "re")
        self.assertErrors(patch({"no": 7}), "invalid-edit", ("", "id-changed"))

    def test_an_owner_is_told_the_edits_as_they_were_sent(self):
        name, number = self.new_screen("h")
        self.upstream.set(f"/hook/{number}", says(b"", 204))
        edits = [{"op": "insert", "elements": {"eve": {"sky": "moon"}}, "after": "middle/pm"}, {"op": "update", "items": [{"id": "top/2", "patch": {"type": "s"}}]}]
        self.assertStatus(self.post_changes(name, {"edits": edits}, **bearer(token(name, "read edit", 60))), 200)
        request, = self.upstream.requests(f"/hook/{number}")
        self.assertEqual(request.json["edits"], edits)
        found = self.items(name)
        self.assertEqual((found["middle/eve"]["kind"], found["top/2"]["kind"]), ("moon", "s"))


class Reloading(ScreenCase):
    def tearDown(self):
        self.reload(self.lists(self.upstream.url))

    def test_sections_are_added_removed_and_moved(self):
        name, paths = self.new_screen()
        stream = self.stream(name)
        self.assertEqual(stream.next_event().json["reset"], "initial")
        number = name.partition(":")[2]
        lists = self.lists(self.upstream.url)
        self.upstream.set(f"/new/{number}", ["n"])
        before = lists["s:{name}"]["sections"]
        # The source that has gone must not matter, nor one that fails.
        self.upstream.set(paths["end"], says({}, 500))
        lists["s:{name}"]["sections"] = {
            "end": before["end"], "new": sections_of(self.upstream.url, "{name}", self.interval, ["new"])["new"], "top": before["top"]}
        self.reload(lists)
        wait_for(lambda: self.sections(name) == {"end": ["end/a"], "new": ["new/n"], "top": ["top/1"]}, lambda: str(self.sections(name)))
        self.assertEqual(list(self.sections(name)), ["end", "new", "top"])
        let_pass(2 * self.interval, "interval of a source")
        count = self.upstream.count(paths["middle"])
        let_pass(3 * self.interval, "interval of a source")
        self.assertEqual(self.upstream.count(paths["middle"]), count)
        self.assertNotEqual(self.news(stream)["changes"], [])

    def test_a_list_gets_sections_and_loses_them(self):
        number, name = self.new_name(), None
        name = f"plain:{number}"
        self.upstream.set(f"/plain/{number}", ["p"])
        for part in PARTS:
            self.upstream.set(f"/{part}/{number}", [part[0]])
        self.assertEqual(self.sections(name), {"main": ["p"]})
        lists = self.lists(self.upstream.url)
        with_sections = {**lists, "plain:{name}": {"sections": sections_of(self.upstream.url, "{name}", self.interval)}}
        for each, expected in ((with_sections, {"top": ["top/t"], "middle": ["middle/m"], "end": ["end/e"]}), (lists, {"main": ["p"]})):
            self.reload(each)
            wait_for(lambda: self.sections(name) == expected, lambda: str(self.sections(name)))

    def test_who_waits_for_a_source_that_goes_is_told_what_takes_its_place(self):
        number = self.new_name()
        late = Held(["p"])
        self.upstream.set(f"/plain/{number}", late)
        for part in PARTS:
            self.upstream.set(f"/{part}/{number}", [part[0]])
        name = f"plain:{number}"
        asked = [self.ask(session_path(name)), self.ask(session_path(name, "fetch"), method="POST")]
        self.upstream.wait_for(f"/plain/{number}", 1)
        self.reload({"plain:{name}": {"sections": sections_of(self.upstream.url, "{name}", self.interval)}})
        late.release()
        for each in asked:
            answer = each.answer()
            self.assertIn(answer.status, (200, 201), answer)
            self.assertEqual([each["id"] for each in answer.json["state"]["sections"]], list(PARTS))


@names_its_stores
class OverSQLite(SQLiteCase):
    variables = {**QUIET, "HOOK_SECRET": WEBHOOK_SECRET}

    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        self.upstream.set("/hook", says(b"", 204))
        hook = {"url": self.upstream.url + "/hook", "secret": "env:HOOK_SECRET"}
        file = ListsFile({"s:{name}": {"sections": sections_of(self.upstream.url, "{name}", 0.2), "hook": hook}})
        self.addCleanup(file.close)
        self.options = ("--lists", str(file.path))
        super().setUp()

    def test_what_fetches_build_on_survives(self):
        for part in PARTS:
            self.upstream.set(f"/{part}/1", tagged([part[0]], '"1"'))
        self.assertEqual(self.shown("s:1"), ["top/t", "middle/m", "end/e"])
        self.assertEqual(self.post("s:1", insert("end/new", into={"section": "end"})).status, 200)
        before = self.request("GET", "s:1").json["revision"]
        self.restarted()
        wait_for(lambda: self.shown("s:1") == ["top/t", "middle/m", "end/e"], "the sources have the last word")
        self.assertEqual(int(self.request("GET", "s:1").json["revision"].split("-")[0]), int(before.split("-")[0]) + 1)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class OverThreeNodes(NodeCase):
    def lists(self, url):
        return {"s:{name}": {"sections": sections_of(url, "{name}", 0.5)}, "seldom:{name}": {"sections": sections_of(url, "{name}", 3600)}}

    def rows(self, node, name):
        answer = self.get(node, name)
        self.assertEqual(answer.status, 200, answer)
        return {each["id"]: [item["id"] for item in each["items"]] for each in answer.json["state"]["sections"]}

    def test_one_request_an_interval_and_section(self):
        for part in PARTS:
            self.upstream.set(f"/{part}/1", tagged([part[0]], '"1"'))
        self.read_on_all("s:1")
        for part in PARTS:
            self.upstream.wait_for(f"/{part}/1", 10)
            self.assertOncePerInterval(f"/{part}/1", 0, 8)
            requests = self.upstream.requests(f"/{part}/1")
            self.assertTrue(all(each["If-None-Match"] for each in requests[3:]), requests)

    def test_first_reads_on_all_nodes_at_once_are_one_request_a_section(self):
        held = {part: self.upstream.set(f"/{part}/2", Held([part[0]])) for part in PARTS}
        found = []
        for node in self.nodes:
            self.runs(lambda node: (found.append(self.rows(node, "seldom:2")), self.over.wait()), node)
        for part in PARTS:
            self.upstream.wait_for(f"/{part}/2", 1)
            held[part].release()
        wait_for(lambda: len(found) == 3, "all have read")
        self.assertEqual(found, [{"top": ["top/t"], "middle": ["middle/m"], "end": ["end/e"]}] * 3)
        self.assertEqual([self.upstream.count(f"/{part}/2") for part in PARTS], [1, 1, 1])

    def test_an_edit_on_one_node_drops_the_fetches_of_the_others(self):
        for part in PARTS:
            self.upstream.set(f"/{part}/3", [part[0]])
        for node in self.nodes:
            self.rows(node, "seldom:3")
        held = {part: self.upstream.set(f"/{part}/3", Held([part[0]])) for part in PARTS}
        self.runs(lambda: (self.request(self.nodes[0], "POST", session_path("seldom:3", "fetch"), timeout=30), self.over.wait()))
        for part in PARTS:
            self.upstream.wait_for(f"/{part}/3", 2)
        answer = self.request(self.nodes[1], "POST", session_path("seldom:3", "changes"), insert("end/new"))
        self.assertEqual(answer.status, 200, answer)
        for part in PARTS:
            self.upstream.set(f"/{part}/3", [part[0]] + (["new"] if part == "end" else []))
            held[part].release()
        for part in PARTS:
            self.upstream.wait_for(f"/{part}/3", 3)
        wait_for(lambda: self.rows(self.nodes[2], "seldom:3")["end"] == ["end/e", "end/new"], "the edit stands")


class TheExample(unittest.TestCase):
    """Examples/screen, as docs/upstream.md runs it."""

    def test_a_screen_out_of_three_apis(self):
        process = subprocess.Popen([str(ROOT / "Examples/screen/run"), "--port", "0", "--every", "0.2"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 20)
        self.addCleanup(process.terminate)
        port = re.search(r":(\d+)$", process.stdout.readline()).group(1)
        file = ListsFile((ROOT / "Examples/screen/lists.json").read_text().replace(":9010/", f":{port}/").replace('"every": 5', '"every": 0.3'))
        self.addCleanup(file.close)
        node = Node("--lists", str(file.path), variables=QUIET)
        self.addCleanup(node.stop)
        stream = Stream(node, session_path("screen", "changes"))
        self.addCleanup(stream.close)
        shown, told, said = None, 0, set()
        while told < 8 or not said >= {"departures", "news"}:
            answer = stream.next_event().json
            if "reset" in answer:
                shown = keyed.shown(answer["state"])
                continue
            shown = keyed.applied(shown, answer["changes"])
            said |= {each["in"] for each in answer["changes"] if "in" in each}
            told += 1
        client = Client(node, 20)
        self.addCleanup(client.close)
        state = client.request("GET", session_path("screen")).json["state"]
        self.assertEqual([each["id"] for each in state["sections"]], ["departures", "weather", "news"])
        self.assertEqual([each["content"] for each in state["sections"]], [{"station": "Amberley"}, {"title": "Today"}, {"title": "News"}])
        self.assertIn({"id": "news/7", "kind": "ad", "content": {"id": 7, "kind": "ad", "headline": "Tea, by the leaf"}},
                      state["sections"][2]["items"])
