"""Each write, read, sync, open and allocation of SQLite fails once, and then for a while: nothing acknowledged is lost, and nothing
traps. The first call fails, then the second, until none is left to fail."""

import ctypes
import mmap
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from support.client import Client, session_path
from support.node import Node
from support.server import Server
from support.store import names_its_stores

SOURCE = pathlib.Path(__file__).resolve().parent / "support" / "sqlite_faults.c"
KINDS = {"write": 1, "read": 2, "sync": 3, "open": 4, "allocation": 5}


class Control(ctypes.Structure):
    """As in sqlite_faults.c."""

    _fields_ = [("kind", ctypes.c_int), ("lasts", ctypes.c_int), ("left", ctypes.c_long), ("failed", ctypes.c_long)]

    def arm(self, kind, number, lasts=False):
        self.kind, self.lasts, self.left, self.failed = 0, lasts, number, 0
        self.kind = KINDS[kind]

    def disarm(self):
        self.kind = 0


@names_its_stores
@unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
class SQLiteCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-faults-"))
        cls.addClassCleanup(shutil.rmtree, cls.tools)
        library = cls.tools / "faults.so"
        done = subprocess.run(
            ["cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lsqlite3"], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr)
        file = cls.tools / "control"
        file.write_bytes(bytes(ctypes.sizeof(Control)))
        with file.open("r+b") as opened:
            cls.control = Control.from_buffer(mmap.mmap(opened.fileno(), 0))
        cls.variables = {"LD_PRELOAD": str(library), "SQLITE_FAULTS": str(file)}

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-sqlite-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.control.disarm()
        self.store = ("--store", f"sqlite:{self.directory / 'sessions.db'}")

    def started(self, *options):
        self.node = Node(*self.store, *options, variables=self.variables)
        self.addCleanup(self.node.stop)
        self.client = Client(self.node, 20)
        self.addCleanup(self.client.close)
        # The possible states: the acknowledged one, and after it those with an unknown outcome.
        self.known = {}

    def ask(self, method, session, body=None, *rest):
        answer = self.client.request(method, session_path(session, *rest), body)
        self.assertIsNone(self.node.server.process.poll(), "the process has ended")
        return answer

    def post(self, session, number):
        """A failure leaves the previous state or the posted one."""
        rows = [{"id": row, "content": [number, "x" * 300]} for row in range(number % 40)] + [{"id": f"n{number}"}]
        answer = self.ask("POST", session, {"state": rows}, "changes")
        if answer.status in (200, 201):
            self.known[session] = [number]
        else:
            self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
            self.known.setdefault(session, [None]).append(number)
        return answer.status != 503

    def delete(self, session):
        answer = self.ask("DELETE", session)
        if answer.status == 204:
            self.known[session] = [None]
        else:
            self.assertEqual(answer.status, 503, answer)
            self.known[session].append(None)

    def check(self, session, may_fail=False):
        answer = self.ask("GET", session)
        if answer.status == 503 and may_fail:
            return
        self.assertIn(answer.status, (200, 404), answer)
        found = None
        if answer.status == 200:
            found = int(answer.json["state"]["sections"][0]["items"][-1]["id"][1:])
        self.assertIn(found, self.known.get(session, [None]), session)
        self.known[session] = [found]

    def restarted(self):
        self.control.disarm()
        self.node.kill()
        self.node.start()
        for session in list(self.known):
            self.check(session)

    def work(self, turn):
        """Makes, changes, reads and deletes; one session is in memory, so the others are read from the database."""
        for session, number in (("a", 3 * turn), (f"b{turn % 4}", 3 * turn + 1), ("a", 3 * turn + 2)):
            self.post(session, number)
        self.check(f"b{(turn + 1) % 4}", may_fail=True)
        if turn % 5 == 0:
            self.delete(f"b{turn % 4}")

    def run_to_the_end(self, kind, lasts, steps=1, most=3000):
        self.started("--max-sessions", "1")
        for warm in range(5):
            self.work(warm)
        number, quiet, failures = 1, 0, 0
        # Not each turn makes as many calls as the previous one: checkpoints come now and then.
        while quiet < 3 and number < most:
            self.control.arm(kind, number, lasts)
            self.work(number + 5)
            failures += self.control.failed
            quiet = quiet + 1 if not self.control.failed else 0
            self.control.disarm()
            for session in list(self.known):
                self.check(session)
            self.assertTrue(self.post("a", 1_000_000 + number), self.node.server.lines)
            if number // 40 != (number + steps) // 40:
                self.restarted()
            number += steps
        self.restarted()
        self.assertGreater(failures, 0)
        self.assertLess(number, most, "it did not come to the end")
        self.assertEqual(self.client.request("GET", "/readyz").status, 200)
        self.node.stop()

    def test_each_fails_once(self):
        for kind in ("write", "sync", "read", "allocation"):
            with self.subTest(kind):
                self.setUp()
                self.run_to_the_end(kind, lasts=False)

    def test_each_fails_from_then_on(self):
        for kind in ("write", "sync", "allocation"):
            with self.subTest(kind):
                self.setUp()
                self.run_to_the_end(kind, lasts=True, steps=3)

    def test_a_start_fails_with_a_message_or_not_at_all(self):
        self.started()
        for number in range(8):
            self.post(f"s{number}", number)
        self.node.kill()
        whole = {each.name: each.read_bytes() for each in self.directory.iterdir()}
        for kind, steps in (("write", 1), ("sync", 1), ("read", 1), ("open", 1), ("allocation", 11)):
            number, started = 1, 0
            while started < 2:
                with self.subTest(kind, number=number):
                    for name, content in whole.items():
                        (self.directory / name).write_bytes(content)
                    self.control.arm(kind, number)
                    try:
                        self.node.start()
                    except AssertionError as problem:
                        # Only an end of its own says so.
                        self.assertRegex(str(problem), "(?m)^diffserver: .*sessions.db: ")
                    else:
                        started += not self.control.failed
                        self.control.disarm()
                        try:
                            for session in list(self.known):
                                self.check(session)
                        finally:
                            self.node.kill()
                number += steps
        self.control.disarm()
