"""The readers of a random session: every way of reading, and what is refused."""

import copy

import drawing
import drawing_pairs as table
from drawing import DIALECTS
from drawing_wire import KEYHOLDER, Connection, Stream
from model import comparable
from model_answers import Ask, Reader, check_cursor, check_spelling, differs, judge, require
from model_lookups import check_lookup, draw_lookup
from support.jsontext import exact, key, text
from support.tokens import bearer, token


def anchored(ask, reader):
    """A copy of a stream reader's request: its window follows the anchor that it was last told."""
    now = copy.copy(ask)
    if ask.window and "around" in ask.window and reader.anchor:
        now.window = {**ask.window, "around": reader.anchor}
    return now


class Readers:
    """A reader, how it reads, and what comes."""

    def reader(self, board, credential=None, families=None, has_view=True, is_temporary=False):
        """A free reader, or a new one."""
        draw = self.draw
        fitting = [each for each in self.readers if each.board is board and each.is_free and (credential in (None, each.credential))
                   and (families is None or each.family in families) and (has_view or not each.view)]
        wanted = [each for each in fitting if self.of_reader(each) & draw.wanted == draw.wanted & {"token", "view", *DIALECTS}]
        if not is_temporary and fitting and draw.random() < 0.75:
            return draw.choice(wanted or fitting)
        if credential is None:
            able = [each for each in self.credentials if each.may_read(board)]
            tokens = [each for each in able if "token" in each.features]
            credential = draw.choice(tokens if tokens and draw.likes("token", 0.4) else able)
        weights = {"rows": 5, "sequential": 2, "json-patch": 2.5, "counts": 1}
        for family, own in DIALECTS.items():
            if draw.wanted & set(own) or family == "json-patch" and "bare" in draw.wanted or family == "rows" and "compact" in draw.wanted:
                weights[family] *= 10
        weights = {name: weight for name, weight in weights.items() if families is None or name in families}
        family = draw.choices(list(weights), list(weights.values()))[0]
        view = drawing.view(draw) if has_view and draw.likes("view", 0.25) else None
        made = Reader(board, family, credential, view)
        if not is_temporary:
            self.readers.append(made)
        return made

    def of_reader(self, reader):
        return reader.credential.features | ({"view"} if reader.through else set())

    def options(self, reader, way, may_see_less=True):
        """How a reader asks this time."""
        draw = self.draw
        self.asking = reader
        dialect = draw.one_of({each: 9 if each == "staged" and "compact" in draw.wanted else 1 for each in DIALECTS[reader.family]})
        query, headers, features = {}, {}, {dialect, way} | self.of_reader(reader)
        is_bare = dialect == "json-patch" and way in ("post", "plain", "held") and draw.likes("bare", 0.4)
        if is_bare:
            headers["Accept"] = "application/json-patch+json"
            features |= {"bare", "accept"}
        elif way not in ("stream", "many-stream") and draw.likes("accept", 0.3):
            is_plain = dialect == "keyed" and draw.random() < 0.5
            headers["Accept"] = "application/json" if is_plain else f"application/vnd.diffserver.{dialect}+json"
            features.add("accept")
        else:
            query["dialect"] = dialect
        for name, feature, value, chance in (("content", "patch", "patch", 0.3), ("content", "delta", "delta", 0.3), ("smallest", "smallest", "true", 0.1),
                                             ("maxChanges", "maxChanges", draw.randint(0, 7), 0.12)):
            if name not in query and draw.likes(feature, chance):
                query[name] = value
                features.add(feature)
        if dialect == "staged" and draw.likes("compact", 0.4):
            query["staging"] = "compact"
            features.add("compact")
        if draw.likes("gzip", 0.25):
            headers["Accept-Encoding"] = "gzip"
        window = None
        has_windows = may_see_less and reader.family in ("rows", "sequential") and way in ("post", "plain", "held", "stream")
        if has_windows and draw.likes("window", 0.25):
            window = drawing.window(draw, reader.board.head.state)
            features.add("window")
        if reader.view:
            query["view"] = reader.view
        ask = Ask(dialect, {**query}, window, reader.revision or "", is_bare, features)
        if window:
            ask.query.update(window)
        if ask.since and not way.startswith("many"):
            ask.query["since"] = ask.since
        ask.headers = headers
        return ask

    def changeset(self, answer, ask):
        """What an answer says, bare patches included."""
        if answer.is_packed:
            ask.features.add("gzip")
        if not ask.is_bare:
            return self.doctored(answer.exact)
        body = answer.exact
        told = {"session": None, "dialect": "json-patch", "to": answer.headers["etag"].strip('"').removesuffix(";gzip"),
                "from": answer.headers.get("delta-base", "").strip('"') or None}
        if len(body) == 1 and body[0]["path"] == "" and body[0]["op"] == "replace":
            return {**told, "reset": None, "state": body[0]["value"]}
        return {**told, "changes": body}

    def doctored(self, told):
        """What an answer says, falsified now and then on request."""
        kind, changes = self.stage.lie, told.get("changes")
        if not kind or self.draw.random() > 0.02:
            return told
        if kind == "operation" and isinstance(changes, list) and changes:
            changes.pop(self.draw.randrange(len(changes)))
        elif kind == "reason" and "reset" in told:
            told["reset"] = "replaced" if told["reset"] != "replaced" else "expired"
        elif kind == "member":
            for name in ("window", "list", "warnings"):
                told.pop(name, None)
        elif kind == "reset" and changes and "state" not in told:
            del told["changes"]
            told.update(reset="expired", state={"sections": []})
        elif kind == "cursor":
            told["to"] = told["to"][:-1] + ("0" if told["to"][-1] != "0" else "1")
        return told

    def judged(self, reader, ask, told, head):
        self.asking = reader
        if ask.is_bare:
            told = {**told, "session": reader.board.name, "from": told["from"] or ask.since or None}
        features = judge(reader, ask, told, head)
        self.count(features, reader.board)

    # Reads

    def read(self, board):
        draw = self.draw
        way = draw.one_of({"plain": 6, "many": 1, "lookup": 1, "whole": 1, "refused": 1})
        if "refused" in way:
            return self.refusal(board)
        if way == "lookup":
            return self.look_up(board)
        if way == "whole":
            return self.whole(board)
        if way == "many":
            return self.many(board)
        reader = self.reader(board)
        ask = self.options(reader, "plain")
        answer = self.request("GET", board.path + "/changes", ask.query, {**reader.credential.headers, **ask.headers})
        require(answer.status == 200, "a read:", answer)
        told = self.changeset(answer, ask)
        self.judged(reader, ask, told, board.head)
        if "smallest" in ask.query and ask.since and ask.dialect != "counts" and not ask.is_bare:
            self.check_smallest(reader, ask, told)

    def check_smallest(self, reader, ask, told):
        """`changes` longer than the state in a reset are not sent."""
        query = {name: value for name, value in ask.query.items() if name not in ("smallest", "maxChanges")}
        lengths, windows = [], []
        for asked in (query, {**query, "since": ""}):
            answer = self.request("GET", reader.board.path + "/changes", asked, {**reader.credential.headers, **ask.headers})
            member = b'"changes":' if b'"changes":' in answer.body else b'"state":'
            lengths.append((member, len(answer.body.split(member, 1)[1]) - 1))
            windows.append(answer.exact.get("window"))
        (member, changes), (_, state) = lengths
        # A reader's window follows its anchor, and may differ from the one with which a new reader begins.
        if member == b'"changes":' and windows[0] == windows[1]:
            is_large = "reset" in told
            is_right = is_large == (changes > state) or is_large and "maxChanges" in ask.query
            require(is_right, "changes of", changes, "and a state of", state, "bytes:", told)

    def whole(self, board):
        self.asking = reader = self.reader(board)
        headers = {**reader.credential.headers, **({"Accept-Encoding": "gzip"} if self.draw.likes("gzip", 0.4) else {})}
        answer = self.request("GET", board.path, {"view": reader.view} if reader.view else {}, headers)
        require(answer.status == 200, "the whole:", answer)
        told, (state, _) = answer.exact, board.seen(board.head, reader.through)
        require(comparable(told["state"], []) == comparable(state, []), "the whole is", told["state"], "in place of", state)
        check_spelling(told["state"])
        check_cursor(board, reader.through, told["revision"], board.head)
        require(answer.headers["etag"] == f'"{told["revision"]}{";gzip" if answer.is_packed else ""}"', "the tag of", answer)
        self.count({"whole"} | self.of_reader(reader) | board.head.features | ({"gzip"} if answer.is_packed else set()), board)

    def look_up(self, board):
        self.asking = reader = self.reader(board)
        path, query, wanted = draw_lookup(self.draw, reader)
        headers = {**reader.credential.headers, **({"Accept-Encoding": "gzip"} if self.draw.likes("gzip", 0.4) else {})}
        answer = self.request("GET", board.path + path, query, headers)
        check_lookup(answer, board, reader, query, wanted)
        self.count({"lookup"} | self.of_reader(reader) | board.head.features | ({"gzip"} if answer.is_packed else set()), board)

    def several(self, board, way):
        """Readers of one family and credential, of several boards, and how they ask."""
        first = self.reader(board, has_view=False)
        readers = [first]
        for other in self.boards:
            if other is not board and first.credential.may_read(other):
                readers.append(self.reader(other, first.credential, {first.family}, False))
        ask = self.options(first, way)
        asks = []
        for each in readers:
            own = copy.copy(ask)
            own.since, own.features = each.revision or "", set(ask.features)
            asks.append(own)
        named = [f"{each.board.name}@{own.since}" if own.since else each.board.name for each, own in zip(readers, asks, strict=True)]
        query = {**ask.query, "session": named}
        return readers, asks, query, ask.headers

    def many(self, board):
        readers, asks, query, headers = self.several(board, "many")
        if readers[0].credential is KEYHOLDER and self.draw.random() < 0.2:
            query["session"].append("nobody")
        answer = self.request("GET", "/v1/changes", query, {**readers[0].credential.headers, **headers})
        require(answer.status == 200, "many:", answer)
        answers = answer.exact["answers"]
        require(len(answers) == len(query["session"]), "answers of", query, answer)
        for reader, ask, told in zip(readers, asks, answers):
            if answer.is_packed:
                ask.features.add("gzip")
            self.judged(reader, ask, self.doctored(told), reader.board.head)
        if len(answers) > len(readers):
            require(answers[-1]["problem"]["type"] == "/problems/session-not-found", "nobody:", answers[-1])

    # Those who wait

    def wait(self, board):
        draw = self.draw
        way = draw.one_of({"held": 2, "stream": 2, "many-stream": 1})
        if way == "held":
            reader = self.reader(board, families={"rows", "sequential", "json-patch"})
            ask = self.options(reader, "held")
            connection = Connection(self.server)
            query = {**ask.query, "wait": 30}
            headers = {**reader.credential.headers, **ask.headers}
            target = self.target(board.path + "/changes", query)
            self.said("GET", target, headers, None, " &")
            connection.send("GET", target, headers)
            reader.held, reader.is_free = (connection, ask), False
            return self.settle(reader)
        if way == "stream":
            reader = self.reader(board)
            if reader.family == "counts" and reader.base is None:
                return
            ask = self.options(reader, "stream")
            target = self.target(board.path + "/changes", ask.query)
            readers, asks = [reader], [ask]
            headers = {**reader.credential.headers, **ask.headers}
        else:
            readers, asks, query, headers = self.several(board, "many-stream")
            if readers[0].family == "counts" and any(each.base is None for each in readers):
                return
            headers = {**readers[0].credential.headers, **headers}
            target = self.target("/v1/changes", query)
        self.said("GET", target, {"Accept": "text/event-stream", **headers}, None, " &")
        stream = Stream(self.server, target, headers)
        for reader, ask in zip(readers, asks):
            reader.is_free = False
            reader.stream = stream, ask, {each.board.name: (each, own) for each, own in zip(readers, asks)}, way
        for reader in readers:
            self.settle(reader)

    def settle(self, reader, is_last=False):
        """Reads what has come to waiting readers, and waits for what must come."""
        if reader.held:
            connection, ask = reader.held
            head = reader.board.head
            self.asking = reader
            if connection.is_answered() or reader.base is None or reader.place_differs(ask) or differs(reader, head, ask):
                answer = connection.receive()
                self.last = answer
                require(answer.status == 200, "a held request:", answer)
                told = self.changeset(answer, ask)
                self.note(f"# held: {told}", reader)
                ask.is_lenient = True
                self.judged(reader, ask, told, self.head_of(reader.board, told["to"]))
                connection.close()
                reader.held, reader.is_free = None, True
            elif is_last:
                connection.close()
                reader.held, reader.is_free = None, True
        if reader.stream:
            self.listen(reader, is_last or self.draw.random() < 0.25)

    def listen(self, reader, is_waiting):
        self.asking = reader
        stream, ask, readers, way = reader.stream
        head = reader.board.head
        while True:
            behind = is_waiting and reader.family != "counts" and differs(reader, head, anchored(ask, reader))
            event = stream.next(10 if behind else 0.1 if is_waiting and reader.family == "counts" and reader.told is not head else 0)
            if event is None:
                require(not behind, "no event came of", head.number, "to who is at", reader.base and reader.base.number, ask.query)
                return
            self.note(f"# event: {event.lines}", reader)
            self.take(event, ask, readers, way)

    def take(self, event, ask, readers, way):
        if event.event is None:
            # The cursor of several is opaque to clients; here it says where each of them is.
            cursors = [each.partition("=")[::2] for each in event.id.split(",")] if way != "stream" else [("0", event.id)]
            for index, cursor in cursors:
                self.advance(*list(readers.values())[int(index)], cursor)
            return
        require(event.event == "changes", "what event?", event)
        told = exact(event.fields["data"])
        reader, ask = readers[told["session"]]
        now = anchored(ask, reader)
        now.since, now.features, now.is_lenient = reader.revision or "", set(ask.features), True
        if reader.stream[0].is_packed:
            now.features.add("gzip")
        self.judged(reader, now, self.doctored(told), self.head_of(reader.board, told["to"]))
        if now.window and told["window"]["anchor"] is not None:
            reader.anchor = key(told["window"]["anchor"])
        if way == "stream":
            require(event.id == (reader.revision if reader.family == "counts" else told["to"]), "the event's id:", event)

    def advance(self, reader, ask, cursor):
        """An event with only an id: nothing that the reader shows has changed."""
        if cursor == reader.revision:
            return
        head = self.head_of(reader.board, cursor)
        require(reader.through or reader.place, "a newer id for who sees all:", cursor)
        require(not differs(reader, head, anchored(ask, reader)), "a newer id, yet something changed:", cursor)
        reader.base, reader.replica.revision = head, cursor
        if reader.place:
            reader.place = tuple(map(int, cursor.split("~")[1].split(".")))

    # What is forbidden

    def refusal(self, board):
        """Asks for what the contract forbids."""
        self.asking = None
        if self.draw.random() < 0.25:
            return self.refusal_of_token(board)
        pair = self.draw.choice(sorted(map(sorted, table.FORBIDDEN)))
        features = set(pair)
        way = next((each for each in table.WAYS if each in features), "plain")
        path = {"many": "/v1/changes", "many-stream": "/v1/changes", "whole": board.path, "lookup": board.path + "/items/a"}.get(
            way, board.path + "/changes")
        query = {"session": board.name} if path == "/v1/changes" else {}
        headers, method, body, status, name = dict(KEYHOLDER.headers), "GET", None, 400, b"/problems/"
        if "source" in features:
            if not board.has_source:
                return
            method, path = ("PUT", board.path) if "put" in features else ("POST", board.path + "/changes")
            status, name, body = 409, b"has-source", b'{"state":[]}'
        query.update({"dialect": each for each in table.DIALECTS if each in features})
        if "bare" in features:
            headers["Accept"] = "application/json-patch+json"
            status = 406 if "many" in features else 400
        query.update({parameter: value for feature, parameter, value in (
            ("patch", "content", "patch"), ("delta", "content", "delta"), ("smallest", "smallest", "true"), ("maxChanges", "maxChanges", 3), ("held", "wait", 5))
            if feature in features})
        if "window" in features:
            query["around" if way in ("lookup", "many") else "at"] = "start"
        if way == "many-stream":
            headers["Accept"] = "text/event-stream"
        answer = self.request(method, path, query, headers, body)
        require(answer.status == status and name in answer.body, "not refused as", status, name, pair, answer)
        self.refused[frozenset(pair)] += 1
        self.passed += 1

    def refusal_of_token(self, board):
        """What a token may not do: a view and edits together, seeing where it may only edit, states."""
        view, edits = '{"limit":1}', b'{"edits":[]}'
        path, changes = board.path + "/tokens", board.path + "/changes"
        able = {"scope": "edit", "client_id": "one"}
        what, status, method, path, query, claims, body = self.draw.choice([
            ("minting a view with edits", 422, "POST", path, {}, None, b'{"scope":["read","edit"],"view":{"limit":1}}'),
            ("minting a long client_id", 422, "POST", path, {}, None, text({"client_id": "x" * 129}).encode()),
            ("a claim of a view with edits", 401, "GET", changes, {}, {"scope": "read edit", "view": {"limit": 1}}, None),
            ("a claim of no client_id", 401, "GET", changes, {}, {"scope": "read", "client_id": ""}, None),
            ("a view for who may edit alone", 403, "POST", changes, {"view": view}, able, edits),
            ("a window for who may edit alone", 403, "POST", changes, {"at": "start", "after": 5}, able, edits),
            ("no view for who may edit alone", 403, "POST", changes, {"view": "nonsense"}, able, edits),
            ("reading for who may edit alone", 403, "GET", changes, {}, able, None),
            ("edits for who may read alone", 403, "POST", changes, {}, {"scope": "read"}, edits),
            ("moves for who may insert alone", 403, "POST", changes, {}, {"scope": "read edit:insert"},
             b'{"edits":[{"op":"move","items":["a"]}]}'),
            ("a state by a token", 403, "POST", changes, {}, able, b"[]")])
        headers = KEYHOLDER.headers if claims is None else bearer(token(board.name, **claims))
        answer = self.request(method, path, query, headers, body)
        require(answer.status == status, "not refused as", status, what, answer)
        self.refused[what] += 1
        self.passed += 1
