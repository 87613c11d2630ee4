"""Faults that are planted, each of which must be found: answers that are doctored, callers that see more than is assumed of them,
and a build with faults of its own."""

import gzip
import os
import random
import re

from noninterference_callers import (TOKEN_LIFE, client_editor, editor, key_holder, read_editor, reader, scoped_editor, several,
                                     several_viewed, stranger, view_reader)
from noninterference_episode import Episode
from noninterference_wakeups import compare_wakeups
from noninterference_wire import REVISION
from noninterference_worlds import KEEPER, Findings, Oracle, World
from support.tokens import token

# Episodes in which a planted fault must be found, and answers until one is altered.
TRIES, INTERVAL = 40, 25


class Doctor:
    """Alters one in this many of the second world's answers."""

    def __init__(self, alter):
        self.alter, self.number = alter, 0

    def __call__(self, answers, revisions):
        self.number += 1
        if self.number % INTERVAL == 0:
            # Answers that it does not fit are left to the next.
            self.number -= 0 if self.alter(answers[1], revisions[1]) else 1
        return answers


def rewritten(answer, change):
    """Alters the text; returns whether that made a difference."""
    is_packed = answer.headers.get("Content-Encoding") == "gzip" and answer.body
    old = gzip.decompress(answer.body) if is_packed else answer.body
    new = change(old)
    answer.body = gzip.compress(new) if is_packed else new
    return old != new


def counts_one_more(answer, revisions):
    return rewritten(answer, lambda body: re.sub(rb'(?<=":)(\d+)(?=[,}])', lambda match: b"%d" % (int(match[1]) + 1), body, count=1))


def has_a_header(answer, revisions):
    answer.headers["X-Rows"] = "3"
    return True


def has_another_status(answer, revisions):
    answer.status += 1
    return True


def has_another_length(answer, revisions):
    """Like an answer to HEAD whose length counts hidden things."""
    length = answer.headers.get("Content-Length")
    if length is None or answer.headers.get("Content-Encoding") == "gzip" or b'"bytes"' in answer.body:
        return False
    answer.headers.replace_header("Content-Length", str(int(length) + 1))
    return True


def misses_a_space(answer, revisions):
    return rewritten(answer, lambda body: body.replace(b",", b", ", 1))


def says_that_nothing_changed(answer, revisions):
    """A cursor with the hash of an older one, as if it only depended on the content."""
    found = re.findall(REVISION, answer.body.decode("utf-8", "replace"))
    older = [match for match in map(REVISION.match, revisions) if match]
    if not found or not older or older[0][2] == found[-1][1]:
        return False
    return rewritten(answer, lambda body: body.replace(found[-1][1].encode(), older[0][2].encode()))


# What waiting readers hear in the second world.

def one_event_more(heard):
    heard.insert(1, [heard[0][0], "id: 9-#9"])


def one_event_less(heard):
    heard.pop()


def another_order(heard):
    heard[0], heard[1] = heard[1], heard[0]


def one_commit_later(heard):
    heard[-1] = [heard[-1][0] + " later", *heard[-1][1:]]


def deaf(alter):
    """Alters the first ear that heard three different things."""
    def doctor(ears):
        heard = next(ear.heard[1] for ear in ears if len(ear.heard[1]) > 2 and ear.heard[1][0] != ear.heard[1][1])
        alter(heard)
    return doctor


# Callers with a token that shows more than assumed.

def sees_all(caller):
    if len(caller.sessions) > 1:
        return token(None, "read", TOKEN_LIFE, sessions=caller.sessions)
    return token(caller.sessions[0], "read", TOKEN_LIFE)


def sees_all_if_viewed(caller):
    return sees_all(caller) if isinstance(caller.sight, dict) else caller.given


def reads_too(caller):
    scope = "edit" if len(caller.operations) > 1 else f"edit:{caller.operations[0]}"
    return token(caller.sessions[0], f"read {scope}", TOKEN_LIFE, client_id=caller.client)


def is_another_client(caller):
    return token(caller.sessions[0], "read edit", TOKEN_LIFE, client_id="you")


def is_every_key(caller):
    return KEEPER


ANSWERS = [("a number is one more", counts_one_more), ("a header more", has_a_header), ("another status", has_another_status),
           ("a length of one more", has_another_length), ("a space more", misses_a_space)]
