"""Which container engine `.ci/engine` finds, and what it says if none works, with imitations of engines; and that the files which the
example for Compose has made are those that its server reads. `.ci/compose` runs it."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from support.client import once
from support.server import ROOT, Server, binary

WORKS = "exit 0"
NO_DAEMON = "echo 'Server:'; echo 'Cannot connect to the Docker daemon at unix:///x.sock.' >&2; exit 1"


class Engines(unittest.TestCase):
    def run_with(self, engine=None, **programs):
        with tempfile.TemporaryDirectory() as folder:
            for tool in ("bash", "env", "timeout", "grep", "tail"):
                found = next(path for path in ("/usr/bin", "/bin") if os.path.exists(f"{path}/{tool}"))
                os.symlink(f"{found}/{tool}", f"{folder}/{tool}")
            for name, text in programs.items():
                program = pathlib.Path(folder, name)
                program.write_text(f"#!{folder}/bash\n{text}\n")
                program.chmod(0o755)
            environment = {"PATH": folder} | ({"ENGINE": engine} if engine else {})
            return subprocess.run([ROOT / ".ci/engine"], env=environment, capture_output=True, text=True, check=False)

    def test_the_engine_is_one_that_works(self):
        for programs, engine, expected in (
            ({"docker": WORKS, "podman": WORKS}, None, "docker"),
            ({"docker": NO_DAEMON, "podman": WORKS}, None, "podman"),
            ({"podman": WORKS}, None, "podman"),
            ({"docker": WORKS, "podman": WORKS}, "podman", "podman"),
        ):
            with self.subTest(programs=programs, engine=engine):
                ran = self.run_with(engine, **programs)
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, f"{expected}\n", ""))

    def test_what_is_missing_is_said(self):
        for programs, engine, expected in (
            ({}, None, ("docker is not installed", "podman is not installed")),
            ({"docker": NO_DAEMON}, None, ("Cannot connect to the Docker daemon at unix:///x.sock.", "podman is not installed")),
            ({"docker": NO_DAEMON, "podman": WORKS}, "docker", ("`docker info` fails: Cannot connect",)),
            ({"docker": "exit 1"}, "docker", ("`docker info` fails: it does not answer",)),
        ):
            with self.subTest(programs=programs, engine=engine):
                ran = self.run_with(engine, **programs)
                self.assertEqual((ran.returncode, ran.stdout), (1, ""))
                for text in expected:
                    self.assertIn(text, ran.stderr)


class Composed(unittest.TestCase):
    def test_the_commands_make_the_secrets_that_the_server_reads(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "Examples").mkdir()
        text = (ROOT / "Examples/compose.yaml").read_text()
        commands = "\n".join(re.findall(r"^#   (?!curl )(.*)$", text, re.MULTILINE))
        imitations = f"""
            docker() {{ [ "$1" != run ] || '{binary()}' "${{@:4}}"; }}
            sudo() {{ [ "$1" = chown ]; }}
        """
        ran = subprocess.run(["bash", "-euc", f"{imitations}\n{commands}\necho $key"], cwd=folder, capture_output=True, text=True,
                             check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        service = yaml.safe_load(text)["services"]["diffserver"]
        made, mounted, _ = re.fullmatch(r"\$\{SECRETS:-\./(.*)\}:(.*):(ro)", service["volumes"][1]).groups()
        variables = {name: value.replace(mounted, str(folder / "Examples" / made))
                     for name, value in service["environment"].items() if name.endswith("_FILE")}
        self.assertEqual(set(variables), {"DIFFSERVER_KEY_FILE", "DIFFSERVER_TOKEN_SECRET_FILE"})
        server = Server(variables=variables)
        self.addCleanup(server.stop)
        for key, status in ((ran.stdout.strip(), 201), ("another", 401)):
            answer = once(server, "PUT", "/v1/sessions/s", {"state": ["a"]}, {"Authorization": f"Bearer {key}"})
            self.assertEqual(answer.status, status, answer)


if __name__ == "__main__":
    unittest.main()
