"""Readers of lists that fetch themselves: silence, the lists that they make, and what ends them. CONTRACT §11."""

import json
import os
import pathlib
import subprocess
import tempfile

from support.client import session_path
from support.clock import let_pass, wait_for
from support.events import Stream
from support.server import binary
from support.sources import KEY, KEYS, EditableCase, SourceCase, ids
from support.store import memory_only
from support.tokens import bearer, token
from support.upstream import Held, Upstream, never_answers, refuses_by_reset, says, tagged

ROWS = [{"id": "a", "content": {"n": 1}}, {"id": "b", "content": {"n": 2}}]
NOTHING = {"keyed": [], "indexed": {}, "staged": [], "sequential": [], "json-patch": [], "counts": {}}


class Silence(EditableCase):
    def assertTold(self, event, name, dialect, is_stale):
        """An event without a change, which says whether the source is silent."""
        told = event.json
        self.assertEqual((event.event, told["session"], told["dialect"]), ("changes", name, dialect))
        if dialect == "diffable":
            self.assertEqual({what for what, value in told["changes"].items() if value}, {"sections"})
        else:
            self.assertEqual(told["changes"], NOTHING[dialect])
        self.assertEqual("stale" in told, is_stale, told)
        if is_stale:
            self.assertGreaterEqual(told["stale"], 1)

    def test_each_stream_hears_once_of_its_beginning_and_once_of_its_end(self):
        name, path, revision = self.fetched(ROWS)
        view = json.dumps({"where": [{"at": "/content/n", "atLeast": 1}]})
        queries = [{"since": revision, "dialect": dialect} for dialect in (*NOTHING, "diffable")]
        seen = self.get_changes(name, {"view": view}).json["to"]
        queries += [{}, {"view": view}, {"view": view, "dialect": "counts", "since": seen}, {"at": "start", "after": 9}, {"around": "b"},
                    {"since": revision, "content": "patch", "every": 0.1}]
        streams = [(query, self.stream(name, query)) for query in queries]
        several = [{"session": name}, {"session": [f"{name}@{revision}", self.made(ROWS)[0]]},
                   {"session": f"{name}@{revision}", "dialect": "indexed"}]
        for query in several:
            stream = Stream(self.server, "/v1/changes", query)
            self.addCleanup(stream.close)
            streams.append((query, stream))
        for query, stream in streams:
            # Readers that name no revision get everything first.
            sessions = [query["session"]] if isinstance(query.get("session"), str) else query.get("session", [query.get("since", "")])
            for each in sessions:
                if revision not in each and seen not in each:
                    self.assertEqual(stream.next_event().json["reset"], "initial")
        self.upstream.set(path, says({}, 500))
        for query, stream in streams:
            with self.subTest(query):
                self.assertTold(stream.next_event(), name, query.get("dialect", "keyed"), True)
        self.upstream.wait_for(path, self.upstream.count(path) + 2)
        self.upstream.set(path, ROWS)
        for query, stream in streams:
            with self.subTest(query):
                self.assertTold(stream.next_event(), name, query.get("dialect", "keyed"), False)
        # And then nothing, until there is a change.
        self.upstream.set(path, [*ROWS, {"id": "c", "content": {"n": 3}}])
        for query, stream in streams:
            with self.subTest(query):
                told = stream.next_event().json
                self.assertNotIn("stale", told)
                self.assertNotIn(told["changes"], ([], {}))

    def test_whoever_comes_meanwhile_hears_it_at_once_and_of_its_end(self):
        name, path, revision = self.fetched(ROWS)
        self.upstream.set(path, refuses_by_reset)
        first = self.stream(name)
        first.next_event()
        self.assertTold(first.next_event(), name, "keyed", True)
        late = self.stream(name, {"since": revision})
        self.assertTold(late.next_event(), name, "keyed", True)
        later = self.stream(name)
        event = later.next_event().json
        self.assertEqual((event["reset"], event["stale"] >= 1), ("initial", True))
        self.upstream.set(path, ROWS)
        for stream in (first, late, later):
            self.assertTold(stream.next_event(), name, "keyed", False)

    def test_whoever_comes_after_a_long_time_in_which_nobody_looked(self):
        """Old at once, and well as soon as the source has answered, even with the same state."""
        name, path = self.new_list(tagged(ROWS, '"1"'))
        revision = self.get_session(name).json["revision"]
        held = Held(tagged(ROWS, '"1"'))
        let_pass(3 * self.interval, "interval of a source")
        self.upstream.set(path, held)
        stream = self.stream(name, {"since": revision})
        self.assertTold(stream.next_event(), name, "keyed", True)
        held.release()
        self.assertTold(stream.next_event(), name, "keyed", False)

    def test_it_is_said_in_time_though_the_source_is_still_being_asked(self):
        name, path, revision = self.fetched(ROWS)
        stream = self.stream(name, {"since": revision})
        self.upstream.set(path, never_answers)
        self.assertTold(stream.next_event(), name, "keyed", True)
        # Before the source's time is up.
        self.assertEqual(self.lines(f"session={name}", "fails"), [])
        self.upstream.set(path, ROWS)
        self.upstream.hang_up()
        self.assertTold(stream.next_event(), name, "keyed", False)

    def test_each_answer_says_it(self):
        name, path, revision = self.fetched(ROWS, "h")
        stream = self.stream(name, {"since": revision})
        self.upstream.set(path, says({}, 500))
        stream.next_event()
        since = {"since": revision}
        for answer in (self.get_changes(name), self.get_changes(name, since), self.get_changes(name, {**since, "wait": 1}),
                       self.post_changes(name, {"edits": [{"op": "reload", "items": ["a"]}]})):
            self.assertGreaterEqual(answer.json["stale"], 1, answer)
        self.assertGreaterEqual(self.get("/v1/changes", {"session": name}).json["answers"][0]["stale"], 1)
        self.assertGreaterEqual(int(self.get_session(name).headers["Diffserver-Stale"]), 1)
        again = self.get_session(name, If_None_Match=self.get_session(name).headers["ETag"])
        self.assertEqual((again.status, int(again.headers["Diffserver-Stale"]) >= 1), (304, True))
        # A bare patch has no place for it.
        patch = self.get_changes(name, {"since": revision}, Accept="application/json-patch+json")
        self.assertEqual((patch.status, patch.media_type, patch.json), (200, "application/json-patch+json", []))

    def test_a_session_without_a_source_is_never_old(self):
        name, revision = self.made(ROWS)
        self.assertNotIn("Diffserver-Stale", self.get_session(name).headers)
        self.assertNotIn("stale", self.get_changes(name, {"since": revision}).json)


