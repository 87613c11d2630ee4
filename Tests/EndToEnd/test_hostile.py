"""Random requests: whatever comes, the answer is no server error and the server continues."""

import random

from support.case import ServiceCase
from support.client import session_path
from support.jsontext import text
from support.states import changed, random_state

WORDS = ["since", "dialect", "idAt", "itemsAt", "sectionsAt", "sectionIdAt", "wait", "at", "id", "revision", "content",
         "staging", "maxChanges", "", "x"]
VALUES = ["", "0", "1", "-1", "0,0", "1,99999999999999999999", "keyed", "json-patch", "diffable", "/id", "/", "/0/x", "//", "~",
          "/~0~1", "1-0123456789abcdef", "99999999999999999999999-0123456789abcdef", "%", "é", "\x00", "patch", "compact", "a" * 3000]
HEADERS = ["If-Match", "If-None-Match", "Idempotency-Key", "Prefer", "Accept", "Accept-Encoding", "Content-Type",
           "Content-Encoding", "Last-Event-ID", "Range", "Expect", "Origin", "Cookie", "Authorization", "traceparent", "Upgrade"]
HEADER_VALUES = ["", "*", '"', '"a"', 'W/"1-0123456789abcdef"', "return=minimal", "wait=0", "application/json", "*/*;q=x", "gzip",
                 "bytes=0-1", "Bearer x", ",,,", ";", "a" * 2000, "\xe9", "text/html", "http://localhost"]


class Hostile(ServiceCase):
    options = ("--max-body", "100000", "--memory", "4MiB", "--max-sessions", "20")

    def body(self, chance):
        state = random_state(chance)
        kind = chance.random()
        if kind < 0.3:
            document = text({"state": state})
        elif kind < 0.5:
            document = text({"old": state, "new": changed(chance, state)})
        elif kind < 0.8:
            document = text({"edits": [self.edit(chance) for _ in range(chance.randint(0, 4))]})
        else:
            document = text(state)
        body = bytearray(document.encode())
        for _ in range(chance.choice([0, 0, 0, 1, 2, 8])):
            if body:
                at = chance.randrange(len(body))
                deed = chance.random()
                if deed < 0.4:
                    body[at] = chance.randrange(256)
                elif deed < 0.7:
                    del body[at:at + chance.randint(1, 8)]
                else:
                    body[at:at] = chance.choice([b'"', b"{", b"[", b"]", b"\\", b"\x00", b"1e9", b'"id":', b"\xff", b","])
        return bytes(body)

    def edit(self, chance):
        ids = ["a", "b", 1, "main", "s", "t", "é", None, 1.5, {}, {"id": "a"}, {"id": "x", "items": ["y"]}]
        verbs = ["insert", "delete", "move", "update", "reload", "reconfigure", "expand", "collapse", "clear", "x", 1]
        edit = {"op": chance.choice(verbs)}
        edit[chance.choice(["items", "sections", "items", "other"])] = [chance.choice(ids) for _ in range(chance.randint(0, 3))]
        if chance.random() < 0.5:
            edit[chance.choice(["before", "after", "into", "at"])] = chance.choice(ids + ["start", {"section": "s"}, {"item": "a"}])
        return edit

    def path(self, chance):
        name = chance.choice(["s1", "s2", "s3", "s%C3%A9", "%00", "..", "", "a" * 200])
        path = chance.choice(["/v1/diff", "/v1/sessions/{}", "/v1/sessions/{}/changes", "/v1/sessions/{}/changes",
                              "/v1/sessions/{}/items", "/v1/sessions/{}/items/a", "/v1/sessions/{}/sections/s",
                              "/v1/sessions/{}/sections", "/v1/sessions/{}/tokens", "/problems/{}", "/{}"]).format(name)
        parts = [f"{chance.choice(WORDS)}={chance.choice(VALUES)}" for _ in range(chance.choice([0, 0, 1, 2]))]
        query = "&".join(parts).replace("wait=1", "wait=0").replace(" ", "+").replace("\x00", "%00").replace("é", "%C3%A9")
        return path + ("?" + query if query else "")

    def test_no_request_is_a_server_error(self):
        chance = random.Random(99)
        for number in range(1500):
            method = chance.choice(["GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
            body = self.body(chance) if method in ("POST", "PUT", "PATCH") else None
            headers = {chance.choice(HEADERS): chance.choice(HEADER_VALUES) for _ in range(chance.choice([0, 0, 1, 2]))}
            path = self.path(chance)
            with self.subTest(number, method=method, path=path, headers=headers, body=body):
                answer = self.client.request(method, path, body, headers)
                self.assertTrue(200 <= answer.status < 500 or answer.status == 503, answer)
                if answer.status >= 400 and method != "HEAD":
                    self.assertEqual(answer.media_type, "application/problem+json")
        self.assertStatus(self.get("/livez"), 200)

    def test_bytes_that_are_no_http_are_answered_400_or_closed(self):
        chance = random.Random(98)
        good = (f"POST {session_path('raw', 'changes')} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                'Content-Length: 5\r\n\r\n["a"]').encode()
        for number in range(150):
            octets = bytearray(good if chance.random() < 0.8 else chance.randbytes(200))
            for _ in range(chance.randint(1, 6)):
                octets[chance.randrange(len(octets))] = chance.randrange(256)
            with self.subTest(number, octets=bytes(octets)):
                connection = self.raw(5)
                connection.send(bytes(octets) + b"\r\n\r\n")
                connection.socket.shutdown(1)
                try:
                    self.assertLess(connection.answer().status, 600)
                except (ConnectionError, IndexError):
                    pass
                connection.close()
        self.assertStatus(self.get("/livez"), 200)
