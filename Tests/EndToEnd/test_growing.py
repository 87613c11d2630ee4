"""Texts that grow: `append` in edits, and `content=delta`, which sends what is new of them. CONTRACT §3, §4, §8."""

import contextlib
import pathlib
import random
import re
import sqlite3
import tempfile
import unittest

from support import redis
from support.case import ServiceCase
from support.client import Client, session_path
from support.clock import pause
from support.events import Stream
from support.node import Node
from support.replica import Replica
from support.server import Server
from support.store import memory_only
from test_intents import element, update

DIALECTS = ("keyed", "indexed", "staged", "diffable", "sequential")
# A paragraph of 3,900 bytes, with what JSON escapes and what UTF-8 takes several bytes for.
PARAGRAPH = "It was a dark and stormy night; \"the rain\"\tfell in torrents — außer in kurzen Abständen. " * 43


def parts(text, count):
    """A text in so many parts."""
    size = -(-len(text) // count)
    return [text[at:at + size] for at in range(0, len(text), size)]


class Growing(ServiceCase):
    def content(self, session, identity="a"):
        return self.get(element(session, identity)).exact["content"]

    def append(self, session, text, identity="a", pointer="/text", **headers):
        answer = self.post_changes(session, update(identity, append={pointer: text}), **headers)
        self.assertStatus(answer, 200)
        return answer


class Edits(Growing):
    STATE = {"sections": [{"id": "s", "content": {"note": "n"}, "items": [
        {"id": "a", "content": {"text": "It", "n": 1, "of": ["x", None]}}, "b", {"id": "c", "content": "a line"}]}]}

    def test_what_each_append_makes(self):
        first = self.STATE["sections"][0]["items"][0]["content"]
        for identity, intents, wanted in (
            ("a", {"append": {"/text": " was"}}, {**first, "text": "It was"}),
            ("a", {"append": {"/of/0": "\"é\u0001", "/text": ""}}, {**first, "of": ["x\"é\u0001", None]}),
            ("a", {"append": {"/text": " be"}, "add": {"/n": 1}, "patch": {"text": "Let it"}}, {**first, "text": "Let it be", "n": 2}),
            ("a", {"append": {"/new/a~1b": "x"}}, {**first, "new": {"a/b": "x"}}),
            ("b", {"append": {"/text": "It"}}, {"text": "It"}), ("b", {"append": {"": "It"}}, "It"), ("c", {"append": {"": " more"}}, "a line more"),
        ):
            with self.subTest(identity=identity, intents=intents):
                session, _ = self.made(self.STATE)
                self.assertStatus(self.post_changes(session, update(identity, **intents)), 200)
                self.assertEqual(self.get(element(session, identity)).json["content"], wanted)
        session, _ = self.made(self.STATE)
        self.assertStatus(self.post_changes(session, {"edits": [{"op": "update", "sections": [{"id": "s", "append": {"/note": "ew"}}]}]}), 200)
        self.assertEqual(self.get(element(session, "s", "sections")).json["content"], {"note": "new"})

    def test_what_is_no_text_is_refused_with_its_place(self):
        session, head = self.made(self.STATE)
        for intents, *found in (
            ({"append": {"/n": "x", "/of": "x", "/of/1": "x", "/text/x": "x", "/of/2": "x"}}, "/~1n", "/~1of", "/~1of~11", "/~1text~1x", "/~1of~12"),
            ({"append": {"/text": 1}}, "/~1text"), ({"append": {"/text": None}}, "/~1text"),
        ):
            answer = self.post_changes(session, update("a", **intents))
            self.assertErrors(answer, "invalid-edit", *((f"/edits/0/items/0/append{place}", "not-a-string") for place in found))
        for intents, place in (({"append": {"text": "x"}}, "append/text"), ({"append": "x"}, "append"), ({"append": {}, "content": 1}, "content")):
            answer = self.post_changes(session, update("a", **intents))
            self.assertErrors(answer, "invalid-edit", (f"/edits/0/items/0/{place}", "wrong-shape"))
        self.assertEqual(self.get_session(session).json["revision"], head)

    def test_a_text_has_a_limit_in_utf_8(self):
        session, _ = self.made([{"id": "a", "content": {"text": "é" * (1 << 18)}}, {"id": "b", "content": {"text": "x" * (1 << 20)}}])
        self.append(session, "é" * ((1 << 18) - 1))
        self.append(session, "ab")
        for identity in "ab":
            answer = self.post_changes(session, update(identity, append={"/text": "c"}))
            self.assertErrors(answer, "invalid-edit", ("/edits/0/items/0/append/~1text", "limit-exceeded"))
        # A patch may be as long as a content may.
        self.assertStatus(self.post_changes(session, update("b", patch={"text": "x" * (1 << 20) + "y"})), 200)

    def test_two_writers_lose_nothing(self):
        session, _ = self.made([{"id": "a", "content": {"text": ""}}])

        def writes(client):
            for number in range(25):
                answer = client.request("POST", session_path(session, "changes"), update("a", append={"/text": f"<{number}>"}))
                assert answer.status == 200, answer

        self.run_together(*[writes] * 6)
        text = self.content(session)["text"]
        self.assertEqual(sorted(text.split(">")), sorted(["", *[f"<{number}" for number in range(25)] * 6]))

    def test_a_lost_answer_is_told_by_its_key_alone(self):
        session, first = self.made([{"id": "a", "content": {"text": "It"}}])
        for headers, status in (({}, 412), ({"Idempotency_Key": "k"}, 200)):
            at = self.get_session(session).json["revision"]
            body = update("a", append={"/text": " was"})
            headers["If_Match"] = f'"{at}"'
            self.assertStatus(self.post_changes(session, body, **headers), 200)
            self.assertStatus(self.post_changes(session, body, **headers), status)
        self.assertEqual(self.content(session), {"text": "It was was"})


class Deltas(Growing):
    def test_every_reader_ends_with_the_text(self):
        """From each base, in each dialect, on each way, whole, through a view and in a window."""
        state = {"content": {"log": "all:"}, "sections": [{"id": "s", "content": {"note": "of this"}, "items": [
            {"id": "a", "content": {"text": "It", "n": 1}}, {"id": "b", "content": "lines:"}, {"id": "c", "content": {"text": "stays"}}]}]}
        session, head = self.made(state)
        views = ({}, {"view": '{"where":[{"at":"/id","not":"c"}],"fields":["/content/text"]}'}, {"at": "start", "after": 1})
        bases = {}
        for dialect in DIALECTS:
            for how, more in enumerate(views):
                replica = bases[dialect, how] = [Replica(dialect)]
                replica[0].receive(self.get_changes(session, {"dialect": dialect, **more}).exact)
        sent = 0
        for number, part in enumerate(parts(PARAGRAPH, 12)):
            edits = [{"op": "update", "items": [{"id": "a", "append": {"/text": part}, "add": {"/n": number % 2}}, {"id": "b", "append": {"": part}}]},
                     {"op": "update", "sections": [{"id": "s", "append": {"/note": part}}]}]
            self.assertStatus(self.post_changes(session, {"edits": edits}), 200)
            if number % 4 == 3:
                whole = self.get_session(session).json["state"]
                whole["content"]["log"] += part
                self.assertStatus(self.post_changes(session, whole), 200)
            for (dialect, how), replicas in bases.items():
                query = {"dialect": dialect, "content": "delta", **views[how]}
                wanted = Replica(dialect)
                wanted.receive(self.get_changes(session, {"dialect": dialect, **views[how]}).exact)
                for replica in replicas[-3:]:
                    answer = self.get_changes(session, {**query, "since": replica.revision})
                    again = Replica(dialect)
                    again.__dict__.update(replica.__dict__)
                    self.assertEqual(again.receive(answer.exact), "adopted", answer)
                    self.assertEqual((again.model, again.content), (wanted.model, wanted.content))
                    sent += b'"append":{' in answer.body
                replicas.append(wanted)
        self.assertGreater(sent, 200)

    def test_the_shortest_of_three_forms_is_sent(self):
        for old, new, wanted in (
            ({"text": "It was a dark and", "n": 1}, {"text": "It was a dark and stormy night", "n": 1}, {"append": {"/text": " stormy night"}}),
            ({"text": "It was a dark and", "n": 1}, {"text": "It was a dark and stormy night", "n": 2}, {"patch": {"n": 2}, "append": {"/text": " stormy night"}}),
            ({"a": {"b/~": "some text"}}, {"a": {"b/~": "some text, and more"}}, {"append": {"/a/b~1~0": ", and more"}}),
            ("a line of some length", "a line of some length which goes on", {"append": {"": " which goes on"}}),
            ({"text": "a", "of": "what stays the same"}, {"text": "ab", "of": "what stays the same"}, {"patch": {"text": "ab"}}),
            ({"t": "a"}, {"t": "ab"}, {"content": {"t": "ab"}}),
            (["a text of some length"], ["a text of some length, in a list"], {"content": ["a text of some length, in a list"]}),
        ):
            with self.subTest(old=old):
                answer = self.diff([{"id": "a", "content": old}], [{"id": "a", "content": new}], {"content": "delta"})
                self.assertEqual(answer.json["changes"][0]["items"], [{"id": "a", **wanted}])
                listed = self.diff({"content": old, "items": []}, {"content": new, "items": []}, {"content": "delta"})
                self.assertEqual(listed.json["list"], wanted)

    def test_what_is_ignored_is_never_appended_to(self):
        session = self.new_name()
        def state(text, seen):
            return [{"id": "a", "content": {"text": text, "seen": seen, "of": {"n": 1}}}]
        self.assertStatus(self.put_session(session, {"state": state("It was a dark and", "long ago, in a far"), "ignore": ["/seen"]}), 201)
        base = self.get_session(session).json["revision"]
        self.assertStatus(self.post_changes(session, state("It was a dark and stormy night", "long ago, in a far country")), 200)
        answer = self.get_changes(session, {"since": base, "content": "delta"})
        self.assertEqual(answer.json["changes"][0]["items"], [
            {"id": "a", "patch": {"seen": "long ago, in a far country"}, "append": {"/text": " stormy night"}}])


class Cost(Growing):
    """A text of 40 KB that comes in 300 parts."""

    TEXT = (PARAGRAPH * 11)[:40_000]

    def writers(self):
        """Ways to write the next part."""
        shown = {}

        def whole(session, part):
            shown[session] = shown.get(session, "") + part
            self.assertStatus(self.post_changes(session, [{"id": "a", "content": {"text": shown[session], "by": "a model"}}], Prefer="return=minimal"), 200)

        def patch(session, part):
            shown[session] = shown.get(session, "") + part
            self.assertStatus(self.post_changes(session, update("a", patch={"text": shown[session]}), Prefer="return=minimal"), 200)

        return {"append": lambda session, part: self.append(session, part, Prefer="return=minimal"), "whole states": whole, "patches": patch}

    def test_a_reader_gets_the_text_once_however_it_is_written(self):
        whole = parts(self.TEXT, 300)
        most = len(self.TEXT.encode()) * 1.1 + 260 * len(whole)
        # An answer in diffable has all members, empty ones too, and one in a window says where that is.
        more_of = dict.fromkeys(DIALECTS, 0) | {"diffable": 40 * len(whole)}
        more_in = (0, 0, 60 * len(whole))
        for at, (name, write) in enumerate(self.writers().items()):
            with self.subTest(name):
                session, base = self.made([{"id": "a", "content": {"text": "", "by": "a model"}}])
                more = ({}, {"view": '{"fields":["/content/text"]}'}, {"at": "start"})[at]
                readers = {dialect: Replica(dialect) for dialect in DIALECTS}
                size, first = dict.fromkeys(DIALECTS, 0), {}
                for dialect, replica in readers.items():
                    replica.receive(self.get_changes(session, {"dialect": dialect, **more}).exact)
                    first[dialect] = replica.revision
                for part in whole:
                    write(session, part)
                    for dialect, replica in readers.items():
                        answer = self.get_changes(session, {"since": replica.revision, "dialect": dialect, "content": "delta", **more})
                        self.assertEqual(replica.receive(answer.exact), "adopted", answer)
                        size[dialect] += len(answer.body)
                for dialect, replica in readers.items():
                    self.assertLess(size[dialect], most + more_of[dialect] + more_in[at], dialect)
                    # One who comes seldom gets less.
                    late = self.get_changes(session, {"since": first[dialect], "dialect": dialect, "content": "delta", **more})
                    self.assertLess(len(late.body), len(self.TEXT.encode()) * 1.1 + 260, late.json.get("reset"))

    def test_what_a_stream_is_sent(self):
        session, base = self.made([{"id": "a", "content": {"text": "It was a night in spring,", "by": "a model"}}])
        lists = Stream(self.server, "/v1/changes", {"session": f"{session}@{base}", "content": "delta"})
        stream = Stream(self.server, session_path(session, "changes"), {"since": base, "content": "delta"})
        self.addCleanup(lists.close)
        self.addCleanup(stream.close)
        for part in (" dark", " and", " stormy"):
            head = self.append(session, part).json["to"]
            for each in (stream, lists):
                event = each.next_event()
                while event.event != "changes" or event.json["to"] != head:
                    event = each.next_event()
                self.assertEqual(event.json["changes"], [{"op": "update", "items": [{"id": "a", "append": {"/text": part}}], "as": "reconfigure"}])


class LongTexts(Growing):
    """Texts of which no edit copies or reads more than it must."""

    def test_whatever_comes_between_appends_the_state_is_the_one_that_is_read_whole(self):
        """A state of which equality and revisions were computed along the way equals the same state, posted whole."""
        for seed in range(3):
            draw = random.Random(f"long {seed}")
            rows = {name: {"text": (PARAGRAPH * 60)[draw.randint(0, 9):size], "n": 0, "of": ["x"]}
                    for name, size in (("a", 70_000), ("b", 200_000), ("c", 300), ("d", 66_000))}
            settings = {"ignore": ["/n"]} if seed == 2 else {}
            def state():
                return [{"id": name, "content": content} for name, content in rows.items()]
            session = self.new_name()
            self.assertStatus(self.put_session(session, {"state": state(), **settings}), 201)
            reader = Replica("keyed")
            reader.receive(self.get_changes(session).exact)
            for step in range(40):
                name, part = draw.choice("aaabbcd"), draw.choice(["x", PARAGRAPH[:99], "é\n", "\"😀\"", "\\" * 40])
                way = draw.choice(["append"] * 6 + ["twice", "patch", "both", "move", "array", "whole"])
                edits = [{"op": "update", "items": [{"id": name, "append": {"/text": part}}]}]
                if way == "twice":
                    other = draw.choice("abcd")
                    edits.append({"op": "update", "items": [{"id": other, "append": {"/text": "twice"}}]})
                elif way == "patch":
                    edits = [{"op": "update", "items": [{"id": name, "patch": {"n": step, "text": rows[name]["text"][:-3]}}]}]
                elif way == "both":
                    edits[0]["items"][0]["add"] = {"/n": 1}
                elif way == "move":
                    edits.append({"op": "move", "items": [name], "at": "start"})
                elif way == "array":
                    edits[0]["items"][0]["append"] = {"/of/0": part}
                with self.subTest(seed=seed, step=step, way=way, name=name):
                    if way == "array":
                        rows[name]["of"][0] += part
                    elif way == "patch":
                        rows[name].update(n=step, text=rows[name]["text"][:-3])
                    else:
                        rows[name]["text"] += part
                    if way == "twice":
                        rows[other]["text"] += "twice"
                    rows[name]["n"] += way == "both"
                    if way == "move":
                        rows = {name: rows.pop(name), **rows}
                    answer = self.post_changes(session, state() if way == "whole" else {"edits": edits}, Prefer="return=minimal")
                    self.assertStatus(answer, 200)
                    self.assertEqual(self.get_session(session).json["state"]["sections"][0]["items"], state())
                    answer = self.get_changes(session, {"since": reader.revision, "content": "delta"})
                    self.assertEqual(reader.receive(answer.exact), "adopted")
                    told, revision = self.post_changes(session, state()).json, answer.json["to"]
                    self.assertEqual((told["from"], told["to"], told["changes"]), (revision, revision, []))


@memory_only
class Stored(unittest.TestCase):
    """What 300 appends to a text of 40 KB in the end take in a store."""

    def write(self, *store):
        server = Server(*store)
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        self.assertEqual(client.request("PUT", session_path("s"), {"state": [{"id": "a", "content": {"text": "", "by": "a model"}}]}).status, 201)

        def run(texts):
            for text in texts:
                answer = client.request("POST", session_path("s", "changes"), update("a", append={"/text": text}), {"Prefer": "return=minimal"})
                self.assertEqual(answer.status, 200, answer)

        yield run
        self.assertEqual(client.request("GET", element("s", "a")).json["content"]["text"], Cost.TEXT)

    def test_in_sqlite(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "sessions.db"
            steps = self.write("--store", f"sqlite:{file}")
            run = next(steps)
            with contextlib.closing(sqlite3.connect(file)) as database:
                database.execute("CREATE TABLE written (entries INTEGER, checkpoints INTEGER)")
                for table, values in (("entry", "(length(NEW.body), 0)"), ("checkpoint", "(0, length(NEW.head) + length(NEW.meta))")):
                    for event in ("INSERT", "UPDATE"):
                        database.execute(f"CREATE TRIGGER of_{table}_{event} AFTER {event} ON {table} BEGIN INSERT INTO written VALUES {values}; END")
                database.commit()
                run(parts(Cost.TEXT, 300))
                entries, checkpoints = database.execute("SELECT sum(entries), sum(checkpoints) FROM written").fetchone()
            self.assertLess(entries, 300 * 400)
            # One each 64 commits, so that a start reads few entries.
            self.assertLess(checkpoints, 2 * len(Cost.TEXT.encode()))
            next(steps, None)

    @unittest.skipUnless(redis.IS_INSTALLED, redis.MISSING)
    def test_in_redis(self):
        store = redis.Redis()
        self.addCleanup(store.close)
        steps = self.write("--store", f"redis://127.0.0.1:{store.port}")
        run = next(steps)

        def received():
            return int(re.search(rb"total_net_input_bytes:(\d+)", store.say("INFO", "stats"))[1])

        before = received()
        run(parts(Cost.TEXT, 300))
        # Besides the entry, each commit names its script, its keys and its versions.
        self.assertLess(received() - before, 300 * (400 + 700) + 4 * len(Cost.TEXT.encode()))
        next(steps, None)


@memory_only
class Killed(unittest.TestCase):
    """A text at 30 appends a second beside 199 readers of raw streams, and a server that is killed in between."""

    READERS, APPENDS = 199, 60

    def check(self, *store):
        node = Node(*store)
        self.addCleanup(node.stop)
        path, texts = session_path("s", "changes"), [f" {number}:" + PARAGRAPH[number:number + 40] for number in range(self.APPENDS)]
        client = Client(node, 20)
        self.assertEqual(client.request("PUT", session_path("s"), {"state": [{"id": "a", "content": {"text": "", "by": "a model"}}]}).status, 201)
        replicas = [Replica("keyed") for _ in range(self.READERS)]
        asked = {"content": "delta", "dialect": "keyed"}
        streams = [Stream(node, path, asked) for _ in replicas]
        for number, text in enumerate(texts):
            if number == self.APPENDS // 2:
                node.kill()
                for stream, replica in zip(streams, replicas, strict=True):
                    self.follow(stream, replica, None)
                node.start()
                client = Client(node, 20)
                streams = [Stream(node, path, {**asked, "since": replica.revision}) for replica in replicas]
            # The last answer before the end may be lost: the key tells the second try from a second text.
            for _ in range(2 if number == self.APPENDS // 2 else 1):
                answer = client.request("POST", path, update("a", append={"/text": text}), {"Idempotency-Key": f"k{number}"})
                self.assertEqual(answer.status, 200, answer)
            pause(1 / 30, "a model that writes")
        head = answer.json["to"]
        for stream, replica in zip(streams, replicas, strict=True):
            self.follow(stream, replica, head)
            self.assertEqual(replica.model.sections[0][1][0]["content"]["text"], "".join(texts))
        client.close()

    def follow(self, stream, replica, head):
        """Reads to a revision, or to the end."""
        while replica.revision != head or head is None:
            try:
                event = stream.next_event()
            except ConnectionError:
                event = None
            if event is None:
                self.assertIsNone(head)
                break
            self.assertEqual(replica.receive(event.changeset), "adopted", event)
        stream.close()

    def test_in_sqlite(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check("--store", f"sqlite:{folder}/sessions.db")

    @unittest.skipUnless(redis.IS_INSTALLED, redis.MISSING)
    def test_in_redis(self):
        store = redis.Redis()
        self.addCleanup(store.close)
        self.check("--store", f"redis://127.0.0.1:{store.port}")