class Counted(SourceCase):
    def sample(self, name, outcome=None):
        labels = 'list="f:{name}"' + (f',outcome="{outcome}"' if outcome else "")
        text = self.get("/metrics").text
        found = [line.split("} ")[1] for line in text.splitlines() if line.startswith(f"{name}{{{labels}}} ")]
        return int(found[0]) if found else None

    def test_by_the_name_in_the_file(self):
        fetches = "diffserver_source_fetches_total"
        name, path = self.new_list(tagged(ROWS, '"1"'))
        stream = self.stream(name)
        self.upstream.wait_for(path, 4)
        wait_for(lambda: self.sample(fetches, "fetched") >= 3, "fetches are counted")
        self.assertGreaterEqual(self.sample("diffserver_source_not_modified_total"), 2)
        self.assertGreaterEqual(self.sample("diffserver_source_received_bytes_total"), len(json.dumps(ROWS, separators=(",", ":"))))
        self.assertEqual(self.sample(fetches, "failed"), 0)
        self.upstream.set(path, says({}, 500))
        wait_for(lambda: self.sample(fetches, "failed") >= 1, "failures are counted")
        self.get_session(self.new_list()[0])
        self.assertEqual(self.sample(fetches, "missing"), 1)
        wait_for(lambda: self.sample("diffserver_source_age_seconds") >= 1, "its age is told")
        self.assertNotIn(name, self.get("/metrics").text)
        stream.close()


