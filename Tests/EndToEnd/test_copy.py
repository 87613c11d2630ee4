"""diffserver copy: sessions of one store in another, where readers go on from where they were."""

import hashlib
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from support.client import Client, session_path, target
from support.clock import wait_for
from support.node import Node
from support.ports import free_port
from support.redis import IS_INSTALLED, MISSING, Group, Redis, Shards
from support.server import binary, environment
from support.store import names_its_stores
from support.tokens import SECRET, bearer, token

DIGESTS = ("--digest-key", "the key of both")
WRITER = "a-writer's-key"
ACCESS = ("--key", f"writer:{hashlib.sha256(WRITER.encode()).hexdigest()}", "--token-secret", SECRET)
DAY = 86400
# The rights that docs/operations.md has a user be given.
RIGHTS = ("~*", "&*", "+@read", "+@write", "+@scripting", "+@pubsub", "+@connection", "+multi", "+exec", "+role", "+time",
          "+cluster|slots", "+cluster|info", "+asking")


class Place:
    """A store, as options of `serve`."""

    def __init__(self, address, *options):
        self.options = ("--store", address, *options)

    def side(self, name):
        """The same, as options of a side of `copy`."""
        return [re.sub("^--store", name, option) for option in self.options]


def copy(old, new, *options):
    return subprocess.run([binary(), "copy", *old.side("--from"), *new.side("--to"), *options], capture_output=True, text=True,
                          timeout=120, env=environment(), check=False)


def rows(count, size=10):
    return [{"id": number, "content": {"at": number % 3, "text": "x" * size}} for number in range(count)]


class StoreCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-copy-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name):
        return Place(f"sqlite:{self.folder}/{name}.db")

    def redis(self):
        redis = Redis()
        self.addCleanup(redis.close)
        return redis, Place(f"redis://127.0.0.1:{redis.port}")

    def started(self, place, *options):
        node = Node(*place.options, *ACCESS, *options)
        self.addCleanup(node.stop)
        client = Client(node)
        self.addCleanup(client.close)
        return node, client

    def put(self, client, name, state=("a", "b"), **settings):
        answer = client.request("PUT", session_path(name), {"state": list(state), **settings}, bearer(WRITER))
        self.assertEqual(answer.status, 201, answer)
        return answer.json["revision"]

    def filled(self, place, names, *options):
        """A store with these sessions, and no server."""
        node, client = self.started(place, *options)
        for name in names:
            self.put(client, name)
        node.stop()

    def names(self, place, *options):
        node, client = self.started(place, *options)
        found = [each["session"] for each in client.request("GET", "/v1/sessions", None, bearer(WRITER)).json["sessions"]]
        node.stop()
        return found

    def assertRan(self, ran, status, said):
        self.assertEqual(ran.returncode, status, ran)
        self.assertRegex(ran.stderr if status else ran.stdout, said)


