"""Sessions in SQLite: acknowledged writes survive any end of the process; memory is a cache; backup and restore."""

import concurrent.futures
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess

from support.client import Client, session_path
from support.clock import let_pass, pause_at_random
from support.database import SQLiteCase
from support.events import Stream
from support.replica import Replica
from support.rewriter import Rewriter

GONE = (OSError, ValueError, IndexError)
MINIMAL = {"Prefer": "return=minimal"}
# Everything posted here is remembered, so that no reader ever needs a reset.
LONG_HISTORY = ("--history-revisions", "4000", "--history-bytes", "64MiB", "--loops", "2")


def sequence(revision):
    return int(revision.split("-")[0])


class Writer:
    """Writes to a session until the server is gone, and remembers what was acknowledged, and what was under way."""

    def __init__(self, node, session, seed):
        self.node, self.session, self.chance = node, session, random.Random(seed)
        self.name, self.count = f"w{seed}", 0
        self.acknowledged, self.under_way = None, None
        self.highest = "0-"

    def run(self):
        client = Client(self.node, 10)
        try:
            while True:
                self.under_way, body = self.next()
                answer = client.request("POST", session_path(self.session, "changes"), body, MINIMAL)
                assert answer.status in (200, 201), answer
                self.done()
                self.highest = max(self.highest, answer.json["to"], key=sequence)
        except GONE:
            return
        finally:
            client.close()

    def done(self):
        self.acknowledged, self.under_way = self.under_way, None


class StateWriter(Writer):
    """Posts whole states, each row of which names its state. The only writer of its session."""

    def next(self):
        self.count += 1
        rows = [{"id": number, "content": [self.count, "x" * 40]} for number in range(self.chance.randint(1, 60))]
        return self.count, {"state": rows}

    def check(self, state, revision):
        found = {row["content"][0] for section in state["sections"] for row in section["items"]}
        assert len(found) == 1, f"a torn state of {self.session}: {found}"
        number = found.pop()
        assert number in (self.acknowledged, self.under_way), (self.session, number, self.acknowledged, self.under_way)
        if number == self.acknowledged:
            assert revision == self.highest or self.highest == "0-", (self.session, revision, self.highest)
        self.acknowledged, self.under_way = number, None
        self.highest = revision


class EditWriter(Writer):
    """Inserts its own rows into a session that others write to, and removes some of them."""

    def __init__(self, node, session, seed):
        super().__init__(node, session, seed)
        self.acknowledged = set()

    def next(self):
        if len(self.acknowledged) > 12:
            gone = self.chance.choice(sorted(self.acknowledged))
            return ("delete", gone), {"edits": [{"op": "delete", "items": [gone]}]}
        self.count += 1
        new = f"{self.name}-{self.count}"
        insert = {"op": "insert", "items": [{"id": new, "content": {"n": self.count}}], "at": self.chance.choice(["start", "end"])}
        return ("insert", new), {"edits": [insert]}

    def done(self):
        self.settle(self.under_way)

    def settle(self, deed):
        change = self.acknowledged.add if deed[0] == "insert" else self.acknowledged.discard
        change(deed[1])
        self.under_way = None

    def check(self, state, revision):
        mine = {row["id"] for section in state["sections"] for row in section["items"] if row["id"].startswith(self.name + "-")}
        if self.under_way and mine != self.acknowledged:
            self.settle(self.under_way)
        assert mine == self.acknowledged, (self.session, self.name, mine ^ self.acknowledged)
        assert sequence(revision) >= sequence(self.highest), (revision, self.highest)
        assert sequence(revision) > sequence(self.highest) or revision == self.highest, (revision, self.highest)
        self.under_way = None


