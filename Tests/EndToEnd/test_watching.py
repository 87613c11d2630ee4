"""diffserver shape FILE|URL, and diffserver watch URL: any JSON address as a list that moves."""

import json
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import tempfile
import unittest

from support.client import Client
from support.clock import wait_for
from support.events import Stream
from support.server import Server, binary, environment
from support.sources import QUIET
from support.upstream import Upstream, says
from test_command_line import command
from test_guesses import GROUPS, MEMBERS, RATES


# Characters that a terminal acts on, rather than shows.
ACTS = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]"


def run(*arguments, **how):
    return command(*arguments, variables=QUIET, **how)


class Upstreams(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, document, name="answer.json"):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return str(path)

    def address(self, document, path="/list"):
        self.upstream.set(path, document)
        return self.upstream.url + path


class Shape(Upstreams):
    def told(self, *arguments, **how):
        """The printed values, by label."""
        ran = run("shape", *arguments, **how)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        lines = ran.stdout.splitlines()
        return lines[0], dict(re.match(r"  (\w+): +(.*)", line).groups() for line in lines[1:4]), lines[4:]

    def test_it_says_where_the_list_is_in_three_ways(self):
        path = self.file(MEMBERS)
        first, told, others = self.told(path)
        self.assertEqual((first, others), ("2 rows", ["or 2 rows", "  query:  itemsAt=/data/members&idAt=/name"]))
        self.assertEqual(told, {
            "query": "itemsAt=/data/members&idAt=/userID", "shape": '{"itemsAt":"/data/members","idAt":"/userID"}',
            "post": f"curl --data-binary @{path} 'http://127.0.0.1:8080/v1/sessions/list/changes?itemsAt=/data/members&idAt=/userID'"})

    def test_the_request_works_as_it_is_printed(self):
        server = Server()
        self.addCleanup(server.stop)
        for document, rows in ((MEMBERS, "2 rows"), (GROUPS, "3 rows in 2 sections"), (RATES, "2 rows"), (["a", "b"], "2 rows")):
            for name in ("plain.json", "it's a file.json"):
                with self.subTest(document, name=name):
                    first, told, _ = self.told(self.file(document, name))
                    self.assertEqual(first, rows)
                    line = told["post"].replace(":8080/", f":{server.port}/").replace("/list/", f"/{os.urandom(4).hex()}/")
                    answer = json.loads(subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout)
                    self.assertEqual(answer.get("reset"), "initial", (line, answer))

    def test_an_address_and_standard_input(self):
        url = self.address(MEMBERS)
        first, told, _ = self.told(url)
        self.assertEqual(first, "2 rows")
        self.assertEqual(shlex.split(told["post"])[:7], ["curl", "-s", url, "|", "curl", "--data-binary", "@-"])
        self.assertEqual(self.told("-", text=json.dumps(MEMBERS))[1]["query"], told["query"])

    def test_names_out_of_a_document_are_no_escape_sequences(self):
        name = "\u001b]0;owned\u0007\n\u009b\u202e"
        refused, none = self.file([{"id": 1, name: 2}], "refused"), self.file({name: {"a": 1}}, "none")
        guessed = self.file({name: [{"id": 1}, {"id": 2}], "b" + name: ["x"]}, "guessed")
        for arguments in (("shape", guessed), ("shape", none), ("diff", refused, refused), ("diff", guessed, guessed, "--items-at", "/" + name),
                          ("watch", name), (name,), ("shape", name), ("serve", "--log", name)):
            with self.subTest(arguments):
                ran = run(*arguments)
                printed = ran.stdout + ran.stderr
                self.assertTrue(printed)
                self.assertNotRegex(printed, ACTS)

    def test_others_follow(self):
        _, _, others = self.told(self.file({"users": [{"id": 1, "mail": "a", "age": 3}], "tags": ["x", "y"]}))
        self.assertEqual(others, ["or 1 row", "  query:  itemsAt=/users&idAt=/mail", "or 2 rows", "  query:  itemsAt=/tags&idAt="])

    def test_headers_and_their_secrets(self):
        self.upstream.set("/list", lambda exchange: exchange.answer(MEMBERS) if exchange.request["Authorization"] == "Bearer hidden"
                          and exchange.request["X-Team"] == "a: b" else exchange.answer({}, status=401))
        arguments = ("shape", self.upstream.url + "/list", "--header", "X-Team: a: b", "--header", "Authorization: env:TOKEN")
        ran = command(*arguments, variables={**QUIET, "TOKEN": "Bearer hidden"})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertNotIn("hidden", ran.stdout)
        ran = run(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (2, "diffserver: the variable TOKEN is unset or empty\n"))
        ran = run("shape", self.upstream.url + "/list", "--header", "Authorization: Bearer hidden")
        self.assertEqual(ran.returncode, 2)
        self.assertNotIn("hidden", ran.stderr)

    def test_what_is_wrong_is_one_clear_line_and_a_status(self):
        url = self.address(says({}, status=500), "/broken")
        none = "no list was found in it: no array of objects or texts, and no object whose members are alike"
        for arguments, status, words in (
                ((), 2, "shape takes one file or URL"), (("a", "b"), 2, "shape takes one file or URL"),
                ((str(self.folder / "none"),), 1, "No such file"), ((self.file("[1,", "a"),), 1, "not JSON: the text ends too early at line 1, column 4 (byte 3)"),
                ((self.file({"error": {"code": 1}}, "b"),), 1, none), ((self.file([{"id": "a", "content": 1}, {"id": "a"}], "c"),), 1, 'duplicate id "a"'),
                ((self.file([], "d"),), 1, "it has no elements yet"), ((self.file({"items": []}, "e"),), 1, "it has no elements yet"),
                ((url,), 1, "it answered 500 in "), (("http://127.0.0.1:1/",), 1, "connect"), (("http://127.0.0.1:1/a b",), 2, "blanks")):
            with self.subTest(arguments):
                ran = run("shape", *arguments)
                self.assertEqual((ran.returncode, ran.stdout), (status, ""))
                self.assertRegex(ran.stderr, "^diffserver: .+\n$")
                self.assertEqual(ran.stderr.count("\n"), 1)
                self.assertIn(words, ran.stderr)


