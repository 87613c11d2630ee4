"""Views: readers that show less than the session holds: CONTRACT §10."""

import random
import threading
from urllib.parse import quote, quote_plus

from support.appliers import DIALECTS, NOT_ADOPTED, rows
from support.client import Client, session_path, target
from support.clock import wait_for
from support.jsontext import exact, text
from support.replica import Replica, content
from support.states import canonical, changed, random_state
from support.views import random_view, viewed
from test_events import StreamCase

CURSOR = r"^[0-9]+-[0-9a-f]{16}$"


def view_query(view, **query):
    return {"view": view if isinstance(view, str) else text(view), **query}


class ViewCase(StreamCase):
    def head(self, session, view=None, **headers):
        return self.get(session_path(session), view_query(view) if view else None, **headers)

    def state(self, session):
        """The whole state."""
        return self.get_session(session).exact["state"]

    def base(self, session, view):
        """The cursor of a reader through the view."""
        return self.head(session, view).json["revision"]

    def ids(self, session, view):
        """The ids of the rows that a view shows."""
        answer = self.head(session, view)
        self.assertStatus(answer, 200)
        return [row["id"] for _, own in rows.visible(answer.exact["state"]).sections for row in own]

    def held(self, session, query):
        """Asks on another thread; a function that waits for the answer."""
        found = []

        def ask():
            client = Client(self.server, 60)
            found.append(client.request("GET", target(session_path(session, "changes"), query)))
            client.close()

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()

        def answer():
            thread.join(60)
            self.assertTrue(found, "no answer came")
            return found[0]

        return answer

    def wait_for_readers(self, session, count=1):
        """Waits until so many wait for the session."""
        def are_there():
            listed = self.get("/v1/sessions", {"prefix": session}).json["sessions"]
            return any(each["session"] == session and each["readers"] >= count for each in listed)
        wait_for(are_there, f"{count} wait for {session}", not_yet=())


