"""Faults planted into answers on their way to a reader, each of which has to be found in that very answer.

A fault is a function that makes a wrong changeset of a right one, or returns None if there is nothing to change.
"""

import collections
import copy
import random

from dialects_places import END, content, holds, untold, without
from dialects_readers import Brought, number
from dialects_run import Tally, play
from support.jsontext import Number, key
from support.states import items
from support.views import viewed

OF_EACH = 12
MOST_HISTORIES = 400


class Planted:
    """Changes one answer of a session."""

    def __init__(self, fault, chance):
        self.fault, self.chance = fault, chance
        self.has_changed = False

    def __call__(self, reader, session, entry, changeset):
        if self.has_changed or self.chance.random() < 0.3:
            return changeset
        changed = self.fault(reader, session, entry, copy.deepcopy(changeset))
        self.has_changed = changed is not None
        return changed or changeset


def brought(changeset, is_patch, member="content"):
    """(owner, name) of each content of an item that an answer writes whole, or of each patch."""
    found = []

    def walk(node):
        for each in node if isinstance(node, list) else []:
            walk(each)
        for name, value in node.items() if isinstance(node, dict) else []:
            if name == "item" or name in ("items", "rows"):
                for one in value if isinstance(value, list) else [value]:
                    if isinstance(one, dict) and "id" in one and member in one:
                        found.append((one, member))
            if name not in ("content", "patch", "append"):
                walk(value)

    if is_patch and "changes" in changeset:
        found += [(each, "value") for each in changeset["changes"] if each["path"].endswith("/content") and "/items/" in each["path"]
                  and "value" in each]
    walk(changeset.get("changes", changeset.get("state")))
    return found


def lacks_an_ignored_member(reader, session, entry, changeset):
    for owner, name in brought(changeset, reader.dialect == "json-patch"):
        if isinstance(owner[name], dict) and owner[name] != without(owner[name], session.ignored()):
            owner[name] = without(owner[name], session.ignored())
            return changeset


def has_an_old_ignored_member(reader, session, entry, changeset):
    for owner, name in brought(changeset, reader.dialect == "json-patch"):
        for member in owner[name] if isinstance(owner[name], dict) else []:
            if member not in without(owner[name], session.ignored()):
                owner[name][member] = "an old value"
                return changeset


def writes_a_number_otherwise(reader, session, entry, changeset):
    for owner, name in brought(changeset, reader.dialect == "json-patch"):
        for member, value in owner[name].items() if isinstance(owner[name], dict) else []:
            if isinstance(value, Number) and "e" not in value.token:
                owner[name][member] = Number(value.token + ("0" if "." in value.token else ".0"))
                return changeset


def loses_an_update(reader, session, entry, changeset):
    changes = changeset.get("changes")
    if "reset" in changeset or any(session.marks_after(number(changeset["from"]))):
        return None
    if reader.dialect in ("json-patch", "diffable", "staged"):
        return None
    if isinstance(changes, list):
        updates = [each for each in changes if each["op"] == "update"]
        return {**changeset, "changes": [each for each in changes if each is not updates[-1]]} if updates else None
    for group in list(changes):
        if changes[group].pop("updated", None):
            if not changes[group]:
                del changes[group]
            return changeset


def patches_what_no_patch_can_say(reader, session, entry, changeset):
    if "reset" in changeset or reader.dialect == "json-patch":
        return None
    old = Brought(reader, entry, changeset)
    for owner, name in brought(changeset, False):
        value, identity = owner[name], key(owner["id"])
        known = identity not in old.added and any(content(each) and key(each["id"]) == identity for each in items(
            seen(reader, session, changeset["from"])["sections"]))
        if known and isinstance(value, dict) and untold(value, value, session.ignored(reader.views)):
            owner["patch"] = owner.pop(name)
            return changeset


