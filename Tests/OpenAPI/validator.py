"""Holds an answer against the service's own description (Sources/DiffServer/Page/openapi.json).

`check` is for any test that has an answer: it raises `Undocumented` unless the status, the headers, the media
type and the body are what the description says. Whoever also hands in the request learns whether the description allows
what the server accepted: an unknown parameter or a body of another shape must not have been taken.

Needs jsonschema-rs, which `Tests/OpenAPI/run` installs below `.build`; `add_packages` makes it importable from any Python of
the same version.
"""

import gzip
import json
import pathlib
import re
import sys
from urllib.parse import parse_qsl, unquote, urlsplit

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "Sources" / "DiffServer" / "Page" / "openapi.json"
ENVIRONMENT = ROOT / ".build" / "openapi-venv"


def add_packages():
    """Makes what `Tests/OpenAPI/run` installed importable; the interpreter that runs it has it anyway."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    place = ENVIRONMENT / "lib" / version / "site-packages"
    if place.is_dir() and str(place) not in sys.path:
        sys.path.append(str(place))


try:
    import jsonschema_rs
except ImportError:
    add_packages()
    try:
        import jsonschema_rs
    except ImportError:
        raise ImportError("jsonschema-rs is missing: run Tests/OpenAPI/prepare once") from None


class Undocumented(AssertionError):
    """An answer that the description does not allow."""


def check(method, path, status, headers, body, request_headers=None, request_body=None):
    """Raises `Undocumented` unless the description allows the answer.

    `path` is the request's target, query included. `headers` is a mapping or a list of pairs. `body` is bytes (or text), as
    received; of an event stream, all that was read of it. The request is checked too where its answer is a success and its
    `request_body` (bytes) is given.
    """
    description().check(method, path, status, headers, body, request_headers, request_body)


_description = None


def description():
    """The committed description, read once."""
    global _description
    if _description is None:
        _description = Description(json.loads(DOCUMENT.read_text("utf-8")))
    return _description


# For HTTP itself, a cache, a proxy or a browser; the description need not repeat these for each answer.
GENERIC_HEADERS = {
    "accept-encoding", "access-control-allow-headers", "access-control-allow-methods", "access-control-allow-origin",
    "access-control-expose-headers", "access-control-max-age", "cache-control", "connection", "content-encoding",
    "content-length", "content-security-policy", "content-type", "date", "keep-alive", "referrer-policy", "server",
    "transfer-encoding", "vary", "x-accel-buffering", "x-content-type-options", "x-frame-options", "x-request-id",
}

# With any of these a body may be any document.
SHAPE = {
    "sectionsAt", "sectionIdAt", "itemsAt", "idAt", "kindAt", "childrenAt", "expandedAt",
    "sectionExpandedAt", "map", "rest", "duplicates", "missing", "invalid",
}


class Description:
    """An OpenAPI document, prepared for look-ups."""

    def __init__(self, document):
        self.document = document
        self._validators = {}
        # The paths of sessions that keep a shape: their bodies may be any document.
        self.shaped = set()
        # Literal segments before templates, so that no template hides a path.
        self._paths = sorted(
            ((_expression(template), template) for template in document["paths"]), key=lambda pair: pair[1].count("{"))

    # What was asked

    def template(self, path):
        """The described path that matches a target; None if there is none."""
        plain = urlsplit(path).path if not path.startswith("//") else path.split("?")[0]
        return next((template for expression, template in self._paths if expression.fullmatch(plain)), None)

    def operation(self, method, path):
        item = self.document["paths"].get(self.template(path), {})
        return item.get(method.lower())

    def parameters(self, method, path):
        """The parameters of an operation and of its path, resolved."""
        item = self.document["paths"][self.template(path)]
        listed = item.get("parameters", []) + item[method.lower()].get("parameters", [])
        return [self.resolved(parameter) for parameter in listed]

    def resolved(self, value):
        """What a reference points to; members beside it win."""
        while isinstance(value, dict) and "$ref" in value:
            target = self.document
            for step in value["$ref"].removeprefix("#/").split("/"):
                target = target[step.replace("~1", "/").replace("~0", "~")]
            value = {**target, **{name: each for name, each in value.items() if name != "$ref"}}
        return value

    def response(self, method, path, status):
        """The description of an answer with this status, and its name there."""
        component = self.document["components"]["responses"]
        if method.upper() == "OPTIONS" and status == 204:
            return component["Options"], "204"
        if self.template(path) is None:
            names = {400: "BadRequest", 401: "Unauthenticated", 403: "Forbidden", 404: "NotFound", 429: "TooManyRequests"}
            return component[names.get(status, "Refusal")], "a path that is not described"
        operation = self.operation(method, path)
        if operation is None:
            names = {401: "Unauthenticated", 403: "Forbidden", 405: "MethodNotAllowed", 429: "TooManyRequests"}
            return component[names.get(status, "Refusal")], "a method that is not described"
        listed = operation["responses"]
        return self.resolved(listed.get(str(status)) or listed.get("default")), str(status) if str(status) in listed else "default"

    # The check

    def check(self, method, path, status, headers, body, request_headers=None, request_body=None):
        case = _Case(self, method, path, status, headers, body)
        case.check_answer()
        if 200 <= status < 300 and case.operation is not None:
            case.check_query()
            if request_body is not None and "requestBody" in case.operation:
                case.check_request_body(request_body, request_headers)

    def errors(self, schema, value):
        """How a value violates a schema of the document: pairs of place and message."""
        schema = self._by_dialect(schema, value)
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            # References start at the root, so the components come along.
            whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": self.document["components"]}
            self._validators[key] = jsonschema_rs.Draft202012Validator({**whole, "allOf": [schema]}, validate_formats=True)
        return [
            ("/" + "/".join(map(str, error.instance_path)), error.message[:400])
            for error in self._validators[key].iter_errors(value)]

    def _by_dialect(self, schema, value):
        """The one alternative of `Answer` that the value's `dialect` names: an error then says where, not only that."""
        answer = {"$ref": "#/components/schemas/Answer"}
        if not isinstance(value, dict) or (schema != answer and answer not in schema.get("anyOf", [])):
            return schema
        mapping = self.resolved(answer)["discriminator"]["mapping"]
        named = mapping.get(value.get("dialect"))
        return {"$ref": named} if named else schema


