"""What readers of one head share: an answer is the same whoever asked before, and with whatever parameters."""

import itertools
import json
import pathlib
import random

from support.case import ServiceCase

DESCRIPTION = json.loads((pathlib.Path(__file__).resolve().parents[2] / "Sources/DiffServer/Page/openapi.json").read_text())
PATHS = ("/v1/sessions/{session}", "/v1/sessions/{session}/changes")
DIALECTS = DESCRIPTION["components"]["schemas"]["Dialect"]["enum"]

# Values of each parameter that is described, each of which changes some answer.
VALUES = {
    "since": ["BASE", "1-0123456789abcdef"], "dialect": DIALECTS, "staging": ["compact"], "content": ["patch", "delta"], "maxChanges": ["0"],
    "smallest": ["true"],
    "view": ['{"where":[{"at":"/content/n","not":3}]}', '{"order":[{"at":"/content/n","descending":true}]}', '{"fields":["/content/n"]}'],
    "at": ["start", "end"], "around": ["5"], "before": ["2"], "after": ["3"], "wait": [], "every": [],  # these two wait
    "Accept": ["application/json-patch+json"] + [f"application/vnd.diffserver.{name}+json" for name in DIALECTS],
    "Prefer": [], "Last-Event-ID": [], "If-None-Match": [],  # about one reader's own state, and waiting
}


def described(path):
    """The parameters of GET."""
    found = DESCRIPTION["paths"][path].get("parameters", []) + DESCRIPTION["paths"][path]["get"].get("parameters", [])
    found = [DESCRIPTION["components"]["parameters"][each["$ref"].rsplit("/", 1)[1]] if "$ref" in each else each for each in found]
    return {each["name"]: each for each in found if each["name"] != "session"}


def names_of(parameter):
    """The values of a parameter that has names for them, but for the default."""
    schema = parameter["schema"]
    while "$ref" in schema:
        schema = DESCRIPTION["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return set(schema.get("enum", ())) - {schema.get("default")}


def changed(item):
    """Some contents have another number, and the text of some has grown."""
    content = item["content"]
    if item["id"] % 40 == 5:
        return {**content, "n": 9}
    return {**content, "text": content["text"] + "and more"} if item["id"] % 40 == 7 else content


class SharedAnswers(ServiceCase):
    # Large enough to be written once for all readers.
    BASE = [{"id": number, "content": {"n": number % 7, "text": f"{number:03} " * 100}} for number in range(120)]
    NEXT = [{**item, "content": changed(item)} for item in BASE[60:] + BASE[:58]]

    def requests(self):
        """Each value of each parameter, alone and with each of another; a path, its query and its headers."""
        for path in PATHS:
            names = sorted({*described(path), *(["Accept"] if path.endswith("changes") else [])} & set(VALUES))
            singles = [{name: value} for name in names for value in VALUES[name]]
            pairs = [{**one, **other} for one, other in itertools.combinations(singles, 2) if one.keys() != other.keys()]
            for chosen in [{}, *singles, *random.Random(3).sample(pairs, min(len(pairs), 120))]:
                yield path, chosen
                if "since" in names and "since" not in chosen:
                    yield path, {"since": "BASE", **chosen}

    def ask(self, session, path, chosen, base):
        query = {name: base if value == "BASE" else value for name, value in chosen.items() if name != "Accept"}
        answer = self.get(path.replace("{session}", session), query, Accept=chosen.get("Accept"))
        return answer.status, answer.media_type, answer.body

    def begin(self, session):
        """The session made anew, so that nothing is kept of its head; its first revision."""
        self.delete_session(session)
        base = self.made(self.BASE, session)[1]
        self.wrote(session, self.NEXT)
        return base

    def test_each_parameter_has_values(self):
        parameters = {name: each for path in PATHS for name, each in described(path).items()}
        self.assertEqual(set(VALUES), {*parameters, "Accept"})
        for name, parameter in parameters.items():
            self.assertLessEqual(names_of(parameter), set(VALUES[name]), name)

    def test_nobody_is_answered_what_another_asked_for(self):
        requests = list(self.requests())
        session = self.new_name()
        alone = [self.ask(session, path, chosen, self.begin(session)) for path, chosen in requests]
        self.assertGreater(len({body for _, _, body in alone}), 80)
        base = self.begin(session)
        order = list(range(len(requests))) * 2
        random.Random(4).shuffle(order)
        for number in order:
            with self.subTest(request=requests[number]):
                self.assertEqual(self.ask(session, *requests[number], base), alone[number])
