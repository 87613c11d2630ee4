"""Sources that fail in every way: the list stays as it was, others continue, and nothing is lost. CONTRACT §11."""

import gzip
import json
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unittest

from support import redis
from support.client import session_path
from support.clock import pause, wait_for
from support.nginx import IS_INSTALLED, MISSING, PROGRAM
from support.ports import free_port
from support.sources import SourceCase, ids
from support.upstream import Held, Upstream, never_answers, refuses_by_reset, says, trickling, without_end

LIMIT = 100_000


def cut_off(exchange):
    """Resets the connection in the middle of a body."""
    exchange.head(200, Content_Type="application/json", Content_Length=1000)
    exchange.send(b'["a"')
    pause(0.05, "a source that is cut off once this was read")
    exchange.reset()


def ended(exchange):
    """Ends the connection in the middle of a body."""
    exchange.head(200, Content_Length=1000)
    exchange.send(b'["a"')
    exchange.close()


def raw(data):
    """Sends these bytes and ends the connection."""
    def behaviour(exchange):
        exchange.send(data)
        exchange.close()
    return behaviour


def chunked(exchange):
    exchange.head(200, Transfer_Encoding="chunked")


def in_chunks(data):
    """A gzip that does not say how long it is."""
    def behaviour(exchange):
        exchange.head(200, Transfer_Encoding="chunked", Content_Encoding="gzip")
        for start in range(0, len(data), 1000):
            part = data[start:start + 1000]
            exchange.send(b"%x\r\n%b\r\n" % (len(part), part))
        exchange.send(b"0\r\n\r\n")
    return behaviour


def plain(exchange):
    exchange.head(200, Connection="close")


LONG = b'["' + b"a" * LIMIT + b'"]'
# What a source may do, and part of the log line about it.
FAULTS = {
    "refuses": (says({}, 403), "403"),
    "fails": (says(b"<h1>oh</h1>", 500, Content_Type="text/html"), "500"),
    "is overrun": (says({}, 429), "429"),
    "is gone": (says({}, 410), "410"),
    "is not there": (says({}, 404), "404"),
    "has no content": (says(b"", 204), "204"),
    "answers a part": (says(["b"], 206), "206"),
    "answers what nobody knows": (says(["b"], 299), "299"),
    "answers nothing": (says(b""), "unusable"),
    "answers blanks": (says(b"  \n"), "unusable"),
    "answers HTML": (says(b"<html>", Content_Type="text/html"), "unusable"),
    "answers broken JSON": (says(b'["a",'), "unusable"),
    "answers more than JSON": (says(b'["a"] x'), "unusable"),
    "answers no UTF-8": (says(b'["\xff"]'), "UTF-8"),
    "answers null": (says(b"null"), ""),
    "answers a number": (says(b"12"), ""),
    "answers a string": (says(b'"a"'), ""),
    "answers another object": (says({"error": "no"}), ""),
    "answers items that are none": (says([[1], {"x": 1}]), ""),
    "answers an id twice": (says(["b", "b"]), ""),
    "answers edits": (says({"edits": [{"op": "clear"}]}), ""),
    "answers an envelope with settings": (says({"state": ["b"], "ttl": 5}), None),
    "answers too much": (says(LONG), "bytes"),
    "answers too much and does not say how much": (raw(b"HTTP/1.1 200 OK\r\n\r\n" + LONG), "bytes"),
    "answers too much when it is inflated": (says(gzip.compress(LONG * 100), Content_Encoding="gzip"), "bytes"),
    "answers what is no gzip": (says(b'["b"]', Content_Encoding="gzip"), "not gzip"),
    "answers half of a gzip": (says(gzip.compress(LONG[:5000])[:40], Content_Encoding="gzip"), "not gzip"),
    "never ends": (without_end(b" " * 1000, plain), "bytes"),
    "never ends in chunks": (without_end(b"5\r\n     \r\n", chunked), "bytes"),
    "never ends its head": (without_end(b"X-More: " + b"x" * 1000 + b"\r\n", lambda exchange: exchange.send("HTTP/1.1 200 OK\r\n")), ""),
    "never ends a line of its head": (without_end(b"x" * 1000, lambda exchange: exchange.send("HTTP/1.1 200 OK\r\nX-More: ")), ""),
    "never ends saying that it goes on": (without_end(b"HTTP/1.1 103 Early Hints\r\n\r\n", lambda exchange: None), ""),
    "trickles": (trickling(b" ", plain), "timed out|Timeout|timeout"),
    "trickles its head": (trickling(b"x", lambda exchange: exchange.send("HTTP/1.1 200 OK\r\nX-More: ")), "timed out|Timeout|timeout"),
    "never answers": (never_answers, "timed out|Timeout|timeout"),
    "resets the connection": (refuses_by_reset, ""),
    "resets it in the middle": (cut_off, ""),
    "ends it in the middle": (ended, ""),
    "ends it at once": (lambda exchange: exchange.close(), ""),
    "speaks no HTTP": (raw(b"220 mail.example ESMTP\r\n"), ""),
    "speaks HTTP 0.9": (raw(b'["b"]'), ""),
    "redirects to another place": (says(b"", 302, Location="http://127.0.0.2:1/"), "origin"),
    "redirects to nowhere": (says(b"", 302), "302"),
    "begins with a gzip": (says(gzip.compress(b'["b"]') + b"x", Content_Encoding="gzip"), "not gzip"),
    "is compressed twice": (says(gzip.compress(gzip.compress(b'["b"]')), Content_Encoding="gzip, gzip"), "more than once"),
    "is in a coding that nobody asked for": (says(b'["b"]', Content_Encoding="br"), "not asked for"),
    "has too many headers": (says(["b"], **{f"X{number}": "1" for number in range(300)}), "lines"),
    "has headers without an end": (without_end(b"X: " + b"x" * 1000 + b"\r\n", lambda exchange: exchange.send("HTTP/1.1 200 OK\r\n")), "headers"),
    "says to go on without an end": (without_end(b"HTTP/1.1 100 Continue\r\n\r\n", lambda exchange: None), "headers"),
    "is as old as no number is": (says(["a"], Cache_Control="max-age=0", Age=str(-2**63)), None),
    "is fresh for as long as no number is": (says(["a"], Cache_Control=f"max-age={-2**63}", Age="1"), None),
}


