"""Protection of browsers: nosniff with every answer, and policies that run nothing but a page's own scripts."""

import base64
import hashlib
import html.parser
import re

from support.case import ServiceCase
from support.client import session_path
from support.events import Stream


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