def leaves_an_ignored_place_out_of_a_patch(reader, session, entry, changeset):
    for owner, name in brought(changeset, False, "patch") if "reset" not in changeset and reader.dialect != "json-patch" else []:
        for member in owner[name]:
            if session.ignored(reader.views).get(member, {}) is END:
                del owner[name][member]
                return changeset


def goes_into_a_content_beside_an_ignored_member(reader, session, entry, changeset):
    for owner, name in brought(changeset, True) if reader.dialect == "json-patch" and "reset" not in changeset else []:
        if name == "value" and owner["op"] == "replace" and isinstance(owner[name], dict) and holds([owner[name]], session.ignored()):
            member = next(iter(owner[name]))
            owner["op"], owner["path"] = "add", owner["path"] + "/" + member.replace("~", "~0").replace("/", "~1")
            owner["value"] = owner["value"][member]
            return changeset


def replaces_what_is_not_there(reader, session, entry, changeset):
    if reader.dialect == "json-patch" and "reset" not in changeset and entry.replica.model["sections"]:
        changeset["changes"].insert(0, {"op": "replace", "path": "/sections/0/none", "value": None})
        changeset["changes"].append({"op": "remove", "path": "/sections/0/none"})
        return changeset


def swaps_two_rows(reader, session, entry, changeset):
    for section in changeset["state"]["sections"] if "reset" in changeset else []:
        own = section["items"]
        if len(own) > 1 and not any(each.get("level") or each.get("children") for each in own):
            own[0], own[1] = own[1], own[0]
            return changeset


def updates_without_need(reader, session, entry, changeset):
    if reader.form != "keyed" or "reset" in changeset or changeset["changes"]:
        return None
    marked, _ = session.marks_after(number(changeset["from"]))
    for row in [row for _, own in entry.replica.model.sections for row in own if row["id"] not in marked]:
        changeset["changes"] = [{"op": "update", "items": [row], "as": "reconfigure"}]
        return changeset


def keeps_the_old_content_of_the_list(reader, session, entry, changeset):
    return {name: value for name, value in changeset.items() if name != "list"} if "list" in changeset else None


def begins_anew_without_need(reader, session, entry, changeset):
    if reader.dialect != "json-patch" or "reset" in changeset or reader.more or number(changeset["from"]) < session.floor:
        return None
    if len([each for each in session.documents if each > number(changeset["from"])]) >= session.remembered:
        return None
    rest = {name: value for name, value in changeset.items() if name != "changes"}
    return {**rest, "reset": "expired", "state": seen(reader, session, changeset["to"])}


def seen(reader, session, cursor):
    return viewed(session.documents[number(cursor)], *reader.views)


FAULTS = [lacks_an_ignored_member, has_an_old_ignored_member, writes_a_number_otherwise, loses_an_update,
          patches_what_no_patch_can_say, leaves_an_ignored_place_out_of_a_patch, goes_into_a_content_beside_an_ignored_member, replaces_what_is_not_there, swaps_two_rows,
          updates_without_need, keeps_the_old_content_of_the_list, begins_anew_without_need]


def run(server, client, seed, tally):
    """Plants each fault some times; returns those that were not found."""
    missed = collections.Counter()
    for fault in FAULTS:
        name, planted, forms = fault.__name__.replace("_", " "), 0, set()
        for index in range(MOST_HISTORIES):
            chance = random.Random(f"{seed} {fault.__name__} {index}")
            doctor = Planted(fault, chance)
            troubles = play(server, client, chance, Tally(), doctor)
            if doctor.has_changed:
                planted += 1
                if troubles and troubles[-1].wrong.is_planted:
                    tally.passed += 1
                    forms.add(troubles[-1].reader.form)
                else:
                    missed[f"a planted answer that {name} was taken for right"] += 1
            if planted == OF_EACH:
                break
        print(f"{planted:3} answers: it {name} ({', '.join(sorted(forms))})")
        if not planted:
            missed[f"no answer could be planted that {name}"] += 1
    return missed