class Comparisons(ViewCase):
    """Which of these values pass a test, and in which order they come."""

    VALUES = [
        ("absent", None), ("null", "null"), ("false", "false"), ("true", "true"), ("-10^400", "-1e400"), ("-2", "-2"),
        ("-1.5", "-1.5"), ("-tiny", "-1e-400"), ("zero", "0"), ("-zero", "-0.0"), ("tiny", "1e-400"), ("one", "1"), ("1.0", "1.0"),
        ("10e-1", "10e-1"), ("ten", "10"), ("2^53", "9007199254740992"), ("2^53+1", "9007199254740993"), ("10^400", "1e400"),
        ("huge", "1e999999999"), ("HUGE", "0.10E+1000000000"), ("beyond", "1e1000000000000000000000"), ("''", '""'), ("'1'", '"1"'),
        ("'10'", '"10"'), ("'B'", '"B"'), ("'a'", '"a"'), ("'ab'", '"a\\u0062"'), ("'é'", '"\\u00e9"'), ("'\uffff'", '"\uffff"'),
        ("'\U0001f600'", '"\\ud83d\\ude00"'), ("[]", "[]"), ("[1]", "[1]"), ("{}", "{}"), ("{a}", '{"a":1,"b":[1.0]}'),
    ]
    NUMBERS = [name for name, token in VALUES if token and token[0] in "-0123456789"]
    STRINGS = [name for name, token in VALUES if token and token[0] == '"']

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(1)
        mixed = chance.sample(cls.VALUES, len(cls.VALUES))
        contents = ["{}" if token is None else '{"v":' + token + "}" for _, token in mixed]
        items = [f'{{"id":{text(name)},"content":{own}}}' for (name, _), own in zip(mixed, contents)]
        cls.client.request("PUT", session_path("values"), f'{{"state":[{",".join(items)}]}}')
        cls.order = [name for name, _ in mixed]

    def passing(self, test):
        found = self.ids("values", f'{{"where":[{{"at":"/content/v",{test}}}]}}')
        view = exact(f'{{"where":[{{"at":"/content/v",{test}}}]}}')
        self.assertEqual(found, [row["id"] for row in viewed(self.state("values"), view)["sections"][0]["items"]], "the oracle differs")
        return [name for name, _ in self.VALUES if name in found]

    def test_what_passes(self):
        names = [name for name, _ in self.VALUES]
        numbers, strings = self.NUMBERS, self.STRINGS
        cases = {
            '"is":1': ["one", "1.0", "10e-1"], '"is":1.00': ["one", "1.0", "10e-1"], '"is":0': ["zero", "-zero"],
            '"is":9007199254740993': ["2^53+1"], '"is":9007199254740992': ["2^53"], '"is":9.007199254740993e15': ["2^53+1"],
            '"is":1e999999999': ["huge", "HUGE"], '"is":10e999999999999999999999': ["beyond"], '"is":1e999999998': [],
            '"is":null': ["null"], '"is":false': ["false"], '"is":"1"': ["'1'"], '"is":"ab"': ["'ab'"], '"is":"e\u0301"': [],
            '"is":[1e0]': ["[1]"], '"is":{ "b":[1], "a":1.0}': ["{a}"], '"is":{}': ["{}"], '"is":[]': ["[]"],
            '"not":1': [name for name in names if name not in ("one", "1.0", "10e-1")],
            '"not":null': [name for name in names if name != "null"],
            '"in":[]': [], '"in":[null,1,"a",[]]': ["null", "one", "1.0", "10e-1", "'a'", "[]"],
            '"below":0': ["-10^400", "-2", "-1.5", "-tiny"], '"atMost":0': ["-10^400", "-2", "-1.5", "-tiny", "zero", "-zero"],
            '"above":9007199254740992': ["2^53+1", "10^400", "huge", "HUGE", "beyond"], '"above":1e999999999': ["beyond"],
            '"atLeast":1E+0999999999': ["huge", "HUGE", "beyond"], '"above":-1e-400': numbers[numbers.index("zero"):],
            '"below":"a"': ["''", "'1'", "'10'", "'B'"], '"atMost":"a"': ["''", "'1'", "'10'", "'B'", "'a'"],
            '"above":"a"': ["'ab'", "'é'", "'\uffff'", "'\U0001f600'"], '"above":"\uffff"': ["'\U0001f600'"],
            '"above":"\\ud83d\\udE00"': [], '"atLeast":"\\ud83d\\ude00"': ["'\U0001f600'"], '"atLeast":""': strings,
            '"has":""': strings, '"has":"1"': ["'1'", "'10'"], '"has":"b"': ["'ab'"], '"has":"\\ud83d\\ude00"': ["'\U0001f600'"],
            '"exists":true': names[1:], '"exists":false': ["absent"],
        }
        for test, wanted in cases.items():
            with self.subTest(test):
                self.assertEqual(self.passing(test), wanted)

    def test_the_order_of_values(self):
        """Each value is where the table has it; equal ones keep the order of the state."""
        equal = [["zero", "-zero"], ["one", "1.0", "10e-1"], ["huge", "HUGE"], ["[]", "[1]", "{}", "{a}"]]
        rank = {name: number for number, (name, _) in enumerate(self.VALUES)}
        for group in equal:
            rank.update(dict.fromkeys(group, rank[group[0]]))
        self.assertEqual(self.ids("values", '{"order":[{"at":"/content/v"}]}'), sorted(self.order, key=rank.get))
        turned = self.ids("values", '{"order":[{"at":"/content/v","descending":true}]}')
        self.assertEqual(turned, sorted(self.order, key=lambda name: -rank[name]))

    def random_value(self, chance):
        """Adjacent numbers in many notations, and strings with common beginnings."""
        if chance.random() < 0.3:
            letters = ["a", "b", "\u00e9", "\U0001f600", "\uffff", "\x00", "\\"]
            return text("".join(chance.choice(letters) for _ in range(chance.randint(0, 9))))
        digits = chance.choice(["1", "10", "9", "99", "9007199254740993", "1000000000000001", "0"])
        sign, zeros = chance.choice(["", "-"]), "0" * chance.choice([0, 0, 1, 20])
        power = chance.choice([0, 0, 1, -1, 15, 400, -400, 10**18, -10**18, 10**25]) + chance.randint(-2, 2) - len(zeros)
        number = sign + digits + (zeros if digits != "0" else "")
        return number if power == 0 else f"{number}{chance.choice(['', '.0', '.5'])}e{power}"

    def test_spaces_and_pluses_however_they_are_encoded(self):
        session, _ = self.made('[{"id":"a","content":{"v":"one two"}},{"id":"b","content":{"v":"one+two"}}]')
        for value, found in (("one two", "a"), ("one+two", "b")):
            view = f'{{"where": [{{"at": "/content/v", "is": "{value}"}}]}}'
            for encoded in (quote(view), quote_plus(view), quote_plus(view).replace("+", "%20")):
                with self.subTest(encoded):
                    answer = self.get(f"{session_path(session)}?view={encoded}")
                    self.assertEqual([row["id"] for row in answer.json["state"]["sections"][0]["items"]], [found])

    def test_random_values(self):
        chance = random.Random(2)
        values = [self.random_value(chance) for _ in range(250)]
        items = [f'{{"id":{number},"content":{value}}}' for number, value in enumerate(values)]
        session, _ = self.made('{"items":[' + ",".join(items) + "]}")
        state = self.state(session)
        views = [f'{{"order":[{{"at":"/content","descending":{turned}}}]}}' for turned in ("true", "false")]
        for _ in range(60):
            test = chance.choice(["is", "not", "below", "above", "atMost", "atLeast"])
            views.append(f'{{"where":[{{"at":"/content","{test}":{chance.choice([*values, self.random_value(chance)])}}}]}}')
        for view in views:
            with self.subTest(view):
                self.assertEqual(self.head(session, view).exact["state"], viewed(state, exact(view)))

    def test_the_next_order_decides_among_equals(self):
        items = [{"id": number, "content": {"a": [2, 1.0, 1][number % 3], "b": "xyz"[number % 2]}} for number in range(12)]
        session, _ = self.made(items)
        view = '{"order":[{"at":"/content/a"},{"at":"/content/b","descending":true},{"at":"/kind"}]}'
        wanted = sorted(range(12), key=lambda n: ([2, 1, 1][n % 3], -(n % 2)))
        self.assertEqual([int(each) for each in self.ids(session, view)], wanted)

    def test_ids_kinds_and_what_is_expanded(self):
        session, _ = self.made([{"id": 1}, {"id": "1x", "kind": "ad"}, {"id": "10", "kind": "a"}, {"id": 2, "expanded": False}, "b"])
        cases = {
            '{"where":[{"at":"/id","is":1}]}': ["1"], '{"where":[{"at":"/id","is":"1"}]}': ["1"],
            '{"where":[{"at":"/id","is":10}]}': ["10"],
            '{"where":[{"at":"/id","in":["2",10]}]}': ["10", "2"], '{"where":[{"at":"/id","not":"2"}]}': ["1", "1x", "10", "b"],
            '{"where":[{"at":"/id","atLeast":2}]}': ["10", "2"], '{"where":[{"at":"/id","has":"1"}]}': ["1", "1x", "10"],
            '{"where":[{"at":"/kind","exists":false}]}': ["1", "2", "b"], '{"where":[{"at":"/kind","has":"a"}]}': ["1x", "10"],
            '{"where":[{"at":"/expanded","is":false}]}': ["2"],
            '{"where":[{"at":"/expanded","not":false},{"at":"/kind","not":"ad"}]}': ["1", "10", "b"],
            '{"order":[{"at":"/id","descending":true}]}': ["b", "1x", "10", "2", "1"],
            '{"order":[{"at":"/kind"}]}': ["1", "2", "b", "10", "1x"],
            '{"order":[{"at":"/expanded"}],"limit":1}': ["2"],
        }
        for view, wanted in cases.items():
            with self.subTest(view):
                self.assertEqual(self.ids(session, view), wanted)

    def test_arrays_end_a_pointer(self):
        session, _ = self.made([
            {"id": "a", "content": [{"n": 1}]}, {"id": "b", "content": {"0": {"n": 1}}}, {"id": "c", "content": "text"}])
        self.assertEqual(self.ids(session, '{"where":[{"at":"/content/0/n","exists":true}]}'), ["b"])
        self.assertEqual(self.ids(session, '{"where":[{"at":"/content","has":"ex"}]}'), ["c"])


