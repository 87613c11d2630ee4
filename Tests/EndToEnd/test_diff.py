"""POST /v1/diff: every dialect from one state to another, minimal, nothing stored."""

import random

from support import minimum
from support.appliers import DIALECTS, rows
from support.case import ServiceCase
from support.jsontext import key, text
from support.states import canonical, changed, random_state

LISTS = ("deleted", "inserted", "moved", "updated")


def section(identity, *items, **members):
    return {"id": identity, "items": list(items), **members}


def of(*sections):
    return {"sections": list(sections)}


STARRED = {"id": "c", "content": 2}
VECTORS = {
    "V1": (of(section("1", "a", "b"), section("2", "c", "d")), of(section("2", "e"), section("1"))),
    "V2": (of(section("A", "a", "b", {"id": "c", "content": 1}), section("B", "d", "e"),
              section("C", {"id": "f", "content": 1}, "g", content=1)),
           of(section("D", "b", "x"), section("C", "g", "d", {"id": "f", "content": 2}, content=2),
              section("A", STARRED, "a", "y"))),
    "V3": (["a", "b", "c", "d"], ["d", "a", "b", "c"]),
    "V4": (["a", "b"], [{"id": "b", "content": 1}, "a"]),
    "V5": (of(section("s", "a", content=1)), of(section("s", "a", content=2))),
    "V6": (of(section("s", "a", "b")), of(section("s", "a", "b", expanded=False))),
    "V6 back": (of(section("s", "a", "b", expanded=False)), of(section("s", "a", {"id": "b", "content": 1}))),
    "V7": (list(range(1000)), [999, *range(1, 999), 0]),
    "from nothing": ([], ["a", "b"]),
    "to nothing": (of(section("s", "a")), of()),
    "equal": (["a", {"id": "b", "content": {"x": 1}}], ["a", {"id": "b", "content": {"x": 1}}]),
    "real move in place": (list("abcde"), list("decab")),
    "an outline": ([{"id": "a", "items": ["b", {"id": "c", "items": ["d"]}]}, "e"],
                   [{"id": "c", "items": ["d", "e"]}, {"id": "a", "expanded": False, "items": ["b"]}]),
    "ids that only normalise alike": (["\u00e9", "e\u0301"], ["e\u0301", "\u00e9"]),
}