class Names(SourceCase):
    """A caller who may read a list causes its creation, and nobody else."""

    options = KEYS

    @classmethod
    def lists(cls, url):
        return {
            "o:{user}": {"source": {"url": f"{url}/o/{{user}}", "every": 0.2}, "ttl": 2},
            "o:{user}:x": {"source": {"url": f"{url}/ox/{{user}}"}},
            "o:exact": {"source": {"url": f"{url}/exact"}},
            "{any}": {"source": {"url": f"{url}/any?of={{any}}"}},
        }

    def setUp(self):
        self.upstream.set("*", ROWS)

    def may(self, name, **claims):
        return bearer(token(name, **claims))

    def test_a_token_makes_its_own(self):
        self.assertStatus(self.get_session("o:alice", **self.may("o:alice")), 200)
        self.assertEqual(self.upstream.count("/o/alice"), 1)
        self.assertProblem(self.get_session("o:bob", **self.may("o:alice")), 403, "forbidden")
        self.assertProblem(self.get_changes("o:bob", {"wait": 1}, **self.may("o:alice")), 403, "forbidden")
        self.assertProblem(self.get("/v1/changes", {"session": ["o:alice", "o:bob"]}, **self.may("o:alice")), 403, "forbidden")
        self.assertProblem(self.get_session("o:bob"), 401, "unauthenticated")
        self.assertProblem(self.get_session("o:bob", **self.may("o:bob", scope="edit")), 403, "forbidden")
        self.assertProblem(self.get_session("o:bob", **self.may("o:bob", seconds=-10)), 401, "unauthenticated")
        self.assertProblem(self.request("POST", session_path("o:bob", "fetch"), **self.may("o:bob", scope="read edit")), 403, "forbidden")
        self.assertEqual(self.upstream.count("/o/bob"), 0)
        self.assertStatus(self.request("POST", session_path("o:bob", "fetch"), **bearer(KEY)), 201)

    def test_a_token_of_several_and_one_with_a_view(self):
        several = self.may(None, sessions=["o:c", "o:d"])
        answers = self.get("/v1/changes", {"session": ["o:c", "o:d"]}, **several).json["answers"]
        self.assertEqual([each["reset"] for each in answers], ["initial"] * 2)
        seen = self.get_session("o:e", **self.may("o:e", view={"where": [{"at": "/id", "is": "b"}]}))
        self.assertEqual(ids(seen.json["state"]), ["b"])

    def test_the_exact_name_wins_and_then_the_first(self):
        for name, path in (("o:exact", "/exact"), ("o:f:x", "/ox/f"), ("whole", "/any?of=whole"), ("o:g", "/o/g")):
            self.assertStatus(self.get_session(name, **bearer(KEY)), 200)
            self.assertEqual(self.upstream.count(path), 1, path)
        self.assertProblem(self.get_session("o:g:y", **bearer(KEY)), 404, "session-not-found")

    def test_nobody_who_may_not_read_knows_whether_it_is_there(self):
        self.upstream.set("/o/none", says({}, 404))
        self.assertProblem(self.get_session("o:none", **self.may("o:alice")), 403, "forbidden")
        self.assertProblem(self.get_session("o:none", **self.may("o:none")), 404, "session-not-found")

    def test_nothing_of_a_readers_credentials_goes_on(self):
        self.get_session("o:h", **self.may("o:h"), Cookie="a=b", Proxy_Authorization="Basic x")
        names = {name.lower() for name, _ in self.upstream.requests("/o/h")[0].headers}
        self.assertEqual(names, {"host", "user-agent", "accept", "accept-encoding"})

    def test_one_that_nobody_reads_ends_by_its_ttl(self):
        self.assertStatus(self.get_session("o:i", **bearer(KEY)), 200)
        def names():
            return [each["session"] for each in self.get("/v1/sessions", {"prefix": "o:i"}, **bearer(KEY)).json["sessions"]]
        self.assertEqual(names(), ["o:i"])
        count = self.upstream.count("/o/i")
        wait_for(lambda: names() == [], "it has ended")
        self.assertEqual(self.upstream.count("/o/i"), count)
        self.assertStatus(self.get_session("o:i", **bearer(KEY)), 200)


@memory_only
class Room(SourceCase):
    """Lists that can be fetched again make room for those that cannot."""

    options = ("--max-sessions", "10", "--memory", "8MiB")

    def test_they_are_half_at_most_and_go_first(self):
        kept = [self.made(["x"])[0] for _ in range(5)]
        names = [self.made_room(["a"])[0] for _ in range(20)]
        self.assertLessEqual(self.sessions("f:"), 5)
        for each in kept:
            self.assertStatus(self.get_session(each), 200)
        more = [self.made(["x"])[0] for _ in range(5)]
        for each in [*kept, *more]:
            self.assertStatus(self.get_session(each), 200)
        # One that made room is fetched again.
        self.shows(names[0], "a")

    def test_one_that_is_read_stays(self):
        name, path = self.made_room(["a"])
        stream = self.stream(name)
        stream.next_event()
        for _ in range(12):
            self.made_room(["b"])
        self.upstream.set(path, ["a", "c"])
        self.assertEqual([each["op"] for each in self.news(stream)["changes"]], ["insert"])
        stream.close()

    def test_no_more_are_followed_than_there_may_be(self):
        streams = [self.stream(self.made_room(["a"])[0]) for _ in range(5)]
        for each in streams:
            each.next_event()
        name, path = self.new_list(["b"])
        self.assertProblem(self.get_session(name), 503, "capacity")
        self.assertEqual(self.upstream.count(path), 0)
        streams[0].close()
        wait_for(lambda: self.get_session(name).status == 200, "there is room again")
        for each in streams:
            each.close()

    def made_room(self, state):
        """A list that has been read, as soon as recently read ones do not take all the room."""
        name, path = self.new_list(state)
        self.shows(name, *state)
        return name, path

    def sessions(self, prefix):
        return len(self.get("/v1/sessions", {"prefix": prefix}).json["sessions"])


