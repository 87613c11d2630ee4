"""The writers of a random session: states, documents, edits, fetches, PUTs."""

from dataclasses import dataclass, field
from urllib.parse import quote

import drawing
from drawing_wire import KEYHOLDER
from model import Board, Editing, Reading, Refused, Unsaid, every, said, with_section
from model_answers import check_cursor, require
from model_shaped import ShapedEditing
from support.jsontext import exact, key, text
from support.upstream import says

BOM = b"\xef\xbb\xbf"


@dataclass
class Write:
    """A write, the state after it, and the codes for which it is refused."""

    deed: str
    body: object = None
    place: str = "/changes"
    reload: bool = False
    is_native: bool = False
    state: object = None
    marks: dict = field(default_factory=dict)
    warnings: list = field(default_factory=list)
    codes: tuple = None
    # What the sources of sections say, where it is not what is in the head.
    changed: dict = field(default_factory=dict)
    features: set = field(default_factory=set)


class Writers:
    """The writes of a session, and the checks of their answers."""

    # Boards

    def new_board(self):
        draw = self.draw
        wanted = draw.wanted & {"source", "sources", "hook"}
        name = f"b{self.name}.{len(self.lines)}"
        pattern = None
        if draw.random() < (0.9 if wanted else 0.25):
            fitting = [each for each in self.stage.patterns if (each.has_source or "source" not in wanted) and (each.screen or "sources" not in wanted)
                       and (each.has_hook or "hook" not in wanted)]
            if draw.wanted & {"put", "state"}:
                fitting = [each for each in fitting if not each.has_source] or fitting
            score = {each.name: len(drawing.features(each.settings) & draw.wanted) for each in fitting}
            fitting = [each for each in fitting if score[each.name] == max(score.values())]
            pattern = draw.choice(fitting)
            name = f"{pattern.name}:{name}"
        has_source = pattern is not None and pattern.has_source
        board = Board(name, pattern.settings if pattern else drawing.settings(draw), self.remembered)
        board.pattern = pattern
        board.has_source, board.has_hook = has_source, pattern is not None and pattern.has_hook
        board.screen = pattern and pattern.screen
        board.by_query = "shape" in board.settings and pattern is None and draw.random() < 0.3
        board.path = f"/v1/sessions/{quote(name, safe='~:')}"
        board.upstream = name.partition(":")[2]
        self.stage.upstream.set(f"/hook/{board.upstream}", says(b"", 204))
        self.create(board)
        return board

    def create(self, board):
        if board.screen:
            return self.create_screen(board)
        while True:
            document = self.document(board, None)
            try:
                state = said(self.reading(board, document).state)
                break
            except Refused:
                continue
        features = self.of_document(board)
        if board.has_source:
            self.serve(board, document)
            answer = self.request("GET", board.path, {}, KEYHOLDER.headers)
            require(answer.status == 200, "the first read:", answer)
            revision = answer.exact["revision"]
            features |= {"source"}
        else:
            is_post = self.draw.random() < 0.5 and not board.by_query
            is_bare = board.pattern and is_post and document is not None and self.draw.random() < 0.5
            body = text(document if is_bare else {"state": document, **self.sent_settings(board)}).encode()
            answer = self.request(*(("POST", board.path + "/changes") if is_post else ("PUT", board.path)), self.shape_query(board),
                                  KEYHOLDER.headers, body)
            require(answer.status == 201, "a session is made:", answer)
            require(not is_post or answer.exact["reset"] == "initial", "no first answer:", answer)
            revision = answer.exact["to" if is_post else "revision"]
            features |= {"state" if is_post else "put"}
        board.commit(state, features=features)
        self.learn(board, revision)

    def create_screen(self, board):
        """All sections stand from the start; what comes first for each makes a revision, and the order is nobody's."""
        state = {"sections": [{"id": name, **({"content": outline["content"]} if "content" in outline else {}), "items": []}
                              for name, outline in board.screen.items()]}
        for name in board.screen:
            while True:
                document = drawing.section_body(self.draw, state, name)
                try:
                    state = on_screen(board, state, name, document)
                    break
                except Refused:
                    continue
            self.serve(board, document, name)
        answer = self.request("GET", board.path, {}, KEYHOLDER.headers)
        require(answer.status == 200, "the first read:", answer)
        board.commit(state, features={"source", "sources"})
        self.learn(board, answer.exact["revision"])

    def sent_settings(self, board):
        """What the file says of a list need not be sent."""
        return {} if board.pattern else {name: value for name, value in board.settings.items() if name != "shape" or not board.by_query}

    def look_up_settings(self, board):
        """They are told as they were given, and what is told can be put back: then nothing changes."""
        answer = self.request("GET", board.path + "/settings", {}, KEYHOLDER.headers)
        require(answer.status == 200, "the settings:", answer)
        told, given = answer.exact, {name: value for name, value in board.settings.items() if name != "shape" or not board.by_query}
        for name, none in (("ignore", []), ("keep", []), ("public", False)):
            require(text(told[name]) == text(given.get(name, none)), name, "was", given.get(name), "and is told as", told[name])
        for name, value in given.get("shape", {}).items():
            as_list = [each if isinstance(each, list) else [each] for each in (value, told.get("shape", {}).get(name))]
            require(text(as_list[0]) == text(as_list[1]), name, "of the shape was", value, "and is told in", told)
        if not board.pattern:
            answer = self.request("PUT", board.path, {}, KEYHOLDER.headers, text(told).encode())
            require(answer.status == 200, "settings are put back:", answer)
            require(self.head_of(board, answer.exact["revision"]) is board.head, "settings put back made", answer)
        self.passed += 1

    def shape_query(self, board):
        """The parameters for the place of the list, unless the session keeps it."""
        shape = {**board.settings["shape"]} if board.by_query else {}
        if isinstance(shape.get("rest"), list):
            shape["rest"] = shape["rest"][0]
        return {name: "true" if value is True else value for name, value in shape.items()}

    def of_document(self, board):
        return drawing.features(board.settings) - {"ignore", "keep", "public"}

    def document(self, board, old, is_native=False):
        """What a writer posts: the state itself, or foreign JSON."""
        draw, shape = self.draw, None if is_native else board.settings.get("shape")
        if board.pattern and board.pattern.is_guessed:
            return exact(text(drawing.guessable(draw, bool(board.commits))))
        state = drawing.native(draw, old, bool(shape) and "childrenAt" not in shape)
        while shape:
            document = drawing.Document(draw, state, shape).value
            try:
                self.reading(board, document)
            except Unsaid:
                continue
            except Refused:
                pass
            return document
        return exact(text(drawing.posted(draw, state)))

    def reading(self, board, document, is_native=False, head=None):
        """Elements without ids continue the head; what is put continues nothing."""
        shape = None if is_native else board.settings.get("shape")
        if board.by_query and shape and isinstance(shape.get("rest"), list):
            shape = {**shape, "rest": shape["rest"][:1]}
        return Reading(document, shape, head, max(board.sequences, default=0) + 1, board.ignored)

    def serve(self, board, document, section=None):
        """The upstream's answer from now on. A text may be cut inside an emoji: it is read as U+FFFD."""
        data = text(document)
        path = f"/list/{board.upstream}" + (f"/{section}" if section else "")
        self.note(f"# upstream{f' of {section}' if section else ''}: {data}")
        self.stage.upstream.set(path, says(data.replace("\ufffd", "\\ud83d").encode()))

    def serve_screen(self, board, changed):
        """What the sources answer from now on: one of them something new, the others what is in the head."""
        for section in board.head.state["sections"]:
            name, kept = section["id"], {member: value for member, value in section.items() if member != "id"}
            kept["items"] = list(map(drawing.scoped_by_section, kept["items"]))
            self.serve(board, changed.get(name, kept), name)

    def learn(self, board, revision):
        """The sequence of the head, from the answer to the write that made it."""
        sequence = int(revision.split("-")[0])
        known = board.sequences.get(sequence)
        require(known in (None, board.head), "the sequence", sequence, "is that of", known and known.number)
        require(known is board.head or sequence > max(board.sequences, default=0), "the sequence goes back:", revision)
        board.sequences[sequence] = board.head

    def head_of(self, board, revision):
        found = board.sequences.get(int(revision.split("-")[0]))
        require(found is not None, "nobody wrote", revision)
        return found

    # Writes

    def write(self, board):
        draw = self.draw
        edits = 9 if draw.wanted & {"edits", "marks", "hook"} else 3
        if board.has_source:
            deeds = {"fetch": 4, "edits": edits}
        else:
            deeds = {"section": 2, "state": 9 if "state" in draw.wanted else 5, "edits": edits, "put": 4 if "put" in draw.wanted else 0.4, "keep": 0.2}
        deed = draw.choices(list(deeds), list(deeds.values()))[0]
        if deed == "put":
            self.put(board)
        elif deed == "keep":
            self.change_keep(board)
        else:
            self.post(board, self.drawn_write(board, deed))

    def drawn_write(self, board, deed):
        draw, old = self.draw, board.head.state
        write = Write(deed, reload=deed != "fetch" and draw.likes("reload", 0.08))
        write.features |= {"sources"} if board.screen else set()
        write.features |= {"source" if deed == "fetch" else "state" if deed == "section" else deed} | ({"reload"} if write.reload else set())
        try:
            if deed == "edits":
                shape = None if board.by_query else board.settings.get("shape")
                write.body = {"edits": drawing.edits(draw, old, shape)}
                done = Editing(old, write.body["edits"]) if not shape else ShapedEditing(
                    old, write.body["edits"], shape, bool(board.settings.get("keep")), max(board.sequences, default=0) + 1)
                if board.screen and not is_of_sources(board, done.state):
                    # The next fetches would undo it in several commits, whose order is nobody's.
                    return self.drawn_write(board, "fetch")
                write.state, write.marks = done.state, done.marks
                write.features |= {"marks"} if done.marks else set()
            elif deed == "section":
                shape = {} if board.by_query else board.settings.get("shape", {})
                name, write.body = drawing.one_section(draw, old, "idScope" in shape)
                write.place = f"/sections/{quote(name, safe='')}/changes"
                write.state = said(with_section(old, name, write.body, shape), old if board.settings.get("keep") else None)
            elif board.screen:
                name = draw.choice(list(board.screen))
                write.state, write.changed = old, {name: drawing.section_body(draw, old, name)}
                try:
                    write.state = on_screen(board, old, name, write.changed[name])
                except Refused:
                    if len(board.screen) == 1:
                        raise  # Nothing was fetched.
                    # Its section stays, and the others were fetched.
            else:
                write.is_native = deed == "state" and not board.by_query and draw.random() < 0.1
                write.body = self.document(board, old, write.is_native)
                if deed == "fetch" and draw.likes("surrogates", 0.1):
                    write.body = exact(text(write.body).replace('"one"', '"on\ufffd"'))
                write.features |= set() if write.is_native else self.of_document(board)
                reading = self.reading(board, write.body, write.is_native, old)
                write.state, write.warnings = said(reading.state, old if board.settings.get("keep") else None), reading.warnings
        except Refused as refusal:
            write.codes = refusal.codes
        return write

    def post(self, board, write):
        """Sends it, and compares the answer with the model."""
        draw, before = self.draw, board.head
        is_fetch = write.deed == "fetch"
        credential = self.writer(board, write)
        self.asking = reader = self.reader(board, credential, has_view=not is_fetch, is_temporary=draw.random() < 0.5)
        ask = self.options(reader, "post", may_see_less=not is_fetch)
        if reader.base is None:
            ask.since = None
        query = {**ask.query, **({"reload": "true"} if write.reload else {})}
        headers = {**credential.headers, **ask.headers}
        data = None
        if is_fetch and board.screen:
            self.serve_screen(board, write.changed)
        elif is_fetch:
            self.serve(board, write.body)
        else:
            data = self.encoded(board, write)
            headers["Content-Type"] = "application/json"
            query.update({"shape": "native"} if write.is_native else self.shape_query(board) if write.deed == "state" else {})
            if draw.likes("gzip", 0.15):
                headers["Content-Encoding"] = "gzip"
                ask.features.add("gzip")
            if draw.random() < 0.06:
                headers["Idempotency-Key"] = f"k{len(self.lines)}"
        status, problem = self.refused_status(board, write, credential, headers, () not in before.cursors or is_fetch)
        method, path = "POST", board.path + ("/fetch" if is_fetch else write.place)
        element = patched(write) if draw.random() < 0.7 else None
        if element:
            (place, patch), method = element, "PATCH"
            path, data, headers["Content-Type"] = board.path + place, text(patch).encode(), "application/merge-patch+json"
            if write.codes == ("unknown-id",) and status == 422:
                status, problem = 404, b"-not-found"
        answer = self.request(method, path, query, headers, data)
        if status != 200:
            require(answer.status == status and problem in answer.body, "not refused as", status, problem, write.codes, "but", answer)
            self.count(ask.features | write.features, board)
            return
        require(answer.status == 200, "a write:", answer)
        told = self.changeset(answer, ask)
        board.commit(write.state, write.marks, write.reload, features=write.features)
        self.learn(board, told["to"])
        if ask.since is None:
            ask.since = told["from"] or ("?" if ask.is_bare else None)
            require(ask.since is not None, "from where?", told)
            reader.shows_head_before(before, ask.since)
            if ask.since != "?":
                check_cursor(board, reader.through, ask.since, before)
            ask.is_lenient = True
        ask.is_lenient = ask.is_lenient or reader.base is before
        ask.may_warn = write.warnings
        self.judged(reader, ask, told, board.head)
        if "Idempotency-Key" in headers:
            again = self.request(method, path, query, headers, data)
            require(again.status == 200, "the same once more:", again)
            found = self.changeset(again, ask)
            # A window's place may be lost with its base.
            require(found["to"].split("~")[0] == told["to"].split("~")[0], "written twice:", told, found)
            if "changes" in told and "changes" in found:
                require(found["changes"] == told["changes"], "not the same once more:", told, found)

    def writer(self, board, write):
        """The writer's credentials: a key, or a token for edits."""
        able = [each for each in self.credentials if each.may_read(board) and each.edits] if write.deed == "edits" else [KEYHOLDER]
        credential = able[-1] if "token" in self.draw.wanted or "hook" in self.draw.wanted and board.has_hook else self.draw.choice(able)
        if board.has_hook and write.deed == "edits" and credential is not KEYHOLDER:
            write.features.add("hook")
        return credential

    def refused_status(self, board, write, credential, headers, is_unknown):
        """200, or the refusal of the write; chooses a condition, and an owner who says no."""
        draw = self.draw
        if board.has_source and not board.has_hook and write.deed == "edits" and credential is not KEYHOLDER:
            return 409, b"has-source"
        if not is_unknown and draw.random() < 0.08:
            # Elements that the shape cannot read are told with what is no edit at all, before any condition.
            is_met = draw.random() < 0.6 or write.deed == "edits" and write.codes is not None and any("elements" in each for each in write.body["edits"])
            headers["If-Match"] = f'"{self.plain_head(board) if is_met else "1-0123456789abcdef"}"'
            if not is_met and (write.codes in (None, ("elsewhere",)) or write.deed == "edits"):
                return 412, b"revision-mismatch"
        if write.codes is not None:
            return (503, b"source-unavailable") if write.deed == "fetch" else (422, b"/problems/")
        if "hook" in write.features:
            refuses = draw.random() < 0.1
            self.stage.upstream.set(f"/hook/{board.upstream}", says({"detail": "no"}, 403) if refuses else says(b"", 204))
            if refuses:
                return 422, b"edit-refused"
        return 200, b""

    def plain_head(self, board):
        return board.head.cursors[()]

    def encoded(self, board, write):
        body, draw = write.body, self.draw
        if write.deed == "state" and not board.by_query and (draw.random() < 0.3 or body is None):
            body = {"state": body}
        data = text(body).encode()
        return BOM + data if draw.likes("bom", 0.05) else data

    def put(self, board):
        """Starts the session over."""
        document = self.document(board, board.head.state)
        body = text({"state": document, **self.sent_settings(board)}).encode()
        answer = self.request("PUT", board.path, self.shape_query(board), KEYHOLDER.headers, body)
        try:
            state = said(self.reading(board, document).state)
        except Refused as refusal:
            require(answer.status == 422, "a PUT is refused for", refusal.codes, "by", answer)
            return
        require(answer.status == 200, "a PUT:", answer)
        board.settings = board.pattern.settings if board.pattern else board.settings
        board.commit(state, is_start=True, features=self.of_document(board) | {"put"})
        self.learn(board, answer.exact["revision"])

    def change_keep(self, board):
        """Changes a setting, and nothing else."""
        keep = self.draw.choice([[], ["expanded"]])
        answer = self.request("PUT", board.path, {}, KEYHOLDER.headers, text({"keep": keep}).encode())
        require(answer.status == 200, "a setting:", answer)
        require(self.head_of(board, answer.exact["revision"]) is board.head, "a setting makes a revision:", answer)
        board.settings = {**board.settings, "keep": keep}


