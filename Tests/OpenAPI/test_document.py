"""The document by itself: it is OpenAPI 3.1 and coherent, and its examples fit its schemas."""

import re
import unittest

from openapi_spec_validator import OpenAPIV31SpecValidator

import validator

DOCUMENT = validator.description().document
METHODS = {"get", "head", "put", "post", "delete", "options"}


def places(value, place=""):
    """Every value of the document with its JSON Pointer."""
    yield place, value
    named = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in named:
        yield from places(each, f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}")


def operations():
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS & set(item):
            yield path, method, item[method]


class Document(unittest.TestCase):
    def test_is_openapi_3_1(self):
        self.assertEqual(DOCUMENT["openapi"].rsplit(".", 1)[0], "3.1")
        errors = [f"{list(error.absolute_path)}: {error.message}" for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()]
        self.assertEqual(errors, [])

    def test_references_lead_somewhere(self):
        for place, value in places(DOCUMENT):
            if isinstance(value, dict) and isinstance(value.get("$ref"), str):
                with self.subTest(place):
                    validator.description().resolved(value)

    def test_components_are_used(self):
        used = {value["$ref"] for _, value in places(DOCUMENT) if isinstance(value, dict) and "$ref" in value}
        named = {f"#/components/{kind}/{name}" for kind, each in DOCUMENT["components"].items() for name in each}
        schemes = {f"#/components/securitySchemes/{name}" for name in DOCUMENT["components"]["securitySchemes"]}
        # The answer to a method that no path lists; no operation can refer to it.
        self.assertEqual(named - used - schemes, {"#/components/responses/MethodNotAllowed"})

    def test_names_of_operations_are_unique(self):
        names = [operation["operationId"] for _, method, operation in operations() if method not in ("head", "options")]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_paths_and_their_parameters_agree(self):
        for path, method, _ in operations():
            listed = [each["name"] for each in validator.description().parameters(method, path) if each["in"] == "path"]
            self.assertEqual(sorted(listed), sorted(re.findall(r"{([^}]+)}", path)), (path, method))

    def test_head_goes_with_every_get_and_options_with_all(self):
        for path, item in DOCUMENT["paths"].items():
            self.assertEqual("get" in item, "head" in item, path)
            self.assertIn("options", item, path)

    def test_every_branch_has_a_name(self):
        """A title or a schema's own name, from which generators name types; no two branches of one place share it."""
        found = 0
        for place, value in places(DOCUMENT):
            for key in ("oneOf", "anyOf", "allOf") if isinstance(value, dict) else ():
                names = [each.get("title") or each.get("$ref", "").rpartition("/")[2] for each in value.get(key, ())]
                found += len(names)
                self.assertTrue(all(names) and len(set(names)) == len(names), (place, key, names))
        self.assertGreater(found, 100)

    def test_where_a_member_tells_branches_apart_it_is_the_discriminator(self):
        def told_by(schema, member):
            """The values that an object needs there; none if it takes others."""
            schema = validator.description().resolved(schema)
            value = schema.get("properties", {}).get(member, {})
            required = set(schema.get("required", ())).union(
                *(validator.description().resolved(each).get("required", ()) for each in schema.get("allOf", ())))
            return (value.get("enum") or [value["const"]] if {"const", "enum"} & set(value) else []) if member in required else []

        found = set()
        for place, value in places(DOCUMENT):
            branches = value.get("oneOf") if isinstance(value, dict) else None
            if not isinstance(branches, list):
                continue
            members = {name for each in branches for name in validator.description().resolved(each).get("properties", {})}
            told = {member: [told_by(each, member) for each in branches] for member in members}
            told = {member: sorted(sum(values, [])) for member, values in told.items() if all(values)}
            alone = [member for member, values in told.items() if len(set(values)) == len(values)]
            with self.subTest(place):
                self.assertEqual([value["discriminator"]["propertyName"]] if "discriminator" in value else [], alone)
                for member in alone:
                    found.add(place.rpartition("/")[2])
                    mapping = value["discriminator"]["mapping"]
                    self.assertEqual(sorted(mapping), told[member])
                    self.assertEqual(set(mapping.values()), {each["$ref"] for each in branches})
                    for name, schema in mapping.items():
                        self.assertIn(name, told_by({"$ref": schema}, member))
        self.assertEqual(found, {"Answer", "Edit", "PatchOperation", "Splice"})

    def test_servers_are_relative(self):
        for server in DOCUMENT["servers"]:
            self.assertNotIn("//", server["url"])

    def test_every_answer_with_a_body_has_an_example_of_it(self):
        for name, response in DOCUMENT["components"]["responses"].items():
            for kind, media in response.get("content", {}).items():
                if kind in ("application/problem+json", "application/json"):
                    self.assertTrue("example" in media or "examples" in media, (name, kind))

    def test_examples_of_bodies_are_valid(self):
        found = 0
        for place, media in places(DOCUMENT):
            if not isinstance(media, dict) or "schema" not in media or "/schemas/" in place:
                continue
            examples = [validator.description().resolved(each)["value"] for each in media.get("examples", {}).values()]
            examples += [media["example"]] if "example" in media else []
            for example in examples:
                found += 1
                self.assertEqual(validator.description().errors(media["schema"], example), [], place)
        self.assertGreater(found, 60)

    def test_every_problem_stands_with_one_status(self):
        names = DOCUMENT["components"]["schemas"]["ProblemName"]["enum"]
        with_status = {}
        for response in DOCUMENT["components"]["responses"].values():
            for name, example in response.get("content", {}).get("application/problem+json", {}).get("examples", {}).items():
                with_status.setdefault(name, set()).add(example["value"]["status"])
                self.assertEqual(example["value"]["type"], f"/problems/{name}")
        self.assertEqual(sorted(with_status), sorted(names))
        self.assertEqual({name: statuses for name, statuses in with_status.items() if len(statuses) > 1}, {})

    def test_every_edit_has_an_example(self):
        edits = DOCUMENT["components"]["requestBodies"]["Changes"]["content"]["application/json"]["examples"]["edits"]["value"]["edits"]
        self.assertEqual(
            {edit["op"] for edit in edits},
            {"insert", "delete", "move", "update", "reload", "reconfigure", "expand", "collapse", "clear"})

    def test_what_is_not_described_is_found(self):
        """The checks themselves: each of these answers is wrong in one way."""
        good = b'{"revision":"1-71848349bf1be2a4","id":"a","index":0,"expanded":true,"rows":1}'
        kind = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        section = ("GET", "/v1/sessions/a/sections/b")
        validator.check(*section, 200, kind, good)
        wrong = {
            "a status": (*section, 202, kind, good),
            "a media type": (*section, 200, {**kind, "Content-Type": "text/html"}, good),
            "a missing header": (*section, 200, {"Content-Type": "application/json"}, good),
            "another header": (*section, 200, {**kind, "X-Other": "1"}, good),
            "another member": (*section, 200, kind, good.replace(b'"rows"', b'"other":1,"rows"')),
            "a missing member": (*section, 200, kind, good.replace(b',"rows":1', b"")),
            "a member twice": (*section, 200, kind, good.replace(b'"rows"', b'"id":"b","rows"')),
            "no JSON": (*section, 200, kind, good[:-1]),
            "a parameter": ("GET", section[1] + "?x=1", 200, kind, good),
            "a method": ("PATCH", section[1], 200, kind, good),
            "a path": ("GET", "/v2", 200, kind, good),
            "a body of HEAD": ("HEAD", section[1], 200, kind, good),
            "an event": ("GET", "/v1/sessions/a/changes", 200, {**kind, "Content-Type": "text/event-stream"}, b"event: news\ndata: {}\n\n"),
            "an event's data": ("GET", "/v1/sessions/a/changes", 200, {**kind, "Content-Type": "text/event-stream"}, b"event: changes\ndata: {}\n\n"),
            "another problem": (*section, 404, {"Content-Type": "application/problem+json"}, b'{"type":"/problems/draining","title":"","status":404,"detail":""}'),
        }
        for what, answer in wrong.items():
            with self.subTest(what), self.assertRaises(validator.Undocumented):
                validator.check(*answer)
        with self.assertRaises(validator.Undocumented):
            validator.check("POST", "/v1/diff", 200, kind, b"[]", {}, b'{"old":[],"new":[],"more":1}')
