"""Readers who show less than there is, and scroll, while the list changes at random: at every revision their rows are what the naive
view and window show of the committed state, and what led there was the least."""

import contextlib
import random
import threading
import unittest

from support import least
from support.appliers import DIALECTS, NOT_ADOPTED, rows
from support.case import ServiceCase
from support.client import Client, session_path, target
from support.clock import stays
from support.database import SQLiteCase
from support.events import Stream
from support.jsontext import exact, text
from support.node import Node
from support.outside import wait_until_held
from support.redis import IS_INSTALLED, MISSING, Redis
from support.replica import Replica, content
from support.states import CONTENTS, changed, items, random_item, random_state
from support.store import names_its_stores
from support.views import Window, random_view, viewed

ROW_DIALECTS = [name for name in DIALECTS if name != "json-patch"]


def long_state(chance):
    """A list of a few screens."""
    sections = [{"id": name, "content": chance.choice(CONTENTS), "items": []} for name in chance.sample(["s", "t", "u", 7], 3)]
    for number in range(60):
        item = random_item(chance, f"n{number}")
        if chance.random() < 0.2:
            item["items"] = [random_item(chance, f"n{number}.{child}") for child in range(3)]
        chance.choice(sections)["items"].append(item)
    return {"content": 0, "sections": sections}


class Game:
    """One list, its commits, and its readers. `node` says which server to ask."""

    def __init__(self, case, seed, node, state):
        self.case, self.node, self.chance = case, node, random.Random(seed)
        self.session = f"game-{seed}".replace(" ", "-")
        self.resets = ("replaced", "reloaded", "expired")
        self.states, self.clients = {}, {}
        self.commit("POST", {"state": state(self.chance)})
        self.readers = []

    def ask(self, method, query=None, body=None, *rest):
        server = self.node()
        client = self.clients.setdefault(server.port, Client(server))
        return client.request(method, target(session_path(self.session, *rest), query), body)

    def commit(self, method, body, query=None):
        rest = ("changes",) if method == "POST" else ()
        answer = self.ask(method, query, body, *rest)
        self.case.assertIn(answer.status, (200, 201), answer)
        head = self.ask("GET")
        self.head = sequence(head.json["revision"])
        self.states[self.head] = head.exact["state"]
        self.state = head.json["state"]

    def write(self):
        chance = self.chance
        match chance.choice(["state"] * 4 + ["edits"] * 4 + ["put", "reload"]):
            case "state":
                self.commit("POST", changed(chance, self.state))
            case "edits":
                self.commit("POST", {"edits": self.edits()})
            case "put":
                self.commit("PUT", {"state": changed(chance, self.state)})
            case "reload":
                self.commit("POST", changed(chance, self.state), {"reload": "true"})

    def edits(self):
        """Some that make no marks, since redrawing adds to the minimum."""
        chance, found = self.chance, [each["id"] for each in items(self.state["sections"])]
        if not self.state["sections"]:
            return [{"op": "insert", "sections": [{"id": "s", "items": ["one", "two"]}]}]
        new = [random_item(chance, f"new{chance.randrange(10**9)}") for _ in range(2)]
        made = [{"op": "insert", "items": new, "at": chance.choice(["start", "end"])}]
        if found:
            one, *others = chance.sample(found, min(len(found), 3))
            made += [{"op": chance.choice(["expand", "collapse"]), "items": [one]},
                     {"op": "move", "items": [one], "at": chance.choice(["start", "end"])},
                     {"op": "update", "items": [{"id": one, "content": chance.choice(CONTENTS)}]}, {"op": "delete", "items": others}]
        made += [{"op": chance.choice(["expand", "collapse"]), "sections": [chance.choice(self.state["sections"])["id"]]}]
        # Deletions take children along, which other edits may name.
        return sorted(chance.sample(made, min(len(made), 2)), key=lambda edit: edit["op"] == "delete")

    def play(self, moves):
        for _ in range(moves):
            for _ in range(self.chance.randint(1, 2)):
                self.write()
            for reader in self.readers:
                if self.chance.random() < 0.7:
                    reader.follow()

    def close(self):
        for each in [*self.readers, *self.clients.values()]:
            each.close()


def sequence(cursor):
    return int(cursor.split("-")[0])


