"""Compares every answer with the service's own description, when DIFFSERVER_DESCRIBED is set."""

import os
import sys

from .server import ROOT


def no_check(*_, **__):
    """The description is checked only on request: the check needs an external package."""


def check_of_answers():
    if not os.environ.get("DIFFSERVER_DESCRIBED"):
        return no_check
    sys.path.append(str(ROOT / "Tests" / "OpenAPI"))
    import validator
    return validator.check


check = check_of_answers()
