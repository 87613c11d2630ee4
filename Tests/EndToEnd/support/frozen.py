"""Threads of a server held still from outside, like a loop that never returns from its work (ptrace(2))."""

import contextlib
import ctypes
import os
import unittest

_SEIZE, _INTERRUPT, _ANY_CHILD = 0x4206, 0x4207, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long] * 4
_libc.ptrace.restype = ctypes.c_long


def threads(pid, name):
    """The ids of the threads whose names begin like this."""
    found = []
    for each in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{each}/comm", encoding="utf-8") as comm:
            if comm.read().startswith(name):
                found.append(int(each))
    return found


@contextlib.contextmanager
def frozen(pid, name):
    """Holds them until the end, which the process may not live to see."""
    held = threads(pid, name)
    if not held:
        raise AssertionError(f"there is no thread {name}")
    for thread in held:
        if _libc.ptrace(_SEIZE, thread, 0, 0) != 0:
            raise unittest.SkipTest("ptrace is not allowed here")
        _libc.ptrace(_INTERRUPT, thread, 0, 0)
        os.waitpid(thread, _ANY_CHILD)
    try:
        yield
    finally:
        # The holder of a thread must see it end, or its process never ends.
        for thread in held:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(thread, _ANY_CHILD)