class Reader:
    """Shows part of the list, in a dialect and a way of its own."""

    def __init__(self, game, dialect, way):
        self.game, self.chance, self.way, self.replica = game, game.chance, way, Replica(dialect)
        self.view = exact(text(random_view(self.chance))) if self.chance.random() < 0.6 else {}
        self.query = {"dialect": dialect, **({"view": text(self.view)} if self.view else {})}
        if self.chance.random() < 0.3:
            self.query["content"] = "patch"
        if self.chance.random() < 0.3:
            self.query.update(self.chance.choice([{"maxChanges": 4}, {"smallest": "true"}]))
        self.window, self.stream, self.cursor, self.is_resumed = {}, None, None, False
        self.rows = self.seen = self.row = self.anchor = None
        self.scroll()

    def __repr__(self):
        return f"{self.way} {self.query} {self.window} at {self.replica.revision}"

    def scroll(self):
        """Asks for another part, or for everything."""
        chance = self.chance
        if self.replica.dialect == "json-patch" or chance.random() < 0.15:
            self.window = {}
            return
        found = [each["id"] for each in items(self.game.state["sections"])]
        self.window = chance.choice([{"at": "start"}, {"at": "end"}, {"at": chance.randint(0, 2 + len(found))},
                                     *([{"around": chance.choice(["none", *found])}] * 3)])
        self.window.update({name: chance.randint(0, 4) for name in ("before", "after") if chance.random() < 0.9})

    # What is to be shown

    def expected(self, head, window, bases):
        """The rows that a reader sees at the sequence, and what its window says, from any of these bases."""
        seen = viewed(self.game.states[head], self.view)
        if not window:
            return [(seen, rows.visible(seen), None)]
        found = [Window(seen, base, **window) for base in bases]
        return [(seen, each.rows, each) for each in found]

    def bases(self, is_reset=False):
        """What an anchor that is gone may be looked for in: what is shown, or, on a stream, what it showed the same as since. Where
        the base cannot be used, its place may still be known."""
        if self.seen is None:
            return [None]
        row, since = self.row or 0, sequence(self.replica.revision)
        later = [viewed(state, self.view) for number, state in self.game.states.items() if number > since] if self.way == "stream" else []
        found = [(seen, row) for seen in [self.seen, *later]]
        return [*found, (None, row), None] if is_reset or self.row is None else found

    def is_behind(self, window):
        """Whether the head shows other rows."""
        found = self.expected(self.game.head, window, self.bases())
        return all((each, content(seen)) != (self.rows, content(self.seen or {})) for seen, each, _ in found)

    # Asking

    def follow(self):
        if self.chance.random() < 0.4:
            self.scroll()
            self.close()
        if self.way == "stream":
            return self.listen()
        query = {**self.query, **self.window}
        if self.replica.revision:
            query["since"] = self.replica.revision
            if self.way == "held" and self.is_behind(self.window):
                query["wait"] = 20
        answer = self.game.ask("GET", query, None, "changes")
        self.game.case.assertEqual(answer.status, 200, (self, answer))
        self.counted(query)
        self.take(answer.exact, self.window)

    def counted(self, query):
        """The same in numbers, where available."""
        if self.window or "~" in (self.replica.revision or "") or self.replica.revision is None:
            return
        asked = {name: query[name] for name in ("view", "since") if name in query} | {"dialect": "counts"}
        found = self.game.ask("GET", asked, None, "changes").json
        if "reset" not in found:
            wanted = NOT_ADOPTED["counts"].expected(self.seen, viewed(self.game.states[self.game.head], self.view))
            self.game.case.assertEqual(found["changes"], wanted, self)

    def listen(self):
        if self.stream is None or self.chance.random() < 0.2:
            self.open()
        while self.is_behind(self.followed):
            event = self.stream.next(20)
            self.game.case.assertIsNotNone(event, self)
            if event.event:
                self.take(event.changeset, self.followed)
                if "around" in self.followed and self.anchor is not None:
                    self.followed = {**self.followed, "around": self.anchor}
            elif event.id:
                self.move(event.id)
            self.cursor = event.id or self.cursor

    def move(self, cursor):
        """Another name for what is shown."""
        self.replica.revision, self.seen = cursor, viewed(self.game.states[sequence(cursor)], self.view)
        place = cursor.partition("~")[2]
        self.row = int(place.split(".")[2]) if place else None

    def open(self):
        """A stream from what is shown: a new one, or the last one resumed."""
        resumed = self.cursor is not None and self.cursor == self.replica.revision
        self.close()
        headers, query = {}, {**self.query, **self.window}
        self.followed, self.is_resumed = self.window, resumed
        if resumed:
            headers["Last-Event-ID"] = self.replica.revision
            if "around" in self.window and self.anchor is not None:
                self.followed = {**self.window, "around": self.anchor}
        elif self.replica.revision:
            query["since"] = self.replica.revision
        self.stream = Stream(self.game.node(), session_path(self.game.session, "changes"), query, headers)
        self.game.case.assertEqual(self.stream.status, 200, (self, self.stream.body))

    def close(self):
        """A stream can only be resumed for its own window."""
        if self.stream:
            self.stream.close()
        self.stream = self.cursor = None

    # What comes

    def take(self, changeset, window):
        case, is_reset = self.game.case, "reset" in changeset
        resets = (*self.game.resets, *(["large"] if self.query.keys() & {"maxChanges", "smallest"} else []))
        case.assertIn(changeset.get("reset"), (None, *resets) if self.replica.revision else ("initial",), (self, changeset))
        found = self.expected(sequence(changeset["to"]), window, self.bases(is_reset))
        if is_reset and self.is_resumed:
            # Nobody remembers which item was the anchor: it is the request's again.
            self.followed = self.window
            found += self.expected(sequence(changeset["to"]), self.window, self.bases(True))
        self.is_resumed = False
        told = changeset.get("window")
        seen, wanted, part = next((each for each in found if each[2] is None or told == exact(text(each[2].told))), found[0])
        case.assertEqual(changeset.get("window"), exact(text(part.told)) if part else None, (self, window, changeset))
        case.assertEqual(changeset["to"].partition("~")[2], part.place if part else "", (self, changeset))
        case.assertIn(self.replica.receive(changeset), ("adopted", "known"), (self, changeset))
        shows = self.replica.shows_rows(wanted) if self.replica.dialect != "json-patch" else self.replica.shows(seen)
        case.assertTrue(shows and self.replica.content == content(seen), (self, window, changeset, self.replica.model, wanted, self.rows))
        if not is_reset and self.replica.dialect != "json-patch":
            least.check(self.replica.dialect, changeset["changes"], self.rows, wanted)
        self.rows, self.seen = wanted, seen
        self.row, self.anchor = (part.row, part.anchor) if part else (None, None)


