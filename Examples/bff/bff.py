#!/usr/bin/env python3
"""A backend-for-frontend in Python 3.9 and later, without packages: it fetches an upstream's list, posts it to diffserver as
it is, and passes the changeset on. docs/bff.md explains each step.

    GET  /lists/{name}/changes?since=…&dialect=…   fetches upstream and answers what changed for this client
    POST /lists/{name}/token                       gives a thin client a token, with which it follows the session itself
"""

import hashlib
import http.client
import http.server
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

DIFFSERVER = os.environ.get("DIFFSERVER_URL", "http://127.0.0.1:8080")
SECRET = os.environ.get("DIFFSERVER_SECRET")
UPSTREAM = os.environ.get("UPSTREAM_URL", "http://127.0.0.1:9000")
ITEMS_AT, ID_AT = os.environ.get("ITEMS_AT", "/Incidents"), os.environ.get("ID_AT", "/UniqueId")


def post(path, body):
    """The status, the headers and the bytes that diffserver answers; what may pass is tried again under one key."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    if SECRET:
        headers["Authorization"] = f"Bearer {SECRET}"
    for failures in range(4):
        pause = random.uniform(0.05, 0.1) * 2**failures
        try:
            with urllib.request.urlopen(urllib.request.Request(DIFFSERVER + path, body, headers), timeout=10) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as answer:
            with answer:
                if failures == 3 or (answer.code < 500 and answer.code != 429):
                    return answer.code, answer.headers, answer.read()
                pause += int(answer.headers.get("Retry-After") or 0)
        except (OSError, http.client.HTTPException):
            if failures == 3:
                raise
        time.sleep(pause)


def session_of(user, name):
    """One session a user and list: who may see another list must not share it."""
    return f"{name}:{hashlib.sha256(user.encode()).hexdigest()[:24]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def user(self):
        """Who asks. Put your own authentication here."""
        return self.headers.get("X-User", "guest")

    def changes(self, name, query):
        with urllib.request.urlopen(f"{UPSTREAM}/{name}", timeout=10) as upstream:
            body = upstream.read()  # as it is: parsing it and writing it again would change it
        asked = {"itemsAt": ITEMS_AT, "idAt": ID_AT, "since": ""}  # a client without a revision gets a reset
        asked.update((key, query[key]) for key in ("since", "dialect", "staging", "content") if key in query)
        self.hand_on(*post(f"/v1/sessions/{session_of(self.user(), name)}/changes?{urllib.parse.urlencode(asked)}", body))

    def token(self, name):
        session = session_of(self.user(), name)
        status, headers, body = post(f"/v1/sessions/{session}/tokens", b'{"ttl":3600,"scope":["read"]}')
        if status == 201:
            body = json.dumps({"session": session, **json.loads(body)}).encode()
        self.hand_on(status, headers, body)

    def hand_on(self, status, headers, body):
        self.send_response(status)
        for field in ("Content-Type", "Retry-After"):
            if headers.get(field):
                self.send_header(field, headers[field])
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        found = re.fullmatch(r"/lists/([\w-]{1,64})/(changes|token)", url.path, re.ASCII)
        problem = {"Content-Type": "application/problem+json"}
        try:
            if found and (self.command, found[2]) == ("GET", "changes"):
                self.changes(found[1], dict(urllib.parse.parse_qsl(url.query)))
            elif found and (self.command, found[2]) == ("POST", "token"):
                self.token(found[1])
            else:
                self.hand_on(404, problem, b'{"title":"Not found","status":404}')
        except (OSError, http.client.HTTPException) as error:
            self.log_error("%s", error)
            self.hand_on(502, problem, b'{"title":"Bad gateway","status":502}')

    do_GET = do_POST = answer


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