class KilledServers(SQLiteCase):
    """kill -9 at random moments under load."""

    options = LONG_HISTORY
    SHARED, OWN = ("shared-1", "shared-2"), ("own-1", "own-2", "own-3", "own-4")

    def kill_it(self, times, most_seconds):
        for session in self.SHARED:
            self.assertEqual(self.post(session, {"state": []}).status, 201)
        for session in self.OWN:
            self.assertEqual(self.post(session, {"state": [{"id": 0, "content": [0, ""]}]}).status, 201)
        writers = [EditWriter(self.node, self.SHARED[number % 2], number) for number in range(8)]
        writers += [StateWriter(self.node, session, 100 + number) for number, session in enumerate(self.OWN)]
        for writer in writers[8:]:
            writer.acknowledged = 0
        replicas = {session: Replica("keyed") for session in self.SHARED + self.OWN}
        chance = random.Random(7)
        with concurrent.futures.ThreadPoolExecutor(len(writers)) as threads:
            self.check(writers, replicas)
            for _ in range(times):
                running = [threads.submit(writer.run) for writer in writers]
                pause_at_random(chance, most_seconds)
                self.node.kill()
                for each in running:
                    each.result(20)
                self.node.start()
                self.check(writers, replicas)
        for writer in writers:
            self.assertGreater(writer.count, times / 4, "hardly anything was written")

    def check(self, writers, replicas):
        for session, replica in replicas.items():
            answer = self.request("GET", session)
            self.assertEqual(answer.status, 200, answer)
            for writer in writers:
                if writer.session == session:
                    writer.check(answer.json["state"], answer.json["revision"])
            self.follow(session, replica, answer)

    def follow(self, session, replica, answer):
        """A reader continues from what it had before."""
        query = {"since": replica.revision} if replica.revision else {}
        changeset = self.request("GET", session, None, query, "changes").exact
        self.assertEqual("reset" in changeset, not query, changeset)
        self.assertNotEqual(replica.receive(changeset), "ask", changeset)
        self.assertEqual(replica.revision, answer.json["revision"])
        self.assertTrue(replica.shows(answer.exact["state"]), session)


class KilledServer(KilledServers):
    def test_two_hundred_times(self):
        self.kill_it(200, 0.12)


class KilledRelaxedServer(KilledServers):
    options = (*LONG_HISTORY, "--durability", "relaxed")

    def test_thirty_times(self):
        self.kill_it(30, 0.12)


class KilledCompaction(SQLiteCase):
    """kill -9 while many commits write a checkpoint, and remove what only led to a forgotten past."""

    REMEMBERED = 4
    options = ("--history-revisions", str(REMEMBERED), "--loops", "2")

    def test_what_was_acknowledged_is_there_with_its_past(self):
        writers = [Rewriter(f"s{number}", number) for number in range(12)]
        chance = random.Random(3)
        with concurrent.futures.ThreadPoolExecutor(len(writers)) as threads:
            for _ in range(20):
                running = [threads.submit(writer.run, self.node) for writer in writers]
                pause_at_random(chance, 0.23, 0.03)
                self.node.kill()
                for each in running:
                    each.result(20)
                self.node.start()
                for writer in writers:
                    writer.check(self.node, self.REMEMBERED)
        self.assertGreater(sum(writer.count for writer in writers), 500)
        self.node.stop()
        self.assertNothingIsLeftOver(len(writers))

    def assertNothingIsLeftOver(self, sessions):
        """Each session has a checkpoint and a log, and there is nothing else."""
        database = sqlite3.connect(self.path)
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT count(*) FROM checkpoint").fetchone(), (sessions,))
        entries = dict(database.execute("SELECT id, previous FROM entry"))
        for last, in database.execute("SELECT last FROM session").fetchall():
            while last in entries:
                last = entries.pop(last)
        self.assertEqual(entries, {})
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])