@names_its_stores
class Copies(StoreCase):
    """A server over the copy answers as the one over the source did."""

    def write(self, client):
        """Sessions of all kinds, and requests of whose answers each is the same wherever the sessions are."""
        asked = []

        def ask(method, name, *rest, body=None, query=None, given=None, **headers):
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            asked.append((method, target(session_path(name, *rest), query), body, {**bearer(given or WRITER), **headers}))

        def post(name, body, query=None, **headers):
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            answer = client.request("POST", target(session_path(name, "changes"), query), body, {**bearer(WRITER), **headers})
            self.assertIn(answer.status, (200, 201), answer)
            return answer.json["to"]

        cursors = {}
        cursors["plain"] = [post("plain", rows(number)) for number in (3, 5, 4)]
        cursors["grouped"] = [post("grouped", [{"id": n, "at": n % 2} for n in range(count)], {"groupAt": "/at"}) for count in (4, 6)]
        shaped = {"shape": {"itemsAt": "/all", "idAt": "/key"}, "ignore": ["/seen"], "keep": ["expanded"], "ttl": DAY}
        cursors["settled"] = [self.put(client, "settled", ())]
        self.assertEqual(client.request("PUT", session_path("settled"), shaped, bearer(WRITER)).status, 200)
        cursors["settled"] += [post("settled", {"all": [{"key": n, "seen": n, "a": count} for n in range(count)]}) for count in (2, 3)]
        self.assertEqual(client.request("PUT", session_path("settled"), {"ignore": ["/a"]}, bearer(WRITER)).status, 200)
        cursors["settled"].append(post("settled", {"all": [{"key": 1, "seen": 5, "a": 7}]}))
        # Longer than what is remembered, and than a log without a checkpoint.
        cursors["long"] = [post("long", rows(5 + number % 7, number)) for number in range(260)]
        cursors["short"] = [post("short", {"edits": [{"op": "insert", "items": [{"id": number}]}]} if number else []) for number in range(3)]
        keyed = [{"edits": [{"op": "insert", "items": [{"id": key}]}]} for key in ("k1", "k2")]
        cursors["keyed"] = [post("keyed", ["a"], Idempotency_Key="k0")] + [
            post("keyed", body, Idempotency_Key=body["edits"][0]["items"][0]["id"]) for body in keyed] + [post("keyed", ["b", "k1"])]
        for body in keyed:
            ask("POST", "keyed", "changes", body=body, Idempotency_Key=body["edits"][0]["items"][0]["id"])
        ask("POST", "keyed", "changes", body=["a"], Idempotency_Key="k0")
        ask("POST", "keyed", "changes", body=keyed[0], Idempotency_Key="k2")
        cursors["open"] = [self.put(client, "open", public=True), post("open", ["b"])]
        asked.append(("GET", session_path("open"), None, {}))
        cursors["sections"] = [
            post("sections", {"sections": [{"id": f"s{n}", "content": n, "items": [{"id": f"{n}-{m}", "items": ["c" * n + "d" * m]}
                                                                                 for m in range(1, number + n)]} for n in range(1, 9)]})
            for number in (3, 1, 4)]
        cursors["large"] = [post("large", rows(count, 5000)) for count in (1000, 1002, 1001)]
        for number in range(40):
            cursors[f"many:{number:03}"] = [post(f"many:{number:03}", rows(number % 5)), post(f"many:{number:03}", rows(number % 7 + 1))]
        cursors["replaced"] = [post("replaced", ["a"])]
        answer = client.request("PUT", session_path("replaced"), {"state": ["b"]}, bearer(WRITER))
        cursors["replaced"] += [answer.json["revision"], post("replaced", ["b", "c"])]
        for name, revisions in cursors.items():
            ask("GET", name)
            ask("GET", name, "settings")
            for since in revisions[:3] + revisions[-70::9] + revisions[-2:]:
                for query in ({}, {"content": "patch", "dialect": "indexed"}):
                    ask("GET", name, "changes", query={"since": since, **query})
            ask("GET", name, "changes", query={"since": "7-0000000000000000"})
        # Of sessions that are there, of one that is not, and of one token alone.
        for name in ("plain", "gone"):
            ask("GET", name, given=token(name, iat=1))
            self.assertEqual(client.request("DELETE", session_path(name, "tokens"), None, bearer(WRITER)).status, 204)
        self.assertEqual(client.request("DELETE", session_path("many:001", "tokens", "one"), None, bearer(WRITER)).status, 204)
        ask("GET", "many:001", given=token("many:001", jti="one"))
        ask("GET", "many:001", given=token("many:001", jti="two"))
        return asked

    def answers(self, client, asked):
        """What tells of a session; not when it ends, nor the id of the request."""
        found = []
        for request in asked:
            answer = client.request(*request)
            body = answer.exact if answer.body else None
            if isinstance(body, dict):
                body = {name: value for name, value in body.items() if name not in ("instance", "expiresAt")}
            found.append((request, answer.status, body, answer.headers["ETag"]))
        return found

    def check(self, old, new, *digests, given=(), through=()):
        """`given`: more options of `copy`; `through`: stores to copy to on the way."""
        node, client = self.started(old, *digests)
        asked = self.write(client)
        expected = self.answers(client, asked)
        self.assertEqual({status for _, status, _, _ in expected}, {200, 201, 401, 422})
        # Those of "long" and "replaced" that are older than the history, and unknown ones, are resets.
        self.assertGreater(sum("changes" in (body or {}) for _, _, body, _ in expected), 250)
        node.stop()
        for place in (*through, new):
            ran = copy(old, place, *digests, *given)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertRegex(ran.stdout, r"^copied 50 sessions, [0-9]{7,} bytes, 3 revocations\n$")
            old = place
        node, client = self.started(new, *digests)
        for before, after in zip(expected, self.answers(client, asked)):
            with self.subTest(before[0][:2]):
                self.assertEqual(after, before)
        # And each goes on.
        for name in ("long", "short", "keyed", "large", "settled"):
            head = client.request("GET", session_path(name), None, bearer(WRITER)).json["revision"]
            edit = {"edits": [{"op": "insert", "items": [{"id": "new", "content": {"n": 1}}]}]}
            for number in range(80 if name == "short" else 3):
                answer = client.request("POST", session_path(name, "changes"), edit, {**bearer(WRITER), "If-Match": f'"{head}"'})
                self.assertEqual(answer.status, 200, answer)
                edit = {"edits": [{"op": "update", "items": [{"id": "new", "content": {"n": number}}]}]}
                head = answer.json["to"]
        node.kill()
        node.start()
        answer = client.request("GET", session_path("short"), None, bearer(WRITER))
        self.assertEqual((answer.status, answer.json["revision"].split("-")[0]), (200, "83"))

    def test_from_sqlite_to_sqlite_with_the_key_of_the_file(self):
        self.check(self.file("old"), self.file("new"))

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_from_sqlite_to_redis(self):
        self.check(self.file("old"), self.redis()[1], *DIGESTS)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_from_redis_to_sqlite(self):
        self.check(self.redis()[1], self.file("new"), *DIGESTS)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_from_prefix_to_prefix_by_a_user_with_the_documented_rights(self):
        redis, place = self.redis()
        self.assertEqual(redis.say("ACL", "SETUSER", "copier", "on", ">secret", *RIGHTS), b"+OK\r\n")
        (self.folder / "password").write_text("secret\n")
        (self.folder / "password").chmod(0o600)
        limited = Place(f"redis://copier@127.0.0.1:{redis.port}", "--store-password-file", str(self.folder / "password"),
                        "--store-prefix", "green:")
        self.check(place, limited, *DIGESTS, through=(self.file("between"),))

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_into_a_cluster_and_out_of_it(self):
        shards = Shards(replicas=0)
        self.addCleanup(shards.close)
        self.check(self.file("old"), self.file("new"), *DIGESTS, through=(Place(shards.address),))

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_over_tls_and_by_the_name_of_a_group(self):
        certificate, key = self.folder / "certificate", self.folder / "key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                        "-subj", "/CN=redis", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        port = free_port()
        secure = Redis(f"tls-port {port}", f"tls-cert-file {certificate}", f"tls-key-file {key}", "tls-auth-clients no")
        group = Group()
        for each in (secure, group):
            self.addCleanup(each.close)
        through = (Place(f"rediss://localhost:{port}", "--store-ca", str(certificate)), Place(group.address))
        self.check(self.file("old"), self.file("new"), *DIGESTS, through=through)