class Diffs(ServiceCase):
    def changes(self, old, new, dialect, **query):
        answer = self.diff(old, new, {"dialect": dialect, **query})
        self.assertChangeset(answer, dialect=dialect)
        return answer.exact

    def check(self, old, new, dialect, **query):
        """The changes lead exactly from one state to the other; returns them."""
        changes = self.changes(old, new, dialect, **query)["changes"]
        rules = DIALECTS[dialect]
        how = {"compact": True} if query.get("staging") == "compact" else {}
        shown = rules.expected(canonical(old))
        self.assertEqual(rules.applied(shown, changes, **how), rules.expected(canonical(new)))
        return changes

    def check_all(self, old, new):
        for dialect in DIALECTS:
            for query in ({}, {"content": "patch"}):
                with self.subTest(dialect, **query, old=old, new=new):
                    self.check(old, new, dialect, **query)
        with self.subTest("compact", old=old, new=new):
            self.check(old, new, "staged", staging="compact")

    def assertMinimal(self, old, new):
        """The numbers of `indexed`, and of the other row dialects, are the minimum."""
        shown = [rows.visible(canonical(each)) for each in (old, new)]
        least = minimum.counts(*shown)
        changes = self.check(old, new, "indexed")
        for group in ("sections", "items"):
            found = tuple(len(changes.get(group, {}).get(name, [])) for name in LISTS)
            self.assertEqual(found, least[group], (group, old, new))
        keyed = self.check(old, new, "keyed")
        found = sum(operation["op"] == "move" and "item" in operation for operation in keyed)
        self.assertEqual(found, least["items"][2], (old, new, keyed))
        flat = [[DIALECTS["sequential"].identity(line) for line in DIALECTS["sequential"].expected(canonical(each))]
                for each in (old, new)]
        found = sum(operation["op"] == "move" for operation in self.check(old, new, "sequential"))
        self.assertEqual(found, minimum.moves(*flat), (old, new))

    def test_the_worked_vectors_hold_in_every_dialect(self):
        for name, (old, new) in VECTORS.items():
            with self.subTest(name):
                self.check_all(old, new)
                self.assertMinimal(old, new)

    def test_v1_is_staged_as_deletes_sections_and_items(self):
        stages = self.changes(*VECTORS["V1"], "staged")["changes"]
        self.assertEqual([stage["name"] for stage in stages], ["deletes", "sections", "items"])
        deletes, sections, items = stages
        self.assertEqual(len(deletes["items"]["deleted"]), 4)
        self.assertEqual([len(sections["sections"][name]) for name in sections["sections"]], [1])
        self.assertEqual([each["item"]["id"] for each in items["items"]["inserted"]], ["e"])

    def test_v2_is_staged_as_the_worked_example(self):
        stages = {stage["name"]: stage for stage in self.changes(*VECTORS["V2"], "staged")["changes"]}
        self.assertEqual(list(stages), ["updates", "deletes", "sections", "items", "headers"])
        updated = {each["item"]["id"]: [int(number.token) for number in each["at"]]
                   for each in stages["updates"]["items"]["updated"]}
        self.assertEqual(updated, {"c": [0, 2], "f": [2, 0]})
        self.assertEqual(text(stages["deletes"]["sections"]), '{"deleted":[1]}')
        self.assertEqual(text(stages["deletes"]["items"]), '{"deleted":[[0,1]]}')
        inserted = stages["sections"]["sections"]["inserted"]
        self.assertEqual([[each["id"] for each in one["section"]["items"]] for one in inserted], [["b", "x"]])
        self.assertEqual({each["item"]["id"] for each in stages["items"]["items"]["inserted"]}, {"d", "y"})
        self.assertEqual(len(stages["items"]["items"]["moved"]), 2)
        self.assertEqual([each["at"].token for each in stages["headers"]["sections"]["updated"]], ["1"])

    def test_compact_staging_merges_what_may_meet_and_names_it(self):
        empty = [section(name) for name in ("s", "t", "u")]
        cases = {
            "items only": (["a", "b", "c"], ["c", "a", "d"], ["deletes", "items"], ["items"]),
            "sections only": (of(*empty[:2]), of(empty[1], empty[2]), ["deletes", "sections"], ["sections"]),
            "sections go and move": (of(*empty), of(empty[2], empty[1]), ["deletes", "sections"], ["deletes", "sections"]),
            "items and sections": (of(section("s", "a", "b"), empty[1]), of(section("s", "c")),
                                   ["deletes", "items"], ["deletes", "items"]),
            "updates and headers besides": (of(section("s", "a", "b", content=1)),
                                            of(section("s", {"id": "b", "content": 1}, "c", content=2)),
                                            ["updates", "deletes", "items", "headers"], ["updates", "items", "headers"]),
        }
        for name, (old, new, safe, compact) in cases.items():
            with self.subTest(name):
                self.assertEqual([stage["name"] for stage in self.check(old, new, "staged", staging="safe")], safe)
                self.assertEqual([stage["name"] for stage in self.check(old, new, "staged", staging="compact")], compact)

    def test_neighbours_are_one_splice_but_for_moves(self):
        def lines(*ids, **members):
            return [{"item": {"id": each, **members}, "in": "main"} for each in ids]

        cases = {
            "removals": (list("abcdef"), list("ade"), '[{"op":"remove","at":5,"count":1},{"op":"remove","at":1,"count":2}]'),
            "insertions": (["a", "b"], ["a", "x", "y", "z", "b"],
                           text([{"op": "insert", "at": 1, "rows": lines("x", "y", "z")}])),
            "updates": (["a", "b", "c"], ["a", *({"id": each, "content": True} for each in "bc")],
                        text([{"op": "update", "at": 1, "rows": lines("b", "c", content=True), "as": "reconfigure"}])),
            "a header and its rows": ([], of(section("main"), section("t", "x", content=True)),
                                      text([{"op": "insert", "at": 0, "rows": [
                                          {"section": {"id": "t", "content": True}}, {"item": {"id": "x"}, "in": "t"}]}])),
        }
        for name, (old, new, expected) in cases.items():
            with self.subTest(name):
                self.assertSameJSON(text(self.check(old, new, "sequential")), expected)
        moves = self.check(list("abcde"), list("cdeab"), "sequential")
        self.assertEqual([each["op"] for each in moves], ["move", "move"])

    def test_v2_is_keyed_as_the_worked_example(self):
        changes = self.changes(*VECTORS["V2"], "keyed")["changes"]
        new = next(each for each in changes if each["op"] == "insert" and "section" in each)
        self.assertEqual([each["id"] for each in new["section"]["items"]], ["x"])
        moved = {each["item"] for each in changes if each["op"] == "move" and "item" in each}
        self.assertIn(moved - {"f", "g", "a", "c"}, [{"b", "d"}])
        self.assertEqual(len(moved), 4)
        self.assertNotIn("e", [line for each in changes if each["op"] == "remove" for line in each.get("items", [])])

    def test_v4_is_a_move_and_an_update_and_v5_one_update(self):
        v4 = self.changes(*VECTORS["V4"], "keyed")["changes"]
        self.assertEqual([each["op"] for each in v4], ["move", "update"])
        v5 = self.changes(*VECTORS["V5"], "keyed")["changes"]
        self.assertEqual([(each["op"], each["section"]["id"]) for each in v5], [("update", "s")])

    def test_answers_are_deterministic(self):
        chance = random.Random(22)
        for _ in range(10):
            old, new = random_state(chance), random_state(chance)
            answers = {self.diff(old, new, {"dialect": "indexed"}).body for _ in range(3)}
            self.assertEqual(len(answers), 1)

    def test_random_neighbours_round_trip_in_every_dialect_with_the_fewest_operations(self):
        chance = random.Random(20)
        for number in range(60):
            old = random_state(chance)
            new = changed(chance, old) if number % 3 else random_state(chance)
            with self.subTest(number):
                self.check_all(old, new)
                self.assertMinimal(old, new)

    def test_among_as_few_moves_the_most_rows_stay_at_their_index(self):
        chance = random.Random(21)
        for number in range(150):
            old = chance.sample("abcdefgh", chance.randint(2, 8))
            new = chance.sample("abcdefgh", chance.randint(2, 8))
            with self.subTest(number, old=old, new=new):
                changes = self.check(old, new, "indexed")
                moved = {each["to"][1].token for each in changes.get("items", {}).get("moved", [])}
                kept = [each for index, each in enumerate(new) if each in old and str(index) not in moved]
                fixed = sum(old.index(each) == new.index(each) for each in kept)
                self.assertEqual((len(kept), fixed), minimum.most_in_place(old, new))

    def test_one_choice_of_what_stays_serves_keyed_indexed_and_staged(self):
        chance = random.Random(23)
        for number in range(60):
            old = random_state(chance)
            new = changed(chance, old) if number % 3 else random_state(chance)
            with self.subTest(number, old=old, new=new):
                before, after = (rows.visible(canonical(each)) for each in (old, new))
                keyed = self.check(old, new, "keyed")
                indexed = self.check(old, new, "indexed")
                stages = {stage["name"]: stage for stage in self.check(old, new, "staged")}
                for kind, place in (("section", self.section_at), ("item", self.item_at)):
                    by_keyed = {key(each[kind]) for each in keyed if each["op"] == "move" and kind in each}
                    moved = indexed.get(f"{kind}s", {}).get("moved", [])
                    self.assertEqual({place(before, each["from"]) for each in moved}, by_keyed)
                    staged = stages.get(f"{kind}s", {}).get(f"{kind}s", {}).get("moved", [])
                    self.assertEqual({place(after, each["to"]) for each in staged}, self.survivors(by_keyed, kind, before, after))

    def section_at(self, model, index):
        return model.sections[rows.plain(index)][0]["id"]

    def item_at(self, model, path):
        return model.sections[rows.plain(path[0])][1][rows.plain(path[1])]["id"]

    def survivors(self, ids, kind, before, after):
        """Rows whose sections exist before and after, which `staged` can move."""
        if kind == "section":
            return ids
        kept = set(before.order()) & set(after.order())
        held = [{line["id"]: head["id"] for head, lines in model.sections for line in lines} for model in (before, after)]
        return {each for each in ids if held[0][each] in kept and held[1][each] in kept}

    def test_the_envelope_names_no_session(self):
        answer = self.diff(["a"], ["b"])
        changeset = self.assertChangeset(answer)
        self.assertEqual([changeset[name] for name in ("session", "from", "to")], [None, None, None])

    def test_nothing_is_stored(self):
        self.assertStatus(self.diff(["a"], ["b"]), 200)
        figures = self.get("/metrics").text.splitlines()
        for name in ("diffserver_sessions", "diffserver_sessions_created_total", "diffserver_commits_total"):
            self.assertIn(f"{name} 0", figures)

    def test_nothing_changed_is_an_empty_list_or_object(self):
        for dialect, nothing in {"keyed": [], "indexed": {}, "staged": [], "sequential": [], "json-patch": []}.items():
            with self.subTest(dialect):
                self.assertEqual(self.changes(["a"], ["a"], dialect)["changes"], nothing)

    def test_diffable_lists_all_ids_even_when_nothing_changed(self):
        changes = self.changes(["a", 1], ["a", 1], "diffable")["changes"]
        self.assertEqual([each["items"][0] for each in changes["sections"]], ["a"])
        self.assertEqual([changes[name] for name in ("reload", "reconfigure", "reloadSections", "reconfigureSections", "items",
                                                     "sectionContents")], [[]] * 6)

    def test_ids_are_echoed_as_they_were_written(self):
        changes = self.changes([], ["\u00e9", "e\u0301", 12, "13"], "keyed")["changes"]
        inserted = [line["id"] for each in changes for line in each.get("section", {}).get("items", [])]
        inserted = inserted or [line["id"] for each in changes for line in each["items"]]
        self.assertEqual(sorted(map(str, inserted)), sorted(["\u00e9", "e\u0301", "12", "13"]))
        self.assertIn('"id":12', self.diff([], [12]).text.replace(" ", ""))
        self.assertIn('"id":"12"', self.diff([], ["12"]).text.replace(" ", ""))

    def test_a_number_and_its_text_are_one_id(self):
        self.assertEqual(self.changes([1], ["1"], "keyed")["changes"], [])

    def test_more_than_max_changes_is_a_large_reset_in_every_dialect(self):
        old, new = list("abcd"), ["d", "a", "b", {"id": "c", "content": 1}, "e"]
        for dialect in DIALECTS:
            with self.subTest(dialect):
                at_limit = self.diff(old, new, {"dialect": dialect, "maxChanges": 3})
                self.assertIn("changes", self.assertChangeset(at_limit, dialect=dialect))
                past = self.assertChangeset(self.diff(old, new, {"dialect": dialect, "maxChanges": 2}), dialect=dialect)
                self.assertEqual(past["reset"], "large")
                self.assertEqual(past["from"], None)

    def test_max_changes_of_none_permits_only_no_change(self):
        self.assertIn("changes", self.diff(["a"], ["a"], {"maxChanges": 0}).json)
        self.assertEqual(self.diff(["a"], ["b"], {"maxChanges": 0}).json["reset"], "large")

    def test_a_reset_is_written_in_rows_but_for_json_patch(self):
        outline = [{"id": "a", "items": [{"id": "b", "expanded": False, "items": ["hidden"]}]}, "c"]
        for dialect in DIALECTS:
            with self.subTest(dialect):
                state = self.diff([], outline, {"dialect": dialect, "maxChanges": 0}).json["state"]
                if dialect == "json-patch":
                    self.assertEqual(state["sections"][0]["items"], canonical(outline)["sections"][0]["items"])
                else:
                    self.assertEqual(state["sections"][0]["items"], [
                        {"id": "a", "children": 1},
                        {"id": "b", "level": 1, "parent": "a", "expanded": False, "children": 1}, {"id": "c"}])

    def test_most_ids_new_over_known_content_warns_of_identity_churn(self):
        old = [{"id": f"a{n}", "content": {"name": n}} for n in range(10)]
        new = [{"id": f"b{n}", "content": {"name": n}} for n in range(10)]
        self.assertEqual(self.diff(old, new).json.get("warnings"), [{"code": "identity-churn"}])
        kept = old[:6] + new[6:]
        self.assertNotIn("warnings", self.diff(old, kept).json)
        fresh = [{"id": f"b{n}", "content": {"name": n + 50}} for n in range(10)]
        self.assertNotIn("warnings", self.diff(old, fresh).json)

    def test_a_level_back_at_the_root_is_written_in_the_update(self):
        changes = self.changes([{"id": "a", "items": ["b"]}], ["a", "b"], "keyed")["changes"]
        update = next(line for each in changes if each["op"] == "update" for line in each["items"] if line["id"] == "b")
        self.assertEqual((update["level"].token, update["parent"]), ("0", None))

    def test_kinds_and_marks_decide_how_a_row_is_redrawn(self):
        cases = {"reconfigure": [{"id": "a", "content": 2, "kind": "k"}], "reload": [{"id": "a", "content": 1, "kind": "l"}]}
        for how, new in cases.items():
            with self.subTest(how):
                old = [{"id": "a", "content": 1, "kind": "k"}]
                self.assertEqual(self.changes(old, new, "keyed")["changes"][0]["as"], how)
                self.assertEqual(self.changes(old, new, "indexed")["changes"]["items"]["updated"][0]["as"], how)
                self.assertEqual(self.changes(old, new, "diffable")["changes"][how], ["a"])

    def test_content_patches_are_lossless_and_smaller(self):
        long = "x" * 200
        cases = {
            "smaller": ({"a": long, "n": 1}, {"a": long, "n": 2}, True),
            "a member goes": ({"a": long, "n": 1}, {"a": long}, True),
            "null cannot be said": ({"a": long, "n": 1}, {"a": long, "n": None}, False),
            "null within": ({"a": long, "n": {"m": 1}}, {"a": long, "n": {"m": None}}, False),
            "no smaller": ({"n": 1}, {"n": 2}, False),
            "no object": ([long, 1], [long, 2], False),
        }
        for name, (old, new, patched) in cases.items():
            with self.subTest(name):
                old, new = [{"id": "a", "content": old}], [{"id": "a", "content": new}]
                item = self.check(old, new, "keyed", content="patch")[0]["items"][0]
                self.assertEqual("patch" in item, patched, item)
                self.assertNotEqual("patch" in item, "content" in item)

    def test_content_is_kept_verbatim(self):
        content = '{"z":1e400,"a":1.0,"big":123456789012345678901234567890,"u":"\\u00e9","d":-0}'
        body = '{"old":[],"new":[{"id":"a","content":' + content + '}]}'
        answer = self.request("POST", "/v1/diff", body)
        self.assertIn(content, answer.text)

    def test_equal_content_is_no_change_however_it_is_written(self):
        same = [('{"a":1,"b":"\\u0041"}', '{ "b" : "A", "a" : 1 }'), ('"\\/"', '"/"'), ("[ ]", "[]")]
        other = [("1", "1.0"), ("1e2", "100"), ('{"a":1}', '{"a":1,"b":null}'), ("[1,2]", "[2,1]"), ("null", '"null"')]
        for pairs, changed_count in ((same, 0), (other, 1)):
            for old, new in pairs:
                with self.subTest(old=old, new=new):
                    body = f'{{"old":[{{"id":"a","content":{old}}}],"new":[{{"id":"a","content":{new}}}]}}'
                    self.assertEqual(len(self.request("POST", "/v1/diff", body).json["changes"]), changed_count)

    def test_content_null_and_no_content_are_two(self):
        self.assertEqual(len(self.check([{"id": "a"}], [{"id": "a", "content": None}], "keyed")), 1)