@memory_only
class Shares(SourceCase):
    """The room that one entry of the file leaves to the others."""

    options = ("--max-sessions", "16")

    @classmethod
    def lists(cls, url):
        return {kind + ":{name}": {"source": {"url": f"{url}/{kind}/{{name}}", "every": 0.2}} for kind in "fg"}

    def test_one_pattern_does_not_take_all(self):
        streams = [self.stream(self.new_list(["a"], "f")[0]) for _ in range(6)]
        self.assertProblem(self.get_session(self.new_list(["a"], "f")[0]), 503, "capacity")
        streams += [self.stream(self.new_list(["a"], "g")[0]) for _ in range(2)]
        self.assertProblem(self.get_session(self.new_list(["a"], "g")[0]), 503, "capacity")
        for each in streams:
            self.assertEqual(each.next_event().json["reset"], "initial")
            each.close()



class Reloads(SourceCase):
    """SIGHUP."""

    LISTS = ("stays", "goes", "moves", "tagged", "reshaped", "slow", "waits", "second:{name}")

    @classmethod
    def lists(cls, url):
        return {name: {"source": {"url": f"{url}/{name.split(':')[0]}", "every": 3600 if name == "slow" else 0.2}} for name in cls.LISTS}

    def setUp(self):
        for name in self.LISTS:
            self.upstream.set(f"/{name.split(':')[0]}", ["a"])
        self.reload(self.lists(self.upstream.url))

    def changed(self, **members):
        """The file with other lists; None means none."""
        lists = {name: list for name, list in {**self.lists(self.upstream.url), **members}.items() if list is not None}
        return lists

    def source(self, path, **members):
        return {"source": {"url": self.upstream.url + path, "every": 0.2}, **members}

    def test_one_that_is_gone_ends_its_readers(self):
        streams = [self.stream(name) for name in ("goes", "stays")]
        for each in streams:
            each.next_event()
        held = self.ask(session_path("goes", "changes"), {"since": self.get_session("goes").json["revision"], "wait": 30})
        # One that came after the list had gone would wait for it.
        wait_for(lambda: "\ndiffserver_held_requests 1\n" in self.get("/metrics").text, "the request is held")
        self.reload(self.changed(goes=None))
        event = streams[0].next_event()
        self.assertEqual((event.event, event.json["type"]), ("end", "/problems/session-not-found"))
        self.assertIsNone(streams[0].next())
        self.assertProblem(held.answer(), 404, "session-not-found")
        self.assertProblem(self.get_session("goes"), 404, "session-not-found")
        count = self.upstream.count("/goes")
        self.upstream.set("/stays", ["b"])
        self.assertEqual(streams[1].next_event().event, "changes")
        self.assertEqual(self.upstream.count("/goes"), count)
        # It is a name like any other now, and a list again when the file says so.
        self.made(["mine"], "goes")
        self.reload(self.changed())
        self.shows("goes", "a")

    def test_a_secret_in_a_file_is_read_again_when_it_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder) / "board"
            secret.write_text("Bearer one\n")
            self.upstream.set("/board", ["a"])
            board = self.source("/board")
            board["source"]["headers"] = {"Authorization": f"file:{secret}"}
            self.reload(self.changed(board=board))
            stream = self.stream("board")
            self.assertEqual(self.upstream.requests("/board")[-1]["Authorization"], "Bearer one")
            # What is half written, or has a line too many, is not taken.
            for text in ("Bearer\nX-A: b\n", "Bearer two\n"):
                secret.write_text(text)
                line = "lists not reloaded" if "X-A" in text else "lists reloaded"
                told = sum(line in each for each in self.server.lines)
                wait_for(lambda: sum(line in each for each in self.server.lines) > told, line, 30)
            wait_for(lambda: self.upstream.requests("/board")[-1]["Authorization"] == "Bearer two", "the new secret is sent")
            stream.close()
            self.reload(self.lists(self.upstream.url))

    def test_a_secret_whose_file_comes_later_is_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder) / "board"
            self.upstream.set("/board", ["a"])
            board = self.source("/board")
            board["source"]["headers"] = {"Authorization": f"file:{secret}"}
            faults = sum("lists not reloaded" in each for each in self.server.lines)
            self.reload(self.changed(board=board), "lists not reloaded, old ones stay in use")
            told = sum("lists reloaded" in each for each in self.server.lines)
            secret.write_text("Bearer late\n")
            wait_for(lambda: sum("lists reloaded" in each for each in self.server.lines) > told, "the lists are read", 30)
            self.shows("board", "a")
            self.assertEqual(self.upstream.requests("/board")[-1]["Authorization"], "Bearer late")
            self.assertEqual(sum("lists not reloaded" in each for each in self.server.lines), faults + 1)
            self.reload(self.lists(self.upstream.url))

    def test_one_that_is_gone_while_it_is_asked_is_not_made(self):
        held = self.upstream.set("/waits", Held(["late"]))
        asked = self.ask(session_path("waits"))
        self.upstream.next("/waits") if not self.upstream.count("/waits") else None
        self.reload(self.changed(waits=None))
        held.release()
        self.assertProblem(asked.answer(), 404, "session-not-found")
        self.assertProblem(self.get_session("waits"), 404, "session-not-found")

    def test_another_url_is_asked_at_once(self):
        for name, path in (("moves", "/elsewhere"), ("slow", "/elsewhere")):
            self.upstream.set(path, ["b"])
            stream = self.stream(name)
            stream.next_event()
            self.reload(self.changed(**{name: self.source(path)}))
            self.assertEqual(stream.next_event().event, "changes")
            self.shows(name, "b")
            stream.close()

    def test_also_where_nobody_looks_at_it(self):
        self.shows("slow", "a")
        self.upstream.set("/elsewhere", ["b"])
        self.reload(self.changed(slow=self.source("/elsewhere")))
        self.assertEqual(ids(self.get_session("slow").json["state"]), ["b"])

    def test_what_the_old_url_called_its_state_is_not_told_to_the_new_one(self):
        self.upstream.set("/tagged", tagged(["a"], '"same"'))
        self.upstream.set("/elsewhere", tagged(["b"], '"same"'))
        for is_read in (True, False):
            self.reload(self.changed())
            self.shows("tagged", "a")
            stream = self.stream("tagged")
            stream.next_event()
            self.upstream.next("/tagged")
            if not is_read:
                stream.close()
            count = self.upstream.count("/elsewhere")
            self.reload(self.changed(tagged=self.source("/elsewhere")))
            if is_read:
                self.assertEqual(stream.next_event().event, "changes")
            else:
                self.assertEqual(ids(self.get_session("tagged").json["state"]), ["b"])
            self.assertIsNone(self.upstream.requests("/elsewhere")[count]["If-None-Match"])
            stream.close()

    def test_one_that_was_asked_by_the_old_url_meanwhile(self):
        stream = self.stream("moves")
        stream.next_event()
        held = self.upstream.set("/moves", Held(["old"]))
        self.upstream.next("/moves")
        self.upstream.set("/elsewhere", ["b"])
        self.reload(self.changed(moves=self.source("/elsewhere")))
        held.release()
        changes = self.news(stream)["changes"]
        self.assertNotIn("old", json.dumps(changes))
        self.shows("moves", "b")

    def test_another_shape_reads_the_same_anew(self):
        self.upstream.set("/reshaped", tagged({"items": [{"id": "a"}], "others": [{"id": "o"}]}, '"1"'))
        self.reload(self.changed(reshaped=self.source("/reshaped", shape={"itemsAt": "/items"})))
        self.shows("reshaped", "a")
        stream = self.stream("reshaped")
        self.assertEqual(ids(stream.next_event().json["state"]), ["a"])
        self.reload(self.changed(reshaped=self.source("/reshaped", shape={"itemsAt": "/others"})))
        self.assertEqual(stream.next_event().event, "changes")
        self.shows("reshaped", "o")
        stream.close()

    def test_a_faulty_file_changes_nothing(self):
        stream = self.stream("stays")
        stream.next_event()
        for text in ("", "{", "[]", '{"stays":{}}', '{"stays":{"source":{"url":"ftp://x/"}}}',
                     '{"stays":{"source":{"url":"http://127.0.0.1/","evry":1}}}',
                     '{"stays":{"source":{"url":"http://127.0.0.1/","headers":{"Authorization":"env:NOT_SET"}}}}'):
            self.reload(text, "lists not reloaded, old ones stay in use")
            self.assertEqual(self.server.process.poll(), None)
        os.unlink(self.file.path)
        self.reload(None, "lists not reloaded, old ones stay in use")
        self.upstream.set("/stays", ["b"])
        self.assertEqual(stream.next_event().event, "changes")
        stream.close()

    def test_one_that_is_new_and_waited_for_already(self):
        self.upstream.set("/new", ["n"])
        single = self.stream("new")
        several = Stream(self.server, "/v1/changes", {"session": ["new", "stays"]})
        self.addCleanup(several.close)
        self.assertEqual(several.next_event().json["session"], "stays")
        self.reload(self.changed(new=self.source("/new")))
        for stream in (single, several):
            while (event := stream.next_event().json)["session"] != "new":
                pass
            self.assertEqual(ids(event["state"]), ["n"])

    def test_a_pattern_that_is_gone_ends_all_of_it(self):
        streams = [self.stream(f"second:{number}") for number in range(3)]
        for each in streams:
            each.next_event()
        self.reload(self.changed(**{"second:{name}": None}))
        for each in streams:
            self.assertEqual(each.next_event().event, "end")


