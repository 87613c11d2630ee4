"""One random session: its writers, its readers, and every answer checked."""

import collections
import gzip
import itertools
import json
import shlex
import tempfile
from dataclasses import dataclass
from urllib.parse import quote

import drawing
import drawing_pairs as table
from drawing import Draw
from drawing_readers import Readers
from drawing_wire import KEYHOLDER, Connection, Credential
from drawing_writers import Writers
from model_answers import Wrong
from support.jsontext import text
from support.redis import Redis
from support.server import Server
from support.sources import KEYS, QUIET, WEBHOOK_SECRET, ListsFile
from support.tokens import token
from support.upstream import Upstream

HISTORIES = {"": (64, ()), "few": (3, ("--history-revisions", "3")), "bytes": (None, ("--history-bytes", "2500")),
             "off": (0, ("--history-revisions", "0"))}


@dataclass
class Pattern:
    """Lists of the file: their settings, and whether they have a source, or several, and a hook."""

    name: str
    settings: dict
    has_source: bool
    has_hook: bool
    # What the file says of each section, where each has a source of its own.
    screen: dict = None
    # The file does not say the shape: the first answer does.
    is_guessed: bool = False


class Stage:
    """The servers of one process, and the upstream of their lists."""

    def __init__(self, seed, lie=False):
        self.lie = lie
        self.upstream = Upstream()
        self.patterns = []
        lists, draw = {}, Draw(f"lists of {seed}")
        for number in range(150):
            has_source, has_hook = (number % 3 < 2, number % 3 > 0)
            settings = drawing.settings(Draw(f"{seed} {number}", draw.sample(table.SETTINGS, 3)))
            self.add(lists, Pattern(f"l{number}", settings, has_source, has_hook))
        for number in range(24):
            settings = drawing.settings(Draw(f"screen {seed} {number}", draw.sample(["ignore", "keep", "public"], 1)))
            settings.pop("shape", None)
            self.add(lists, Pattern(f"s{number}", settings, True, number % 2 > 0, drawing.screen(draw)))
        for number in range(12):
            settings = drawing.settings(Draw(f"guess {seed} {number}", draw.sample(["ignore", "keep", "public"], 1)))
            self.add(lists, Pattern(f"g{number}", {**settings, "shape": drawing.GUESSED}, True, number % 2 > 0, is_guessed=True))
        self.file = ListsFile(json.loads(text(lists)))
        self.servers, self.places, self.redis, self.databases = {}, [], None, itertools.count()

    def add(self, lists, pattern):
        self.patterns.append(pattern)
        def source(path):
            return {"source": {"url": f"{self.upstream.url}/list/{{name}}{path}", "every": 3600, "timeout": 20}}
        sources = {} if not pattern.has_source else source("") if pattern.screen is None else {"sections": {
            name: {**source(f"/{name}"), **outline} for name, outline in pattern.screen.items()}}
        hook = {"hook": {"url": f"{self.upstream.url}/hook/{{name}}", "secret": "env:HOOK_SECRET", "timeout": 20}} if pattern.has_hook else {}
        lists[f"{pattern.name}:{{name}}"] = {**pattern.settings, **({"shape": "guess"} if pattern.is_guessed else {}), **sources, **hook}

    def server(self, kind, history):
        """A running one; the oldest ends if there are many."""
        if (kind, history) not in self.servers:
            while len(self.servers) >= 6:
                self.end(next(iter(self.servers)))
            self.servers[kind, history] = Server(
                "--store", self.store(kind), *KEYS, "--lists", str(self.file.path), "--digest-key", "the key of the digests",
                *HISTORIES[history][1], variables={**QUIET, "HOOK_SECRET": WEBHOOK_SECRET})
        return self.servers[kind, history]

    def store(self, kind):
        if kind == "sqlite":
            self.places.append(tempfile.TemporaryDirectory(prefix="diffserver-sqlite-"))
            return f"sqlite:{self.places[-1].name}/sessions.db"
        if kind == "redis":
            self.redis = self.redis or Redis("databases 4096")
            return f"redis://127.0.0.1:{self.redis.port}/{next(self.databases)}"
        return "memory"

    def end(self, which):
        status = self.servers.pop(which).stop()
        if status != 0:
            raise Wrong(f"SIGTERM ended a server with {status}")

    def close(self):
        for each in list(self.servers):
            self.end(each)
        if self.redis:
            self.redis.close()
        for each in self.places:
            each.cleanup()
        self.file.close()
        self.upstream.close()