OUTLINE = {"content": {"title": "All", "secret": 1}, "sections": [
    {"id": "s", "content": {"head": "S", "n": 1}, "items": [
        {"id": "a", "content": {"n": 3, "t": {"x": 1, "y": 2}}, "items": [
            {"id": "a2", "content": {"n": 2}},
            {"id": "a1", "content": {"n": 1, "done": True}, "items": [{"id": "a11", "content": {"n": 0}}]}]},
        {"id": "b", "content": {"n": 1, "done": True}, "items": [{"id": "b1", "content": {"n": 5}}]},
        {"id": "c", "content": "text", "kind": "k", "expanded": False, "items": [{"id": "c1", "content": {"n": 9}}]}]},
    {"id": "empty", "content": 7, "items": []},
    {"id": 4, "expanded": False, "items": [{"id": "d", "content": {"n": 2}}, {"id": "e"}]}]}


class Members(ViewCase):
    """What each member of a view shows."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client.request("PUT", session_path("outline"), {"state": OUTLINE})

    def shown(self, view):
        answer = self.head("outline", view)
        self.assertStatus(answer, 200)
        self.assertEqual(answer.exact["state"], viewed(canonical(OUTLINE), view), "the oracle differs")
        return answer.json["state"]

    def test_sections_keep_their_order_and_the_empty_ones_stay(self):
        for wanted, found in ((["4", "s"], ["s", 4]), ([4, "none"], [4]), ([], []), (["empty"], ["empty"])):
            self.assertEqual([each["id"] for each in self.shown({"sections": wanted})["sections"]], found)
        self.assertEqual([each["id"] for each in self.shown({"limit": 0})["sections"]], ["s", "empty", 4])

    def test_an_item_that_is_left_out_takes_its_children_along(self):
        shown = self.shown({"where": [{"at": "/content/done", "not": True}]})["sections"]
        self.assertEqual([[item["id"] for item in each["items"]] for each in shown], [["a", "c"], [], ["d", "e"]])
        self.assertEqual([item["id"] for item in shown[0]["items"][0]["items"]], ["a2"])

    def test_each_list_of_siblings_is_ordered_for_itself(self):
        shown = self.shown({"order": [{"at": "/content/n"}]})["sections"]
        self.assertEqual([[item["id"] for item in each["items"]] for each in shown], [["c", "b", "a"], [], ["e", "d"]])
        self.assertEqual([item["id"] for item in shown[0]["items"][2]["items"]], ["a1", "a2"])

    def test_the_limit_counts_items_of_the_top_level_over_all_sections(self):
        for limit, wanted in ((1, ["a", "", ""]), (3, ["abc", "", ""]), (4, ["abc", "", "d"]), (9, ["abc", "", "de"])):
            shown = self.shown({"limit": limit})["sections"]
            self.assertEqual(["".join(item["id"] for item in each["items"]) for each in shown], wanted)
        self.assertEqual(len(shown[0]["items"][0]["items"]), 2)

    def test_order_comes_before_the_limit_and_tests_before_order(self):
        view = {"where": [{"at": "/content/n", "exists": True}], "order": [{"at": "/content/n"}], "limit": 1, "sections": ["s", 4]}
        self.assertEqual([[item["id"] for item in each["items"]] for each in self.shown(view)["sections"]], [["b"], []])

    def test_fields_of_items(self):
        cases = {"/content/n": {"n": 3}, "/content/t/x": {"t": {"x": 1}}, "/content/t": {"t": {"x": 1, "y": 2}},
                 "/content/none": {}, "/content/n/x": {}}
        for field, wanted in cases.items():
            item = self.shown({"fields": [field]})["sections"][0]["items"][0]
            self.assertEqual(item["content"], wanted)
        items = self.shown({"fields": ["/content/n", "/content/t/x", "/id"]})["sections"][0]["items"]
        self.assertEqual(items[0]["content"], {"n": 3, "t": {"x": 1}})
        self.assertEqual((items[2]["kind"], items[2]["expanded"], "content" in items[2]), ("k", False, False))
        for fields in ([], ["/kind", "/id", "/expanded"]):
            self.assertNotIn("content", self.shown({"fields": fields})["sections"][0]["items"][0])
        self.assertEqual(self.shown({"fields": ["/content"]}), self.head("outline").json["state"])

    def test_fields_of_sections_and_of_the_list(self):
        shown = self.shown({"sectionFields": ["/content/head"], "listFields": ["/content/title"]})
        self.assertEqual(shown["content"], {"title": "All"})
        self.assertEqual([each.get("content") for each in shown["sections"]], [{"head": "S"}, None, None])
        shown = self.shown({"sectionFields": [], "listFields": []})
        self.assertNotIn("content", shown)
        self.assertTrue(all("content" not in each for each in shown["sections"]))

    def test_random_views_of_random_states(self):
        chance = random.Random(3)
        for number in range(150):
            state, view = random_state(chance), random_view(chance)
            session = f"random-{number % 4}"
            self.assertIn(self.put_session(session, {"state": state}).status, (200, 201))
            with self.subTest(state=state, view=view):
                self.assertEqual(self.head(session, view).exact["state"], viewed(canonical(state), view))


SHOWN = {"where": [{"at": "/content/shown", "is": True}], "fields": ["/content/shown", "/content/n"], "listFields": [], "sectionFields": []}


def board(shown, hidden=0, extra=0):
    """A list whose reader through `SHOWN` sees `shown` rows."""
    seen = [{"id": f"row{number}", "content": {"shown": True, "n": number, "extra": extra}} for number in range(shown)]
    rest = [{"id": f"hidden{number}", "content": {"secret": number}} for number in range(hidden)]
    return {"content": extra, "items": seen + rest}


class Answers(ViewCase):
    """Each kind of answer through a view."""

    def test_the_head_and_its_tag(self):
        session, plain = self.made(board(2, 3))
        answer = self.head(session, SHOWN)
        revision = answer.json["revision"]
        self.assertRegex(revision, CURSOR)
        self.assertNotEqual(revision, plain)
        self.assertEqual(revision.split("-")[0], plain.split("-")[0])
        self.assertEqual(answer.headers["ETag"], f'"{revision}"')
        self.assertEqual(answer.exact["state"], viewed(self.state(session), SHOWN))
        for tag in (f'"{revision}"', f'W/"{revision}"', f'"x", "{revision};gzip"', "*"):
            found = self.head(session, SHOWN, If_None_Match=tag)
            self.assertEqual((found.status, found.body), (304, b""))
        for tag in (f'"{plain}"', f'"{self.base(session, {"limit": 1})}"'):
            self.assertStatus(self.head(session, SHOWN, If_None_Match=tag), 200)
        self.assertStatus(self.head(session, If_None_Match=f'"{revision}"'), 200)
        head = self.request("HEAD", session_path(session), None, view_query(SHOWN))
        self.assertEqual((head.status, head.headers["ETag"], head.headers["Content-Length"]), (200, f'"{revision}"', str(len(answer.body))))

    def test_equal_views_have_equal_cursors(self):
        session, plain = self.made(board(2, 3))
        first = self.base(session, '{"where":[{"at":"/content/n","is":1}],"order":[{"at":"/id"}]}')
        for same in ('{ "order" : [ {"descending":false,"at":"/id"} ], "where":[{"is":1,"at":"/content/n"}] }',
                     '{"where":[{"at":"/content/\\u006e","is":1}],"order":[{"at":"/id"}]}'):
            self.assertEqual(self.base(session, same), first)
        self.assertNotEqual(self.base(session, '{"where":[{"at":"/content/n","is":2}],"order":[{"at":"/id"}]}'), first)
        sets = [self.base(session, {"where": [{"at": "/content/n", "in": each}]}) for each in ([1, "é", []], [[], "é", 1, "é"], [1, "é"])]
        self.assertEqual(sets[0], sets[1])
        for one, other in (('{"at":"/content/n","is":1},{"at":"/content/t","has":"AB","fold":true}', '{"at":"/content/t","has":"ab","fold":true},{"at":"/content/n","is":1.0}'),
                           ('{"any":[{"at":"/id","is":"1"},{"at":"/content/n","above":1e1}]}', '{"any":[{"at":"/content/n","above":10},{"at":"/id","is":"1"}]}')):
            self.assertEqual(self.base(session, f'{{"where":[{one}]}}'), self.base(session, f'{{"where":[{other}]}}'))
        self.assertNotEqual(sets[0], sets[2])
        for none in ("{}", " { } "):
            self.assertEqual(self.base(session, none), plain)

    def test_each_dialect_leads_from_view_to_view(self):
        chance = random.Random(4)
        for dialect in DIALECTS:
            for number in range(8):
                view, state = random_view(chance), random_state(chance)
                session, _ = self.made(state)
                replica = Replica(dialect)
                with self.subTest(dialect, number=number, view=view):
                    self.assertEqual(replica.receive(self.answered(session, view, dialect)), "adopted")
                    for _ in range(4):
                        state = changed(chance, self.state(session))
                        self.wrote(session, state)
                        query = {"content": "patch"} if chance.random() < 0.5 else {}
                        changeset = self.answered(session, view, dialect, since=replica.revision, **query)
                        self.assertEqual(changeset["from"], replica.revision)
                        self.assertNotIn("reset", changeset)
                        self.assertEqual(replica.receive(changeset), "adopted")
                        self.assertTrue(replica.shows(viewed(canonical(state), view)), (replica.model, state))
                    self.assertEqual(replica.revision, self.base(session, view))

    def answered(self, session, view, dialect, **query):
        answer = self.get_changes(session, view_query(view, dialect=dialect, **query))
        self.assertChangeset(answer, dialect=dialect)
        return answer.exact

    def test_what_is_not_shown_is_no_change(self):
        session, _ = self.made(board(2, 3))
        base = self.base(session, SHOWN)
        for state in (board(2, 4), board(2, 0, extra=1)):
            self.wrote(session, state)
            for dialect, nothing in {"keyed": [], "indexed": {}, "staged": [], "sequential": [], "json-patch": [], "counts": {}}.items():
                answer = self.get_changes(session, view_query(SHOWN, since=base, dialect=dialect)).json
                self.assertEqual((answer["changes"], "list" in answer), (nothing, False), (dialect, answer))
        self.assertNotEqual(answer["to"], base)

    def test_a_writer_sees_what_it_changed_through_a_view(self):
        session = self.new_name()
        answer = self.post_changes(session, board(1, 1), view_query(SHOWN))
        changeset = self.assertReset(answer, "initial", 201)
        self.assertEqual([row["id"] for row in changeset["state"]["sections"][0]["items"]], ["row0"])
        first = changeset["to"]
        changeset = self.assertChangeset(self.post_changes(session, board(2, 2), view_query(SHOWN)))
        self.assertEqual((changeset["from"], changeset["to"]), (first, self.base(session, SHOWN)))
        self.assertEqual([operation["op"] for operation in changeset["changes"]], ["insert"])
        edits = {"edits": [{"op": "delete", "items": ["row0", "hidden0"]}]}
        changeset = self.assertChangeset(self.post_changes(session, edits, view_query(SHOWN, since=first)))
        self.assertEqual([operation["op"] for operation in changeset["changes"]], ["remove", "insert"])
        self.assertEqual(changeset["changes"][0]["items"], ["row0"])
        minimal = self.post_changes(session, board(3), view_query(SHOWN), Prefer="return=minimal").json
        self.assertEqual(minimal["to"], self.base(session, SHOWN))

    def test_a_writer_s_precondition_may_be_a_cursor(self):
        session, _ = self.made(board(1, 1))
        through = self.base(session, SHOWN)
        self.assertStatus(self.post_changes(session, board(1, 2), view_query(SHOWN), If_Match=f'"{through}"'), 200)
        answer = self.post_changes(session, board(1, 3), view_query(SHOWN), If_Match=f'"{through}"')
        current = self.assertProblem(answer, 412, "revision-mismatch")["current"]
        # The answer was lost: the head was made from that by the same request.
        self.assertStatus(self.post_changes(session, board(1, 2), view_query(SHOWN), If_Match=f'"{through}"'), 200)
        self.assertStatus(self.post_changes(session, board(1, 3), view_query(SHOWN), If_Match=f'"{current}"'), 200)

    def test_a_repeated_write_is_told_through_its_view(self):
        session, _ = self.made(board(1, 1))
        told = [self.post_changes(session, board(3, 2), view_query(SHOWN), Idempotency_Key="k").json for _ in range(2)]
        self.assertEqual(told[0], told[1])
        self.assertEqual([each["op"] for each in told[1]["changes"]], ["insert"])

    def test_cursors_of_another_view_are_no_base(self):
        session, plain = self.made(board(2, 3))
        other = self.base(session, {"limit": 1})
        through = self.base(session, SHOWN)
        for since, query in ((plain, view_query(SHOWN)), (other, view_query(SHOWN)), (through, {}), (through, view_query({"limit": 1}))):
            with self.subTest(since=since, query=query):
                answer = self.get_changes(session, {**query, "since": since}).json
                self.assertIn(answer.get("reset"), ("unknown", "expired"))
                self.assertEqual(answer["from"], since)
        for since in ("x", through + "~", through + "~1.2", through + "~0.2.5", through + "~1.-2.1", through + "-"):
            with self.subTest(since):
                self.assertProblem(self.get_changes(session, view_query(SHOWN, since=since)), 400, "malformed-revision")
        empty = self.get_changes(session, view_query(SHOWN, since="")).json
        self.assertEqual((empty["reset"], empty["from"]), ("initial", None))

    def test_resets_show_the_view(self):
        session, _ = self.made(board(2, 3))
        base = self.base(session, SHOWN)
        self.put_session(session, {"state": board(3, 1)})
        answer = self.assertReset(self.get_changes(session, view_query(SHOWN, since=base)), "replaced")
        self.assertEqual([row["id"] for row in answer["state"]["sections"][0]["items"]], ["row0", "row1", "row2"])
        base = answer["to"]
        self.wrote(session, board(0, 3))
        large = self.get_changes(session, view_query(SHOWN, since=base, maxChanges=2))
        self.assertEqual(self.assertReset(large, "large")["state"], {"sections": [{"id": "main", "items": []}]})
        counts = self.get_changes(session, view_query(SHOWN, dialect="counts")).json
        self.assertEqual((counts["reset"], counts["rows"]), ("initial", 0))
        counts = self.get_changes(session, view_query(SHOWN, since=base, dialect="counts")).json
        self.assertEqual(counts["changes"], {"items": {"deleted": 3}})

    def test_max_changes_counts_what_is_seen(self):
        session, _ = self.made(board(1))
        base = self.base(session, SHOWN)
        self.wrote(session, board(2, 20))
        self.assertIn("changes", self.get_changes(session, view_query(SHOWN, since=base, maxChanges=1)).json)

    def test_marks_of_what_is_not_seen_are_none(self):
        session, _ = self.made(board(2, 3))
        base = self.base(session, SHOWN)
        self.wrote(session, {"edits": [{"op": "reload", "items": ["hidden1", "row1"]}]})
        changes = self.get_changes(session, view_query(SHOWN, since=base)).json["changes"]
        self.assertEqual([[item["id"] for item in operation["items"]] for operation in changes], [["row1"]])
        self.assertEqual(changes[0]["as"], "reload")

    def test_a_plain_json_patch_has_the_cursor_for_its_tag(self):
        session, _ = self.made(board(1, 1))
        base = self.base(session, SHOWN)
        self.wrote(session, board(2, 2))
        answer = self.get_changes(session, view_query(SHOWN, since=base), Accept="application/json-patch+json")
        self.assertEqual((answer.headers["Delta-Base"], answer.headers["ETag"]), (f'"{base}"', f'"{self.base(session, SHOWN)}"'))
        self.assertEqual([operation["op"] for operation in answer.json], ["add"])

    def test_diff_of_two_states_through_a_view(self):
        chance = random.Random(5)
        for number in range(60):
            old, view = random_state(chance), random_view(chance)
            new = changed(chance, old)
            before, after = viewed(canonical(old), view), viewed(canonical(new), view)
            for dialect, rules in DIALECTS.items():
                with self.subTest(number, dialect=dialect, old=old, new=new, view=view):
                    answer = self.diff(old, new, view_query(view, dialect=dialect))
                    self.assertChangeset(answer, dialect=dialect)
                    self.assertEqual([answer.json[name] for name in ("session", "from", "to")], [None] * 3)
                    self.assertEqual(rules.applied(rules.expected(before), answer.exact["changes"]), rules.expected(after))
                    self.assertEqual("list" in answer.json, dialect != "json-patch" and content(before) != content(after))
            counts = self.diff(old, new, view_query(view, dialect="counts")).json["changes"]
            self.assertEqual(counts, NOT_ADOPTED["counts"].expected(before, after))


class LookUps(ViewCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = "looked-up"
        cls.client.request("PUT", session_path(cls.session), {"state": OUTLINE})
        cls.view = {"where": [{"at": "/content/done", "not": True}], "order": [{"at": "/content/n"}], "limit": 3,
                    "fields": ["/content/n"], "sectionFields": ["/content/head"]}

    def item(self, identity, **query):
        return self.get(session_path(self.session, "items", identity), view_query(self.view, **query))

    def items(self, query):
        return self.get(session_path(self.session, "items"), f"{query}&view={quote(text(self.view))}")

    def test_by_id(self):
        revision = self.base(self.session, self.view)
        wanted = {
            "c": {"section": "s", "parent": None, "level": 0, "indexPath": [0, 0], "visible": True, "expanded": False, "kind": "k"},
            "c1": {"section": "s", "parent": "c", "level": 1, "indexPath": None, "visible": False, "expanded": True, "content": {"n": 9}},
            "a": {"section": "s", "parent": None, "level": 0, "indexPath": [0, 1], "visible": True, "expanded": True, "content": {"n": 3}},
            "a2": {"section": "s", "parent": "a", "level": 1, "indexPath": [0, 2], "visible": True, "expanded": True, "content": {"n": 2}},
            "e": {"section": 4, "parent": None, "level": 0, "indexPath": None, "visible": False, "expanded": True},
        }
        for identity, row in wanted.items():
            with self.subTest(identity):
                self.assertEqual(self.item(identity).json, {"revision": revision, "id": identity, **row})
        for identity in ("b", "b1", "a1", "a11", "d"):
            with self.subTest(identity):
                self.assertProblem(self.item(identity), 404, "item-not-found")

    def test_by_index_path_and_many(self):
        answer = self.items("at=0,2&at=0,0&id=b&at=0,3&id=c1")
        self.assertEqual([each["id"] for each in answer.json["items"]], ["a2", "c", "c1"])
        self.assertEqual(answer.json["missing"], [{"id": "b"}, {"at": [0, 3]}])
        self.assertEqual(answer.json["revision"], self.base(self.session, self.view))

    def test_sections(self):
        answer = self.get(session_path(self.session, "sections", "s"), view_query(self.view)).json
        self.assertEqual((answer["index"], answer["rows"], answer["content"]), (0, 3, {"head": "S"}))
        view = {"sections": ["empty", "4"], "sectionFields": []}
        many = self.get(session_path(self.session, "sections"), f"id=s&at=0&at=1&view={quote(text(view))}").json
        self.assertEqual([(each["id"], each["index"], each["rows"]) for each in many["sections"]], [("empty", 0, 0), (4, 1, 0)])
        self.assertEqual(many["missing"], [{"id": "s"}])

    def test_at_a_revision(self):
        session, plain = self.made(board(3, 2))
        base = self.base(session, SHOWN)
        self.wrote(session, board(0, 2))
        path = session_path(session, "items")
        for cursor in (base, base + "~0.2.0"):
            with self.subTest(cursor):
                found = self.get(path, f"at=0,2&id=hidden0&revision={cursor}&view={quote(text(SHOWN))}").json
                self.assertEqual([each["id"] for each in found["items"]], ["row2"])
                self.assertEqual((found["missing"], "content" in found["items"][0]), ([{"id": "hidden0"}], False))
        one = self.get(session_path(session, "items", "row0"), view_query(SHOWN, revision=base)).json
        self.assertEqual(one["indexPath"], [0, 0])
        for revision, query in ((plain, view_query(SHOWN)), (base, {}), (base, view_query({"limit": 1}))):
            with self.subTest(revision=revision, query=query):
                answer = self.get(session_path(session, "items", "row0"), {**query, "revision": revision})
                self.assertProblem(answer, 410, "revision-gone")

    def test_a_plain_look_up_ignores_the_window_of_a_cursor(self):
        session, _ = self.made(board(5))
        placed = self.get_changes(session, {"at": 2, "after": 1}).json["to"]
        found = self.get(session_path(session, "items", "row4"), {"revision": placed})
        self.assertEqual((found.status, found.json.get("indexPath")), (200, [0, 4]))


class Errors(ViewCase):
    BAD_VIEWS = [
        "", "x", "[]", "1", "null", '"s"', '{"sections":"s"}', '{"sections":[true]}', '{"sections":[1.5]}', '{"where":{}}', '{"where":[1]}',
        '{"where":[{"at":"/id"}]}', '{"where":[{"is":1}]}', '{"where":[{"at":"/id","is":1,"not":2}]}', '{"where":[{"at":"id","is":1}]}',
        '{"where":[{"at":"/title","is":1}]}', '{"where":[{"at":"","is":1}]}', '{"where":[{"at":"/items","exists":true}]}',
        '{"where":[{"at":"/id/x","is":1}]}', '{"where":[{"at":"/content/~2","is":1}]}', '{"where":[{"at":"/id","in":1}]}',
        '{"where":[{"at":"/id","below":true}]}', '{"where":[{"at":"/id","atLeast":null}]}', '{"where":[{"at":"/id","above":[1]}]}',
        '{"where":[{"at":"/id","has":1}]}', '{"where":[{"at":"/id","exists":1}]}', '{"where":[{"at":"/id","like":"x"}]}',
        '{"order":{"at":"/id"}}', '{"order":["/id"]}', '{"order":[{}]}', '{"order":[{"at":"/id","descending":1}]}',
        '{"order":[{"at":"/id","up":true}]}', '{"limit":-1}', '{"limit":1.5}', '{"limit":"1"}', '{"limit":null}', '{"fields":"/content"}',
        '{"fields":[1]}', '{"fields":["/title"]}', '{"sectionFields":["/items"]}', '{"listFields":["/id"]}', '{"field":[]}',
        '{"limit":1,"limit":2}', '{"limit":1}}', '{"where":[{"at":"/content/n","is":"\\ud800"}]}',
    ]

    def asked(self, session, query):
        """Each way of asking with a view."""
        yield self.get(session_path(session), query)
        yield self.get_changes(session, query)
        yield self.post_changes(session, ["b"], query)
        yield self.get(session_path(session, "items"), {**query, "id": "a"})
        yield self.get(session_path(session, "items", "a"), query)
        yield self.get(session_path(session, "sections"), {**query, "id": "main"})
        yield self.get(session_path(session, "sections", "main"), query)
        yield self.diff(["a"], ["b"], query)

    def test_a_view_that_is_not_understood_whole_is_400(self):
        session, revision = self.made(["a"])
        for view in self.BAD_VIEWS:
            with self.subTest(view):
                self.assertProblem(self.get_changes(session, {"view": view}), 400, "malformed-request")
        for answer in self.asked(session, {"view": '{"limits":1}'}):
            self.assertProblem(answer, 400, "malformed-request")
        self.assertEqual(self.get_session(session).json["revision"], revision)
        stream = self.stream(session, {"view": "{"})
        self.assertEqual((stream.status, stream.problem["type"]), (400, "/problems/malformed-request"))

    def test_too_much_of_something_is_422(self):
        session, _ = self.made(["a"])
        test, order, field = {"at": "/id", "not": 1}, {"at": "/id"}, "/content/x"
        for view, limit in (({"where": [test] * 17}, 16), ({"order": [order] * 5}, 4), ({"fields": [field] * 65}, 64),
                            ({"sectionFields": [field] * 65}, 64), ({"listFields": [field] * 65}, 64)):
            for answer in self.asked(session, view_query(view)):
                self.assertProblem(answer, 422, "limit-exceeded", limit=limit, actual=limit + 1)
        for view in ({"where": [test] * 16}, {"order": [order] * 4}, {"fields": [f"{field}{number}" for number in range(64)]}):
            self.assertStatus(self.get_changes(session, view_query(view)), 200)

    def test_twice_is_once_too_often(self):
        session, _ = self.made(["a"])
        self.assertProblem(self.get_changes(session, {"view": ['{"limit":1}', '{"limit":1}']}), 400, "malformed-request")
