"""A source and a hook on the loopback: their lists, and a file of lists that names them."""

import base64
import http.server
import json
import os
import pathlib
import tempfile
import threading

import story

REFUSAL = "a departure that has left cannot be moved"


class Upstream:
    def __init__(self):
        self.lists = {}
        upstream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, value=None):
                body = b"" if value is None else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                if self.path == "/down":
                    return self.answer(500)
                self.answer(200, upstream.lists.get(self.path, story.OLD))

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/down":
                    return self.answer(500)
                moves = any(edit["op"] == "move" for edit in call["edits"])
                self.answer(422, {"detail": REFUSAL}) if moves else self.answer(204)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_port}"
        os.environ["UPSTREAM_SECRET"] = "whsec_" + base64.b64encode(bytes(range(32))).decode()
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name, "lists.json")
        hook = {"url": url + "/hook", "secret": "env:UPSTREAM_SECRET"}
        self.file.write_text(json.dumps({
            "board": {"source": {"url": url + "/board", "every": 60}, "hook": hook},
            "silent": {"source": {"url": url + "/silent", "every": 0.1}, "hook": hook},
            "down": {"source": {"url": url + "/down"}, "hook": hook},
            "unasked": {"hook": {**hook, "url": url + "/down"}},
            "board:{dialect}": {"source": {"url": url + "/boards/{dialect}"}},
        }), "utf-8")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()