class FaultCase(SourceCase):
    options = ("--max-body", str(LIMIT))

    @classmethod
    def lists(cls, url):
        """`h:NAME` is healthy. Each test has its own failing lists, since the log names few of one list at a time."""
        source = {"every": 0.2, "timeout": 0.5}
        return {kind + ":{name}": {"source": {"url": f"{url}/{kind}/{{name}}", **source}} for kind in "dfghm"}

    def number(self, count):
        self.upstream.set("/h/well", [f"{count}"])

    def assertOthersGoOn(self, stream, count):
        """The healthy list is fetched in time."""
        self.number(count)
        event = self.news(stream)
        self.assertEqual([each["op"] for each in event["changes"]], ["remove", "insert"])
        self.assertNotIn("stale", event)

    def assertSaysNothingBut(self, event, revision, isStale):
        """An event without a change."""
        self.assertEqual((event.json.get("changes"), event.json["to"], "stale" in event.json), ([], revision, isStale), event)


class Faults(FaultCase):
    def test_the_list_stays_as_it_was_and_others_go_on(self):
        self.number(0)
        healthy = self.stream("h:well")
        healthy.next_event()
        lists = {what: self.fetched(["a"]) for what in FAULTS}
        streams = {what: self.stream(name) for what, (name, _, _) in lists.items()}
        for each in streams.values():
            each.next_event()
        before = self.server.descriptors()
        for number, (what, (name, path, _)) in enumerate(lists.items()):
            self.upstream.set(path, FAULTS[what][0])
        for number in range(1, 6):
            self.assertOthersGoOn(healthy, number)
        failing = [(what, *lists[what]) for what, (_, said) in FAULTS.items() if said is not None]
        for what, name, path, revision in failing:
            with self.subTest(what):
                self.wait_for_lines(1, f"session={name}", "fails")
                self.assertRegex(self.lines(f"session={name}", "fails")[0], FAULTS[what][1] or ".")
                answer = self.get_session(name)
                self.assertEqual((answer.status, ids(answer.json["state"]), answer.json["revision"]), (200, ["a"], revision))
        # Several times, without a log line.
        counts = {path: self.upstream.count(path) for _, _, path, _ in failing}
        for path, count in counts.items():
            self.upstream.wait_for(path, count + 2)
        # One event each for silence and for its end, though there is nothing else to say.
        for what, name, path, revision in failing:
            with self.subTest(what):
                self.assertSaysNothingBut(streams[what].next_event(), revision, isStale=True)
        for _, _, path, _ in failing:
            self.upstream.set(path, ["a"])
        for what, name, path, revision in failing:
            with self.subTest(what):
                self.assertSaysNothingBut(streams[what].next_event(), revision, isStale=False)
                self.wait_for_lines(1, f"session={name}", "is back")
                self.assertEqual([len(self.lines(f"session={name}", each)) for each in ("fails", "is back")], [1, 1])
                self.assertNotIn("Diffserver-Stale", self.get_session(name).headers)
                streams[what].close()
        self.assertOthersGoOn(healthy, 10)
        healthy.close()
        # Some reusable connections are kept.
        wait_for(lambda: self.server.descriptors() <= before + 10, "its descriptors are few")

    def test_what_is_read_is_read_no_further_than_that(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        before = self.server.resident_bytes()
        self.upstream.set(path, says(gzip.compress(b" " * 50_000_000), Content_Encoding="gzip"))
        self.wait_for_lines(1, f"session={name}", "fails")
        self.upstream.wait_for(path, self.upstream.count(path) + 4)
        self.assertLess(self.server.resident_bytes() - before, 20_000_000)
        stream.close()

    def test_the_log_names_the_id_the_place_and_the_byte(self):
        for body, parts in ((b'["a", "my-id", "my-id"]', ('unusable: duplicate id "my-id"', "; and 1 more (/1: duplicate id", "), byte 7")),
                            (b'[{"id":"a","items":[{"id":"b","kind":7}]}]', ("a kind must be a string", '/0/items/0/kind, id "b", byte 37')),
                            (b'["a", NaNs]', ("unusable: ", "line 1, column 7 (byte 6)"))):
            with self.subTest(body):
                name, _ = self.new_list(says(body), "d")
                self.assertProblem(self.get_session(name), 503, "source-unavailable")
                self.wait_for_lines(1, f"session={name}", *parts)
                detail = self.request("POST", session_path(name, "fetch")).json["detail"]
                self.assertEqual([part for part in parts if part not in detail], [])
                self.assertEqual(len(self.lines(f"session={name}")), 1)

    def test_what_is_nearly_json_is_mended(self):
        name, path = self.new_list(says(b')]}\'\n[{"id":1,"content":{"t":NaN,"u":[-Infinity,Infinity],"v":"NaN"}}]'), "d")
        self.assertEqual(self.get_session(name).json["state"]["sections"][0]["items"],
                         [{"id": 1, "content": {"t": None, "u": [None, None], "v": "NaN"}}])
        self.assertEqual(self.lines(f"session={name}", "fails"), [])
        # A client is told what is wrong.
        for body in (b"[NaN]", b")]}'\n[1]", b'[{"id":1,"content":-Infinity}]'):
            self.assertProblem(self.post_changes(self.new_name(), body), 400, "malformed-json")

    def test_an_envelope_may_bring_a_state(self):
        """It is a body like a POST's; settings come from the file."""
        name, path = self.new_list(says({"state": ["b"]}))
        answer = self.get_session(name)
        self.assertEqual((answer.status, ids(answer.json["state"])), (200, ["b"]))

    def test_the_first_read_of_one_that_fails(self):
        lists = {what: self.new_list(behaviour, "g") for what, (behaviour, said) in FAULTS.items() if said is not None}
        asked = {what: self.ask(session_path(name)) for what, (name, _) in lists.items()}
        for what, (name, path) in lists.items():
            with self.subTest(what):
                answer = asked[what].answer()
                if what in ("is gone", "is not there"):
                    self.assertProblem(answer, 404, "session-not-found")
                else:
                    self.assertProblem(answer, 503, "source-unavailable")
                    self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
                    self.upstream.set(path, ["a"])
        for what, (name, _) in lists.items():
            if what not in ("is gone", "is not there"):
                self.shows(name, "a")

    def test_many_that_fail_at_once_leave_nothing(self):
        self.number(0)
        self.get_session("h:well")
        before = self.server.descriptors()
        faults = [behaviour for behaviour, said in FAULTS.values() if said is not None]
        asked = []
        for number in range(100):
            name, _ = self.new_list(faults[number % len(faults)], "m")
            asked.append(self.ask(session_path(name)))
        for each in asked:
            self.assertIn(each.answer().status, (404, 503))
        self.upstream.hang_up()
        # Connections are checked when the next one is needed.
        def are_few():
            self.get_session("h:well")
            return self.server.descriptors() <= before + 10
        wait_for(are_few, "its descriptors are few again")


class Density(SourceCase):
    """How far an answer may inflate: as far as a posted body."""

    def test_it_is_the_rule_for_bodies(self):
        few, many = (b'["a"%b]' % (b" " * count) for count in (200_000, 600_000))
        rows = json.dumps([{"id": f"item-{number}", "content": {"done": False, "tags": []}} for number in range(10_000)]).encode()
        self.assertGreater(len(rows), len(few) * 2)
        for body, is_taken in ((few, True), (many, False), (rows, True)):
            data = gzip.compress(body)
            posted = self.post_changes(self.new_name(), data, Content_Encoding="gzip")
            self.assertStatus(posted, 201 if is_taken else 413)
            for behaviour in (says(data, Content_Encoding="gzip"), in_chunks(data)):
                name, _ = self.new_list(behaviour)
                answer = self.get_session(name)
                if is_taken:
                    self.assertStatus(answer, 200)
                else:
                    self.assertProblem(answer, 503, "source-unavailable")
                    self.wait_for_lines(1, f"session={name}", "64 times what was sent")

    def test_bombs_of_many_lists_delay_no_other(self):
        zipped = gzip.compress(b" " * (16 << 20))
        bomb = says(zipped, Content_Encoding="gzip")
        name, path, _ = self.fetched(["a"])
        healthy = self.stream(name)
        healthy.next_event()
        lists = [self.fetched(["a"]) for _ in range(50)]
        streams = [self.stream(bad) for bad, _, _ in lists]
        before, count = self.server.processor_ticks("loop sources"), self.upstream.total
        for _, bad_path, _ in lists:
            self.upstream.set(bad_path, bomb)
        wait_for(lambda: self.upstream.total > count + 200, "bombs are asked for")
        self.upstream.set(path, ["b"])
        self.assertEqual(self.news(healthy)["to"][:2], "2-")
        # Less than if each were inflated as a whole.
        start = time.process_time()
        for _ in range(10):
            gzip.decompress(zipped)
        whole = (time.process_time() - start) / 10
        seconds = (self.server.processor_ticks("loop sources") - before) / os.sysconf("SC_CLK_TCK")
        self.assertLess(seconds, whole / 2 * (self.upstream.total - count))
        for each in streams:
            each.close()


class LittleMemory(SourceCase):
    """Concurrent requests to sources are limited."""

    options = ("--memory", "64MiB")

    @classmethod
    def lists(cls, url):
        return {kind + ":{name}": {"source": {"url": f"{url}/{kind}/{{name}}", "timeout": 4}} for kind in "fn"}

    def test_who_waits_for_a_source_takes_little(self):
        """Readers that have gone: each asked for a list that nobody had asked for."""
        self.upstream.set("*", never_answers)
        self.addCleanup(self.upstream.set, "*", says({}, 404))
        before = self.server.resident_bytes()
        readers = []
        for number in range(4000):
            readers.append(socket.create_connection((self.server.host, self.server.port)))
            readers[-1].sendall(f"GET /v1/sessions/n:gone{number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            if len(readers) > 50:
                readers[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                readers.pop(0).close()
        for each in readers:
            each.close()
        self.assertLess(self.server.resident_bytes() - before, 24 << 20)

    def test_those_beyond_thirty_two_have_their_turn_or_are_told(self):
        held = self.upstream.set("*", Held(["a"]))
        self.addCleanup(self.upstream.set, "*", says({}, 404))
        count = self.upstream.total
        asked = [self.ask(session_path(f"n:{self.new_name()}")) for _ in range(40)]
        wait_for(lambda: self.upstream.total == count + 32, "as many as may be are asked for")
        held.release()
        self.assertEqual([each.answer().status for each in asked], [200] * 40)
        self.upstream.set("*", never_answers)
        for each in [self.ask(session_path(f"n:{self.new_name()}")) for _ in range(40)]:
            self.assertProblem(each.answer(), 503, "source-unavailable")


@unittest.skipUnless(redis.IS_INSTALLED, redis.MISSING)
class Notes(SourceCase):
    """What nodes tell each other of a source, in a Redis in which somebody else has written."""

    @classmethod
    def setUpClass(cls):
        cls.redis = redis.Redis()
        cls.addClassCleanup(cls.redis.close)
        cls.options = ("--store", f"redis://127.0.0.1:{cls.redis.port}")
        super().setUpClass()

    def test_they_may_say_anything(self):
        least, most = -2**63, 2**63 - 1
        for time, interval, failures in ((least, 5, 0), (most, 5, 0), (0, most, most), (0, least, least), (0, 1 << 40, 1 << 40), ("", "", "")):
            name, _ = self.new_list(["a"])
            lines = [time, "fetched", interval, failures, "1-0123456789abcdef", "etag", "date", "0"]
            self.redis.say("SET", f"diffserver:{{{name}}}:note", "\n".join(map(str, lines)))
            answer = self.get_session(name)
            self.assertEqual((answer.status, ids(answer.json["state"])), (200, ["a"]))


class OutOfReach(SourceCase):
    """Nobody listens, or nobody is found."""

    @classmethod
    def lists(cls, url):
        return {
            **super().lists(url),
            "nobody": {"source": {"url": f"http://127.0.0.1:{free_port()}/", "every": 0.2}},
            "nowhere": {"source": {"url": "http://nowhere.invalid/", "every": 0.2, "timeout": 5}},
        }

    def test_nobody_is_there(self):
        for name in ("nobody", "nowhere"):
            self.assertProblem(self.get_session(name), 503, "source-unavailable")
            self.wait_for_lines(1, f"session={name}", "fails")

    def test_one_that_goes_and_comes(self):
        name, path, _ = self.fetched(["a"])
        stream = self.stream(name)
        stream.next_event()
        before = self.server.descriptors()
        self.upstream.stop_listening()
        self.upstream.hang_up()
        self.assertIn("stale", stream.next_event().json)
        self.assertEqual(ids(self.get_session(name).json["state"]), ["a"])
        self.upstream.set(path, ["b"])
        self.upstream.listen_again()
        event = stream.next_event()
        self.assertNotIn("stale", event.json)
        self.shows(name, "b")
        self.wait_for_lines(1, f"session={name}", "is back")
        self.assertEqual([len(self.lines(f"session={name}", each)) for each in ("fails", "is back")], [1, 1])
        self.assertLessEqual(self.server.descriptors(), before + 3)


def certified(directory, name, host):
    """A certificate of a host, signed by itself, and its key, in files with this name."""
    certificate, key = f"{directory}/{name}.pem", f"{directory}/{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-addext", f"subjectAltName={host}", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class Certificates(SourceCase):
    """HTTPS: with an unknown certificate, and with one that SSL_CERT_FILE names."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="diffserver-tls-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.secure = {}
        for name, host in (("known", "IP:127.0.0.1"), ("stranger", "IP:127.0.0.1"), ("other", "DNS:other.example")):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certified(cls.directory.name, name, host))
            cls.secure[name] = Upstream(context)
            cls.addClassCleanup(cls.secure[name].close)
            cls.secure[name].set("*", [name])
        with open(f"{cls.directory.name}/trusted.pem", "w", encoding="ascii") as file:
            for name in ("known", "other"):
                with open(f"{cls.directory.name}/{name}.pem", encoding="ascii") as certificate:
                    file.write(certificate.read())
        cls.variables = {"SSL_CERT_FILE": f"{cls.directory.name}/trusted.pem"}
        super().setUpClass()

    @classmethod
    def lists(cls, url):
        lists = {name: {"source": {"url": upstream.url + "/", "every": 0.2}} for name, upstream in cls.secure.items()}
        plain = {"url": f"https://127.0.0.1:{url.split(':')[2]}/", "every": 0.2, "timeout": 1}
        return {**super().lists(url), **lists, "plain": {"source": plain}}

    def test_who_is_known_is_asked_and_nobody_else(self):
        self.assertEqual(ids(self.get_session("known").json["state"]), ["known"])
        for name in ("stranger", "other"):
            self.assertProblem(self.get_session(name), 503, "source-unavailable")
            self.wait_for_lines(1, f"session={name}", "fails")
            self.assertEqual(self.secure[name].total, 0)
        self.assertRegex(self.lines("session=stranger")[0], "certificate")

    def test_who_does_not_speak_it(self):
        self.assertProblem(self.get_session("plain"), 503, "source-unavailable")

    def test_nothing_goes_from_one_to_the_other(self):
        stream = self.stream("known")
        self.secure["known"].set("/", lambda exchange: exchange.answer(b"", 302, Location=self.upstream.url + "/x"))
        self.upstream.set("/x", ["taken"])
        self.wait_for_lines(1, "session=known", "origin")
        self.assertEqual(self.upstream.count("/x"), 0)
        self.secure["known"].set("/", ["known"])
        self.wait_for_lines(1, "session=known", "is back")
        stream.close()



@unittest.skipUnless(IS_INSTALLED, MISSING)
class SecondVersion(SourceCase):
    """HTTP/2, as nginx speaks it."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="diffserver-h2-")
        cls.addClassCleanup(directory.cleanup)
        at, cls.port = directory.name, free_port()
        certified(at, "nginx", "IP:127.0.0.1")
        with open(f"{at}/nginx.conf", "w", encoding="ascii") as file:
            file.write(f"""daemon off; pid {at}/pid; error_log {at}/log; events {{ }}
                http {{ access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;
                uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
                server {{ listen 127.0.0.1:{cls.port} ssl http2; ssl_certificate {at}/nginx.pem; ssl_certificate_key {at}/nginx.key;
                location / {{ return 200 '["$server_protocol","$connection_requests"]'; }} location /none {{ return 404; }} }} }}""")
        cls.process = subprocess.Popen(
            [PROGRAM, "-e", f"{at}/log", "-p", at, "-c", f"{at}/nginx.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.process.wait)
        cls.addClassCleanup(cls.process.terminate)
        cls.variables = {"SSL_CERT_FILE": f"{at}/nginx.pem"}
        super().setUpClass()

    @classmethod
    def lists(cls, url):
        return {"{path}": {"source": {"url": f"https://127.0.0.1:{cls.port}/{{path}}", "every": 0.2}}}

    def test_many_requests_are_on_one_connection(self):
        wait_for(lambda: self.get_session("up").status == 200, "nginx is there")
        self.assertEqual(ids(self.get_session("up").json["state"])[0], "HTTP/2.0")
        asked = [self.ask(session_path(f"list-{number}")) for number in range(30)]
        counts = [int(ids(each.answer().json["state"])[1]) for each in asked]
        self.assertGreater(max(counts), 10)
        self.assertProblem(self.get_session("none"), 404, "session-not-found")
