"""libcurl is loaded by what fetches from other servers, and by nothing else; if it is missing, they say so."""

import pathlib
import tempfile
import unittest

from support.server import Server
from support.upstream import Upstream
from test_command_line import command


class Libcurl(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        upstream = Upstream()
        self.addCleanup(upstream.close)
        upstream.set("/list", ["a"])
        self.url = upstream.url + "/list"
        self.lists = self.folder / "lists.json"
        self.lists.write_text('{"a": {"source": {"url": "%s"}}}' % self.url, encoding="utf-8")
        # Found before the installed one, and no library.
        (self.folder / "libcurl.so.4").touch()

    def libraries(self, *options):
        """The libraries of a server's process."""
        server = Server(*options)
        try:
            maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
        finally:
            server.stop()
        return {pathlib.Path(line.split()[-1]).name.split(".")[0] for line in maps.splitlines() if ".so" in line}

    def test_it_is_in_the_process_of_a_server_that_fetches_alone(self):
        without, with_lists = self.libraries(), self.libraries("--lists", str(self.lists))
        self.assertIn("libssl", without)
        self.assertIn("libcurl", with_lists)
        self.assertFalse([name for name in without if name.startswith(("libcurl", "libldap", "libssh2", "libgssapi"))], without)

    def test_what_fetches_needs_it(self):
        serve = ["serve", "--listen", "127.0.0.1:0", "--lists", str(self.lists)]
        for arguments in (serve, [*serve, "--check"], ["watch", self.url, "--no-browser"], ["shape", self.url],
                          ["check-lists", "--try", str(self.lists)]):
            with self.subTest(arguments):
                ran = command(*arguments, variables={"LD_LIBRARY_PATH": str(self.folder), "DIFFSERVER_LOG": "none"})
                self.assertEqual(ran.returncode, 1, ran)
                self.assertRegex((ran.stdout + ran.stderr).splitlines()[-1], r"needs libcurl: apt-get install libcurl4 \(.*libcurl\.so\.4: .+\)$")

    def test_nothing_else_does(self):
        state = self.folder / "state.json"
        state.write_text('[{"id": "a"}]', encoding="utf-8")
        for arguments in (["check-lists", str(self.lists)], ["shape", str(state)], ["diff", str(state), str(state)]):
            with self.subTest(arguments):
                ran = command(*arguments, variables={"LD_LIBRARY_PATH": str(self.folder)})
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
