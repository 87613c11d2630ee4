"""check-lists, and serve --lists with a file that is faulty: every fault with its place, and no secret."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support.server import ROOT, Server, binary, environment
from test_command_line import command

SECRET = "whsec_" + "YWFh" * 8
GOOD = """{
  "board": {"source": {"url": "http://127.0.0.1:9/board", "headers": {"Authorization": "env:TOKEN"}}},
  "orders:{user}": {"hook": {"url": "http://127.0.0.1:9/{user}", "secret": "env:HOOK"}, "shape": {"itemsAt": "/data"}}
}
"""
FAULTY = """{
  "board": {"source": {"url": "http://127.0.0.1:9/b", "headers": {"Authorization": "Bearer hidden"}}, "ttl": "1h"},
  "ärger": {},
  "orders:{user}": {"hook": {"url": "http://127.0.0.1:9/{usr}", "secret": "env:HOOK"}, "shape": {"itemsAt": "data"}}
}
"""
FAULTS = (
    '2:84: Authorization is a secret: write "env:NAME" or "file:PATH", the variable or file with the whole value',
    "2:110: ttl must be a whole number of seconds from 1 to 604800",
    '3:3: a name may only contain letters, digits, ._~:- and segments in braces, such as "orders:{user}"',
    "3:3: a list needs a source or sections, a hook, or both",
    "4:37: the list's name has no segment {usr}",
    "4:75: the variable HOOK does not hold a secret",
    '4:109: itemsAt must be a JSON Pointer, empty or starting with "/", not "data"',
)


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "lists.json")

    def write(self, text):
        pathlib.Path(self.path).write_text(text, encoding="utf-8")

    def assert_faults(self, text):
        lines = text.splitlines()
        self.assertEqual(len(lines), len(FAULTS), text)
        for line, fault in zip(lines, FAULTS):
            self.assertTrue(line.startswith(f"{self.path}:{fault}"), line)
        self.assertNotIn("hidden", text)

    def test_a_good_file_is_all_well(self):
        variables = {"TOKEN": "Bearer hidden", "HOOK": SECRET}
        one = '{"a": {"source": {"url": "http://127.0.0.1:9/"}}}'
        for text, lists in ((GOOD, "2 lists"), (one, "1 list"), ("{}", "0 lists")):
            self.write(text)
            with self.subTest(lists):
                ran = command("check-lists", self.path, variables=variables)
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, f"{self.path}: {lists}, no faults\n", ""))
        self.write(GOOD)
        server = Server("--lists", self.path, variables=variables)
        self.addCleanup(server.stop)
        self.assertNotIn("hidden", "\n".join(server.lines))

    def test_every_fault_has_its_place(self):
        self.write(FAULTY)
        ran = command("check-lists", self.path, variables={"HOOK": "hidden"})
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assert_faults(ran.stderr)

    def test_a_server_does_not_start_with_a_faulty_file(self):
        self.write(FAULTY)
        for options, variables in ((("--lists", self.path), {}), ((), {"DIFFSERVER_LISTS": self.path})):
            with self.subTest(options):
                ran = command("serve", "--listen", "127.0.0.1:0", *options, variables={"HOOK": "hidden", **variables})
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assert_faults(ran.stderr)

    def test_variables_that_are_missing_are_named(self):
        self.write(GOOD)
        ran = command("check-lists", self.path)
        self.assertEqual(ran.returncode, 1)
        self.assertEqual([line.split(": ", 1)[1] for line in ran.stderr.splitlines()],
                         ["the variable TOKEN is unset or empty", "the variable HOOK is unset or empty"])

    def test_what_is_no_file_of_lists(self):
        for text, fault in (("", "1:1: not valid JSON: the text is empty"),
                            ("[]", "1:1: a file of lists must be an object"),
                            ('{\n "a": {},\n "a": {}}', "3:2: not valid JSON: duplicate member: name each member of an object once")):
            self.write(text)
            with self.subTest(text):
                ran = command("check-lists", self.path)
                self.assertEqual((ran.returncode, ran.stderr), (1, f"{self.path}:{fault}\n"))
        ran = command("check-lists", self.path + ".none")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stderr, f"diffserver: {self.path}.none: No such file or directory\n")
        ran = command("check-lists")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr, "diffserver: check-lists takes one lists file, and with --try also sessions; see diffserver check-lists --help\n")

    def test_a_file_from_standard_input(self):
        ran = command("check-lists", "-", text=GOOD, variables={"TOKEN": "x", "HOOK": SECRET})
        self.assertEqual((ran.returncode, ran.stdout), (0, "-: 2 lists, no faults\n"))

    def test_the_example_is_all_well(self):
        ran = subprocess.run([binary(), "check-lists", "Examples/lists.json"], cwd=ROOT, capture_output=True, text=True,
                             timeout=20, env=environment({"UPSTREAM_SECRET": SECRET}), check=False)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "Examples/lists.json: 2 lists, no faults\n", ""))