WAKEUPS = [("an event more", one_event_more), ("an event less", one_event_less), ("another order of events", another_order),
           ("an event after the next commit only", one_commit_later)]
LIES = [("a view is ignored", view_reader, sees_all), ("a view of several sessions is ignored", several_viewed, sees_all),
        ("who may edit may read", editor, reads_too), ("who may do one operation may read", scoped_editor, reads_too),
        ("a client has another's Idempotency-Keys", client_editor, is_another_client),
        ("a key of a prefix is one of all", key_holder, is_every_key),
        ("somebody without rights may read", stranger, sees_all)]
SOUND = [reader, view_reader, several, several_viewed, key_holder, stranger]


class Check:
    """Counts which faults are found."""

    def __init__(self, seed):
        self.seed, self.passed, self.failed = seed, 0, 0

    def told(self, what, is_right, detail=""):
        print(f"{'right' if is_right else 'WRONG'}: {what}{detail}", flush=True)
        self.passed, self.failed = self.passed + is_right, self.failed + (not is_right)

    def until_found(self, make, name, is_it=lambda difference: True, tries=TRIES, **more):
        """The first difference caused by it, and the number of episodes that it took."""
        worlds, oracle = [World("--history-revisions", "8") for _ in (1, 2)], Oracle()
        try:
            for number in range(tries):
                findings = Findings()
                one = make[number % len(make)] if isinstance(make, list) else make
                Episode(random.Random(f"{self.seed} {name} {number}"), worlds, oracle, findings, one, f"f{number}", **more).run()
                found = [each for each in findings.differences if is_it(each)]
                if found:
                    return found[0], number + 1
            return None, tries
        finally:
            for world in [*worlds, oracle]:
                world.close()

    def finds(self, what, make, **more):
        found, number = self.until_found(make, what, **more)
        self.told(f"planted: {what}", found is not None, f", found in episode {number}" if found else "")
        return found

    def wakes(self, what, is_found, **more):
        """Always with the same seed, so that what is found with a fault is absent without it."""
        worlds, findings = [World("--history-revisions", "8") for _ in (1, 2)], Findings()
        try:
            compare_wakeups(lambda: random.Random(f"{self.seed} wakes"), worlds, findings, "f", **more)
        finally:
            for world in worlds:
                world.close()
        detail = "" if is_found or not findings.differences else f": {findings.differences[0]}"
        self.told(f"planted: {what}" if is_found else what, bool(findings.differences) == is_found, detail)


def is_oracle(difference):
    """The rows that a view or a window shows, told to a caller who may only edit."""
    _, what, one, other = difference
    is_asked = "POST" in what and any(f"{name}=" in what for name in ("view", "at", "around"))
    return is_asked and '"to":' in f"{one}{other}" and "~" in f"{one}{other}"


def is_shared_key(difference):
    _, _, one, other = difference
    return ("idempotency-key-reused" in str(one)) != ("idempotency-key-reused" in str(other))


def self_checked(seed, faulty):
    check = Check(seed)
    for make in SOUND:
        found, _ = check.until_found(make, make.__name__, tries=5)
        check.told(f"nothing planted: {make.__name__}", found is None, f": {found}" if found else "")
    check.wakes("nothing planted: wake-ups", False)
    for what, alter in ANSWERS:
        check.finds(what, [reader, view_reader, editor, key_holder, stranger], doctor=Doctor(alter))
    check.finds("a cursor of what is held alone", view_reader, doctor=Doctor(says_that_nothing_changed))
    for what, alter in WAKEUPS:
        check.wakes(what, True, doctor=deaf(alter))
    for what, make, given in LIES:
        check.finds(what, make, given=given)
    check.wakes("a view is ignored by what waits", True, given=sees_all_if_viewed)
    if faulty:
        os.environ["DIFFSERVER_BINARY"] = faulty
        for make in (editor, scoped_editor):
            check.finds(f"{make.__name__}: a window tells the rows of a view", make, is_it=is_oracle)
        for make in (client_editor, read_editor):
            check.finds(f"{make.__name__}: another client's Idempotency-Key", make, is_it=is_shared_key)
    print(f"{check.passed} passed, {check.failed} failed")
    return not check.failed
