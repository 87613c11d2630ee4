"""Records in Redis that somebody has changed by hand: each is an error of its session alone, until it is replaced."""

import unittest

from support.client import Client, session_path
from support.events import Stream
from support.node import Node
from support.redis import IS_INSTALLED, MISSING, Redis, Shards
from support.states import canonical
from support.store import names_its_stores

# The fields that control the scripts.
CONTROL = "vtnfcb"
HUGE = "99999999999"
BAD = ("", "x", "-1", "-" + HUGE, HUGE, "9" * 400, "1e300", "nan", "inf")
TYPES = (("SET", "x"), ("RPUSH", "x"), ("SADD", "x"), ("ZADD", "1", "x"), ("XADD", "*", "x", "y"))
CUTS = {"empty": lambda text: b"", "half": lambda text: text[:len(text) // 2], "short": lambda text: text[:-1]}
FIRST, LAST = ([{"id": row, "content": [row, content if row == 7 else "x" * 20]} for row in range(40)] for content in (1, 2))
NEW = canonical(["new"])


class DamageCase(unittest.TestCase):
    """Two nodes: `writer` has every session in memory, `late` none."""

    def nodes(self, address):
        self.writer, self.late = (Node("--store", address, "--history-revisions", "4") for _ in range(2))
        self.clients = {node: Client(node) for node in (self.writer, self.late)}
        for node, client in self.clients.items():
            self.addCleanup(node.stop)
            self.addCleanup(client.close)
        self.count = 0

    def made(self):
        """The name of a session with an entry after its checkpoint."""
        name, self.count = f"s{self.count:03}", self.count + 1
        for state in (FIRST, LAST):
            answer = self.request(self.writer, "POST", session_path(name, "changes"), {"state": state})
            self.assertIn(answer.status, (200, 201), answer)
        self.assertLess(int(self.value(name, "c")), int(self.value(name, "n")))
        return name

    # MARK: Redis

    def server(self, name):
        """The Redis server that has a session."""
        return self.redis

    def say(self, name, verb, *words):
        answer = self.server(name).say(verb, f"diffserver:{{{name}}}", *words)
        self.assertFalse(answer.startswith(b"-"), (verb, answer))
        return answer

    def value(self, name, field):
        return self.say(name, "HGET", field).split(b"\r\n", 1)[1][:-2]

    def put(self, field, change):
        """Changes a field. If field names end in a number or a version, takes that in `n` or `b`."""
        def damage(name):
            full = field + self.value(name, {"e": "n"}.get(field, "b")).decode() if field in "mhe" else field
            self.say(name, "HSET", full, change(self.value(name, full)))
        return damage

    def becomes(self, verb, *words):
        """Puts a value of another type in place of the record."""
        def damage(name):
            server = self.server(name)
            server.say("DEL", f"diffserver:{{{name}}}")
            self.assertFalse(server.say(verb, f"diffserver:{{{name}}}", *words).startswith(b"-"))
        return damage

    def damages(self):
        """Ways to damage a session: names, and functions of the session's name."""
        for field in CONTROL:
            yield f"no {field}", lambda name, field=field: self.say(name, "HDEL", field)
            for value in BAD:
                yield f"{field} = {value[:20]}", self.put(field, lambda _, value=value: value)
        yield "nothing but v", lambda name: self.say(name, "HDEL", *"tnfcb")
        yield "v with a zero", self.put("v", lambda text: b"0" + text)
        yield "v with a sign", self.put("v", lambda text: b"+" + text)
        yield "v is short", self.put("v", CUTS["short"])
        yield "n before c", lambda name: self.say(name, "HSET", "n", str(int(self.value(name, "c")) - 1))
        yield "f behind c", lambda name: self.say(name, "HSET", "f", str(int(self.value(name, "c")) + 1))
        for verb, *words in TYPES:
            yield verb, self.becomes(verb, *words)
        for field in "mhe":
            for cut, change in CUTS.items():
                yield f"{cut} {field}", self.put(field, change)

    # MARK: Requests

    def request(self, node, *request):
        return self.clients[node].request(*request)

    def asked(self, node, name):
        """What a node answers to requests that do not replace a damaged record."""
        path, changes, other = session_path(name), session_path(name, "changes"), {"If-Match": '"1-0000000000000000"'}
        return {
            "GET": self.request(node, "GET", path),
            "changes": self.request(node, "GET", changes),
            "POST": self.request(node, "POST", changes, {"state": ["b"]}),
            "edit": self.request(node, "POST", changes, {"edits": [{"op": "clear"}]}),
            "conditional PUT": self.request(node, "PUT", path, {"state": ["b"]}, other),
            "conditional DELETE": self.request(node, "DELETE", path, None, other),
        }

    def assertIsDamage(self, answer, what):
        self.assertEqual((answer.status, answer.json["type"]), (500, "/problems/internal"), (what, answer))
        self.assertIn("damaged", answer.json["detail"])
        self.assertIsNone(answer.headers["Retry-After"])

    def assertDamaged(self, name):
        stream = self.request(self.late, "GET", session_path(name, "changes"), None, {"Accept": "text/event-stream"})
        for what, answer in {**self.asked(self.late, name), "stream": stream}.items():
            self.assertIsDamage(answer, what)
        line = self.late.server.wait_for_line(f"damaged record: .* session={name}$").group(0)
        self.assertEqual(sum(line in each for each in self.late.server.lines), 1)

    def assertReplaced(self, name, by):
        self.assertIn(self.request(by, "PUT", session_path(name), {"state": ["new"]}).status, (200, 201))
        for node in self.clients:
            self.assertEqual(self.request(node, "GET", session_path(name)).exact["state"], NEW)

    def assertRemoved(self, name, by):
        self.assertEqual(self.request(by, "DELETE", session_path(name)).status, 204)
        self.assertEqual(self.say(name, "EXISTS"), b":0\r\n")
        for node in self.clients:
            self.assertEqual(self.request(node, "GET", session_path(name)).status, 404)

    def assertAllEnd(self, damages, deleter):
        """Each damage is told as such until a PUT or a DELETE, while another session is served."""
        whole = self.made()
        for what, damage in damages:
            with self.subTest(what):
                put, deleted = self.made(), self.made()
                for name in (put, deleted):
                    damage(name)
                    self.assertDamaged(name)
                self.assertServes(whole)
                self.assertReplaced(put, self.late)
                self.assertRemoved(deleted, deleter)

    def assertServes(self, name):
        """The nodes are ready, list and serve the session, and never spoke of an outage."""
        for node in self.clients:
            self.assertEqual(self.request(node, "GET", "/readyz").status, 200)
            self.assertEqual(self.request(node, "GET", session_path(name)).exact["state"], canonical(LAST))
            listed = self.request(node, "GET", "/v1/sessions?limit=1000")
            self.assertIn(name, [each["session"] for each in listed.json["sessions"]], listed)
            self.assertFalse([line for line in node.server.lines if "unavailable" in line])


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class Records(DamageCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)
        self.nodes(f"redis://127.0.0.1:{self.redis.port}")

    def test_a_damaged_record_is_500_until_a_put_or_a_delete(self):
        self.assertAllEnd(self.damages(), deleter=self.late)

    def test_a_node_that_has_the_session_in_memory_goes_on_or_says_so(self):
        whole = self.made()
        for what, damage in self.damages():
            with self.subTest(what):
                put, deleted = self.made(), self.made()
                for name in (put, deleted):
                    damage(name)
                for kind, answer in self.asked(self.writer, put).items():
                    if answer.status not in (200, 412):
                        self.assertIsDamage(answer, kind)
                self.assertReplaced(put, self.writer)
                self.assertRemoved(deleted, self.writer)
        self.assertServes(whole)

    def test_a_checkpoint_of_a_damaged_record_leaves_nothing_behind(self):
        for value in ("x", "-" + HUGE):
            name = self.made()
            self.say(name, "HSET", "f", value)
            fields = self.say(name, "HKEYS")
            # The whole state changes, so a checkpoint is staged.
            answer = self.request(self.writer, "POST", session_path(name, "changes"), {"state": [{"id": "a", "content": "y" * 9000}]})
            self.assertIsDamage(answer, value)
            self.assertEqual(self.say(name, "HKEYS"), fields)

    def test_what_only_lists_go_by_harms_only_them(self):
        whole = self.made()
        for field in "ri":
            for value in ("", "x", "-1 -1", HUGE, "5 " + "9" * 40, "1-0000000000000000 "):
                with self.subTest(f"{field} = {value}"):
                    name = self.made()
                    self.say(name, "HSET", field, value)
                    self.assertServes(whole)
                    self.assertEqual(self.request(self.late, "GET", f"/v1/sessions?prefix={name}").json["sessions"], [])
                    self.assertEqual(self.request(self.late, "GET", session_path(name)).exact["state"], canonical(LAST))
                    self.assertEqual(self.request(self.late, "POST", session_path(name, "changes"), {"state": FIRST}).status, 200)
                    listed = self.request(self.late, "GET", f"/v1/sessions?prefix={name}").json["sessions"]
                    self.assertEqual([(each["session"], each["rows"]) for each in listed], [(name, 40)])

    def test_readers_hear_of_what_replaces_it(self):
        name = self.made()
        stream = Stream(self.writer, session_path(name, "changes"))
        self.addCleanup(stream.close)
        stream.next_event()
        self.say(name, "HDEL", *CONTROL[1:])
        self.assertReplaced(name, self.late)
        event = stream.next_event()
        if event.event == "end":
            self.assertEqual(event.json["type"], "/problems/session-not-found")
        else:
            self.assertEqual(event.changeset["state"], NEW)


@names_its_stores
@unittest.skipUnless(IS_INSTALLED, MISSING)
class ShardedRecords(DamageCase):
    def setUp(self):
        self.shards, self.owners = Shards(replicas=0), {}
        self.addCleanup(self.shards.close)
        self.nodes(self.shards.address)

    def server(self, name):
        if name not in self.owners:
            self.owners[name] = self.shards.owner(name)
        return self.owners[name]

    def test_a_damaged_record_is_500_until_a_put_or_a_delete(self):
        self.assertAllEnd(
            [(what, damage) for what, damage in self.damages()
             if what.startswith("v ") or "no " in what or what in ("SET", "n = " + HUGE, "f = -" + HUGE)],
            deleter=self.writer)


if __name__ == "__main__":
    unittest.main()
