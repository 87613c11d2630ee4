"""Work that is counted, instruction by instruction, so that a busy or slow machine fails nothing: the rate of docs/security.md."""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import server

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# 100 ms a megabyte, on a processor that does no more than an instruction a nanosecond.
MOST = 100_000_000


def meter():
    """Benchmarks/service/instructions, which runs a server under callgrind."""
    loader = importlib.machinery.SourceFileLoader("instructions", str(ROOT / "Benchmarks/service/instructions"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", loader))
    loader.exec_module(module)
    return module


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class CountedWork(unittest.TestCase):
    """A list without ids, of which each row has changed: what the second post costs, from its bytes to those of its answer."""

    rows = 10_000

    def test_a_list_without_ids_costs_what_its_bytes_may_cost(self):
        instructions = meter()
        first, second = [body.partition(b"\r\n\r\n")[2] for body in instructions.elements(self.rows, "", changes=1, ids="idBy=match")[:2]]
        posts = [instructions.post(body, query="?idBy=match") for body in (first, second)]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run(["strip", "-g", "-o", folder / "diffserver", server.binary()], check=True)
            one, two = [instructions.run(str(folder / "diffserver"), "memory", folder / f"{count}", [], posts, count) for count in (1, 2)]
        # The answer has each row's content, too, and more.
        megabytes = 2 * len(second) / 1e6
        self.assertLess((two - one) / megabytes, MOST)
        # What is counted is the work, not the server's start.
        self.assertGreater(two - one, self.rows * 1_000)


class LongList(CountedWork):
    rows = 100_000


if __name__ == "__main__":
    unittest.main()
