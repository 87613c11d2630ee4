"""What `--memory` promises: the process stays within a quarter more than that and 32 MiB, whatever clients do. And an innocent client is served
meanwhile. Each attack lasts six seconds, or MEMORY_SECONDS."""

import gzip
import json
import os
import socket
import ssl
import tempfile
import threading
import time
from random import choice
from urllib.parse import quote, urlsplit

from support.case import ServiceCase
from support.client import session_path
from support.clock import pause
from support.server import certify

MIB = 1 << 20
SECONDS = int(os.environ.get("MEMORY_SECONDS", "6"))


class Peak:
    """The most that a server holds while this is open."""

    def __init__(self, server):
        self.server, self.most, self.ends = server, 0, False
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self.ends:
            self.most = max(self.most, self.server.resident_bytes())
            pause(0.02, "who measures")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()


class Memory:
    """One attack after the other on one server; each class below gives it a budget."""

    budget = None

    def setUp(self):
        # A new server for each: one attack's holes in the allocator are not the next one's.
        self.tearDownClass()
        self.setUpClass()
        self.sockets = []

    def tearDown(self):
        for each in self.sockets:
            each.close()

    def open(self, data=b"", room=None):
        """A connection that has sent `data` and is not read; `room` limits what its own kernel takes."""
        one = socket.socket()
        if room:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        one.settimeout(10)
        one.connect((self.server.host, self.server.port))
        self.sockets.append(one)
        if len(self.sockets) > 5000:  # the oldest were refused long ago
            for each in self.sockets[:1000]:
                each.close()
            del self.sockets[:1000]
        self.send(one, data)
        return one

    @staticmethod
    def send(one, data):
        try:
            one.sendall(data)
        except OSError:
            pass  # refused meanwhile

    def message(self, method, path, body=b"", *fields):
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *fields]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body

    def state(self, bytes, mark=0):
        return json.dumps([{"id": f"{mark}-{n}", "content": "x" * 1000} for n in range(bytes // 1030)]).encode()

    def holding(self, attack, seconds=SECONDS):
        """Attacks for that long, and checks the promise and the innocent."""
        refusals = []
        with Peak(self.server) as peak:
            end = time.monotonic() + seconds
            step = 0
            while time.monotonic() < end:
                attack(step)
                step += 1
                answer = self.post_changes("innocent", [step])
                if answer.status not in (200, 201):
                    refusals.append(f"post {step}: {answer}")
        self.assertLessEqual(peak.most, self.budget * 1.25 + 32 * MIB, f"{peak.most / MIB:.0f} MiB")
        self.assertEqual(len(refusals), 0, f"of {step} posts of the innocent client were refused, first {refusals[:1]}")

    def test_bodies_that_are_held_back(self):
        """In chunks without end, and as gzip without end."""
        body = b" " * 15_000_000
        chunked = b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nf00000\r\n" + body
        small = gzip.compress(self.state(15_000_000))
        zipped = self.message("POST", "/v1/diff", small, "Content-Encoding: gzip")[:-20]

        def attack(_):
            for data in [chunked, zipped] * 2:
                threading.Thread(target=lambda data=data: self.open(data), daemon=True).start()
        self.holding(attack)

    def test_many_small_bodies_and_heads_that_are_held_back(self):
        body = b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000\r\n\r\n" + b" " * 15_000
        head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 30_000

        def attack(step):
            for data in [body, head] * 50 if len(self.sockets) < 3000 else []:
                self.open(data)
        self.holding(attack)

    def test_bodies_that_are_held_back_to_the_last_byte(self):
        """So that nothing fits any more, however small."""
        def attack(step):
            size = 150_000 if step < 480 else 150_000 >> step % 18
            if step < 2000:
                self.open(b"POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + b" " * size)
        self.holding(attack)

    def test_readers_that_drip(self):
        """Of large states, each of a different revision."""
        def attack(step):
            self.send(self.open(), self.message("PUT", "/v1/sessions/large", b'{"state":' + self.state(12_000_000, step) + b"}"))
            for _ in range(5):
                self.open(self.message("GET", "/v1/sessions/large"), room=2048)
                self.open(self.message("GET", "/v1/sessions/large/changes"), room=2048)
                self.open(self.message("GET", "/v1/sessions/large", b"", "Accept-Encoding: gzip"), room=2048)
            for each in self.sockets[-100:]:
                each.setblocking(False)
                try:
                    each.recv(1)
                except OSError:
                    pass
                each.settimeout(10)
        self.holding(attack)

    def test_readers_of_many_middling_states(self):
        """Each of a few hundred KB: small enough that none takes long, and many fit into one turn."""
        for n in range(20):
            self.put_session(f"middling-{n}", self.state_of(450_000, n))

        def attack(step):
            for n in range(200 if len(self.sockets) < 3000 else 0):
                self.open(self.message("GET", f"/v1/sessions/middling-{(n + step) % 20}"), room=2048)
        self.holding(attack)

    def test_streams_of_a_list_that_starts_over(self):
        """2,000 of them, none of which is read."""
        self.put_session("wide", self.state_of(1_000_000, 0))
        for _ in range(2000):
            self.open(self.message("GET", "/v1/sessions/wide/changes", b"", "Accept: text/event-stream"), room=2048)

        def attack(step):
            self.put_session("wide", self.state_of(1_000_000, step))
            pause(0.5, "the writer")
        self.holding(attack)

    def state_of(self, bytes, mark):
        return {"state": json.loads(self.state(bytes, mark))}

    def test_readers_with_long_heads_that_wait(self):
        """Streams of one list and of several, and held requests, keep little of their heads."""
        self.put_session("quiet", {"state": ["a"]})
        revision = self.get_session("quiet").json["revision"]
        asked = [(f"/v1/sessions/quiet/changes?since={revision}&wait=60", "application/json"),
                 (f"/v1/sessions/quiet/changes?since={revision}", "text/event-stream"),
                 (f"/v1/changes?session=quiet@{revision}", "text/event-stream")]

        def attack(step):
            for n in range(100 if len(self.sockets) < 4800 else 0):
                path, kind = asked[n % 3]
                self.open(self.message("GET", path, b"", f"Accept: {kind}", "X: " + "x" * 30_000))
        self.holding(attack)

    def test_resets_for_many_readers(self):
        """Readers with a thousand different forgotten revisions."""
        self.put_session("past", self.state_of(1_000_000, 0))

        def attack(step):
            for n in range(100 if len(self.sockets) < 1000 else 0):
                path = f"/v1/sessions/past/changes?since={step * 100 + n + 1}-{n:016x}"
                self.open(self.message("GET", path, b"", "Accept: text/event-stream" if n % 2 else "X: y"), room=2048)
        self.holding(attack)

    def test_many_small_sessions(self):
        body = json.dumps([{"id": str(n), "content": {"title": "x" * 20}} for n in range(20)]).encode()

        def attack(step):
            one = self.open()
            batch = b"".join(
                self.message("PUT", f"/v1/sessions/small-{step * 500 + n}", b'{"state":' + body + b"}") for n in range(500))
            threading.Thread(target=self.send, args=(one, batch), daemon=True).start()
            try:
                while (part := one.recv(1 << 20)) and b"HTTP/1.1" not in part:
                    pass
            except OSError:
                pass  # what was pipelined found no room
        self.holding(attack)

    def test_sessions_of_many_sizes(self):
        """Each that leaves is a hole that the next one seldom fits into."""
        bodies = [b'{"state":' + self.state(size) + b"}" for size in (1_100, 5_000, 50_000, 200_000, 1_000_000)]
        ones = [self.open() for _ in range(4)]

        def attack(step):
            for n, one in enumerate(ones):
                batch = [self.message("PUT", f"/v1/sessions/many-{n}-{step}-{k}", choice(bodies)) for k in range(10)]
                threading.Thread(target=self.send, args=(one, b"".join(batch)), daemon=True).start()
            for one in ones:
                answers = 0
                while answers < 10:
                    part = one.recv(1 << 20)
                    self.assertTrue(part, "the connection was closed")
                    answers += part.count(b"HTTP/1.1 ")
        self.holding(attack)

    def put_from(self, writers, path):
        """Each of this many threads puts states of many short items, of ever other sizes, for SECONDS."""
        bodies = [b'{"state":' + json.dumps([{"id": f"{n}-{k}", "content": {"n": k % 1000 + n}} for k in range(size // 48)]).encode() + b"}"
                  for size in (300_000, 1_000_000, 4_000_000) for n in range(2)]
        end = time.monotonic() + SECONDS

        def write(number):
            one, step = None, 0
            while time.monotonic() < end:
                step += 1
                try:
                    one = one or self.open()
                    one.sendall(self.message("PUT", path(number, step), choice(bodies)))
                    answer = one.recv(1 << 16)
                except OSError:
                    answer = b""
                if not answer or b"onnection: close" in answer:
                    one = None
        for number in range(writers):
            threading.Thread(target=write, args=(number,), daemon=True).start()

    def test_writers_of_large_states_at_the_same_time(self):
        self.put_from(12, lambda number, step: f"/v1/sessions/large-{number}-{step}")
        self.holding(lambda step: pause(0.05, "the innocent client"))

    def test_readers_with_views_of_lists_that_start_over(self):
        """Streams, answers and compressed ones, through views and of many lists, that are read slowly or not at all."""
        names = [f"viewed-{n}" for n in range(8)]
        for name in names:
            self.put_session(name, self.state_of(100_000, 0))
        self.put_from(4, lambda number, step: f"/v1/sessions/{choice(names)}")
        views = [quote(json.dumps(each)) for each in (
            {"where": [{"at": "/content/n", "below": 500}]}, {"order": [{"at": "/content/n"}]},
            {"limit": 50, "order": [{"at": "/content/n", "descending": True}]}, {"fields": ["/content/n"]})]

        def attack(step):
            for view in views:
                path = f"/v1/sessions/{choice(names)}"
                self.open(self.message("GET", path), room=2048)
                self.open(self.message("GET", f"{path}?view={view}", b"", "Accept-Encoding: gzip"), room=2048)
                self.open(self.message("GET", f"{path}/changes?view={view}"), room=2048)
                for coding in ("Accept-Encoding: gzip", "X: y"):
                    stream = self.message("GET", f"{path}/changes?view={view}", b"", "Accept: text/event-stream", coding)
                    self.open(stream, room=2048)
                self.open(self.message("GET", "/v1/changes?session=" + "&session=".join(names)), room=2048)
            for each in self.sockets[-200:-150]:
                each.close()
        self.holding(attack)

    def test_ids_that_are_made_of_others(self):
        """Several parts, long sections before short ids, prefixes of groups, and escapes: of many rows and of few."""
        noise = "".join(choice("abcdefghijklmnopqrstuvwxyz") for _ in range(1 << 16))

        def rows(count, size, fill=None, more=""):
            ids = (f"{n}-" + (fill * size if fill else noise[n % 60_000:][:size]) for n in range(count))
            return "[" + ",".join(f'{{"id":"{id}"{more}}}' for id in ids) + "]"

        def sections(id, count):
            return json.dumps([{"id": id, "i": [str(n) for n in range(count)]}, {"id": "rest", "text": noise * 200}])
        parts, scoped = "&".join(["idAt=/id"] * 4), "sectionsAt=&itemsAt=/i&idAt=&idScope=section"
        grouped = "groupAt=/id&groupPrefix=600&idScope=section&duplicates=first"
        bodies = [
            (rows(99_000, 60, more=f',"c":"{noise[:70]}"'), parts), (rows(28_000, 500), parts), (rows(58_000, 240, "~"), parts),
            (rows(4_000, 240), parts), (sections("~" * 1000, 99_000), scoped), (sections("s" * 60, 99_000), scoped),
            (rows(9_900, 1500), grouped), (rows(99_000, 130), grouped), (rows(7_000, 1900, more=',"g":1'), "groupAt=/g&idScope=section"),
            (rows(7_400, 1900).replace('"id":"', '"id":"\\/'), "idAt=/id"), (rows(50_000, 120, more=',"c":[]'), "childrenAt=/c&rest=true")]
        requests = []
        for number, (text, query) in enumerate(bodies):
            path, body = ("/v1/diff?", f'{{"old":[],"new":{text}}}') if number % 2 else ("/v1/sessions/made/changes?", text)
            requests.append(self.message("POST", path + query, gzip.compress(body.encode(), 1), "Content-Encoding: gzip"))

        def attack(step):
            ones = [self.open(requests[(step * 4 + n) % len(requests)]) for n in range(4)]
            for each in ones:
                try:
                    each.recv(1)
                except OSError:
                    pass  # refused meanwhile
        self.holding(attack)

    def test_long_contents_that_are_read_and_patched(self):
        """Each of 12 MB: more than what intents may change with a small budget, and as much as a body may have."""
        names = [f"long-{n}" for n in range(3)]
        for name in names:
            self.assertStatus(self.put_session(name, {"state": [{"id": "a", "content": "x" * 12_000_000}]}), 201)
        patch = json.dumps({"v": "y" * 6_000_000}).encode()

        def ask(number):
            path = f"/v1/sessions/{names[number % 3]}"
            # Nobody has this base.
            request = self.message("GET", f"{path}/changes?since={number + 1}-{number:016x}")
            if number % 2:
                request = self.message("PATCH", f"{path}/items/a", patch, "Content-Type: application/merge-patch+json")
            with socket.create_connection((self.server.host, self.server.port), 20) as one:
                self.send(one, request)
                try:
                    read = len(one.recv(1 << 20))
                    while number % 2 == 0 and 1000 < read < 12_000_000 and (part := one.recv(1 << 20)):
                        read += len(part)
                except OSError:
                    pass  # refused meanwhile

        def attack(step):
            threads = [threading.Thread(target=ask, args=(step * 16 + n,)) for n in range(16)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        self.holding(attack)

    def test_changes_of_lists_with_few_rows(self):
        """Sections without items, and rows, a few of which have nearly all of the text."""
        sections = [{"id": str(n), "content": "x" * 500, "items": []} for n in range(9_000)]
        rows = [{"id": str(n), "content": "x" * (150_000 if n < 20 else 3)} for n in range(2_000)]
        pairs = [({"sections": []}, {"sections": sections}), (rows, rows[:20] + [{"id": str(n), "content": 1} for n in range(20, 2_000)])]

        def attack(step):
            for old, new in pairs:
                self.assertStatus(self.diff(old, new), 200)
        self.holding(attack, 1)

    def test_a_reader_that_is_far_behind(self):
        """Of a list with long contents that change a little each time."""
        def state(n):
            return [{"id": str(k), "content": {"n": 1000 + n, "text": "x" * 50_000}} for k in range(60)]
        base = self.post_changes("changing", state(0)).json["to"]
        for n in range(1, 60):
            self.post_changes("changing", state(n), Prefer="return=minimal")

        def attack(step):
            self.post_changes("changing", state(60 + step), Prefer="return=minimal")
            if step < 3:
                self.assertNotIn("reset", self.get_changes("changing", {"since": base, "content": "patch"}).json)
        self.holding(attack, 1)

    def test_held_requests_that_one_commit_answers(self):
        self.put_session("held", self.state_of(100_000, 0))
        revision = self.get_session("held").json["revision"]
        for _ in range(4000):
            self.open(self.message("GET", f"/v1/sessions/held/changes?wait=60&since={revision}"), room=2048)
        self.holding(lambda step: self.post_changes("held", self.state_of(100_000, step)), SECONDS // 2)

    def test_edits(self):
        self.put_session("edited", self.state_of(5_000_000, 0))

        def attack(step):
            for n in range(20):
                edit = {"op": "insert", "items": [{"id": f"new-{step}-{n}", "content": "x" * 1000}], "at": "start"}
                self.post_changes("edited", {"edits": [edit, {"op": "move", "items": ["0-7"], "at": "end" if n % 2 else "start"}]})
        self.holding(attack)


class SmallBudget(Memory, ServiceCase):
    budget = 64 * MIB
    options = ("--memory", "64MiB", "--body-window", "60s", "--head-timeout", "60s")


class DefaultBudget(Memory, ServiceCase):
    budget = 512 * MIB
    options = ("--memory", "512MiB", "--body-window", "60s", "--head-timeout", "60s")


class TLS(ServiceCase):
    """What OpenSSL keeps of messages and records whose rest does not come."""

    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        certify(folder, days=10)
        cls.options = ("--memory", "64MiB", "--head-timeout", "60s",
                       "--tls-certificate", f"{folder}/certificate", "--tls-key", f"{folder}/key")
        cls.context = ssl._create_unverified_context()
        super().setUpClass()

    def connect(self):
        address = urlsplit(self.server.address)
        return socket.create_connection((address.hostname, address.port), timeout=20)

    def holding(self, attack, count):
        """So many connections that say a part of something, and between them others that say all of it."""
        held = []
        with Peak(self.server) as peak:
            for n in range(count):
                try:
                    held.append(attack())
                except OSError:
                    pass  # refused
                if n % 100 == 0:
                    with self.context.wrap_socket(self.connect()) as innocent:
                        innocent.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        self.assertIn(b"200 OK", innocent.recv(1000))
        for each in held:
            each.close()
        self.assertLessEqual(peak.most, 64 * MIB * 1.25 + 32 * MIB, f"{peak.most / MIB:.0f} MiB")

    def saying(self, data):
        def attack():
            one = self.connect()
            one.sendall(data)
            return one
        return attack

    def test_hellos_that_do_not_end(self):
        record = b"\x16\x03\x01\x40\x00"
        self.holding(self.saying(record + b"\x01\x00\x3f\xfc\x03\x03" + b"x" * 16_000), 2500)
        self.holding(self.saying(record + b"\x01\x02\x00\x00\x03\x03" + b"x" * 16_378), 2500)

    def test_records_that_do_not_end(self):
        def attack():
            one = self.context.wrap_socket(self.connect())
            socket.socket.sendall(one, b"\x17\x03\x03\x40\x00" + b"x" * 16_000)
            return one
        self.holding(attack, 2500)

    def test_handshakes_leave_room_for_bodies(self):
        """Octets that announce a long hello count for all of it."""
        held = [self.saying(b"\x16\x03\x01\x40\x00\x01\x02\x00\x00")() for _ in range(500)]
        body = json.dumps([{"id": "a", "content": "x" * 400_000}]).encode()
        head = f"POST /v1/sessions/s/changes HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        with self.context.wrap_socket(self.connect()) as innocent:
            innocent.sendall(head.encode())
            for start in range(0, len(body), 10_000):
                innocent.sendall(body[start:start + 10_000])
                pause(0.001, "the innocent client")
            self.assertIn(b" 201 ", innocent.recv(100))
        for each in held:
            each.close()
