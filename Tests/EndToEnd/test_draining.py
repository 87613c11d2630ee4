"""How a server ends: SIGTERM, what is still answered, how readers leave, and who does not wait."""

import os
import pty
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from support.client import RawConnection, once, session_path
from support.clock import let_pass, pause, stays, wait_for
from support.events import Stream
from support.outside import wait_until_held, wait_until_nobody_listens, wait_until_read
from support.server import Server, binary, environment

CHANGES = session_path("s", "changes")


class Draining(unittest.TestCase):
    def started(self, *options):
        """A server with one session, and its revision."""
        server = Server(*options)
        self.addCleanup(server.stop)
        return server, once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).json["revision"]

    def raw(self, server, text):
        connection = RawConnection(server)
        self.addCleanup(connection.close)
        connection.send(text)
        return connection

    def stream(self, server, since):
        stream = Stream(server, CHANGES, {"since": since})
        self.addCleanup(stream.close)
        return stream

    def test_during_the_delay_it_is_not_ready_and_all_else_goes_on(self):
        server, first = self.started("--drain-delay", "2s")
        kept, stream = RawConnection(server), self.stream(server, first)
        self.addCleanup(kept.close)
        ask = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        kept.send(ask)
        self.assertIsNone(kept.answer().headers["Connection"])
        server.signal(signal.SIGTERM)
        wait_for(lambda: once(server, "GET", "/readyz").status == 503, "it is not ready", not_yet=())
        server.wait_for_line("draining")
        answer = once(server, "GET", "/readyz")
        self.assertEqual((answer.status, answer.json["type"], answer.headers["Connection"]), (503, "/problems/draining", "close"))
        self.assertRegex(answer.headers["Retry-After"], "^[0-9]+$")
        wrote = once(server, "POST", CHANGES, ["b"])
        self.assertEqual((wrote.status, wrote.headers["Connection"]), (200, "close"))
        self.assertEqual(stream.next_event().id, wrote.json["to"])
        late = self.stream(server, first)
        self.assertEqual(late.headers["Connection"], "close")
        self.assertEqual(late.next_event().id, wrote.json["to"])
        kept.send(ask)
        answer = kept.answer()
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
        self.assertTrue(kept.is_closed())
        for each in (stream, late):
            event = each.next_event()
            self.assertEqual((event.event, event.json["type"]), ("end", "/problems/draining"))
        self.assertEqual(server.ended(), 0)

    def test_a_held_request_is_answered_as_if_its_time_were_up(self):
        server, first = self.started()
        held = self.raw(server, f"GET {CHANGES}?since={first}&wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        missing = self.raw(server, f"GET {session_path('t', 'changes')}?wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until_held(server, 2)
        server.signal(signal.SIGTERM)
        answer = held.answer()
        self.assertEqual((answer.status, answer.json["to"], answer.json["changes"]), (200, first, []))
        self.assertEqual(answer.headers["Connection"], "close")
        answer = missing.answer()
        self.assertEqual((answer.status, answer.headers["Retry-After"]), (404, "0"))
        self.assertEqual(server.ended(), 0)

    def test_streams_leave_one_after_another_each_with_a_delay_of_its_own(self):
        server, first = self.started("--drain", "10s")
        streams = [self.stream(server, first) for _ in range(400)]
        ends = []

        def follow(stream):
            event = stream.next_event()
            ends.append((time.monotonic(), event))

        threads = [threading.Thread(target=follow, args=[stream]) for stream in streams]
        for thread in threads:
            thread.start()
        server.signal(signal.SIGTERM)
        # Those that come meanwhile are accepted, and leave with the others.
        meanwhile = []
        while server.process.poll() is None and len(meanwhile) < 5:
            try:
                meanwhile.append(Stream(server, CHANGES, {"since": first}))
                self.addCleanup(meanwhile[-1].close)
            except (OSError, IndexError):
                break
        for thread in threads:
            thread.join(20)
        self.assertEqual(len(ends), 400)
        retries = [int(event.retry) for _, event in ends]
        self.assertTrue(all(500 <= retry <= 1500 for retry in retries), retries)
        self.assertGreater(len(set(retries)), 200)
        self.assertEqual({(event.event, event.json["type"]) for _, event in ends}, {("end", "/problems/draining")})
        times = sorted(when for when, _ in ends)
        self.assertGreater(times[-1] - times[0], 0.3, "they left all at once")
        for stream in meanwhile:
            event = stream.next_event()
            self.assertEqual((stream.status, event.event), (200, "end"))
        self.assertEqual(server.ended(), 0)

    def test_who_began_to_ask_before_nobody_listened_is_answered_but_may_not_write(self):
        server, first = self.started("--drain", "5s")
        reads = [self.raw(server, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n") for target in ("/readyz", "/v1/sessions/s")]
        # It stores nothing.
        states = '{"old": [], "new": ["a"]}'
        diff = self.raw(server, f"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(states)}\r\n")
        body = '["b"]'
        post = f"POST {CHANGES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        writes = [self.raw(server, text) for text in (post, "DELETE /v1/sessions/s HTTP/1.1\r\nHost: localhost\r\n")]
        # This one is in time: its head is complete.
        running = self.raw(server, post + "\r\n")
        wait_until_read(server, *(each.socket for each in (*reads, diff, *writes, running)))
        server.signal(signal.SIGTERM)
        wait_until_nobody_listens(server)
        ready, state = [each.send("\r\n") or each.answer() for each in reads]
        self.assertEqual((ready.status, ready.json["type"]), (503, "/problems/draining"))
        self.assertEqual((state.status, state.json["revision"], state.headers["Connection"]), (200, first, "close"))
        diff.send("\r\n" + states)
        self.assertEqual(diff.answer().status, 200)
        for each, rest in zip(writes, ("\r\n" + body, "\r\n")):
            each.send(rest)
            answer = each.answer()
            self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/draining"))
            self.assertRegex(answer.headers["Retry-After"], "^[0-9]+$")
        running.send(body)
        self.assertEqual(running.answer().status, 200)
        self.assertEqual(server.ended(), 0)

    def test_a_connection_is_served_or_refused_and_never_reset(self):
        server, _ = self.started("--drain-delay", "300ms", "--loops", "2")
        counts, troubles = [0], []

        def ask():
            while True:
                try:
                    connection = RawConnection(server)
                except ConnectionRefusedError:
                    return
                try:
                    connection.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert connection.answer().status == 200
                    counts[0] += 1
                except (OSError, AssertionError) as trouble:
                    troubles.append(repr(trouble))
                finally:
                    connection.close()

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        wait_for(lambda: counts[0] > 100, "a hundred are served")
        server.signal(signal.SIGTERM)
        for thread in threads:
            thread.join(20)
        self.assertEqual(server.ended(), 0)
        self.assertEqual(troubles, [])
        self.assertGreater(counts[0], 100)

    def test_a_unix_socket_serves_who_is_connected_and_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "s")
            server = Server("--drain", "5s", listen=f"unix:{place}")
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(place)
            server.signal(signal.SIGTERM)
            wait_for(lambda: not os.path.exists(place), "it is gone", 30)
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(client.recv(1000).startswith(b"HTTP/1.1 200"))
            self.assertEqual(server.ended(), 0)


class InAHurry(unittest.TestCase):
    """A user at a terminal, or a second signal, does not wait."""

    def test_a_second_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server("--drain-delay", "1h", "--drain", "1h")
            first = once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}).json["revision"]
            stream, running = Stream(server, CHANGES, {"since": first}), RawConnection(server)
            self.addCleanup(stream.close)
            self.addCleanup(running.close)
            running.send(f"POST {CHANGES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
            server.signal(number)
            stays(lambda: server.process.poll() is None, "it runs", 0.5)  # noqa: B023
            server.signal(number)
            self.assertEqual(stream.next_event().event, "end")
            self.assertEqual(server.ended(10), 0)

    def test_signals_end_it_in_each_phase_whoever_comes_meanwhile(self):
        """An inherited socket takes connections until nobody listens at it."""
        for after in range(0, 600, 25):
            with self.subTest(after), socket.create_server(("127.0.0.1", 0)) as inherited:
                given = f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{inherited.fileno()}'
                process = subprocess.Popen(
                    ["bash", "-c", given, "bash", binary(), "serve", "--open", "--drain-delay", "200ms", "--drain", "1h"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(),
                    pass_fds=(inherited.fileno(),))
                self.addCleanup(process.stderr.close)
                self.addCleanup(process.kill)
                for line in process.stderr:
                    if b"listens on" in line:
                        break
                held = [self.half_asked(inherited)]
                process.terminate()
                let_pass(0.02 + after / 1000, "drain delay")
                for number in range((1, 5)[after % 2]):
                    # Another signal first: equal ones of which none was taken yet are one.
                    process.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
                # Until nobody takes them.
                while process.poll() is None and len(held) < 100:
                    held.append(self.half_asked(inherited))
                    pause(0.01, "clients that keep coming")
                self.assertEqual(process.wait(10), 0)
                for each in held:
                    each.close()

    def half_asked(self, listener):
        """A connection whose request never ends."""
        connection = socket.create_connection(listener.getsockname(), 5)
        connection.sendall(f"POST {CHANGES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n".encode())
        return connection

    def test_an_interrupt_at_a_terminal_ends_it(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--drain-delay", "1h", "--drain", "1h"], stdin=theirs,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), text=True)
        os.close(theirs)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if re.search("listens on", line):
                break
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
