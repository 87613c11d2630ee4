"""The small server: what it serves, what it is linked with, and how it refuses what it leaves out. Only where it is built."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from support.server import ROOT, Server, binary, environment
from test_command_line import command

REASON = "needs the full server, diffserver; this one keeps sessions in memory, and fetches no lists"
# Of the system, of C++, which the runtime is written in, and in a debug build of Swift.
EVERYWHERE = re.compile(r"ld-linux.*|linux-vdso|libc|libm|libstdc\+\+|libgcc_s|libswift.*|lib_?Foundation.*|libdispatch|libBlocksRuntime")


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = pathlib.Path(binary()).with_name("diffserver-small")
        if not path.exists():
            raise unittest.SkipTest(f"there is no {path}")
        # The class has a process of its own.
        os.environ["DIFFSERVER_BINARY"] = cls.path = str(path)
        os.environ.pop("DIFFSERVER_STORE", None)

    def assertRefuses(self, name, *arguments, variables=None):
        ran = command(*arguments, variables=variables)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (2, "", f"diffserver: {name} {REASON}\n"))

    def test_it_passes_the_smoke_test(self):
        ran = subprocess.run([ROOT / ".ci/with-server", ROOT / ".ci/smoke"], env=environment({"DIFFSERVER_BINARY": self.path}),
                             capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_it_is_linked_with_openssl_and_zlib_alone(self):
        lines = subprocess.run(["ldd", self.path], capture_output=True, text=True, check=True).stdout.split("\n")
        names = {line.split()[0].rsplit("/", 1)[-1].split(".so")[0].split(".")[0] for line in lines if line.strip()}
        self.assertEqual({name for name in names if not EVERYWHERE.fullmatch(name)}, {"libssl", "libcrypto", "libz"})

    def test_nothing_of_what_it_leaves_out_is_compiled_in(self):
        # Mangled, each symbol of a module begins with its name.
        code = pathlib.Path(self.path).read_bytes()
        for module, isThere in (("DiffService", True), ("DiffCommand", True), ("DiffSQLite", False), ("DiffRedis", False),
                                ("DiffUpstream", False), ("DiffClient", False)):
            with self.subTest(module):
                self.assertEqual(f"$s{len(module)}{module}".encode() in code, isThere)
        for text in (b"sqlite3_", b"libcurl", b"PSUBSCRIBE", b"SSUBSCRIBE"):
            self.assertNotIn(text, code)

    def test_options_that_it_leaves_out(self):
        for flag, value in (("--store", "sqlite:sessions.db"), ("--store", "redis://127.0.0.1"), ("--store-password-file", "f"),
                            ("--store-ca", "f"), ("--store-replicas", "1"), ("--store-prefix", "a:"), ("--store-max-size", "1GiB"),
                            ("--durability", "relaxed"), ("--lists", "lists.json")):
            with self.subTest(flag):
                self.assertRefuses(flag, "serve", flag, value)
                self.assertRefuses(flag, f"{flag}={value}", "--check")
                variable = "DIFFSERVER_" + flag[2:].replace("-", "_").upper()
                self.assertRefuses(variable, variables={variable: value})

    def test_commands_that_it_leaves_out(self):
        for name, argument in (("watch", "http://127.0.0.1/"), ("check-lists", "lists.json"), ("shape", "state.json"), ("copy", "--resume")):
            with self.subTest(name):
                self.assertRefuses(name, name, argument)
                self.assertRefuses(name, name, "--help")
                self.assertRefuses(name, "help", name)

    def test_what_is_not_known_is_not_left_out(self):
        for arguments in (["watches"], ["serve", "--list", "f"], ["man"]):
            ran = command(*arguments)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("unknown", ran.stderr)

    def test_help_shows_what_there_is(self):
        for arguments in (["help"], ["serve", "--help"], ["help", "man"]):
            ran = command(*arguments)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            text = ran.stdout.replace("\\-", "-")
            self.assertIn("--listen", text)
            for word in ("sqlite", "--store", "--lists", "--durability", "diffserver watch", "check-lists FILE", "diffserver copy"):
                self.assertNotIn(word, text, arguments)
        self.assertIn("This server keeps sessions in memory, and fetches no lists.\n", command("help").stdout)

    def test_it_serves_with_the_options_that_it_has(self):
        ran = command("serve", "--check", "--store", "memory", "--digest-key", "a")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        server = Server("--memory", "32MiB")
        try:
            answer = subprocess.run(["curl", "-s", f"{server.address}/v1/diff", "-d", '{"old":["a"],"new":[]}'],
                                    capture_output=True, check=True).stdout
            self.assertEqual(json.loads(answer)["changes"], [{"op": "remove", "items": ["a"]}])
        finally:
            self.assertEqual(server.stop(), 0)
