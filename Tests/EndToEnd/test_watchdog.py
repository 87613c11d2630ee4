"""A stuck loop: the process says so and ends itself, and shutting down does not wait for it."""

import signal
import unittest

from support import redis
from support.client import Client
from support.frozen import frozen
from support.server import Server
from support.sources import ListsFile
from support.store import names_its_stores

STUCK = 70


@names_its_stores
class Watchdog(unittest.TestCase):
    def end_of(self, server, name, *signals):
        with frozen(server.pid, name):
            for each in signals:
                server.signal(each)
        return server.ended()

    def test_a_stuck_loop_ends_the_process(self):
        for name, loops in (("loop 1", "1"), ("loop", "[01]")):
            with self.subTest(name):
                server = Server("--loops", "2", "--watchdog", "500ms")
                self.assertEqual(self.end_of(server, name), STUCK)
                server.wait_for_line(f"^error: event loop {loops} stuck for 0.5[0-9]* s; exiting with status 70 request=none$")

    def test_a_stuck_loop_of_sources_or_of_redis_ends_the_process(self):
        file = ListsFile({"list": {"source": {"url": "http://127.0.0.1:9/"}}})
        self.addCleanup(file.close)
        others = {"sources": ("--lists", str(file.path))}
        if redis.IS_INSTALLED:
            program = redis.Redis()
            self.addCleanup(program.close)
            others["redis"] = ("--store", f"redis://127.0.0.1:{program.port}")
        for name, options in others.items():
            with self.subTest(name):
                server = Server("--loops", "2", "--watchdog", "500ms", *options)
                self.assertEqual(self.end_of(server, f"loop {name}"), STUCK)
                server.wait_for_line(f"^error: event loop {name} stuck for 0.5[0-9]* s; exiting with status 70 request=none$")

    def test_going_down_does_not_wait_for_a_stuck_loop(self):
        server = Server("--loops", "2", "--watchdog", "0", "--drain", "200ms")
        self.assertEqual(self.end_of(server, "loop 1", signal.SIGTERM, signal.SIGTERM), STUCK)
        server.wait_for_line("^error: shutdown timed out; exiting with status 70$")

    def test_without_a_watchdog_a_stuck_loop_stays(self):
        server = Server("--loops", "1", "--watchdog", "0")
        with frozen(server.pid, "loop 0"):
            with self.assertRaises(TimeoutError):
                Client(server, timeout=2).request("GET", "/livez")
            server.signal(signal.SIGKILL)
        self.assertEqual(server.ended(), -signal.SIGKILL)
