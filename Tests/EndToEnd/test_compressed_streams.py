"""Compressed event streams: one gzip member, flushed with each event, which costs little memory: CONTRACT §3."""

import json
import time

from support.case import ServiceCase
from support.client import session_path
from support.clock import let_pass
from support.events import Stream


def rows(number=100, **changed):
    return [{"id": f"row-{i}", "content": {"title": f"Order {i} of {i * 7919 % 1000}", "price": changed.get(f"row{i}", i * 31 % 977),
                                           "status": "open", "updatedAt": f"2026-11-22T10:{i % 60:02}:00Z"}} for i in range(number)]


class CompressedStreams(ServiceCase):
    def opened(self, session, since, **headers):
        stream = Stream(self.server, session_path(session, "changes"), {"since": since, "every": 0.05}, headers)
        self.addCleanup(stream.close)
        return stream

    def test_it_is_compressed_where_the_client_takes_that(self):
        session, first = self.made(["a"])
        for accepted, coding in (("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("gzip;q=0", None), ("br", None), (None, None)):
            with self.subTest(accepted):
                stream = self.opened(session, first, Accept_Encoding=accepted)
                self.assertEqual(stream.headers.get("Content-Encoding"), coding)
                self.assertIn("Accept-Encoding", stream.headers["Vary"])
                self.assertEqual(stream.next().retry, "1000")

    def test_a_head_request_says_so_too(self):
        session, _ = self.made(["a"])
        answer = self.request("HEAD", session_path(session, "changes"), Accept="text/event-stream", Accept_Encoding="gzip")
        self.assertEqual(answer.headers.get("Content-Encoding"), "gzip")

    def test_http_1_0_gets_it_without_chunks(self):
        session, first = self.made(["a"])
        connection = self.raw()
        connection.send(f"GET {session_path(session, 'changes')}?since={first} HTTP/1.0\r\nHost: localhost\r\n"
                        "Accept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n")
        while connection.file.readline() not in (b"\r\n", b""):
            pass
        self.assertEqual(connection.file.read(3), b"\x1f\x8b\x08")

    def test_each_event_can_be_read_when_it_comes_and_is_small(self):
        session, first = self.made(rows())
        packed = self.opened(session, first, Accept_Encoding="gzip")
        plain = self.opened(session, first, Accept_Encoding=None)
        for stream in (packed, plain):
            while stream.next().id != first:
                pass
        packed.octets = plain.octets = 0
        for number in range(60):
            changed = {f"row{(number * 7 + k * 13) % 100}": 1000 + number * 10 + k for k in range(4)}
            self.wrote(session, rows(**changed))
            events = [stream.next_event().data for stream in (packed, plain)]
            self.assertEqual(events[0], events[1])
        self.assertLess(packed.octets * 7, plain.octets, f"{packed.octets} of {plain.octets} bytes")

    def test_a_reader_that_comes_later_is_as_right(self):
        session, first = self.made(rows())
        streams = []
        for number in range(8):
            streams.append(self.opened(session, first, Accept_Encoding="gzip"))
            head = self.wrote(session, rows(row3=5000 + number, row9=number))
            for stream in streams:
                while stream.next_event().json["to"] != head:
                    pass

    def test_a_large_reset_is_compressed_once_for_all(self):
        state = [{"id": i, "content": {"text": f"row {i} of many, {i * 7919}"}} for i in range(20_000)]
        session, _ = self.made(state)
        streams = [self.opened(session, "", Accept_Encoding="gzip") for _ in range(5)]
        for stream in streams:
            self.assertEqual(len(stream.next_event(30).json["state"]["sections"][0]["items"]), 20_000)
            self.assertLess(stream.octets, 400_000)
        self.wrote(session, state[1:])
        for stream in streams:
            self.assertEqual(stream.next_event(30).json["changes"], [{"op": "remove", "items": [0]}])

    def test_the_end_of_a_stream_is_the_end_of_its_member(self):
        session, first = self.made(["a"])
        stream = self.opened(session, first, Accept_Encoding="gzip")
        self.delete_session(session)
        self.assertEqual(stream.next_event().event, "end")
        self.assertIsNone(stream.next())


class ManyCompressedStreams(ServiceCase):
    """A thousand streams on a thousand lists: none shares what was sent."""

    options = ("--max-connections", "3000")
    NUMBER = 1000

    def test_a_thousand_streams_take_little_each(self):
        names = [self.made(rows(20))[0] for _ in range(self.NUMBER)]
        self.memory_of_streams(names, None)
        plain = self.memory_of_streams(names, None)
        self.assertLess(self.memory_of_streams(names, "gzip") - plain, 16 * 1024)

    def memory_of_streams(self, names, coding):
        """Bytes taken by each stream, with a full history."""
        before = self.settled()
        streams = [Stream(self.server, session_path(name, "changes"), {"dialect": "indexed"}, {"Accept-Encoding": coding})
                   for name in names]
        for step in range(8):
            for place, name in enumerate(names):
                self.wrote(name, rows(20, **{f"row{k}": time.monotonic_ns() + k for k in range(12)}))
            for stream in streams:
                stream.next_event()
        used = (self.settled() - before) / len(streams)
        for stream in streams:
            stream.close()
        return used

    def settled(self):
        let_pass(2.5, "memory given back each second")
        return self.server.resident_bytes()