class Hot(SQLiteCase):
    """Many writers of one session."""

    options = LONG_HISTORY

    def test_they_neither_lose_a_write_nor_begin_again_for_each_other(self):
        writers, each = 64, 20
        self.post("hot", {"state": []})

        def write(number):
            client = Client(self.node)
            for count in range(each):
                insert = {"edits": [{"op": "insert", "items": [f"{number}-{count}"]}]}
                answer = client.request("POST", session_path("hot", "changes"), insert, MINIMAL)
                self.assertEqual(answer.status, 200, answer)
            client.close()

        with concurrent.futures.ThreadPoolExecutor(writers) as threads:
            list(threads.map(write, range(writers)))
        expected = {f"{number}-{count}" for number in range(writers) for count in range(each)}
        self.assertEqual(set(self.shown("hot")), expected)
        self.assertEqual(self.metric("diffserver_commits_total"), writers * each)
        # One for each commit would be two loops that take turns; all 63 others for each would be as many as there are pairs.
        self.assertLess(self.metric("diffserver_store_conflicts_total"), 2 * writers * each)
        self.restarted()
        self.assertEqual(set(self.shown("hot")), expected)


class Cache(SQLiteCase):
    """Sessions that leave memory are read again."""

    options = (*LONG_HISTORY, "--max-sessions", "3")

    def test_what_made_room_is_not_lost(self):
        firsts = {}
        for number in range(12):
            firsts[f"s{number}"] = self.post(f"s{number}", {"state": [number]}).json["to"]
        for session, first in firsts.items():
            number = int(session[1:])
            self.assertEqual(self.shown(session), [number])
            self.assertEqual(self.post(session, {"state": [number, "new"]}).status, 200)
        for session, first in firsts.items():
            self.assertEqual([each["op"] for each in self.changes(session, first)["changes"]], ["insert"], session)
        self.assertGreater(self.metric("diffserver_evictions_total"), 9)
        self.assertLessEqual(self.metric("diffserver_sessions"), 3)

    def test_no_write_is_lost_on_the_way_out_and_in(self):
        sessions, times = 12, 30
        for session in range(sessions):
            self.post(f"s{session}", {"state": []})

        def write(number):
            client, chance, done = Client(self.node), random.Random(number), []
            for count in range(times):
                session = chance.randrange(sessions)
                insert = {"edits": [{"op": "insert", "items": [f"{number}-{count}"]}]}
                answer = client.request("POST", session_path(f"s{session}", "changes"), insert, MINIMAL)
                self.assertEqual(answer.status, 200, answer)
                done.append((session, f"{number}-{count}"))
            client.close()
            return done

        with concurrent.futures.ThreadPoolExecutor(12) as threads:
            written = [each for done in threads.map(write, range(12)) for each in done]
        for session in range(sessions):
            self.assertEqual(sorted(self.shown(f"s{session}")), sorted(row for where, row in written if where == session))

    def test_a_start_reads_no_session(self):
        for number in range(10):
            self.post(f"s{number}", {"state": [number]})
        self.restarted()
        self.assertEqual(self.metric("diffserver_sessions"), 0)
        self.assertEqual(self.shown("s4"), [4])
        self.assertEqual(self.metric("diffserver_sessions"), 1)


