"""Generated requests, within bounds and from a fixed seed: no server error, no answer that is not described, and nothing taken that
the description does not allow."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import story
import validator
from service import Service

# Of each operation, so that every run asks the same, however fast the machine is.
CASES, CASES_OF_NONSENSE = (20, 8) if os.environ.get("FULL") else (8, 3)
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "allow_header_conformance", "use_after_free", "described",
]
ROUTES = ["diff", "shape", "session", "changes", "changesOfMany", "item", "items", "section", "sections", "tokens", "list"]


def without_own_json(document):
    """The description without the shape, with which a body may be any JSON, so that none would violate it."""
    document = json.loads(json.dumps(document))
    for name in validator.SHAPE:
        del document["components"]["parameters"][name]
    for item in document["paths"].values():
        for operation in item.values() if isinstance(item, dict) else ():
            if isinstance(operation, dict) and "parameters" in operation:
                operation["parameters"] = [
                    each for each in operation["parameters"] if each["$ref"].rsplit("/", 1)[1] not in validator.SHAPE]
    for body in document["components"]["requestBodies"].values():
        (media,) = body["content"].values()
        if "anyOf" in media["schema"]:
            media["schema"]["anyOf"] = [each for each in media["schema"]["anyOf"] if "/Own" not in each["$ref"]]
        media.get("examples", {}).pop("own", None)
    return document


class Generated(unittest.TestCase):
    def setUp(self):
        self.service = Service("--memory", "64MiB")
        self.revision = self.service.ask("PUT", story.SESSION, {"state": story.OLD}).json["revision"]

    def tearDown(self):
        self.assertEqual(self.service.stop(), 0, "the server did not end in order")

    def generate(self, document, checks, count, *options, **variables):
        """Runs schemathesis; returns the number of its cases, all of which must have passed."""
        with tempfile.TemporaryDirectory() as place:
            here = pathlib.Path(__file__).parent
            file = pathlib.Path(place, "openapi.json")
            file.write_text(json.dumps(document), "utf-8")
            run = subprocess.run(
                [str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", str(file),
                 "--url", self.service.url, "--checks", ",".join(checks), "--seed", "1",
                 "--max-examples", str(count), "--exclude-method", "OPTIONS", "--generation-database", "none",
                 "--request-timeout", "10", "--suppress-health-check", "all", "--continue-on-failure", "--no-color",
                 "--warnings", "off", *options],
                cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=600,
                env={**os.environ, "SCHEMATHESIS_HOOKS": str(here / "hooks.py"), "PYTHONPATH": str(here), **variables})
        self.assertEqual(run.returncode, 0, run.stdout[-20000:])
        cases = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
        self.assertIsNotNone(cases, run.stdout)
        print(f"{cases.group(2)} cases", end=" ", flush=True)
        return int(cases.group(2))

    def test_all_answers_are_described(self):
        cases = self.generate(
            validator.description().document, CHECKS, CASES, GROCERIES=self.revision)
        self.assertGreater(cases, 300)
        figures = self.service.ask("GET", "/metrics").body.decode()
        accepted = {
            route: sum(map(int, re.findall(rf'requests_total{{route="{route}",status="2.."}} (\d+)', figures)))
            for route in ROUTES}
        print(f"of them accepted {accepted}", end=" ", flush=True)
        self.assertGreater(min(accepted.values()), 0, accepted)

    def test_what_is_not_described_is_refused(self):
        cases = self.generate(
            without_own_json(validator.description().document),
            ["not_a_server_error", "negative_data_rejection", "missing_required_header"], CASES_OF_NONSENSE, "--mode", "negative")
        self.assertGreater(cases, 100)