def is_of_sources(board, state):
    """Whether sources can say so: the file's sections, with ids of their own, and with the file's content where they have none."""
    return [key(each["id"]) for each in state["sections"]] == list(board.screen) and all(
        "content" in each or "content" not in board.screen[key(each["id"])] for each in state["sections"]) and all(
        key(item["id"]).startswith(key(each["id"]) + "/") and "/" not in key(item["id"]).partition("/")[2]
        for each in state["sections"] for item in every(each["items"]))


def on_screen(board, old, name, document):
    """The state after the source of one section has said this."""
    state = with_section(old, name, document, {"idScope": "section"})
    if isinstance(document, list) or "content" not in document:
        file = board.screen[name]
        next(each for each in state["sections"] if each["id"] == name).update({"content": file["content"]} if "content" in file else {})
    return said(state, old if board.settings.get("keep") else None)


def patched(write):
    """The element's path and its patch, if a write is no more than that; else None."""
    edits = write.body["edits"] if write.deed == "edits" else []
    if len(edits) != 1 or edits[0]["op"] != "update":
        return None
    (what, elements), = [each for each in edits[0].items() if each[0] != "op"]
    if len(elements) != 1 or elements[0].keys() != {"id", "patch"}:
        return None
    return f"/{what}/{quote(key(elements[0]['id']), safe='')}", elements[0]["patch"]