class Secrets(SourceCase):
    """The source gets the proof of the caller's identity, and nobody else does."""

    WORDS = ("shibboleth-1", "shibboleth-2")
    variables = {"UPSTREAM_KEY": f"Bearer {WORDS[0]}", "OTHER_KEY": WORDS[1]}
    options = ("--log", "json", "--log-requests", *KEYS)

    @classmethod
    def lists(cls, url):
        return {"f:{name}": {"source": {"url": f"{url}/f/{{name}}", "every": 0.2, "timeout": 1,
                                        "headers": {"Authorization": "env:UPSTREAM_KEY", "X-Api-Key": "env:OTHER_KEY"}}}}

    def test_it_is_nowhere(self):
        texts = []
        faults = (says({"Authorization": "no"}, 401), refuses_by_reset, says(b"<"), never_answers, ROWS,
                  lambda exchange: exchange.answer(b"", 302, Location="http://127.0.0.2:1/"))
        for behaviour in faults:
            name, path = self.new_list(behaviour)
            for method, rest in (("GET", []), ("GET", ["changes"]), ("POST", ["fetch"])):
                answer = self.request(method, session_path(name, *rest), **bearer(KEY))
                texts += [answer.text, str(answer.headers)]
            request = self.upstream.requests(path)[0]
            self.assertEqual((request["Authorization"], request["X-Api-Key"]), (f"Bearer {self.WORDS[0]}", self.WORDS[1]))
        texts.append(self.get("/metrics", **bearer(KEY)).text)
        with open(f"/proc/{self.server.pid}/cmdline", encoding="utf-8") as file:
            texts.append(file.read())
        self.reload('{"f:{name}":{"source":{"url":"http://127.0.0.1/","headers":{"Authorization":"shown"}}}}', "lists not reloaded, old ones stay in use")
        self.reload(self.lists(self.upstream.url))
        checked = subprocess.run(
            [binary(), "check-lists", str(self.file.path)], env={**os.environ, **self.variables}, capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked)
        texts += [checked.stdout, checked.stderr, *self.server.lines]
        self.assertTrue(all(json.loads(line)["level"] for line in self.server.lines))
        for word in self.WORDS:
            self.assertFalse([text for text in texts if word in text])

    def test_a_redirect_takes_it_nowhere_else(self):
        other = Upstream()
        self.addCleanup(other.close)
        name, path = self.new_list(lambda exchange: exchange.answer(b"", 302, Location=other.url))
        self.assertProblem(self.get_session(name, **bearer(KEY)), 503, "source-unavailable")
        self.assertEqual(other.total, 0)


class PlainLog(Secrets):
    options = ("--log-requests", *KEYS)

    def test_it_is_nowhere(self):
        name, _ = self.new_list(says({}, 401))
        self.get_session(name, **bearer(KEY))
        self.wait_for_lines(1, f"session={name}", "401")
        for word in self.WORDS:
            self.assertEqual(self.lines(word), [])
