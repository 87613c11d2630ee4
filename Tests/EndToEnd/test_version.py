"""One version in all places that name it."""

import json
import re
import subprocess
import unittest

import yaml

from support.server import ROOT, binary


class Version(unittest.TestCase):
    def setUp(self):
        ran = subprocess.run([binary(), "version"], capture_output=True, text=True, check=True)
        self.version = re.fullmatch(r"diffserver (\d+\.\d+\.\d+)\n", ran.stdout)[1]

    def text(self, path):
        return (ROOT / path).read_text(encoding="utf-8")

    def test_help_says_it(self):
        ran = subprocess.run([binary(), "help"], capture_output=True, text=True, check=True)
        self.assertTrue(ran.stdout.startswith(f"diffserver {self.version}: "), ran.stdout[:80])

    def test_the_description_says_it(self):
        self.assertEqual(json.loads(self.text("Sources/DiffServer/Page/openapi.json"))["info"]["version"], self.version)

    def test_the_javascript_package_says_it(self):
        self.assertEqual(json.loads(self.text("Clients/js/package.json"))["version"], self.version)
        self.assertIn(self.version, self.text("Clients/js/client.js").split("\n")[0])

    def test_the_image_says_it(self):
        self.assertIn(f"\nARG VERSION={self.version}\n", self.text("Dockerfile"))

    def test_the_changelog_s_newest_version_is_it(self):
        newest = re.search(r"^## \[?(\d\S*?)\]?( |$)", self.text("CHANGELOG.md"), re.MULTILINE)
        self.assertEqual(newest and newest[1], self.version)

    def test_manifests_name_its_image(self):
        for path in (ROOT / "Examples/kubernetes").rglob("*.yaml"):
            for document in yaml.safe_load_all(path.read_text()):
                for image in re.findall(r"image': '[^']*diffserver:([^']*)'", str(document)):
                    self.assertIn(image, (self.version, "latest"), path)

    def test_pages_that_name_a_version_name_it(self):
        for path in ("README.md", *(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))):
            for found in re.findall(r"diffserver[: ](\d+\.\d+\.\d+)", self.text(path)):
                self.assertEqual(found, self.version, path)
