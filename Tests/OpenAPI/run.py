"""Runs the checks in their order and counts them; the last line is `N passed, N failed`."""

import sys
import time
import unittest

MODULES = ["test_document", "test_tour", "test_refusals", "test_whole", "test_generated", "test_clients"]


class Counted(unittest.TextTestResult):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    start = time.monotonic()
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in sys.argv[1:] or MODULES)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Counted, verbosity=2)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{time.monotonic() - start:.1f} s")
    print(f"{result.passed} passed, {failed} failed")
    return 0 if failed == 0 and result.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
