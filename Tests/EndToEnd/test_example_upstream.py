"""Examples/upstream by itself: lists that change, answers that have not changed, and a hook that checks its caller."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import time
import unittest

from support.clock import wait_for
from support.server import ROOT

KEY = b"the secret of the hook's calls"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class RunningUpstream(unittest.TestCase):
    """The example, used by the test alone."""

    every = "3600"

    def setUp(self):
        self.process = subprocess.Popen(
            [str(ROOT / "Examples/upstream/run"), "--port", "0", "--every", self.every, "--seed", "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**os.environ, "UPSTREAM_SECRET": SECRET})
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait, 20)
        self.addCleanup(self.process.terminate)
        port = re.search(r"http://127\.0\.0\.1:(\d+)$", self.process.stdout.readline()).group(1)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
        self.addCleanup(self.connection.close)
        self.calls = 0

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None

    def rows(self, path="/board", member="departures"):
        status, _, document = self.request("GET", path)
        self.assertEqual(status, 200)
        return document[member]

    def orders(self, user="ann"):
        return [(row["title"], row["count"]) for row in self.rows(f"/users/{user}/orders", "orders")]

    def signed(self, body, name=None, seconds=None, key=KEY):
        self.calls += 1
        name, seconds = name or f"call-{self.calls}", str(int(time.time()) if seconds is None else seconds)
        digest = hmac.new(key, f"{name}.{seconds}.".encode() + body, hashlib.sha256).digest()
        return {"webhook-id": name, "webhook-timestamp": seconds,
                "webhook-signature": "v1,AAAA v1," + base64.b64encode(digest).decode()}

    def hook(self, session, *edits, **how):
        """The status of a call, and its detail."""
        call = {"session": session, "revision": "1-0123456789abcdef", "edits": edits, "token": None}
        body = json.dumps(call).encode()
        status, headers, document = self.request("POST", "/hook", body, self.signed(body, **how))
        if document:
            self.assertEqual(headers["Content-Type"], "application/problem+json")
            self.assertEqual(document["status"], status)
        return status, document and document["detail"]


class Answers(RunningUpstream):
    def test_what_has_not_changed_is_not_sent_again(self):
        status, headers, document = self.request("GET", "/board")
        self.assertEqual((status, document["station"], len(document["departures"])), (200, "Amberley", 10))
        self.assertRegex(headers["Cache-Control"], r"^max-age=\d+$")
        status, again, nothing = self.request("GET", "/board", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((status, again["ETag"], nothing), (304, headers["ETag"], None))
        sixth = document["departures"][5]["id"]
        self.assertEqual(self.hook("board", {"op": "move", "items": [sixth], "at": "start"}), (204, None))
        status, again, _ = self.request("GET", "/board", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual(status, 200)
        self.assertNotEqual(again["ETag"], headers["ETag"])

    def test_users_have_lists_of_their_own(self):
        self.assertEqual(self.orders(), [("tea", 1), ("bread", 1), ("jam", 1)])
        self.assertEqual(self.orders("bob"), [("coffee", 1), ("rolls", 1)])
        for path in ("/users/nobody/orders", "/users//orders", "/", "/orders:ann", "/users/ann", "/users/ann/orders/x"):
            status, headers, document = self.request("GET", path)
            self.assertEqual((status, document["status"]), (404, 404))
            self.assertEqual(headers["Content-Type"], "application/problem+json")

    def test_edits_of_orders_are_in_the_next_answer(self):
        milk = {"id": "9", "title": "milk", "count": 2}
        edits = ({"op": "insert", "items": [{"id": "9", "content": milk}], "before": "2"},
                 {"op": "update", "items": [{"id": "3", "content": {"id": "3", "title": "jam", "count": 4}}]},
                 {"op": "move", "items": ["3", 1], "into": {"section": "main"}, "at": "start"},
                 {"op": "delete", "items": ["2", "77"]}, {"op": "move", "items": ["9"], "after": "3"})
        self.assertEqual(self.hook("orders:ann", *edits), (204, None))
        self.assertEqual(self.orders(), [("jam", 4), ("milk", 2), ("tea", 1)])
        self.assertEqual(self.orders("bob"), [("coffee", 1), ("rolls", 1)])
        self.assertEqual(self.hook("orders:bob", {"op": "move", "items": ["1"]}), (204, None))
        self.assertEqual(self.orders("bob"), [("rolls", 1), ("coffee", 1)])

    def test_what_is_refused_says_why_and_changes_nothing(self):
        def order(content, **more):
            return {"op": "insert", "items": [{"id": "9", "content": content, **more}]}
        good = {"id": "9", "count": 1}
        for edit, detail in (
                ({"op": "move", "items": ["77"]}, "77 is not there any more"),
                ({"op": "move", "items": ["1"], "before": "77"}, "77 is not there any more"),
                ({"op": "update", "items": [{"id": "9", "content": good}]}, "9 is not there any more"),
                (order({"id": "9", "count": 0}), "an order has a count of at least 1"),
                (order({"id": "8", "count": 1}), "the content of an order holds its id, a string"),
                (order(good, kind="x"), "an order has an id and a content"),
                ({"op": "insert", "items": ["9"]}, "an order has an id and a content"),
                ({"op": "insert", "items": [{"id": "1", "content": {"id": "1", "count": 1}}]},
                 "this order is there already"),
                ({**order(good), "into": {"item": "1"}}, "this list has one section, and nothing stands below a row"),
                ({"op": "clear"}, "this list has no sections to edit"),
                ({"op": "collapse", "items": ["1"]}, "collapse means nothing to this list")):
            with self.subTest(edit):
                self.assertEqual(self.hook("orders:ann", {"op": "move", "items": ["1"]}, edit), (422, detail))
        self.assertEqual(self.hook("orders:nobody", {"op": "move", "items": ["1"]}), (422, "there is no such list"))
        self.assertEqual(self.orders(), [("tea", 1), ("bread", 1), ("jam", 1)])

    def test_a_departure_can_be_moved_and_nothing_else(self):
        first, second, *rest = [row["id"] for row in self.rows()]
        self.assertEqual(self.hook("board", {"op": "move", "items": [first], "after": second}), (204, None))
        self.assertEqual([row["id"] for row in self.rows()], [second, first, *rest])
        status, detail = self.hook("board", {"op": "delete", "items": [first]})
        self.assertEqual((status, detail), (422, "departures can be moved, and nothing else"))

    def test_only_who_has_the_secret_may_call(self):
        body = json.dumps({"session": "orders:ann", "edits": [{"op": "delete", "items": ["1"]}]}).encode()
        good = self.signed(body)
        now = int(time.time())
        for headers in ({}, self.signed(body, key=b"another"), self.signed(body + b" "),
                        self.signed(body, seconds=now - 400), self.signed(body, seconds=now + 400),
                        {**good, "webhook-id": "other"}, {**good, "webhook-timestamp": "now"},
                        {**good, "webhook-timestamp": str(int(good["webhook-timestamp"]) + 1)},
                        {name: value for name, value in good.items() if name != "webhook-signature"},
                        {**good, "webhook-signature": good["webhook-signature"].replace("v1,", "v2,")}):
            with self.subTest(headers):
                self.assertEqual(self.request("POST", "/hook", body, headers)[0], 401)
        self.assertEqual(len(self.orders()), 3)
        self.assertEqual(self.request("POST", "/hook", body, good)[0], 204)
        self.assertEqual(len(self.orders()), 2)
        self.assertEqual(self.request("POST", "/board", body, good)[0], 404)

    def test_a_call_that_is_made_again_is_answered_again_and_not_carried_out(self):
        edit, other = {"op": "move", "items": ["1"]}, {"op": "move", "items": ["77"]}
        for _ in range(2):
            self.assertEqual(self.hook("orders:ann", edit, name="one"), (204, None))
            self.assertEqual(self.hook("orders:ann", other, name="two"), (422, "77 is not there any more"))
            self.assertEqual([title for title, _ in self.orders()], ["bread", "jam", "tea"])
        self.assertEqual(self.hook("orders:ann", {**edit, "items": ["2"]}, name="three")[0], 204)
        self.assertEqual([title for title, _ in self.orders()], ["jam", "tea", "bread"])

    def test_a_port_that_is_taken_is_said_in_one_line(self):
        ran = subprocess.run([str(ROOT / "Examples/upstream/run"), "--port", str(self.connection.port)],
                             capture_output=True, text=True, timeout=20,
                             env={**os.environ, "UPSTREAM_SECRET": SECRET}, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertEqual(ran.stderr, f"127.0.0.1:{self.connection.port}: Address already in use\n")

    def test_it_wants_a_secret(self):
        variables = {name: value for name, value in os.environ.items() if name != "UPSTREAM_SECRET"}
        ran = subprocess.run([str(ROOT / "Examples/upstream/run"), "--port", "0"], capture_output=True, text=True,
                             timeout=20, env=variables, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("UPSTREAM_SECRET", ran.stderr)


class ChangingBoard(RunningUpstream):
    every = "0.4"

    def test_it_changes_by_itself(self):
        seen = []

        def has_changed():
            rows = self.rows()
            if not seen or rows != seen[-1]:
                seen.append(rows)
            return len(seen) == 4
        wait_for(has_changed, "it changes three times", not_yet=())
        for rows in seen:
            self.assertEqual(len({row["id"] for row in rows}), len(rows))
            self.assertIn(len(rows), (10, 11))
            self.assertLessEqual({row["kind"] for row in rows}, {"train", "bus", "left"})
        self.assertNotEqual({row["id"] for row in seen[0]}, {row["id"] for row in seen[3]})

    def test_what_has_left_cannot_be_moved(self):
        def is_refused():
            left = [row["id"] for row in self.rows() if row["kind"] == "left"]
            if not left:
                return False
            status, detail = self.hook("board", {"op": "move", "items": left})
            self.assertEqual(status, 422)
            # Between the two requests it may have gone altogether.
            return detail == "a departure that has left cannot be moved"
        wait_for(is_refused, "a departure that has left cannot be moved", not_yet=())


if __name__ == "__main__":
    unittest.main()
