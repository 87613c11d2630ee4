"""Twice as many connections as allowed descriptors: the server continues, says so, and recovers once they go."""

import contextlib
import pathlib
import resource
import shutil
import socket
import tempfile
import unittest

from support.client import Client, session_path
from support.clock import let_pass
from support.redis import IS_INSTALLED, MISSING, Redis
from support.server import Server
from support.store import names_its_stores

LIMITS = (64, 256, 1024, 4096)


def raise_own_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Crowd:
    """What a server withstands over each store."""

    @contextlib.contextmanager
    def store(self):
        yield "memory"

    def test_connections_without_end(self):
        own = raise_own_limit()
        for limit in LIMITS:
            if 2 * limit + 100 > own:
                continue
            with self.subTest(limit), self.store() as store:
                server = Server("--store", store, "--idle-timeout", "5m", descriptors=limit)
                try:
                    self.fill(server, limit)
                finally:
                    status = server.stop()
                self.assertEqual(status, 0, server.lines)

    def fill(self, server, limit):
        server.wait_for_line(f"connections capped at [0-9]+: the file descriptor limit .ulimit -n. is {limit}")
        before = Client(server)
        self.write(before, "first")
        with contextlib.ExitStack() as crowd:
            members = [crowd.enter_context(socket.create_connection((server.host, server.port), 20)) for _ in range(2 * limit)]
            server.wait_for_line("connection limit of [0-9]+ reached|cannot accept connections")
            # Served clients continue through several rounds of the work done each second, stores included.
            for number in range(30):
                self.write(before, f"during{number}")
                let_pass(0.1, "work done each second")
            ready = before.request("GET", "/readyz")
            self.assertEqual((ready.status, ready.json["type"]), (503, "/problems/capacity"))
            self.assertLess(server.descriptors(), limit)
            heard = [self.heard(member) for member in members]
            self.assertIn(b"HTTP/1.1 503 ", [each[:13] for each in heard])
        server.wait_for_line("accepting connections again")
        after = Client(server)
        for client in (before, after):
            self.assertEqual(client.request("GET", "/readyz").status, 200)
            self.write(client, "after")
            client.close()

    def write(self, client, session):
        answer = client.request("POST", session_path(session, "changes"), ["a", "b"])
        self.assertIn(answer.status, (200, 201), answer)

    @staticmethod
    def heard(member):
        """Events that came unrequested."""
        member.setblocking(False)
        try:
            return member.recv(4096)
        except OSError:
            return b""


@names_its_stores
class InMemory(Crowd, unittest.TestCase):
    pass


@names_its_stores
class InSQLite(Crowd, unittest.TestCase):
    @contextlib.contextmanager
    def store(self):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-sqlite-"))
        try:
            yield f"sqlite:{directory}/sessions.db"
        finally:
            shutil.rmtree(directory)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class InRedis(Crowd, unittest.TestCase):
    @contextlib.contextmanager
    def store(self):
        redis = Redis()
        try:
            yield f"redis://127.0.0.1:{redis.port}"
        finally:
            redis.close()


@names_its_stores
class TooFew(unittest.TestCase):
    def test_a_process_without_descriptors_says_so(self):
        with self.assertRaisesRegex(AssertionError, "connections: the file descriptor limit of 24 leaves none for them"):
            Server(descriptors=24)