class Session(Writers, Readers):
    """Everything in a session follows from its seed: `<name>:<store>:<wanted features>`."""

    def __init__(self, stage, seed, tell=None):
        self.stage, self.seed, self.tell = stage, seed, tell
        self.name, self.kind, wanted = seed.split(":")
        self.draw = Draw(seed, wanted.split("+") if wanted else ())
        self.met, self.refused, self.passed = collections.Counter(), collections.Counter(), 0
        self.readers, self.last = [], None
        # The requests and answers, each with its reader; writes are everybody's.
        self.lines, self.asking = [], None

    # Requests

    def note(self, line, reader=None):
        self.lines.append((reader, line))
        if self.tell:
            self.tell(line)

    def said(self, method, target, headers, body, end=""):
        line = f"curl -X {method} {shlex.quote(f'{self.server.address}{target}')}"
        line += "".join(f" -H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items())
        if body is not None:
            line += f" --data-binary {shlex.quote(body.decode('utf-8', 'replace'))}"
        self.note(line + end, self.asking if method == "GET" else None)

    def target(self, path, query):
        pairs = [(name, each) for name, value in query.items() for each in (value if isinstance(value, list) else [value])]
        return path + ("?" + "&".join(f"{name}={quote(str(each), safe='/:@,~')}" for name, each in pairs) if pairs else "")

    def request(self, method, path, query, headers, body=None):
        target = self.target(path, query)
        self.said(method, target, headers, body)
        if body is not None and headers.get("Content-Encoding"):
            body = gzip.compress(body)
        self.last = answer = self.main.request(method, target, headers, body)
        if self.tell:
            self.tell(f"    {answer!r}")
        return answer

    def story(self):
        """The writes, and what the wrongly answered reader was told; reads of others are left out."""
        lines = [line for reader, line in self.lines if reader in (None, self.asking)]
        options = " ".join(map(shlex.quote, self.server.process.args[1:])) if hasattr(self, "server") else ""
        return f"diffserver {options}\n" + "\n".join(lines[-200:]) + f"\nthe last answer: {self.last!r}\n"

    def count(self, features, board=None):
        self.passed += 1
        own = {each for each in drawing.features(board.settings) if each in ("ignore", "keep", "public")} if board else set()
        table.count(self.met, set(features) | own | self.of_history)

    # The whole

    def play(self):
        draw = self.draw
        self.history = {"": "", "history-short": draw.choice(["few", "few", "bytes"]), "history-off": "off"}[
            draw.one_of({"": 6, "history-short": 3, "history-off": 1.5})]
        self.of_history = {"few": {"history-short"}, "bytes": {"history-short"}, "off": {"history-off"}}.get(self.history, set())
        self.remembered = HISTORIES[self.history][0]
        self.server = self.stage.server(self.kind, self.history)
        self.main = Connection(self.server)
        try:
            self.boards = []
            for _ in range(2 if draw.likes("many", 0.2) or draw.likes("many-stream", 0.1) else 1):
                self.boards.append(self.new_board())
            self.credentials = self.drawn_credentials()
            for _ in range(draw.randint(6, 14)):
                self.step(draw.choice(self.boards))
            for reader in self.readers:
                self.settle(reader, is_last=True)
        finally:
            self.close()

    def close(self):
        for reader in self.readers:
            for each in (reader.held, reader.stream):
                if each:
                    each[0].close()
        self.main.close()

    def drawn_credentials(self):
        draw = self.draw
        made = [KEYHOLDER]
        for _ in range(2):
            boards = draw.choice([self.boards, [draw.choice(self.boards)]])
            names = [each.name for each in boards]
            claims = {"sub": names[0]} if len(names) == 1 else {"sub": None, "sessions": names}
            if draw.random() < 0.3:
                claims["client_id"] = draw.choice(["one", "two"])
            view = drawing.view(draw) if draw.likes("view", 0.4) and draw.random() < 0.6 else None
            edits = view is None and draw.random() < 0.6
            scope = "read edit" if edits and draw.random() < 0.7 else "read " + " ".join(f"edit:{each}" for each in (
                "insert", "delete", "move", "update", "reload", "reconfigure", "expand", "collapse", "clear")) if edits else "read"
            if view:
                claims["view"] = self.token_view(view)
                view = text(claims["view"])
            made.append(Credential(token(None, scope, 600, **claims), {"token"} | ({"view"} if view else set()), view, edits, boards))
        return made

    def token_view(self, view):
        """Contents of the list and of sections are shown only where a token's view names them."""
        lent = json.loads(view)
        return {**({} if "group" in lent else {"sectionFields": []}), "listFields": [], **lent}

    def step(self, board):
        draw = self.draw
        waiting = [each for each in self.readers if each.board is board and (each.held or each.stream)]
        if len(waiting) < 2 and (draw.likes("held", 0.3) or draw.likes("stream", 0.2) or draw.likes("many-stream", 0.1)):
            self.wait(board)
        self.write(board)
        if draw.random() < 0.1:
            self.look_up_settings(board)
        for reader in self.readers:
            self.settle(reader)
        for _ in range(draw.randint(2, 7)):
            self.read(draw.choice(self.boards))