class Restarts(SQLiteCase):
    def test_a_stream_resumes_where_it_was(self):
        first = self.post("s", {"state": ["a"]}).json["to"]
        stream = Stream(self.node, session_path("s", "changes"), {"since": first})
        while stream.next().id != first:
            pass
        self.restarted()
        stream.close()
        self.post("s", {"state": ["a", "b"]})
        stream = Stream(self.node, session_path("s", "changes"), headers={"Last-Event-ID": first})
        self.addCleanup(stream.close)
        self.assertEqual([each["op"] for each in stream.next_event().json["changes"]], ["insert"])

    def test_marks_of_ids_that_look_alike_are_kept_apart(self):
        ids = ["\u00e9", "e\u0301"]
        first = self.post("s", {"state": [*ids, "e"]}).json["to"]
        self.post("s", {"edits": [{"op": "reload", "items": ids[:1]}, {"op": "reconfigure", "items": ids[1:]}]})
        self.restarted()
        self.assertEqual(self.changes("s", first)["changes"], [
            {"op": "update", "items": [{"id": ids[1]}], "as": "reconfigure"},
            {"op": "update", "items": [{"id": ids[0]}], "as": "reload"}])

    def test_a_lost_answer_is_found_again(self):
        first = self.post("s", {"state": ["a"]}).json["to"]
        edit = {"edits": [{"op": "insert", "items": ["b"]}]}
        done = self.post("s", edit, Idempotency_Key="k").json["to"]
        guarded = self.post("s", {"state": ["a", "b", "c"]}, If_Match=f'"{done}"').json["to"]
        self.restarted()
        again = self.post("s", {"state": ["a", "b", "c"]}, If_Match=f'"{done}"')
        self.assertEqual((again.status, again.json["to"]), (200, guarded), again)
        again = self.post("s", edit, Idempotency_Key="k")
        self.assertEqual((again.status, again.json["from"], again.json["to"]), (200, first, guarded), again)
        self.assertEqual(self.shown("s"), ["a", "b", "c"])

    def test_time_goes_on_while_the_process_does_not(self):
        for session, ttl in (("short", 1), ("long", 3600)):
            self.assertEqual(self.request("PUT", session, {"state": ["a"], "ttl": ttl}).status, 201)
        self.restarted(lambda: let_pass(1.1, "time to live"))
        self.assertEqual(self.request("GET", "short").status, 404)
        self.assertEqual(self.shown("long"), ["a"])
        self.assertEqual(self.post("short", {"state": ["b"]}).status, 201)

    def test_use_is_remembered_too(self):
        self.request("PUT", "s", {"state": ["a"], "ttl": 3})
        self.restarted()
        let_pass(1.5, "time to live")
        self.shown("s")
        let_pass(1.2, "time to live")
        self.restarted(lambda: let_pass(0.8, "time to live"))
        self.assertEqual(self.shown("s"), ["a"])

    def test_a_deleted_session_stays_away(self):
        self.post("s", {"state": ["a"]})
        self.assertEqual(self.request("DELETE", "s").status, 204)
        self.restarted()
        self.assertEqual(self.request("GET", "s").status, 404)


class Backups(SQLiteCase):
    def test_after_a_stop_the_file_alone_is_all(self):
        revisions = {f"s{number}": self.post(f"s{number}", {"state": [number]}).json["to"] for number in range(20)}
        for session in revisions:
            revisions[session] = self.post(session, {"state": [session]}).json["to"]
        self.node.stop()
        self.assertEqual([each.name for each in self.directory.iterdir()], ["sessions.db"])
        copy = self.directory / "copy" / "sessions.db"
        copy.parent.mkdir()
        shutil.copy(self.path, copy)
        self.path.unlink()
        self.node.options = ("--store", f"sqlite:{copy}")
        self.node.start()
        for session, revision in revisions.items():
            self.assertEqual(self.request("GET", session).json["revision"], revision)

    def test_as_the_page_says(self):
        first = self.post("s", {"state": ["a"]}).json["to"]
        saved = self.post("s", {"state": ["a", "b"]}).json["to"]
        copy = self.directory / "backup.db"
        subprocess.run(["sqlite3", str(self.path), f"VACUUM INTO '{copy}'"], check=True)
        ahead = self.post("s", {"state": ["a", "b", "c"]}).json["to"]
        self.node.stop()
        os.replace(copy, self.path)
        for ending in ("-wal", "-shm"):
            pathlib.Path(f"{self.path}{ending}").unlink(missing_ok=True)
        self.node.start()
        self.assertEqual(self.shown("s"), ["a", "b"])
        self.assertEqual(self.changes("s", ahead)["reset"], "unknown")
        self.assertEqual(self.changes("s", saved)["changes"], [])
        self.assertEqual([each["op"] for each in self.changes("s", first)["changes"]], ["insert"])
        self.assertEqual(self.post("s", {"state": ["d"]}).status, 200)
