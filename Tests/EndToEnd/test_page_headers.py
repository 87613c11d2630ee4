"""Protection of browsers: nosniff with every answer, and policies that run nothing but a page's own scripts."""

import base64
import hashlib
import html.parser
import os
import pathlib
import re
import tempfile
import unittest

from support.case import ServiceCase
from support.client import Client, session_path
from support.events import Stream
from support.server import Server
from support.store import memory_only
from support.tokens import SECRET
from test_command_line import command


class Inline(html.parser.HTMLParser):
    """A page's inline scripts and styles, and attributes that no policy without unsafe-inline lets run."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.attributes, self.open = {"script": [], "style": []}, [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.attributes += [name for name, _ in attributes if name == "style" or name.startswith("on")]
        self.open = tag if tag in self.texts else None
        if self.open:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts[self.open][-1] += data


def hashed(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class Pages(ServiceCase):
    def policy(self, answer):
        directives = (each.split() for each in answer.headers["Content-Security-Policy"].split(";"))
        return {name: sources for name, *sources in directives}

    def test_a_page_runs_what_stands_in_it_and_nothing_else(self):
        for path in ("/", "/page", "/problems/forbidden", "/problems/internal"):
            with self.subTest(path):
                answer = self.get(path)
                self.assertStatus(answer, 200)
                policy, inline = self.policy(answer), Inline(answer.text)
                self.assertEqual(policy["default-src"], ["'none'"])
                for tag in ("script", "style"):
                    named = [each for each in policy[f"{tag}-src"] if each not in ("'self'", "'none'")]
                    self.assertEqual(named, [hashed(text) for text in inline.texts[tag]])
                self.assertEqual(inline.attributes, [])
                self.assertNotIn("unsafe", answer.headers["Content-Security-Policy"])
                for name in ("base-uri", "form-action", "frame-ancestors"):
                    self.assertEqual(policy[name], ["'none'"])
                self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")

    def test_pages_have_their_style_inline_and_load_their_scripts(self):
        # The playground reads an address that its visitor enters, and loads nothing of elsewhere; a list's page loads
        # the pictures of its rows, and reads from its own server alone.
        for path, connects, pictures in (("/", ["http:", "https:"], ["data:"]), ("/page", ["'self'"], ["http:", "https:", "data:"])):
            page = self.get(path).text
            inline, policy = Inline(page), self.policy(self.get(path))
            self.assertEqual(("".join(inline.texts["script"]), len(inline.texts["style"])), ("", 1))
            self.assertEqual((policy["connect-src"], policy["img-src"]), (connects, pictures))
            for script in re.findall(r'<script[^>]* src="([^"]+)"', page):
                answer = self.get(f"/{script}")
                self.assertStatus(answer, 200)
                self.assertEqual(answer.media_type, "text/javascript")

    def test_nothing_that_is_answered_is_sniffed(self):
        session, _ = self.made(["a"])
        tag = self.get("/").headers["ETag"]
        answers = {
            "a page": self.get("/"), "not modified": self.get("/", If_None_Match=tag), "a probe": self.get("/livez"),
            "json": self.get_session(session), "a head": self.request("HEAD", session_path(session)),
            "no content": self.delete_session(session), "made": self.put_session(session, {"state": []}),
            "options": self.request("OPTIONS", session_path(session)), "a problem": self.get_session("none"),
            "figures": self.get("/metrics"), "the description": self.get("/openapi.json"),
        }
        for name, request in (("malformed", "GET / HTTP/1.1\r\n\r\n"),
                              ("a long line", f"GET /{'a' * 17_000} HTTP/1.1\r\n"),
                              ("an old client", "GET /livez HTTP/1.0\r\n\r\n")):
            connection = self.raw()
            connection.send(request)
            answers[name] = connection.answer()
        for name, answer in answers.items():
            with self.subTest(name):
                found = [value for field, value in answer.headers.items() if field.lower() == "x-content-type-options"]
                self.assertEqual(found, ["nosniff"], answer)

    def test_a_stream_is_not_sniffed(self):
        session, _ = self.made(["a"])
        stream = Stream(self.server, session_path(session, "changes"))
        self.addCleanup(stream.close)
        self.assertEqual(stream.headers["X-Content-Type-Options"], "nosniff")


@memory_only
class OwnPage(unittest.TestCase):
    """`--page`: an HTML file in the place of the built-in page."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="diffserver-page-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "page.html"
        self.file.write_text("<p>first")

    def test_it_is_read_at_each_request(self):
        # Who may read nothing gets it, too: it is not for secrets.
        server = Server("--page", str(self.file), "--key", "a:" + "0" * 64, "--token-secret", SECRET)
        self.addCleanup(server.stop)
        client = Client(server)
        self.addCleanup(client.close)
        for text in ("<p>first", "<p>second \u00e9", ""):
            self.file.write_text(text, encoding="utf-8")
            answer = client.request("GET", "/page")
            self.assertEqual((answer.status, answer.body.decode(), answer.media_type, answer.headers["Cache-Control"]), (200, text, "text/html", "no-cache"))
            self.assertNotIn("Content-Security-Policy", answer.headers)
            self.assertEqual(client.request("GET", "/page", None, {"If-None-Match": answer.headers["ETag"]}).status, 304)
            answer = client.request("HEAD", "/page")
            self.assertEqual((answer.status, answer.body, answer.headers["Content-Length"]), (200, b"", str(len(text.encode()))))
        self.assertIn("Content-Security-Policy", client.request("GET", "/").headers)
        self.file.write_bytes(b" " * ((1 << 20) + 1))
        self.assertIn("more than 1048576 bytes", client.request("GET", "/page").json["detail"])
        self.file.unlink()
        answer = client.request("GET", "/page")
        self.assertEqual((answer.status, answer.json["type"]), (404, "/problems/route-not-found"))
        self.assertIn("the --page cannot be read: there is no such file", answer.json["detail"])
        # Nobody waits for whoever writes into a pipe.
        os.mkfifo(self.file)
        self.assertEqual(client.request("GET", "/page").status, 404)

    def test_what_cannot_be_read_at_the_start_is_told(self):
        pipe = self.file.parent / "pipe"
        os.mkfifo(pipe)
        for path in (self.file.parent, self.file.parent / "none", pipe, "-"):
            ran = command("serve", "--page", str(path))
            self.assertEqual((ran.returncode, ran.stderr), (2, "diffserver: the --page cannot be read: there is no such file\n"))
