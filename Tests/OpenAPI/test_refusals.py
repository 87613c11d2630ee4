"""Every problem that can be provoked, each by one request."""

import contextlib
import hashlib
import socket
import unittest

import story
from service import Service, read
from story import CHANGES, OLD, SESSION
from support.outside import wait_until_held, wait_until_nobody_listens, wait_until_read

KEY = "a writer's key"


class Refusals(unittest.TestCase):
    @contextlib.contextmanager
    def service(self, *options):
        service = Service("--digest-key", "example", *options, memory=story.seen)
        try:
            yield service
        finally:
            service.stop()

    def assertProblem(self, answer, status, name):
        self.assertEqual((answer.status, answer.json["type"]), (status, f"/problems/{name}"), answer)

    def test_requests(self):
        with self.service() as service:
            ask = service.ask
            revision = ask("PUT", SESSION, {"state": OLD}).json["revision"]
            cases = [
                (400, "malformed-request", ask("GET", CHANGES + "?dialect=neat")),
                (400, "malformed-json", ask("POST", CHANGES, "[1,2")),
                (400, "malformed-revision", ask("GET", CHANGES + "?since=yesterday")),
                (400, "unknown-parameter", ask("GET", CHANGES + "?sinse=")),
                (400, "unknown-parameter", ask("GET", "/metrics?x=1")),
                (404, "session-not-found", ask("GET", "/v1/sessions/nobody")),
                (404, "session-not-found", ask("POST", "/v1/sessions/nobody/changes", {"edits": []})),
                (404, "item-not-found", ask("GET", SESSION + "/items/99")),
                (404, "section-not-found", ask("GET", SESSION + "/sections/never")),
                (404, "route-not-found", ask("GET", "/v1/lists")),
                (404, "route-not-found", ask("GET", "/problems/none")),
                (405, "method-not-allowed", ask("PATCH", SESSION)),
                (406, "not-acceptable", ask("GET", CHANGES, Accept="image/png")),
                (410, "revision-gone", ask("GET", SESSION + "/items/1?revision=7-0123456789abcdef")),
                (412, "revision-mismatch", ask("POST", CHANGES, ["a"], If_Match='"7-0123456789abcdef"')),
                (412, "revision-mismatch", ask("POST", "/v1/sessions/nobody/changes", ["a"], If_Match="*")),
                (412, "revision-mismatch", ask("DELETE", SESSION, If_Match='"7-0123456789abcdef"')),
                (412, "session-exists", ask("PUT", SESSION, {"state": []}, If_None_Match="*")),
                (415, "unsupported-media-type", ask("POST", CHANGES, "<a/>", Content_Type="text/xml")),
                (415, "unsupported-encoding", ask("POST", CHANGES, "[]", Content_Encoding="br")),
                (417, "expectation-failed", ask("POST", CHANGES, "[]", Expect="a miracle")),
                (422, "invalid-state", ask("POST", CHANGES, ["a", "b", "a"])),
                (422, "invalid-state", ask("POST", CHANGES, [{"id": "a", "title": "A"}])),
                (422, "invalid-edit", ask("POST", CHANGES, {"edits": [{"op": "move", "items": [1], "before": 99}]})),
                (422, "wrong-shape", ask("POST", CHANGES, {"list": []})),
                (422, "wrong-shape", ask("PUT", SESSION, {"state": [], "ttl": -1})),
            ]
            ask("POST", CHANGES, ["a"], Idempotency_Key="5f0c9a3e")
            cases.append((422, "idempotency-key-reused", ask("POST", CHANGES, ["b"], Idempotency_Key="5f0c9a3e")))
            self.assertNotEqual(revision, ask("GET", SESSION).json["revision"])
        for status, name, answer in cases:
            with self.subTest(name):
                self.assertProblem(answer, status, name)

    def test_limits(self):
        with self.service(
            "--max-body", "1000", "--max-items", "20", "--max-request-line", "300", "--max-headers", "600",
            "--head-timeout", "1s", "--body-window", "1s", "--max-streams", "1", "--memory", "100KiB",
        ) as service:
            ask = service.ask
            revision = ask("PUT", SESSION, {"state": ["a"]}).json["revision"]
            self.assertProblem(ask("POST", "/v1/diff", " " * 2000), 413, "content-too-large")
            self.assertProblem(ask("GET", "/livez", "a body that nobody asked for" * 1000), 413, "content-too-large")
            self.assertProblem(ask("POST", CHANGES, list(range(30))), 422, "limit-exceeded")
            self.assertProblem(ask("GET", SESSION + "?" + "x" * 400), 414, "uri-too-long")
            self.assertProblem(ask("GET", SESSION, X_Long="x" * 900), 431, "headers-too-large")
            self.assertProblem(service.say("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n"), 408, "request-timeout")
            self.assertProblem(
                service.say("POST /v1/diff HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{", "POST", "/v1/diff"),
                408, "request-timeout")
            with service.connection() as reader:
                reader.sendall(f"GET {CHANGES}?since={revision}&wait=20 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                wait_until_held(service)
                self.assertProblem(ask("GET", CHANGES + f"?since={revision}&wait=20"), 429, "too-many-streams")
                self.assertProblem(ask("GET", CHANGES, Accept="text/event-stream"), 429, "too-many-streams")

    def test_framing(self):
        with self.service() as service:
            self.assertProblem(service.say("GET /livez HTTP/1.1\r\n\r\n"), 400, "malformed-request")
            self.assertProblem(service.say("GET /livez HTTP/3.0\r\nHost: 127.0.0.1\r\n\r\n"), 505, "http-version-not-supported")
            self.assertProblem(
                service.say("POST /v1/diff HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "POST", "/v1/diff"),
                501, "unsupported-transfer-coding")

    def test_room(self):
        with self.service("--memory", "20KiB") as service:
            answer = service.ask("PUT", SESSION, {"state": [{"id": 1, "content": "x" * 40000}]})
            self.assertProblem(answer, 503, "capacity")
        with self.service("--max-connections", "1") as service:
            with service.connection() as first:
                first.sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                read(first, "GET")
                self.assertProblem(service.say(""), 503, "capacity")

    def test_preconditions_that_are_required(self):
        with self.service("--require-if-match") as service:
            service.ask("PUT", SESSION, {"state": ["a"]})
            self.assertProblem(service.ask("PUT", SESSION, {"state": ["b"]}), 428, "precondition-required")
            self.assertProblem(service.ask("POST", CHANGES, ["b"]), 428, "precondition-required")
            self.assertProblem(service.ask("DELETE", SESSION), 428, "precondition-required")

    def test_credentials(self):
        key = f"writer:{hashlib.sha256(KEY.encode()).hexdigest()}:gro"
        with self.service("--key", key, "--rate", "3") as service:
            held = {"Authorization": "Bearer " + KEY}
            self.assertProblem(service.ask("GET", SESSION), 401, "unauthenticated")
            self.assertProblem(service.ask("GET", "/v1/lists"), 401, "unauthenticated")
            self.assertProblem(service.ask("GET", "/v1/sessions/others", **held), 403, "forbidden")
            self.assertEqual(service.ask("GET", "/problems/forbidden").status, 200)
            answers = [service.ask("GET", SESSION, **held) for _ in range(10)]
            self.assertProblem(answers[-1], 429, "too-many-requests")
        with self.service() as service:
            self.assertProblem(service.ask("GET", SESSION, Origin="https://example.org"), 403, "forbidden")

    def test_the_end(self):
        with self.service() as service:
            with service.connection() as late:
                late.sendall(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                wait_until_read(service, late)
                service.process.terminate()
                wait_until_nobody_listens(service)
                late.sendall(b"\r\n")
                self.assertProblem(service.note("GET", "/readyz", read(late, "GET")), 503, "draining")
