"""The tour's answers against the description: everything described was answered, and the examples are answers."""

import re
import unittest

import story
import validator

DESCRIPTION = validator.description()

# Problems that no request can provoke: an internal fault, and a store that this server does not have.
UNPROVOKED = {"internal", "store-unavailable"}


def neutral(value):
    """An answer without anything that differs from run to run: digests, times, tokens, memory, and how busy sessions are."""
    if isinstance(value, dict):
        if value.keys() == {"by", "seconds", "sessions"} and isinstance(value["sessions"], list):
            return {"by": value["by"], "busiest": [each["session"] for each in value["sessions"][:1]]}
        return {name: name if name in ("bytes", "jti") else neutral(each) for name, each in value.items()}
    if isinstance(value, list):
        return [neutral(each) for each in value]
    if isinstance(value, str):
        value = re.sub(r"\b([0-9]+)-[0-9a-f]{16}\b", r"\1-…", value)
        value = re.sub(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "a time", value)
        return re.sub(r"^eyJ[A-Za-z0-9_.-]+$", "a token", value)
    return value


class Whole(unittest.TestCase):
    def test_every_problem_was_seen(self):
        seen = {answer.json["type"].removeprefix("/problems/") for _, _, answer in story.seen if answer.media_type == "application/problem+json" and answer.body}
        named = set(DESCRIPTION.document["components"]["schemas"]["ProblemName"]["enum"])
        self.assertEqual(named - seen, UNPROVOKED)

    def test_every_success_was_seen_in_every_media_type(self):
        seen = {(DESCRIPTION.template(target), method.lower(), answer.status, answer.media_type) for method, target, answer in story.seen}
        statuses = {case[:3] for case in seen}
        for path, item in DESCRIPTION.document["paths"].items():
            for method, operation in item.items():
                for status, response in operation["responses"].items() if method != "parameters" else ():
                    if status == "default" or int(status) >= 400:
                        continue
                    with self.subTest(f"{method} {path} {status}"):
                        self.assertIn((path, method, int(status)), statuses)
                    for kind in DESCRIPTION.resolved(response).get("content", {}) if method != "head" else ():
                        with self.subTest(f"{method} {path} {status} {kind}"):
                            self.assertIn((path, method, int(status), kind), seen)

    def test_every_member_of_an_answer_was_seen(self):
        names = set()
        for _, target, answer in story.seen:
            if not target.startswith("/openapi.json"):
                names.update(re.findall(rb'"([A-Za-z_]+)":', answer.body))
        found = {}
        self.collect(DESCRIPTION.document["components"]["responses"], found)
        self.assertGreater(len(found), 60)
        unseen = [f"{name}.{member}" for name, schema in found.items() for member in schema.get("properties", {}) if member.encode() not in names]
        self.assertEqual(unseen, [])

    def collect(self, value, found):
        """The schemas that a part of the description refers to, directly or through others."""
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.collect(each, found)
        name = value.get("$ref", "").partition("/schemas/")[2] if isinstance(value, dict) else ""
        if name and name not in found:
            found[name] = DESCRIPTION.document["components"]["schemas"][name]
            self.collect(found[name], found)

    def test_examples_are_answers(self):
        answers = {}
        for method, target, answer in story.seen:
            if answer.media_type.endswith("json") and answer.body and target != "/openapi.json":
                answers.setdefault(answer.media_type, []).append(neutral(answer.json))
        problems = [self.outline(each) for each in answers["application/problem+json"]]
        for name, response in DESCRIPTION.document["components"]["responses"].items():
            for kind, media in response.get("content", {}).items():
                for title, example in media.get("examples", {}).items():
                    if title in UNPROVOKED:
                        continue
                    with self.subTest(f"{name} {kind} {title}"):
                        value = neutral(DESCRIPTION.resolved(example)["value"])
                        if kind == "application/problem+json":
                            self.assertIn(self.outline(value), problems)
                        else:
                            self.assertIn(value, [each for all in answers.values() for each in all])

    @staticmethod
    def outline(problem):
        """A problem without its sentence, which may be reworded."""
        members = {name: value for name, value in problem.items() if name not in ("detail", "errors", "instance")}
        errors = [(error["pointer"], error["code"]) for error in problem.get("errors", [])]
        return members, errors, "instance" in problem
