"""Generated requests, within bounds and from a fixed seed: no server error, and no answer that is not described."""

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

SECONDS = 60
ROUTES = ["diff", "session", "changes", "item", "items", "section", "sections", "tokens"]
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "allow_header_conformance", "use_after_free", "described",
]


class Generated(unittest.TestCase):
    def test_generated_requests(self):
        service = Service("--memory", "64MiB")
        try:
            revision = service.ask("PUT", story.SESSION, {"state": story.OLD}).json["revision"]
            with tempfile.TemporaryDirectory() as place:
                run = subprocess.run(
                    [str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", str(validator.DOCUMENT),
                     "--url", service.url, "--checks", ",".join(CHECKS), "--seed", "1", "--max-time", str(SECONDS),
                     "--max-examples", "60", "--exclude-method", "OPTIONS", "--generation-database", "none", "--request-timeout", "10",
                     "--suppress-health-check", "all", "--continue-on-failure", "--no-color", "--warnings", "off"],
                    cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    timeout=SECONDS + 60,
                    env={**os.environ, "GROCERIES": revision, "SCHEMATHESIS_HOOKS": str(pathlib.Path(__file__).with_name("hooks.py")),
                         "PYTHONPATH": str(pathlib.Path(__file__).parent)})
            figures = service.ask("GET", "/metrics").body.decode()
        finally:
            status = service.stop()
        self.assertEqual(run.returncode, 0, run.stdout[-20000:])
        self.assertEqual(status, 0, "the server did not end in order")
        cases = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
        self.assertIsNotNone(cases, run.stdout)
        self.assertGreater(int(cases.group(2)), 300, run.stdout)
        accepted = {route: sum(map(int, re.findall(rf'requests_total{{route="{route}",status="2.."}} (\d+)', figures))) for route in ROUTES}
        print(f"{cases.group(2)} cases, of them accepted: {accepted}", end=" ", flush=True)
        self.assertGreater(min(accepted.values()), 5, accepted)
