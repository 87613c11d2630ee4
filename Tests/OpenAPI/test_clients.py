"""What others generate from `/openapi.json?profile=client`: a client that works, and models that read the server's answers."""

import ast
import hashlib
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from openapi_spec_validator import OpenAPIV30SpecValidator

import validator
from service import Service
from story import CHANGES, NEW, OLD, SESSION

KEY = "a writer's key"
PROFILE = "/openapi.json?profile=client"
TOOLS = pathlib.Path(sys.executable).parent


def setUpModule():
    """Generates both from what the server sends, as their users would."""
    global service, place
    place = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    service = Service("--digest-key", "example", "--key", f"writer:{hashlib.sha256(KEY.encode()).hexdigest()}")
    unittest.addModuleCleanup(service.stop)
    generate("openapi-python-client", "generate", "--url", service.url + PROFILE, "--fail-on-warning")
    generate("datamodel-codegen", "--url", service.url + PROFILE, "--allow-private-network", "--input-file-type", "openapi",
             "--output", "models.py")
    for folder in (place, f"{place}/diffserver-client"):
        sys.path.insert(0, folder)
        unittest.addModuleCleanup(sys.path.remove, folder)


def generate(tool, *arguments):
    run = subprocess.run(
        [TOOLS / tool, *arguments], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=120, env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"})
    if run.returncode:
        raise RuntimeError(f"{tool}: {run.stdout[-5000:]}")


class Profile(unittest.TestCase):
    def test_it_is_openapi_3_0_and_part_of_the_description(self):
        profile = service.ask("GET", PROFILE).json
        self.assertEqual(profile, json.loads(validator.DOCUMENT.with_name("openapi-client.json").read_text("utf-8")))
        self.assertEqual(profile["openapi"], "3.0.3")
        self.assertEqual([error.message for error in OpenAPIV30SpecValidator(profile).iter_errors()], [])
        self.assertEqual(profile["info"]["version"], validator.description().document["info"]["version"])
        for path, item in profile["paths"].items():
            for method, operation in item.items():
                self.assertEqual(operation["operationId"], validator.description().operation(method, path)["operationId"])

    def test_any_other_profile_is_the_whole(self):
        whole = service.ask("GET", "/openapi.json")
        profile = service.ask("GET", PROFILE)
        self.assertNotEqual(whole.headers["ETag"], profile.headers["ETag"])
        for query in ("?profile=", "?profile=server", "?Profile=client", "?profile"):
            self.assertTrue(service.ask("GET", "/openapi.json" + query).body == whole.body, query)
        self.assertEqual(service.ask("GET", PROFILE, If_None_Match=profile.headers["ETag"]).status, 304)
        self.assertEqual(service.ask("HEAD", PROFILE).headers["ETag"], profile.headers["ETag"])


class GeneratedClient(unittest.TestCase):
    """openapi-python-client's. Every call below goes through it, every answer is of one of its types."""

    def setUp(self):
        def part(name):
            return importlib.import_module(f"diffserver_client.{name}")

        self.models, self.part = part("models"), part
        self.client = self.of(KEY)
        self.call("sessions.delete_session", "groceries")

    def of(self, credential):
        client = self.part("client").AuthenticatedClient(base_url=service.url, token=credential)
        self.addCleanup(client.get_httpx_client().close)
        return client

    def call(self, endpoint, *arguments, client=None, **named):
        return self.part(f"api.{endpoint}").sync(*arguments, client=client or self.client, **named)

    def post(self, *items, **named):
        body = self.models.SessionBody(state=self.models.FlatState(items=[
            self.models.Item(id=name, content={"text": name}) for name in items]))
        return self.call("changes.post_changes", "groceries", body=body, **named)

    def edit(self, *edits, **named):
        return self.call("changes.post_changes", "groceries", body=self.models.EditsBody(edits=list(edits)), **named)

    def rows(self, **named):
        state = self.call("sessions.get_session", "groceries", **named).state
        return [(item.id, item.content["text"]) for section in state.sections for item in section.items]

    def test_a_state_is_posted_and_read(self):
        models = self.models
        first = self.post("bread", "milk", "salt")
        self.assertEqual((type(first), first.reset, first.from_), (models.KeyedAnswer, "initial", None))
        self.assertEqual([row.id for row in first.state.sections[0].items], ["bread", "milk", "salt"])
        second = self.post("salt", "bread", "tea")
        self.assertEqual((second.from_, second.session), (first.to, "groceries"))
        read = self.call("changes.get_changes", "groceries", since=first.to)
        self.assertEqual(read, second)
        self.assertEqual(
            [change.to_dict() for change in sorted(read.changes, key=lambda change: type(change).__name__)],
            [{"op": "insert", "items": [{"id": "tea", "content": {"text": "tea"}}], "in": "main", "before": None},
             {"op": "move", "item": "bread", "in": "main", "before": "tea"}, {"op": "remove", "items": ["milk"]}])
        self.assertEqual(self.rows(), [("salt", "salt"), ("bread", "bread"), ("tea", "tea")])
        self.assertEqual(self.rows(view='{"limit":1}'), [("salt", "salt")])
        nothing = self.call("changes.get_changes", "groceries", since=second.to, wait=0)
        self.assertEqual((nothing.changes, nothing.to), ([], second.to))

    def test_the_program_in_docs_runs(self):
        page = (validator.ROOT / "docs" / "clients.md").read_text("utf-8")
        program = page[page.index("## Generated clients"):].split("```python\n")[1].split("```")[0]
        names = {"key": KEY}
        exec(program.replace("http://localhost:8080", service.url), names)
        self.assertEqual([change.to_dict() for change in names["answer"].changes],
                         [{"op": "move", "item": "bread", "in": "main", "before": "tea"}])
        names["client"].get_httpx_client().close()

    def test_every_edit(self):
        models = self.models
        self.post("bread", "milk")
        answer = self.edit(
            models.InsertEdit(op=models.InsertOp.INSERT, items=[models.Item(id=7, content={"text": "tea", "count": 1})], before="milk"),
            models.InsertEdit(op=models.InsertOp.INSERT, sections=[models.Section(id="later")], at=models.Edge.END),
            models.MoveEdit(op=models.MoveOp.MOVE, items=["milk"], into=models.ParentSection(section="later")),
            models.UpdateEdit(op=models.UpdateOp.UPDATE, items=[models.ItemUpdate(
                id=7, patch={"text": "green tea"}, add=models.ItemUpdateAdd.from_dict({"/count": 2}))]),
            models.RedrawEdit(op=models.RedrawEditOp.RELOAD, items=["bread"]),
            models.FoldEdit(op=models.FoldEditOp.COLLAPSE, sections=["later"]),
            models.DeleteEdit(op=models.DeleteOp.DELETE, items=["bread"]),
            models.ClearEdit(op=models.ClearOp.CLEAR, sections=["later"]))
        self.assertIsInstance(answer, models.KeyedAnswer, answer)
        state = self.call("sessions.get_session", "groceries").state
        self.assertEqual([(section.id, [item.to_dict() for item in section.items]) for section in state.sections],
                         [("main", [{"id": 7, "content": {"text": "green tea", "count": 3}}]), ("later", [])])

    def test_an_item_is_patched_and_found(self):
        self.post("bread", "milk")
        answer = self.call("changes.patch_item", "groceries", "milk", body={"text": "oat milk"})
        self.assertEqual([(type(change), [row.content for row in change.items]) for change in answer.changes],
                         [(self.models.UpdateRows, [{"text": "oat milk"}])])
        found = self.call("look_ups.get_item", "groceries", "milk")
        self.assertEqual((found.index_path, found.parent, found.content), ([0, 1], None, {"text": "oat milk"}))
        section = self.call("look_ups.get_section", "groceries", "main")
        self.assertEqual((section.rows, section.revision), (2, answer.to))

    def test_tokens(self):
        models = self.models
        self.post("bread", "milk")
        body = models.TokenBody(ttl=60, scope=[models.Scope.READ])
        token = self.call("sessions.post_token", "groceries", body=body)
        self.assertIsInstance(token, models.TokenReceipt, token)
        reader = self.of(token.token)
        self.assertEqual(self.rows(client=reader), [("bread", "bread"), ("milk", "milk")])
        move = models.MoveEdit(op=models.MoveOp.MOVE, items=["milk"], before="bread")
        self.assertProblem(self.edit(move, client=reader), 403, "forbidden")
        body = models.SessionsTokenBody(sessions=["groceries", "chores"], scope=[models.Scope.EDITMOVE])
        mover = self.of(self.call("sessions.post_tokens", body=body).token)
        self.assertIsInstance(self.edit(move, client=mover), models.Minimal)
        self.assertEqual(self.rows(client=reader), [("milk", "milk"), ("bread", "bread")])
        self.assertIsNone(self.call("sessions.delete_tokens", "groceries"))
        self.assertProblem(self.call("sessions.get_session", "groceries", client=reader), 401, "unauthenticated")

    def test_settings_and_the_list_of_sessions(self):
        models = self.models
        body = models.SessionBody(
            state=models.SectionedState(sections=[models.Section(id="today", items=[models.Item(id=1)])]), ttl=600, ignore=["/seen"])
        receipt = self.call("sessions.put_session", "groceries", body=body)
        self.assertIsInstance(receipt, models.SessionReceipt, receipt)
        receipt = self.call("sessions.put_session", "groceries", body=models.SettingsBody(ttl=None, keep=[models.Keep.EXPANDED]))
        settings = self.call("sessions.get_settings", "groceries")
        self.assertEqual((settings.ttl, settings.ignore, settings.keep), (3600, ["/seen"], [models.Keep.EXPANDED]))
        listed = self.call("sessions.get_sessions", prefix="groc").sessions
        self.assertEqual([(each.session, each.revision) for each in listed], [("groceries", receipt.revision)])

    def test_what_is_refused_is_a_problem(self):
        first = self.post("bread")
        self.post("milk")
        self.assertProblem(self.post("salt", if_match=f'"{first.to}"'), 412, "revision-mismatch")
        problem = self.edit(self.models.MoveEdit(op=self.models.MoveOp.MOVE, items=["milk"], before="jam"))
        self.assertProblem(problem, 422, "invalid-edit")
        self.assertEqual([(each.pointer, each.code) for each in problem.errors], [("/edits/0/before", "anchor-not-found")])
        self.assertProblem(self.call("sessions.get_session", "nobody"), 404, "session-not-found")

    def assertProblem(self, answer, status, name):
        self.assertIsInstance(answer, self.models.Problem)
        self.assertEqual((answer.status, answer.type_), (status, f"/problems/{name}"), answer)


class GeneratedModels(unittest.TestCase):
    """datamodel-codegen's."""

    def setUp(self):
        self.models = importlib.import_module("models")

    def test_no_name_has_a_number(self):
        names = [each.name for each in ast.parse(pathlib.Path(place, "models.py").read_text()).body if isinstance(each, ast.ClassDef)]
        self.assertGreater(len(names), 60)
        self.assertEqual([name for name in names if any(map(str.isdigit, name))], [])

    def assertReads(self, model, value):
        """A model that reads a value loses nothing of it."""
        read = getattr(self.models, model).model_validate(value)
        self.assertEqual(read.model_dump(mode="json", by_alias=True, exclude_unset=True), value)
        return read

    def test_they_read_the_answers(self):
        def ask(method, target, body=None, **headers):
            return service.ask(method, target, body, Authorization=f"Bearer {KEY}", **headers).json

        service.ask("DELETE", SESSION, Authorization=f"Bearer {KEY}")
        self.assertReads("SessionReceipt", ask("PUT", SESSION, {"state": OLD}))
        kinds = set()
        for state in (NEW, OLD, {"sections": OLD["sections"][::-1]}, {"sections": NEW["sections"][1:]}, NEW):
            answer = self.assertReads("KeyedAnswer", ask("POST", CHANGES, state))
            kinds.update(type(change).__name__ for change in answer.changes)
        self.assertGreaterEqual(kinds, {"InsertRows", "RemoveRows", "MoveRow", "UpdateRows", "MoveSection", "InsertSection", "RemoveSection",
                                      "UpdateSection"})
        self.assertReads("KeyedAnswer", ask("GET", CHANGES + "?at=start&after=1"))
        self.assertReads("Minimal", ask("POST", CHANGES, OLD, Prefer="return=minimal"))
        self.assertReads("Session", ask("GET", SESSION))
        self.assertReads("Settings", ask("GET", SESSION + "/settings"))
        self.assertReads("SessionList", ask("GET", "/v1/sessions"))
        self.assertReads("FoundItem", ask("GET", SESSION + "/items/4"))
        self.assertReads("FoundSection", ask("GET", SESSION + "/sections/later"))
        self.assertReads("TokenReceipt", ask("POST", SESSION + "/tokens", {}))
        self.assertReads("Problem", ask("POST", CHANGES, {"edits": [{"op": "delete"}]}))

    def test_they_read_the_examples_of_requests(self):
        """Those of the description, but for the forms that the profile has no type for: bare states, bare ids, own documents."""
        bodies = validator.description().document["components"]["requestBodies"]

        def example(body, name):
            (media,) = bodies[body]["content"].values()
            return media["examples"][name]["value"] if name else media["example"]

        edits = self.assertReads("EditsBody", example("Changes", "edits")).edits
        self.assertEqual(
            {type(each.root).__name__ for each in edits},
            {"InsertEdit", "MoveEdit", "UpdateEdit", "RedrawEdit", "FoldEdit", "DeleteEdit", "ClearEdit"})
        self.assertReads("SessionBody", example("Session", "state"))
        self.assertReads("SettingsBody", example("Session", "settings"))
        self.assertReads("TokenBody", example("Token", None))
        self.assertReads("SessionsTokenBody", example("SessionsToken", None))