@names_its_stores
class Conditions(StoreCase):
    """What is refused, and what is left behind."""

    def test_only_names_with_the_prefix(self):
        old, new = self.file("old"), self.file("new")
        node, client = self.started(old)
        for name in ("a:1", "a:2", "b:1"):
            self.put(client, name)
            self.assertEqual(client.request("DELETE", session_path(name, "tokens"), None, bearer(WRITER)).status, 204)
        node.stop()
        self.assertRan(copy(old, new, "--prefix", "a:"), 0, "^copied 2 sessions, [0-9]+ bytes, 2 revocations\n$")
        self.assertRan(copy(old, new, "--prefix", "b"), 0, "^copied 1 session, [0-9]+ bytes, 1 revocation\n$")
        self.assertEqual(self.names(new), ["a:1", "a:2", "b:1"])

    def test_a_target_with_sessions_of_these_names(self):
        old, new, empty = self.file("old"), self.file("new"), self.file("empty")
        self.filled(old, ["a", "b", "c"])
        self.assertRan(copy(old, new, "--prefix", "b"), 0, "^copied 1 session,")
        self.assertRan(copy(old, new), 1, 'the target has "b" already, and nothing was copied; --resume skips what is equal\n$')
        self.assertEqual(self.names(new), ["b"])
        self.assertRan(copy(old, new, "--resume"), 0, "^copied 2 sessions, [0-9]+ bytes, 0 revocations, 1 was there already\n$")
        node, client = self.started(new)
        answer = client.request("POST", session_path("c", "changes"), ["other"], bearer(WRITER))
        self.assertEqual(answer.status, 200)
        node.stop()
        self.assertRan(copy(old, empty, "--prefix", "a"), 0, "^copied 1 session,")
        for options in ([], ["--resume"]):
            self.assertRan(copy(new, old, *options), 1, 'the target has .*"')
        self.assertRan(copy(empty, old, "--resume"), 0, "^copied 0 sessions, 0 bytes, 0 revocations, 1 was there already\n$")

    def changed(self, place, change, *values):
        with sqlite3.connect(place.options[1].removeprefix("sqlite:")) as database:
            database.execute(change, values)
        database.close()

    def test_what_cannot_be_read_stays_behind(self):
        old, new = self.file("old"), self.file("new")
        self.filled(old, ["a", "b", "c", "d"])
        of = "WHERE session = (SELECT id FROM session WHERE name = ?)"
        self.changed(old, f"UPDATE checkpoint SET head = replace(head, '\"b\"', '\"x\"') {of}", "a")
        self.changed(old, f"UPDATE checkpoint SET meta = replace(meta, '\"format\":7', '\"format\":8') {of}", "b")
        self.changed(old, f"DELETE FROM checkpoint {of}", "c")
        ran = copy(old, new)
        self.assertRan(ran, 1, 'diffserver: "a" is damaged, and stays behind\n')
        self.assertRegex(ran.stderr, r'"b" has a record of another version of diffserver \(format 8; this one copies 6 and 7\)')
        self.assertRegex(ran.stderr, '"c" is damaged')
        self.assertRegex(ran.stdout, "^copied 1 session, .*, 3 stayed behind\n$")
        self.assertEqual(self.names(new), ["d"])

    def test_stores_that_cannot_be_used(self):
        old, new, missing = (self.file(name) for name in ("old", "new", "missing"))
        self.filled(old, ["a"])
        self.assertRan(copy(missing, new), 1, "missing.db: No such file")
        self.assertFalse((self.folder / "missing.db").exists())
        self.assertRan(copy(old, new, "--digest-key", "another"), 1, "old.db: created with a different --digest-key")
        self.assertFalse((self.folder / "new.db").exists())
        self.assertRan(copy(old, old), 1, "another process has it open")
        node, _ = self.started(new)
        for sides in ((old, new), (new, old)):
            self.assertRan(copy(*sides), 1, "new.db: another process has it open")
        node.stop()
        # Its own key, which the file of the source has not.
        self.assertRan(copy(old, new), 1, "new.db: created with a different --digest-key")
        (self.folder / "text.db").write_text("no database " * 20)
        self.assertRan(copy(old, self.file("text")), 1, "text.db: not an SQLite database")
        self.changed(old, "PRAGMA user_version = 5")
        self.assertRan(copy(old, new), 1, r"old.db: written by another version of diffserver \(format 5; this one reads 4\)")

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_redis_that_cannot_be_used(self):
        old, (redis, place) = self.file("old"), self.redis()
        self.filled(old, ["a"], *DIGESTS)
        theirs = Place(place.options[1], "--store-prefix", "theirs:")
        other = Place(place.options[1], "--store-prefix", "other:")
        self.filled(theirs, ["b"], "--digest-key", "theirs")
        self.assertRan(copy(place, old, *DIGESTS), 1, "no sessions of diffserver are there under this prefix")
        self.assertRan(copy(old, place, "--digest-key", "x"), 1, "old.db: created with a different --digest-key")
        self.assertRan(copy(old, theirs, *DIGESTS), 1, "in use with a different --digest-key")
        self.assertRan(copy(theirs, place, *DIGESTS), 1, "in use with a different --digest-key")
        redis.say("SET", "other:records", "5 abc")
        for sides in ((old, other), (other, old)):
            self.assertRan(copy(*sides, *DIGESTS), 1, r"in use by another version of diffserver \(format 5; this one reads (6 and )?7\)")
        self.assertIn(b"*0", redis.say("KEYS", "diffserver:*"))
        self.filled(place, ["a", "c", "d"], *DIGESTS)
        self.assertRan(copy(old, place, *DIGESTS, "--resume"), 1, 'the target has another session "a"; nothing was copied')
        redis.say("HDEL", "diffserver:{a}", "t", "c")
        redis.say("SET", "diffserver:{d}", "a text")
        ran = copy(place, self.file("new"), *DIGESTS)
        self.assertRan(ran, 1, '^diffserver: "a" is damaged, and stays behind\ndiffserver: "d" is damaged, and stays behind\n$')
        self.assertRegex(ran.stdout, "^copied 1 session,")
        redis.kill()
        self.assertRan(copy(old, place, *DIGESTS), 1, f"redis://127.0.0.1:{redis.port}: ")

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_redis_that_a_server_uses(self):
        old, (redis, place), shards = self.file("old"), self.redis(), Shards(replicas=0)
        self.addCleanup(shards.close)
        self.filled(old, ["a"], *DIGESTS)
        refusal = "a server uses the sessions under this prefix: stop it first\n"

        def wait_until_used(target):
            """A node that answers may not listen yet."""
            wait_for(lambda: copy(old, target, *DIGESTS, "--resume").stderr.endswith(refusal), "the node listens")

        for target in (place, Place(shards.address)):
            with self.subTest(target.options):
                node, _ = self.started(target, *DIGESTS)
                wait_until_used(target)
                self.assertRan(copy(old, target, *DIGESTS), 1, refusal)
                self.assertRan(copy(old, target, *DIGESTS, "--to-prefix", "green:"), 0, "^copied 1 session,")
                node.stop()
                self.assertRan(copy(old, target, *DIGESTS, "--resume"), 0, "^copied (1 session|0 sessions),")
        # Another database holds other sessions.
        self.started(place, *DIGESTS)
        wait_until_used(place)
        other = Place(f"{place.options[1]}/1")
        self.assertRan(copy(place, other, *DIGESTS), 0, "^copied 1 session,")
        # Nothing is left by what is refused.
        redis.say("DEL", "diffserver:records")
        self.assertRan(copy(old, place, *DIGESTS), 1, refusal)
        self.assertEqual(redis.say("GET", "diffserver:records"), b"$-1\r\n")

    def test_command_lines(self):
        file, redis = ("--from", "sqlite:a"), ("--to", "redis://h")
        for arguments, said in (((), "copy takes --from STORE and --to STORE"), (file, "copy takes --from STORE and --to STORE"),
                                ((*file, *redis), "a store in Redis requires --digest-key"),
                                (("--from", "memory", *redis), "the value of --from is neither sqlite:PATH nor an address of Redis"),
                                ((*file, "--to", "sqlite:b", "--to-prefix", "x:"), "--to-prefix requires a --to in Redis"),
                                ((*file, *redis, *DIGESTS, "--to-ca", "x"), "--to-ca requires a store reached over TLS"),
                                ((*file, *redis, *DIGESTS, "--from-password-file", "x"),
                                 "--from-password-file requires a Redis --from whose address has no password"),
                                ((*file, *redis, *DIGESTS, "--to-password-file", "/none"), "the --to-password-file cannot be read"),
                                ((*file, *redis, *DIGESTS, "--from-prefix", "a b"), "--from-prefix: \"a b\" is not 1 to 64 letters"),
                                ((*file, "sqlite:b"), "the argument after the value of --from is not an option"), ((*file, "--store", "x"), "unknown option")):
            with self.subTest(arguments):
                ran = subprocess.run([binary(), "copy", *arguments], capture_output=True, text=True, timeout=20, env=environment(), check=False)
                self.assertRan(ran, 2, re.escape(said))

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_the_time_left(self):
        redis, place = self.redis()
        node, client = self.started(place, *DIGESTS)
        for name, ttl in (("hour", 3600), ("day", DAY)):
            self.put(client, name, ttl=ttl)
        node.stop()
        redis.say("PEXPIRE", "diffserver:{hour}", "1800000")
        between, green = self.file("between"), Place(place.options[1], "--store-prefix", "green:")
        for sides in ((place, between), (between, green)):
            self.assertRan(copy(*sides, *DIGESTS), 0, "^copied 2 sessions")
        for name, least, most in (("hour", 900, 1800), ("day", DAY - 900, DAY * 17 // 16)):
            left = int(redis.say("TTL", f"green:{{{name}}}").strip(b":\r\n"))
            self.assertTrue(least <= left <= most, (name, left))


@names_its_stores
class Killed(StoreCase):
    """A copy that is killed leaves whole sessions, and is resumed."""

    COUNT = 300

    def check(self, new, count):
        """`new` makes an empty store, `count` tells how many sessions there are by now."""
        old = self.file("old")
        node, client = self.started(old, *DIGESTS)
        for number in range(self.COUNT):
            self.put(client, f"s{number:03}", rows(100, 400))
        node.stop()
        for attempt in range(8):
            place = new(attempt)
            process = subprocess.Popen([binary(), "copy", *old.side("--from"), *place.side("--to"), *DIGESTS], env=environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            wait_for(lambda: count(place) > 10, "some are there", every=0.001, not_yet=(OSError, sqlite3.Error))
            process.kill()
            process.wait()
            there = self.found(place)
            if len(there) < self.COUNT:
                break
        self.assertIn(len(there), range(1, self.COUNT))
        self.assertEqual(set(there.values()), {200})
        self.assertRan(copy(old, place, *DIGESTS), 1, "the target has .* already, and nothing was copied")
        self.assertRan(copy(old, place, *DIGESTS, "--resume"), 0,
                       f"^copied {self.COUNT - len(there)} sessions, .*, {len(there)} were there already\n$")
        self.assertEqual(list(self.found(place).values()), [200] * self.COUNT)

    def found(self, place):
        """How each session that is listed there answers."""
        node, client = self.started(place, *DIGESTS)
        listed = client.request("GET", "/v1/sessions?limit=1000", None, bearer(WRITER)).json["sessions"]
        found = {each["session"]: client.request("GET", session_path(each["session"]), None, bearer(WRITER)).status for each in listed}
        node.stop()
        return found

    def test_in_sqlite(self):
        def count(place):
            with sqlite3.connect(f"file:{place.options[1].removeprefix('sqlite:')}?mode=ro", uri=True) as database:
                return database.execute("SELECT count(*) FROM session").fetchone()[0]
        self.check(lambda attempt: self.file(f"new{attempt}"), count)

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_in_redis(self):
        redis, _ = self.redis()
        self.check(lambda attempt: Place(f"redis://127.0.0.1:{redis.port}/{attempt}"), lambda place: self.size(redis, place))

    def size(self, redis, place):
        database = place.options[1].rpartition("/")[2]
        found = re.search(rb"db%s:keys=(\d+)" % database.encode(), redis.say("INFO", "keyspace"))
        return int(found.group(1)) if found else 0
