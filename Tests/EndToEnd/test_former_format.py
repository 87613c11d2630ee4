"""diffserver copy over a change of the format of records: sessions that a version with format 6 wrote.

Tests/Fixtures/format-6.json has a database and the keys of a Redis as that version left them, and what it answered: of
sessions with a history, with ignored places, with others after a PUT, and with a shape. Its clock was in 2038, so that
the history, which lives for an hour, counts as new."""

import json
import pathlib
import sqlite3
import time
import unittest

from support.redis import IS_INSTALLED, MISSING
from support.store import names_its_stores
from support.tokens import bearer
from test_copy import DAY, WRITER, Place, StoreCase, copy

FORMER = json.loads((pathlib.Path(__file__).parent.parent / "Fixtures" / "format-6.json").read_text(encoding="utf-8"))
DIGESTS = ("--digest-key", "the key of the digests")
SESSIONS = ["ignoring", "plain", "settled", "shaped"]


@names_its_stores
class FormerFormat(StoreCase):
    def database(self):
        """The file, with sessions that live on."""
        place = self.file("former")
        with sqlite3.connect(self.folder / "former.db") as database:
            database.executescript("PRAGMA application_id = 1684629094; PRAGMA user_version = 4;\n" + "\n".join(FORMER["sqlite"]))
            database.execute("UPDATE session SET expires = ?", [int(time.time() * 1000) + DAY * 1000])
        database.close()
        return place

    def keys(self):
        redis, place = self.redis()
        redis.say("SET", "diffserver:records", FORMER["records"])
        for key, fields in FORMER["redis"].items():
            redis.say("HSET", key, *(each.encode("latin-1") for each in fields))
            redis.say("PEXPIRE", key, str(DAY * 1000))
        return redis, place

    def check(self, old, new):
        self.assertRan(copy(old, new, *DIGESTS), 0, "^copied 4 sessions, [0-9]+ bytes, 0 revocations\n$")
        self.assertRan(copy(old, new, *DIGESTS, "--resume"), 0, "^copied 0 sessions, 0 bytes, 0 revocations, 4 were there already\n$")
        node, client = self.started(new, *DIGESTS)
        for path, expected in FORMER["answers"]:
            with self.subTest(path):
                answer = client.request("GET", path, None, bearer(WRITER))
                self.assertEqual((answer.status, answer.json), (200, expected))
        self.assertEqual(sum("changes" in expected for _, expected in FORMER["answers"]), 36)
        # Readers may have any values at places that were ignored before: an update says all of a row.
        for name, whole in (("settled", True), ("ignoring", False)):
            state = client.request("GET", f"/v1/sessions/{name}", None, bearer(WRITER)).json["state"]["sections"][0]["items"]
            state[0]["content"]["t"] = "y"
            target = f"/v1/sessions/{name}/changes?content=patch"
            [change] = client.request("POST", target, state, bearer(WRITER)).json["changes"]
            self.assertEqual(["content" in each for each in change["items"]], [whole], change)
        node.stop()
        # What it commits is in today's format, and read again.
        _, client = self.started(new, *DIGESTS)
        self.assertEqual([client.request("GET", f"/v1/sessions/{name}", None, bearer(WRITER)).status for name in SESSIONS], [200] * 4)

    def test_from_sqlite(self):
        self.check(self.database(), self.file("new"))

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_from_sqlite_to_redis(self):
        self.check(self.database(), self.redis()[1])

    @unittest.skipUnless(IS_INSTALLED, MISSING)
    def test_from_redis(self):
        self.check(self.keys()[1], self.file("new"))

    def test_a_server_refuses_it(self):
        _, client = self.started(self.database(), *DIGESTS)
        self.assertEqual([client.request("GET", f"/v1/sessions/{name}", None, bearer(WRITER)).status for name in SESSIONS], [503] * 4)

    def test_one_damaged_byte_is_told(self):
        for at in (20, 60, 100):
            old = self.database()
            with sqlite3.connect(self.folder / "former.db") as database:
                [meta] = database.execute("SELECT meta FROM checkpoint ORDER BY session").fetchone()
                meta = meta[:at] + bytes([meta[at] ^ 1]) + meta[at + 1:]
                database.execute("UPDATE checkpoint SET meta = ? WHERE session = 1", [meta])
            database.close()
            self.assertRan(copy(old, self.file(f"new{at}"), *DIGESTS), 1, 'diffserver: "[a-z]+" (is damaged|has a record)')
            (self.folder / "former.db").unlink()
