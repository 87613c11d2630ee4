"""What `.ci/check-docs` says of a page that is carried out: no command on it is passed over unless a mark says why."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support.server import ROOT, binary

FENCE = "`" * 3
# A block, and what is said of it; nothing if it is fine.
BLOCKS = (
    ("sh\ntrue", ""),
    ("sh\nfalse", "exit status 1"),
    ("sh\n# needs a cluster\nfalse", ""),
    ("sh\n# needs root\nfalse", ""),
    ("sh\n# needs patience\nfalse", "CI may have it"),
    ("sh\n# make package-test runs this\nfalse", ""),
    ("sh\n# make lint runs this\nfalse", "it does not read this page"),
    ("sh\n# a comment\ntrue", ""),
    ("sh\n# a comment\nfalse", "exit status 1"),
    ("console\ntrue", "nothing runs it"),
    ("bash\ntrue", "nothing runs it"),
    ("\ntrue", "nothing runs it"),
    ("json\n{}", ""),
)


class Marks(unittest.TestCase):
    def test_a_block_is_run_or_says_why_not(self):
        for block, expected in BLOCKS:
            with self.subTest(block), tempfile.TemporaryDirectory() as folder:
                page = pathlib.Path(folder, "page.md")
                page.write_text(f"{FENCE}{block}\n{FENCE}\n\n<!-- sh\n: . .ci/rehearsal\n-->\n")
                ran = subprocess.run([ROOT / ".ci/check-docs", page], capture_output=True, text=True, check=False,
                                     env={**os.environ, "DIFFSERVER_BINARY": str(binary())})
                self.assertEqual(ran.returncode, 1 if expected else 0, ran.stdout + ran.stderr)
                self.assertIn(expected, ran.stdout)


if __name__ == "__main__":
    unittest.main()