class Watch(Upstreams):
    def watch(self, *arguments, variables=None, output=subprocess.PIPE):
        """A server that watches; its standard output is read until the page's address."""
        listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
        process = subprocess.Popen(
            [binary(), "watch", *listen, *arguments], stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.PIPE, env=environment({**QUIET, **(variables or {})}))
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0)

    def told(self, process):
        lines = []
        for line in process.stdout:
            lines.append(line.decode().rstrip("\n"))
            if lines[-1].startswith("Page: "):
                return lines
        raise AssertionError(f"no page: {lines}, {process.stderr.read()}")

    def server(self, lines):
        """What a client needs to know of it."""
        class Address:
            host, port = "127.0.0.1", int(re.search(r"^Page: http://127\.0\.0\.1:(\d+)/", lines[-1]).group(1))
        return Address

    def test_any_address_is_a_list_that_moves(self):
        url = self.address(MEMBERS)
        lines = self.told(self.watch(url, "--every", "100ms"))
        self.assertRegex(lines[0], f"^{re.escape(url)} answers with 2 rows: [0-9]+ bytes in [0-9]+ ms$")
        self.assertEqual(lines[1:3], ["Guessed: --items-at /data/members --id-at /userID (say it yourself to have it otherwise)",
                                      "or: --items-at /data/members --id-at /name"])
        server = self.server(lines)
        self.assertEqual(lines[-1], f"Page: http://127.0.0.1:{server.port}/page#watch/list")
        self.assertEqual(lines[-2], f"curl -N -H 'Accept: text/event-stream' http://127.0.0.1:{server.port}/v1/sessions/watch/changes")
        stream = Stream(server, "/v1/sessions/watch/changes")
        self.addCleanup(stream.close)
        self.assertEqual([item["id"] for item in stream.next_event().json["state"]["sections"][0]["items"]], [7, 8])
        moved = {**MEMBERS, "data": {"total": 2, "members": MEMBERS["data"]["members"][::-1]}}
        self.upstream.set("/list", moved)
        self.assertEqual([each["op"] for each in stream.next_event().json["changes"]], ["move"])
        client = Client(server)
        self.addCleanup(client.close)
        self.assertEqual(client.request("GET", "/page").status, 200)

    def test_a_page_of_ones_own(self):
        page = self.file("<live-list src='/v1/sessions/watch'>", "page.html")
        lines = self.told(self.watch(self.address(MEMBERS), "--page", page))
        self.assertRegex(lines[-1], r"^Page: http://127\.0\.0\.1:\d+/page$")
        client = Client(self.server(lines))
        self.addCleanup(client.close)
        self.assertEqual(client.request("GET", "/page").body, b"<live-list src='/v1/sessions/watch'>")

    def test_what_it_prints_can_be_opened_and_run_wherever_it_listens(self):
        url = self.address(MEMBERS)
        for listen in (":0", "0.0.0.0:0", "[::]:0"):
            with self.subTest(listen):
                lines = self.told(self.watch(url, "--listen", listen, "--name", "all"))
                # Others reach this server, so it made a key, which the line for curl holds.
                self.assertRegex(lines[-1], r"^Page: http://127\.0\.0\.1:\d+/page#all/list$")
                self.assertRegex(lines[-2], r'^curl -N .* -H "Authorization: Bearer dsk_[\w-]{43}" http://127\.0\.0\.1:\d+/v1/sessions/all/changes$')
                ran = subprocess.run(["sh", "-c", lines[-2].replace("curl -N", "curl -s").replace("text/event-stream", "application/json")],
                                     capture_output=True, check=True, timeout=60)
                self.assertEqual(json.loads(ran.stdout)["session"], "all")
        lines = self.told(self.watch(url, "--key", "me:" + "0" * 64))
        self.assertIn(' -H "Authorization: Bearer $KEY" ', lines[-2])

    def test_the_page_is_called_as_the_address_is(self):
        for path, title in (("/v2/orders.json?all=1", "orders"), ("/board/", "board"), ("/caf%C3%A9%20list", "caf%C3%A9%20list"), ("/", r"127\.0\.0\.1:\d+")):
            with self.subTest(path):
                self.assertRegex(self.told(self.watch(self.address(MEMBERS, path)))[-1], f"/page#watch/{title}$")

    def test_the_entry_can_be_put_into_a_file_of_lists(self):
        url = self.address(GROUPS)
        lines = self.told(self.watch(url, "--name", "board", "--every", "500ms", "--header", "X-Team: a"))
        at = lines.index("As an entry of a file for serve --lists:")
        path = self.file("{" + lines[at + 1] + "}")
        self.assertEqual(json.loads("{" + lines[at + 1] + "}"), {"board": {
            "source": {"url": url, "every": 0.5, "headers": {"X-Team": "a"}},
            "shape": {"itemsAt": "/rows", "sectionsAt": "/groups", "sectionIdAt": "/name", "idAt": "/sku"}}})
        ran = run("check-lists", "--try", path)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("3 items", ran.stdout)

    def test_a_file_of_lists_that_asks_for_a_guess_can_be_tried(self):
        for document, shape, status, words in (
                (MEMBERS, "guess", 0, '; guessed: {"itemsAt":"/data/members","idAt":"/userID"}, or {"itemsAt":"/data/members","idAt":"/name"}'),
                ([], "guess", 0, "no items to guess a shape from"), ({"error": 1}, "guess", 1, "no list was found in it"),
                (MEMBERS, {"itemsAt": "/dta"}, 1, '; it looks like {"itemsAt":"/data/members","idAt":"/userID"}')):
            with self.subTest(document, shape=shape):
                ran = run("check-lists", "--try", self.file({"l": {"source": {"url": self.address(document)}, "shape": shape}}))
                self.assertEqual(ran.returncode, status, ran)
                self.assertIn(words, ran.stdout)

    def test_a_shape_that_is_said_is_not_guessed(self):
        url = self.address({"a": [{"id": 1, "n": 1}, {"id": 2, "n": 2}], "b": [{"id": 3, "n": 3}]})
        lines = self.told(self.watch(url, "--items-at", "/b"))
        self.assertIn("answers with 1 row", lines[0])
        self.assertNotIn("Guessed", "".join(lines))
        client = Client(self.server(lines))
        self.addCleanup(client.close)
        state = client.request("GET", "/v1/sessions/watch").json["state"]
        self.assertEqual([item["id"] for item in state["sections"][0]["items"]], [3])

    def test_a_state_of_our_own_needs_no_shape(self):
        state = ["a", {"id": "b", "content": 1}]
        lines = self.told(self.watch(self.address(state), variables={"DIFFSERVER_MAX_ITEMS": "2"}))
        self.assertEqual(lines[1], "It is read as it is.")
        self.assertNotIn("shape", "".join(lines))

    def test_an_empty_list_is_waited_for(self):
        lines = self.told(self.watch(self.address([]), "--every", "100ms"))
        self.assertIn("answers with no rows yet", lines[0])
        self.assertEqual(lines[1], "Where its rows are is guessed once there are some.")
        self.assertIn('"shape":"guess"', lines[lines.index("As an entry of a file for serve --lists:") + 1])
        stream = Stream(self.server(lines), "/v1/sessions/watch/changes")
        self.addCleanup(stream.close)
        self.assertEqual(stream.next_event().json["state"]["sections"], [])
        self.upstream.set("/list", [{"id": 1, "title": "Fire"}])
        insert, = stream.next_event().json["changes"]
        self.assertEqual(insert["section"]["items"], [{"id": 1, "content": {"id": 1, "title": "Fire"}}])

    def test_a_guess_is_corrected(self):
        rows = [{"symbol": "LIT", "n": 1}, {"symbol": "DAI", "n": 2}]
        lines = self.told(self.watch(self.address(rows), "--every", "100ms"))
        self.assertIn("Guessed: --id-at /symbol", lines[1])
        stream = Stream(self.server(lines), "/v1/sessions/watch/changes")
        self.addCleanup(stream.close)
        self.assertEqual([item["id"] for item in stream.next_event().json["state"]["sections"][0]["items"]], ["LIT", "DAI"])
        rows += [{"symbol": "LIT", "n": 3}]
        self.upstream.set("/list", rows)
        event = stream.next_event().json
        self.assertEqual(event["reset"], "replaced")
        self.assertEqual([item["content"] for item in event["state"]["sections"][0]["items"]], rows)

    def test_a_shape_that_finds_nothing_is_told_a_better_one(self):
        ran = run("watch", "--listen", "127.0.0.1:0", self.address(MEMBERS), "--items-at", "/dta")
        self.assertEqual(ran.returncode, 1)
        self.assertIn('no items at "/dta"', ran.stderr)
        self.assertIn("; the document looks like --items-at /data/members --id-at /userID", ran.stderr)

    def test_ids_alone_may_be_said(self):
        rows = [{"status": "a", "n": 1}, {"status": "b", "n": 1}]
        lines = self.told(self.watch(self.address({"data": rows, "page": 1}), "--id-at", "/status", "--every", "100ms"))
        self.assertIn("Guessed: --items-at /data --id-at /status", lines[1])
        stream = Stream(self.server(lines), "/v1/sessions/watch/changes")
        self.addCleanup(stream.close)
        self.assertEqual([item["id"] for item in stream.next_event().json["state"]["sections"][0]["items"]], ["a", "b"])

    def test_names_out_of_an_answer_are_no_escape_sequences(self):
        name = "a\u001b[31mRED\u0007\n\u0085\u202e'\\é"
        lines = self.told(self.watch(self.address({name: [{"id": 1}, {"id": 2}]})))
        self.assertNotRegex("".join(lines), ACTS)
        guess = next(line for line in lines if line.startswith("Guessed: "))
        # The options can be pasted all the same.
        words = re.search(r"^Guessed: (.*) \(say", guess).group(1)
        pasted = subprocess.run(["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True).stdout
        self.assertEqual(pasted.decode().split("\0")[:2], ["--items-at", "/" + name])
        entry = json.loads("{" + lines[lines.index("As an entry of a file for serve --lists:") + 1] + "}")
        self.assertEqual(entry["watch"]["shape"]["itemsAt"], "/" + name)

    def test_what_is_wrong_is_one_clear_line_and_a_status(self):
        none = self.address({"error": {"code": 404}}, "/none")
        for arguments, status, words in (
                ((), 2, "watch takes one URL"), (("file.json",), 2, "watch takes one URL"), ((none, none), 2, "watch takes one URL"),
                ((none,), 1, "no list was found in it"), ((none, "--items-at", "/data"), 1, 'no items at "/data"'),
                ((self.address(says(b"<p>"), "/page"),), 1, "not JSON"), ((self.upstream.url + "/gone",), 1, "it answered 404"),
                (("http://127.0.0.1:1/",), 1, "connect"), ((none, "--lists", "a"), 2, "unknown option"),
                ((none, "--name", "a b"), 2, "a name may only contain"), ((none, "--name", "a{b}"), 2, "cannot be a session's name"),
                ((none, "--every", "1ms"), 2, "--every"), ((none, "--id-at", "id"), 2, "--id-at"),
                ((self.address(["a", "b", "c"], "/long"), "--max-items", "2"), 1, "at most 2 items"),
                ((none, "--open", "--key", "a:" + "0" * 64), 2, "--open")):
            with self.subTest(arguments):
                ran = run("watch", "--listen", "127.0.0.1:0", *arguments)
                self.assertEqual((ran.returncode, ran.stdout), (status, ""))
                self.assertRegex(ran.stderr, "^diffserver: .+\n$")
                self.assertEqual(ran.stderr.count("\n"), 1)
                self.assertIn(words, ran.stderr)

    def test_a_browser_is_opened_where_somebody_would_see_it(self):
        opened = self.folder / "opened"
        program = self.folder / "xdg-open"
        program.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n', encoding="utf-8")
        program.chmod(0o755)
        desktop = {"PATH": f"{self.folder}:{os.environ['PATH']}", "DISPLAY": ":0"}
        url = self.address(MEMBERS)
        for variables, arguments, has_terminal, opens in (
                (desktop, (), False, False), ({**desktop, "DISPLAY": ""}, (), True, False), (desktop, ("--no-browser",), True, False),
                (desktop, (), True, True), ({**desktop, "PATH": "/nowhere"}, (), True, False)):
            with self.subTest(variables, arguments=arguments, has_terminal=has_terminal):
                page = self.page(url, *arguments, variables={"WAYLAND_DISPLAY": "", **variables}, has_terminal=has_terminal)
                if opens:
                    wait_for(opened.exists, "the browser is opened")
                    self.assertEqual(opened.read_text(encoding="utf-8"), page)
                    opened.unlink()
                else:
                    # It would have been opened before the server answered this.
                    client = Client(self.server([f"Page: {page}"]))
                    self.assertEqual(client.request("GET", "/v1/sessions/watch").status, 200)
                    client.close()
                    self.assertFalse(opened.exists())

    def page(self, url, *arguments, variables, has_terminal):
        """The page's address, as a server of its own prints it."""
        if not has_terminal:
            return self.told(self.watch(url, *arguments, variables=variables))[-1].removeprefix("Page: ")
        reader, terminal = pty.openpty()
        self.watch(url, *arguments, variables=variables, output=terminal)
        os.close(terminal)
        self.addCleanup(os.close, reader)
        said = b""
        while not (found := re.search(rb"Page: (\S+)\r\n", said)):
            said += os.read(reader, 4096)
        return found.group(1).decode()


if __name__ == "__main__":
    unittest.main()