class _Case:
    """One answer under check."""

    def __init__(self, description, method, path, status, headers, body):
        self.description = description
        self.method, self.path, self.status = method.upper(), path, status
        pairs = headers.items() if hasattr(headers, "items") else headers
        self.headers = {name.lower(): value for name, value in pairs}
        self.body = body.encode("utf-8") if isinstance(body, str) else bytes(body or b"")
        if self.headers.get("content-encoding") == "gzip" and self.body[:2] == b"\x1f\x8b":
            self.body = gzip.decompress(self.body)
        self.operation = description.operation(method, path) if description.template(path) else None
        self.response, self.found_as = description.response(method, path, status)

    def fail(self, why):
        raise Undocumented(
            f"{self.method} {self.path[:200]} → {self.status} ({self.found_as}): {why}\n"
            f"headers: {self.headers}\nbody: {self.body[:2000]!r}")

    # The answer

    def check_answer(self):
        if self.response is None:
            self.fail("the status is not described")
        self.check_headers()
        described = self.response.get("content")
        if self.method == "HEAD" or not described:
            if self.body:
                self.fail("a body is not described")
            return
        kind = self.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind not in described:
            self.fail(f"the media type {kind!r} is not described; {', '.join(described)} are")
        self.check_body(kind, described[kind])

    def check_headers(self):
        described = {name.lower(): self.description.resolved(header) for name, header in self.response.get("headers", {}).items()}
        is_whole = self.method != "HEAD" and self.found_as != "default"
        if "date" in self.headers and not 0 < len(self.headers.get("x-request-id", "")) <= 128:
            self.fail("there is no X-Request-Id, which the description promises for every answer")
        for name, header in described.items():
            if name in self.headers:
                self.check_header(name, header["schema"])
            elif header.get("required"):
                self.fail(f"the header {name!r} is missing")
        if self.status == 201 and "location" in described and "location" not in self.headers:
            self.fail("a 201 names no location")
        for name in self.headers if is_whole else ():
            if name not in described and name not in GENERIC_HEADERS:
                self.fail(f"the header {name!r} is not described")

    def check_header(self, name, schema):
        value = self.headers[name]
        if self.description.resolved(schema).get("type") == "integer":
            if not re.fullmatch("[0-9]+", value):
                self.fail(f"the header {name!r} is no number: {value!r}")
            value = int(value)
        for _, message in self.description.errors(schema, value):
            self.fail(f"the header {name!r}: {message}")

    def check_body(self, kind, media):
        if kind == "text/event-stream":
            return self.check_events(media["x-events"], media.get("x-cursor", False))
        if not kind.endswith("json"):
            return self.body.decode("utf-8")
        value = self.json(self.body)
        self.check_value(media["schema"], value)
        if kind == "application/problem+json" and value["status"] != self.status:
            self.fail("the problem is of another status")

    def json(self, text):
        try:
            return parsed(text)
        except ValueError as error:
            self.fail(f"the body is not JSON: {error}")

    def check_value(self, schema, value):
        errors = self.description.errors(schema, value)
        if errors:
            self.fail("\n".join(f"at {place}: {message}" for place, message in errors[:5]))
        if isinstance(value, dict) and str(value.get("type", "")).startswith("/problems/"):
            names = self.description.document["components"]["schemas"]["ProblemName"]["enum"]
            if value["type"].removeprefix("/problems/") not in names:
                self.fail(f"the problem {value['type']} is not described")

    # Event streams

    def check_events(self, described, has_cursors):
        """Events as the HTML standard reads them; the last one counts only if it is whole."""
        text = self.body.decode("utf-8", "ignore")
        for block in re.split(r"\n\n", text)[:-1]:
            fields = [line.split(":", 1) for line in block.split("\n") if line and not line.startswith(":")]
            event = {name: value.removeprefix(" ") for name, value in (pair if len(pair) > 1 else (pair[0], "") for pair in fields)}
            self.check_event(event, described, has_cursors)

    def check_event(self, event, described, has_cursors):
        if unknown := set(event) - {"event", "id", "data", "retry"}:
            self.fail(f"an event has the fields {sorted(unknown)}")
        if "id" in event and not has_cursors:
            for _, message in self.description.errors({"$ref": "#/components/schemas/Revision"}, event["id"]):
                self.fail(f"an event's id: {message}")
        if "data" not in event:
            return
        if event.get("event") not in described:
            self.fail(f"the event {event.get('event')!r} is not described")
        value = self.json(event["data"])
        self.check_value(described[event["event"]], value)
        # Counts lead nowhere: their reader stays at its base.
        base = "from" if value.get("dialect") == "counts" else "to"
        if event["event"] == "changes" and not has_cursors and value[base] != event.get("id"):
            self.fail("an event's id is not the revision that its reader is at")

    # The request

    def query(self):
        return parse_qsl(urlsplit(self.path).query, keep_blank_values=True)

    def check_query(self):
        if self.method == "OPTIONS":
            return
        known = {each["name"]: each for each in self.description.parameters(self.method, self.path) if each["in"] == "query"}
        if any(self.description.resolved(each["schema"]).get("type") == "object" for each in known.values()):
            return  # Any parameter at all.
        for name, value in self.query():
            if name not in known:
                self.fail(f"the parameter {name!r} is not described, but was accepted")
            schema = self.description.resolved(known[name]["schema"])
            if schema.get("type") == "array":
                schema = self.description.resolved(schema["items"])
            if schema.get("type") == "integer":
                value = int(value) if re.fullmatch("[0-9]+", value) else value
            for _, message in self.description.errors(schema, value):
                self.fail(f"the parameter {name!r}, which was accepted: {message}")
            if "contentSchema" in schema:
                for _, message in self.description.errors(schema["contentSchema"], self.json(value)):
                    self.fail(f"the JSON of the parameter {name!r}, which was accepted: {message}")

    def check_request_body(self, body, headers):
        headers = {name.lower(): value for name, value in dict(headers or {}).items()}
        body = body.encode("utf-8") if isinstance(body, str) else bytes(body)
        if headers.get("content-encoding", "").lower() == "gzip":
            body = gzip.decompress(body)
        (media,) = self.description.resolved(self.operation["requestBody"])["content"].values()
        described = media["schema"]
        value = self.json(body)
        session = re.match("/v1/sessions/[^/?]+", unquote(self.path))
        if session and isinstance(value, dict) and "shape" in value:
            self.description.shaped.add(session[0])
        own = [name for name in ("OwnJSON", "OwnDiffBody") if {"$ref": f"#/components/schemas/{name}"} in described.get("anyOf", [])]
        has_shape = SHAPE & {name for name, _ in self.query()} or session and session[0] in self.description.shaped
        if own and not has_shape:
            refused = {f"#/components/schemas/{name}" for name in own}
            described = {"anyOf": [each for each in described["anyOf"] if each.get("$ref") not in refused]}
        for place, message in self.description.errors(described, value):
            self.fail(f"the request's body was accepted, but at {place} it is not described: {message}\n{body[:500]!r}")


def _expression(template):
    return re.compile("".join("[^/?#]+" if part.startswith("{") else re.escape(part) for part in re.split(r"({[^}]+})", template)))


def parsed(text):
    """A JSON value; a repeated member, NaN and Infinity are errors, and integers may be long."""
    def members(pairs):
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a member is given twice")
        return dict(pairs)

    def refused(constant):
        raise ValueError(f"{constant} is no JSON")

    def integer(digits):
        return int(digits) if len(digits) < 4000 else float(digits)

    def fraction(token):
        # A number beyond all floats is still a number.
        return max(-sys.float_info.max, min(float(token), sys.float_info.max))

    text = text.decode("utf-8") if isinstance(text, bytes) else text
    text = text.removeprefix("\ufeff")  # A byte order mark before a document is skipped.
    return json.loads(text, object_pairs_hook=members, parse_constant=refused, parse_int=integer, parse_float=fraction)
