"""A test class whose server fetches lists from the class's own upstream."""

import base64
import hashlib
import json
import pathlib
import signal
import tempfile
import threading

from .case import ServiceCase
from .client import Client, session_path, target
from .clock import wait_for
from .events import Stream
from .tokens import SECRET
from .upstream import Upstream, says

# None of these may say where a test's upstream is, or who is trusted.
QUIET = {name: "" for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}

# A key that may do everything, and mint tokens.
KEY = "key-of-the-writer"
KEYS = ("--key", f"w:{hashlib.sha256(KEY.encode()).hexdigest()}", "--token-secret", SECRET)
# The secrets that sign calls of hooks: two, while one replaces the other.
WEBHOOK_KEYS = (b"the secret of the webhook: one", b"the secret of the webhook: two")
WEBHOOK_SECRET = " ".join("whsec_" + base64.b64encode(each).decode() for each in WEBHOOK_KEYS)


def insert(*items, **place):
    """The body that inserts these."""
    return {"edits": [{"op": "insert", "items": list(items), **place}]}


def ids(state):
    """The ids of a state's items, without children."""
    return [item["id"] for section in state["sections"] for item in section["items"]]


class ListsFile:
    """A file of lists that can be rewritten."""

    def __init__(self, lists):
        self.directory = tempfile.TemporaryDirectory(prefix="diffserver-lists-")
        self.path = pathlib.Path(self.directory.name) / "lists.json"
        self.lists = lists
        self.write(lists)

    def write(self, lists):
        """Writes a value, or a literal text."""
        self.path.write_text(lists if isinstance(lists, str) else json.dumps(lists), encoding="utf-8")

    def close(self):
        self.directory.cleanup()


class SourceCase(ServiceCase):
    """Its lists are those of `lists`, which is given the upstream's address."""

    variables = {}
    interval = 0.2

    @classmethod
    def lists(cls, url):
        """`f:NAME` is fetched from `/f/NAME`."""
        return {"f:{name}": {"source": {"url": f"{url}/f/{{name}}", "every": cls.interval, "timeout": 5}}}

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.file = ListsFile(cls.lists(cls.upstream.url))
        cls.addClassCleanup(cls.file.close)
        cls.plain_options = cls.options
        cls.options = (*cls.options, "--lists", str(cls.file.path))
        cls.plain_variables, cls.variables = cls.variables, {**QUIET, **cls.variables}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.options, cls.variables = cls.plain_options, cls.plain_variables

    # Lists

    def new_list(self, behaviour=None, kind="f"):
        """A list that no other test of the class uses, and its path upstream."""
        number = self.new_name()
        path = f"/{kind}/{number}"
        if behaviour is not None:
            self.upstream.set(path, behaviour)
        return f"{kind}:{number}", path

    def fetched(self, state, kind="f"):
        """A list that has been read: its name, its path and its revision."""
        name, path = self.new_list(state, kind)
        answer = self.get_session(name)
        self.assertStatus(answer, 200)
        return name, path, answer.json["revision"]

    def reload(self, lists=None, line="lists reloaded"):
        """Makes the server read its file again."""
        if lists is not None:
            self.file.write(lists)
        count = sum(line in each for each in self.server.lines)
        self.server.signal(signal.SIGHUP)
        wait_for(lambda: sum(line in each for each in self.server.lines) > count, line)

    # Readers

    def stream(self, session, query=None, **headers):
        stream = Stream(self.server, session_path(session, "changes"), query, headers)
        self.addCleanup(stream.close)
        self.assertEqual(stream.status, 200, stream.body)
        return stream

    def news(self, stream):
        """The next event that changes something. On a slow machine, one about a silent source may come before it."""
        while True:
            event = stream.next_event()
            if event.event != "changes" or event.json.get("changes") not in ([], {}):
                return event.json

    def ask(self, path, query=None, method="GET", body=None, timeout=30, **headers):
        """A concurrent request; its answer comes from `answer()`, which is `done` or not."""
        return Asked(self.server, method, target(path, query), body, headers, timeout)

    def shows(self, name, *expected):
        """Waits until the list holds these items."""
        def holds():
            answer = self.get_session(name)
            return answer.status == 200 and ids(answer.json["state"]) == list(expected)
        wait_for(holds, f"{name} is {expected}")

    # The log

    def lines(self, *parts):
        """The log lines that contain all these parts; a session's name is a whole word."""
        return [line for line in self.server.lines
                if all(part in (line.split() if part.startswith("session=") else line) for part in parts)]

    def wait_for_lines(self, count, *parts):
        wait_for(lambda: len(self.lines(*parts)) >= count,
                 lambda: f"{count} lines with {parts}; there are:\n" + "\n".join(self.server.lines))


class EditableCase(SourceCase):
    """Edits of `h:NAME`, which is fetched from `/h/NAME`, are always agreed to."""

    variables = {"HOOK_SECRET": WEBHOOK_SECRET}

    @classmethod
    def lists(cls, url):
        hook = {"url": f"{url}/hook", "secret": "env:HOOK_SECRET"}
        return {**super().lists(url), "h:{name}": {"source": {"url": f"{url}/h/{{name}}", "every": cls.interval, "timeout": 5}, "hook": hook}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream.set("/hook", says(b"", 204))


class Asked(threading.Thread):
    """A request on a separate connection and thread."""

    def __init__(self, server, method, target, body, headers, timeout=30):
        super().__init__(daemon=True)
        self.found, self.problem = None, None
        self.client = Client(server, timeout)
        self.arguments = (method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
        self.start()

    def run(self):
        try:
            self.found = self.client.request(*self.arguments)
        except Exception as problem:  # told in the test's own thread
            self.problem = problem
        self.client.close()

    @property
    def is_done(self):
        return not self.is_alive()

    def answer(self, seconds=30):
        self.join(seconds)
        if self.problem:
            raise self.problem
        if self.found is None:
            raise AssertionError(f"no answer in {seconds} s: {self.arguments}")
        return self.found