class Scrolling(ServiceCase):
    options = ("--history-revisions", "16")

    def play(self, dialect, seed, state, moves=12):
        game = Game(self, f"{dialect} {state.__name__} {seed}", lambda: self.server, state)
        self.addCleanup(game.close)
        game.readers = [Reader(game, dialect, way) for way in ("plain", "plain", "held", "stream", "stream")]
        game.play(moves)

    def test_outlines_of_a_screen(self):
        for dialect in DIALECTS:
            for seed in range(6):
                with self.subTest(dialect, seed=seed):
                    self.play(dialect, seed, random_state)

    def test_lists_of_a_few_screens(self):
        for dialect in DIALECTS:
            with self.subTest(dialect):
                self.play(dialect, 0, long_state, 8)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class Nodes(unittest.TestCase):
    """Three nodes share the list, and each request goes to another one: none of them knows the reader."""

    def setUp(self):
        redis = Redis()
        self.addCleanup(redis.close)
        self.store = ("--store", f"redis://127.0.0.1:{redis.port}", "--digest-key", "shared")
        self.nodes = [Node(*self.store) for _ in range(3)]
        for node in self.nodes:
            self.addCleanup(node.stop)

    def test_what_another_node_changed_and_nobody_sees_wakes_nobody(self):
        # A node with room for one session: the awaited one has left its memory.
        narrow = Node(*self.store, "--max-sessions", "1")
        self.addCleanup(narrow.stop)
        one, other = Client(self.nodes[0]), Client(narrow)
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        path, view = session_path("unseen", "changes"), '{"where":[{"at":"/kind","exists":false}]}'
        one.request("POST", path, ["a"])
        base = other.request("GET", target(path, {"view": view})).json["to"]
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(
            other.request("GET", target(path, {"view": view, "since": base, "wait": 20})).json))
        waiting.start()
        wait_until_held(narrow)
        with contextlib.closing(Client(narrow)) as third:
            for number in range(3):
                third.request("POST", session_path("another", "changes"), [str(number)])
                one.request("POST", path, ["a", {"id": "hidden", "kind": str(number)}])
                stays(lambda: answers == [], "nobody is woken", 0.2)
        one.request("POST", path, ["a", "b"])
        waiting.join(20)
        self.assertEqual([each["op"] for each in answers[0]["changes"]], ["insert"], answers)

    def test_what_another_node_s_readers_saw_between_two_equal_states(self):
        one, other = (Client(node) for node in self.nodes[:2])
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        path, query = session_path("between", "changes"), {"view": '{"where":[{"at":"/kind","exists":false}]}'}

        def asked(client, **since):
            return client.request("GET", target(path, {**query, **since})).json

        one.request("POST", path, ["a", "b"])
        first = asked(other)["to"]
        one.request("POST", path, ["a", "b", "c"])
        second = asked(one)["to"]
        one.request("POST", path, ["a", "b"])
        self.assertEqual(asked(other, since=first)["changes"], [])
        self.assertEqual(asked(other, since=second)["changes"], [{"op": "remove", "items": ["c"]}])
        placed = asked(other, since=f"{second}~0.3.0", at=0, after=9)
        self.assertEqual(placed["changes"], [{"op": "remove", "items": ["c"]}])

    def test_any_node_knows_what_a_reader_shows(self):
        for seed in range(3):
            chance = random.Random(seed)
            game = Game(self, f"nodes {seed}", lambda: chance.choice(self.nodes), random_state)
            self.addCleanup(game.close)
            game.resets = ("replaced", "reloaded")
            ways = ("plain", "plain", "held", "held", "stream", "stream")
            game.readers = [Reader(game, game.chance.choice(list(DIALECTS)), way) for way in ways]
            game.play(10)


class Restarts(SQLiteCase):
    """The server is killed between the moves, and continues from its database."""

    def test_cursors_outlive_the_process(self):
        for seed in range(3):
            game = Game(self, f"restarts {seed}", lambda: self.node, random_state)
            self.addCleanup(game.close)
            game.resets = ("replaced", "reloaded")
            game.readers = [Reader(game, game.chance.choice(ROW_DIALECTS), "plain") for _ in range(6)]
            for _ in range(4):
                game.play(2)
                self.restarted()
