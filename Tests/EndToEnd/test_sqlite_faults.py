"""Unusable databases, full disks, damaged records: a clear error, and nothing is overwritten."""

import concurrent.futures
import itertools
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import unittest

from support.client import Client, session_path
from support.clock import stays, wait_for
from support.database import SQLiteCase
from support.events import Stream
from support.server import binary, environment, untimed
from support.store import names_its_stores

UNLIMITED = resource.RLIM_INFINITY


def rows(changeset):
    """How many rows the operations of a changeset name."""
    return sum(len(operation["items"]) for operation in changeset["changes"])


@names_its_stores
class Refusals(unittest.TestCase):
    """Starts that fail."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="diffserver-sqlite-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.path = self.directory / "sessions.db"

    def files(self):
        return {each.name: each.read_bytes() for each in self.directory.iterdir()}

    def assertRefused(self, pattern, path=None, **how):
        before = self.files()
        done = subprocess.run(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{path or self.path}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20, text=True, **how)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"^\S+ diffserver: {path or self.path}: {pattern}\n$")
        self.assertEqual(self.files(), before)

    def test_what_is_no_database(self):
        for content in (b"a shopping list\n" * 100, b"x", b"SQLite format 3\0", b"\0" * 8192):
            with self.subTest(content[:20]):
                self.path.write_bytes(content)
                self.assertRefused("not an SQLite database")

    def test_another_programs_database(self):
        for mode in ("delete", "wal"):
            with self.subTest(mode):
                database = sqlite3.connect(self.path)
                database.execute(f"PRAGMA journal_mode = {mode}")
                database.execute("CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT)")
                database.commit()
                self.assertRefused("not a diffserver database")
                database.close()
                self.path.unlink()

    def test_another_format(self):
        for number in (3, 5):
            database = sqlite3.connect(self.path)
            database.execute(f"PRAGMA application_id = {0x64696666}")
            database.execute(f"PRAGMA user_version = {number}")
            database.execute(f"CREATE TABLE unheard_of_{number} (id INTEGER PRIMARY KEY)")
            database.close()
            self.assertRefused(rf"written by another version of diffserver \(format {number}; this one reads 4\)")

    def test_a_directory_that_is_not_there_or_that_is_the_file(self):
        self.assertRefused("No such file or directory", self.directory / "none" / "sessions.db")
        self.assertRefused("Is a directory", self.directory)

    def test_a_directory_that_cannot_be_written(self):
        self.directory.chmod(0o555)
        self.addCleanup(self.directory.chmod, 0o755)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        self.assertRefused("Permission denied", **nobody)


class SecondProcess(SQLiteCase):
    def test_it_is_turned_away_and_the_first_goes_on(self):
        self.post("s", {"state": ["a"]})
        done = subprocess.run(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{self.path}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20, text=True)
        self.assertEqual((done.returncode, untimed(done.stderr)), (1, f"diffserver: {self.path}: another process has it open\n"))
        self.assertEqual(self.post("s", {"state": ["a", "b"]}).status, 200)
        self.assertEqual(self.shown("s"), ["a", "b"])

    def test_another_key_is_turned_away(self):
        self.node.stop()
        done = subprocess.run(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{self.path}", "--digest-key", "other"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20, text=True)
        self.assertEqual((done.returncode, untimed(done.stderr)), (1, f"diffserver: {self.path}: created with a different --digest-key\n"))


class FullDisk(SQLiteCase):
    """A limit on the size of files, which can be set and lifted while the process runs, stands in for the disk."""

    def limit(self, size):
        resource.prlimit(self.node.server.pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))

    def test_writes_are_503_while_it_lasts_and_nothing_is_lost(self):
        large = "x" * 200_000
        first = self.post("s", {"state": [{"id": "a", "content": large}]}).json["to"]
        stream = Stream(self.node, session_path("s", "changes"), {"since": first})
        self.addCleanup(stream.close)
        self.limit(4096)
        for session, body in (("s", {"state": ["b"]}), ("new", {"state": ["c"]}), ("s", {"edits": [{"op": "clear"}]})):
            refused = self.post(session, body)
            self.assertEqual((refused.status, refused.json["type"]), (503, "/problems/store-unavailable"), refused)
            self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        known = self.shown("s")
        ready = self.client.request("GET", "/readyz")
        self.assertEqual((ready.status, ready.json["type"]), (503, "/problems/store-unavailable"), ready)
        self.assertEqual(self.client.request("GET", "/livez").status, 200)
        self.assertEqual(self.metric("diffserver_store_ready"), 0)
        self.assertGreater(self.metric("diffserver_store_failures_total"), 0)
        self.assertEqual(self.request("DELETE", "s").status, 503)

        self.limit(UNLIMITED)
        # It finds out by itself, since nobody writes to a server that is not ready.
        wait_for(lambda: self.client.request("GET", "/readyz").status == 200, "it is ready", 30, not_yet=())
        self.assertEqual(self.shown("s"), known)
        self.assertEqual(self.post("s", {"edits": [{"op": "insert", "items": ["more"]}]}).status, 200)
        log = [line for line in self.node.server.lines if "store unavailable" in line or "store available" in line]
        self.assertEqual(len(log), 2, log)
        self.assertRegex(log[0], "^error: store unavailable: .*(disk|full)")
        self.assertRegex(log[1], r"^store available again after \d+\.\d s$")
        self.restarted()
        self.assertEqual(self.shown("s"), [*known, "more"])

    def test_a_start_on_a_full_disk_is_an_error(self):
        self.node.stop()
        for each in self.directory.iterdir():
            each.unlink()
        done = subprocess.run(
            [binary(), "serve", "--listen", "127.0.0.1:0", "--store", f"sqlite:{self.path}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=20, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, UNLIMITED)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"^\S+ diffserver: {self.path}: disk I/O error\n$")


@names_its_stores
class FullVolume(unittest.TestCase):
    """A separate volume, which sessions fill up: DELETE still works, and makes room; what still fits is written."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="diffserver-volume-")
        self.addCleanup(folder.cleanup)
        script = f"mount -t tmpfs -o size=24m none '{folder.name}' && exec '{binary()}' serve --listen 127.0.0.1:0 \
            --store 'sqlite:{folder.name}/sessions.db'"
        self.process = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment(), text=True)
        self.addCleanup(self.end)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            where = re.search(r"http://(127\.0\.0\.1):(\d+)", line)
            if where:
                break
        else:
            self.skipTest(f"no volume can be made here: {self.lines}")
        self.host, self.port = where[1], int(where[2])
        threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True).start()
        self.client = Client(self)
        self.addCleanup(self.client.close)

    def end(self):
        self.process.terminate()
        self.process.wait(20)

    def put(self, name, size=200_000, client=None):
        return (client or self.client).request("PUT", session_path(name), {"state": [{"id": 1, "content": "x" * size}]}).status

    def ready(self):
        return self.client.request("GET", "/readyz").status

    def test_delete_works_and_makes_room(self):
        names = [f"s{number}" for number in range(1000)]
        made = list(itertools.takewhile(lambda name: self.put(name) == 201, names))
        self.assertLess(len(made), 200)
        smaller = list(itertools.takewhile(lambda name: self.put(name, 10_000) == 201, (f"small{number}" for number in range(1000))))
        self.assertLess(len(smaller), 400)
        self.assertEqual(self.put("more"), 503)
        gone = made[: len(made) // 2]
        for name in gone:
            answer = self.client.request("DELETE", session_path(name))
            self.assertEqual(answer.status, 204, (name, answer, self.lines))
        for name in smaller:
            self.assertEqual(self.client.request("GET", session_path(name)).status, 200)
        wait_for(lambda: self.ready() == 200, lambda: f"it is ready: {self.lines}", 30, not_yet=())
        # Half of it is written again, and all of that once more: the room is used anew.
        for status in (201, 200, 200):
            self.assertEqual([self.put(name) for name in gone[: len(gone) // 2]], [status] * (len(gone) // 2), self.lines)
        for name in made:
            expected = 404 if name in gone[len(gone) // 2:] else 200
            self.assertEqual(self.client.request("GET", session_path(name)).status, expected, name)

    def test_a_write_that_is_too_large_for_what_is_left_turns_away_nobody_else(self):
        large, small = 14_000_000, 10
        self.assertEqual(self.put("half", large // 2), 201)
        for _ in range(5):
            self.assertEqual(self.put("large", large), 503)
            self.assertEqual(self.ready(), 200)
            self.assertIn(self.put("small", small), (200, 201))
        # In one transaction with others, too.
        sizes = [large if number == 3 else small for number in range(8)]
        clients = [Client(self) for _ in sizes]
        for client in clients:
            self.addCleanup(client.close)
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            for _ in range(5):
                found = list(pool.map(lambda client, number: self.put(f"s{number}", sizes[number], client), clients, range(len(sizes))))
                self.assertEqual([number for number, status in enumerate(found) if status >= 300], [3], found)
        told = [line.split(" ", 1)[1] for line in self.lines if re.search("store|disk", line.split(" ", 1)[1])]
        self.assertEqual(told, ["warning: the store refused a write, and takes small ones: database or disk is full\n"])


class FullFile(SQLiteCase):
    """`--store-max-size`."""

    options = ("--store-max-size", "1MiB")

    def test_what_makes_it_larger_is_503_and_all_else_goes_on(self):
        answers = []
        for number in range(20):
            answers.append(self.request("PUT", f"s{number}", {"state": [{"id": 1, "content": "x" * 100_000}]}))
        made = [number for number, answer in enumerate(answers) if answer.status == 201]
        self.assertIn(len(made), range(5, 11))
        self.assertEqual((answers[-1].status, answers[-1].json["type"]), (503, "/problems/capacity"), answers[-1])
        self.assertIn("--store-max-size", answers[-1].json["detail"])
        self.assertIn("Retry-After", answers[-1].headers)
        self.assertEqual(self.client.request("GET", "/readyz").status, 200)
        for number in made:
            self.assertEqual(self.shown(f"s{number}"), [1])
        self.assertEqual(self.request("DELETE", f"s{made[0]}").status, 204)
        self.assertEqual(self.request("PUT", "after", {"state": [{"id": 1, "content": "x" * 90_000}]}).status, 201)
        self.restarted()
        self.assertLessEqual(self.path.stat().st_size, 1 << 20)
        self.assertEqual(self.request("PUT", "last", {"state": [{"id": 1, "content": "x" * 500_000}]}).status, 503)


class OpenModes(SQLiteCase):
    def test_a_restored_file_that_others_may_read_is_warned_of(self):
        self.assertFalse([line for line in self.node.server.lines if "chmod" in line])
        for mode in (0o644, 0o660):
            self.restarted(lambda: self.path.chmod(mode))
            self.node.server.wait_for_line(f"^warning: {self.path}: other users .*; chmod 600 {self.path} prevents that$")


class ChangedFiles(SQLiteCase):
    """Files that are removed or replaced while the process uses them."""

    def setUp(self):
        super().setUp()
        self.known = [f"row {number}" for number in range(50)]
        self.post("s", {"state": self.known})
        self.post("other", {"state": ["a"]})

    def path_of(self, ending):
        return pathlib.Path(f"{self.path}{ending}")

    def assertNoticed(self, pattern):
        wait_for(lambda: self.client.request("GET", "/readyz").status == 503, "it is not ready", 30, not_yet=())
        for _ in range(3):
            answer = self.post("s", {"state": ["lost"]})
            self.assertEqual((answer.status, answer.json["type"]), (503, "/problems/store-unavailable"), answer)
        self.assertEqual(self.request("GET", "never").status, 503)
        self.assertEqual(self.shown("s"), self.known)
        self.node.server.wait_for_line("store unavailable")
        log = [line for line in self.node.server.lines if "store unavailable" in line or "store available" in line]
        self.assertEqual(len(log), 1, log)
        self.assertRegex(log[0], f"^error: store unavailable: .*sessions.db{pattern}")

    def test_nothing_is_acknowledged_into_a_file_that_is_gone(self):
        for ending in ("", "-wal", "-shm"):
            with self.subTest(ending):
                moved = self.path_of(ending + ".moved")
                self.path_of(ending).rename(moved)
                # At once, and not only at the next check.
                self.assertEqual(self.post("s", {"state": ["lost"]}).status, 503)
                self.assertNoticed(f"{ending} was removed while in use$")
                moved.rename(self.path_of(ending))
                self.node.server.wait_for_line("store available again")
                self.known.append("after" + ending)
                self.assertEqual(self.post("s", {"state": self.known}).status, 200)
                self.restarted()
                self.assertEqual(self.shown("s"), self.known)

    def test_a_file_in_the_place_of_another_is_not_written_to(self):
        for ending in ("", "-wal", "-shm"):
            with self.subTest(ending):
                path, moved = self.path_of(ending), self.path_of(ending + ".moved")
                os.link(path, moved)
                shutil.copy(path, self.path_of(".new"))
                self.path_of(".new").rename(path)
                self.assertNoticed(f"{ending} was replaced while in use$")
                other = path.read_bytes()
                self.assertEqual(self.node.server.stop(), 0)
                self.assertEqual(path.read_bytes(), other)
                moved.rename(path)
                self.node.start()
                self.assertEqual(self.shown("s"), self.known)

    def test_a_file_that_was_cut_takes_no_more_writes(self):
        for ending in ("-shm", "-wal", ""):
            for size in (0, 8192):
                with self.subTest(ending, size=size):
                    self.node.kill()
                    for each in self.directory.iterdir():
                        each.unlink()
                    self.node.start()
                    self.setUp_sessions()
                    os.truncate(self.path_of(ending), size)
                    self.assertNoticed(f"{ending} was truncated while in use")
                    self.node.kill()
        self.node.start()

    def setUp_sessions(self):
        for session, state in (("s", self.known), ("other", ["a"]), ("large", [{"id": 1, "content": "x" * 70000}])):
            self.assertEqual(self.post(session, {"state": state}).status, 201)

    def test_vacuums_and_checkpoints_of_others_are_no_damage(self):
        self.post("large", {"state": [{"id": number, "content": "x" * 2000} for number in range(500)]})
        self.request("DELETE", "large")
        before = self.path.stat().st_size
        for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            subprocess.run(["sqlite3", str(self.path), statement], check=True, capture_output=True)
            self.known.append(f"{len(self.known)}")
            self.assertEqual(self.post("s", {"state": self.known}).status, 200)
        self.assertLess(self.path.stat().st_size, max(before, 1_000_000))
        stays(lambda: self.client.request("GET", "/readyz").status == 200, "it is ready", 1.2)
        self.restarted()
        self.assertEqual(self.shown("s"), self.known)


class Damage(SQLiteCase):
    """Changed bytes."""

    def setUp(self):
        super().setUp()
        self.revisions = {}
        for number in range(6):
            session = f"s{number}"
            first = self.post(session, self.state(number, "before")).json["to"]
            second = self.post(session, self.state(number, "after")).json["to"]
            self.revisions[session] = (first, second)

    def state(self, number, mark):
        return {"state": [{"id": f"{mark}-{row}-of-{number}", "content": "x" * 100} for row in range(60)]}

    def ids(self, session, mark="after"):
        return [f"{mark}-{row}-of-{session[1:]}" for row in range(60)]

    def edited(self, change):
        """Stops the node, changes the database, and starts it again."""
        self.node.stop()
        database = sqlite3.connect(self.path)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        change(database)
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        self.node.start()

    def damage(self, table, column, text, where):
        """Flips a bit of a text within a value, behind the database's back, like a disk would."""
        def change(database):
            key, old = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {where}").fetchone()
            place = bytes(old).index(text.encode())
            new = bytearray(old)
            new[place] ^= 1
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (bytes(new), key))
        self.edited(change)

    def assertDamaged(self, session):
        for answer in (self.request("GET", session), self.post(session, {"edits": [{"op": "clear"}]}), self.post(session, [])):
            self.assertEqual((answer.status, answer.json["type"]), (500, "/problems/internal"), answer)
            self.assertIn("damaged", answer.json["detail"])
            self.assertNotIn("Retry-After", answer.headers)
        line = self.node.server.wait_for_line(f"damaged record: .* session={session}$").group(0)
        self.assertEqual(sum(line in each for each in self.node.server.lines), 1)

    def test_a_damaged_record_is_500_for_its_session_alone(self):
        for session, column, text in (("s1", "head", "after-7"), ("s2", "meta", '"made"'), ("s3", "meta", "3600")):
            with self.subTest(column=column, text=text):
                self.damage("checkpoint", column, text, f"session = (SELECT id FROM session WHERE name = '{session}')")
                self.assertDamaged(session)
                for whole in ("s0", "s4", "s5"):
                    self.assertEqual(self.shown(whole), self.ids(whole))
                self.assertEqual(self.client.request("GET", "/readyz").status, 200)
        self.assertEqual(self.request("PUT", "s1", {"state": ["new"]}).status, 201)
        self.assertEqual(self.shown("s1"), ["new"])
        self.assertEqual(self.request("DELETE", "s2").status, 204)
        self.assertEqual(self.post("s2", {"state": ["new"]}).status, 201)
        # A caller who demands the old state does not get another.
        answer = self.request("PUT", "s3", {"state": ["new"]}, If_Match=f'"{self.revisions["s3"][1]}"')
        self.assertEqual(answer.status, 500, answer)
        self.restarted()
        self.assertEqual((self.shown("s1"), self.shown("s2")), (["new"], ["new"]))

    def test_a_session_without_its_record_is_damaged_and_can_be_replaced(self):
        for session in ("s1", "s2"):
            self.edited(lambda database, session=session: database.execute(
                "DELETE FROM checkpoint WHERE session = (SELECT id FROM session WHERE name = ?)", (session,)))
            self.assertDamaged(session)
        self.assertEqual(self.request("PUT", "s1", {"state": ["new"]}).status, 201)
        self.assertEqual(self.shown("s1"), ["new"])
        self.assertEqual(self.request("DELETE", "s2").status, 204)
        self.assertEqual(self.request("GET", "s2").status, 404)

    def test_a_damaged_past_is_a_reset(self):
        self.damage("entry", "body", '"made"', "id = (SELECT covered FROM session WHERE name = 's1')")
        self.assertEqual(self.changes("s1", self.revisions["s1"][0])["reset"], "expired")
        self.assertEqual(self.shown("s1"), self.ids("s1"))
        self.assertEqual(rows(self.changes("s0", self.revisions["s0"][0])), 120)

    def test_a_damaged_page_makes_no_wrong_answer_and_no_other_write_fails(self):
        self.edited(lambda database: None)
        self.node.stop()
        whole = self.path.read_bytes()
        size = int.from_bytes(whole[16:18], "big")
        size = 65536 if size == 1 else size
        refused = 0
        for page in range(1, len(whole) // size):
            for each in self.directory.iterdir():
                each.unlink()
            self.path.write_bytes(whole[:page * size] + b"\xa5" * size + whole[(page + 1) * size:])
            try:
                self.node.start()
            except AssertionError as problem:  # the page is needed at the start, to find the key of the digests
                self.assertIn("database disk image is malformed", str(problem))
                refused += 1
                continue
            refused += self.asked()
            self.node.stop()
        self.assertGreater(refused, 5)

    def asked(self):
        """How many sessions are refused; the others must be right."""
        refused = 0
        for session, (first, second) in self.revisions.items():
            answer = self.request("GET", session)
            if answer.status == 500:
                self.assertIn("damaged", answer.json["detail"])
                refused += 1
                continue
            self.assertEqual((answer.status, answer.json["revision"]), (200, second), answer)
            changeset = self.request("GET", session, None, {"since": first}, "changes")
            if changeset.status not in (500, 503) and "reset" not in changeset.json:
                self.assertEqual(rows(changeset.json), 120)
        return refused
