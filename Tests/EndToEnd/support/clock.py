"""Where tests wait. What can be seen is waited for, with a limit that only ends a hang. A time of its own has a reason: a clock of
the product has to run, or somebody in the test keeps a pace, and each call says which. Nothing else sleeps (.ci/check-sleeps)."""

import asyncio
import time


def wait_for(holds, what, seconds=20, not_yet=OSError, every=0.02):
    """What `holds` returns, once that is true. `not_yet`: what it may raise until then; `what` may be a function, called at the end."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if found := holds():
                return found
        except not_yet:
            pass
        if time.monotonic() > deadline:
            raise AssertionError(f"never came to be: {what() if callable(what) else what}")
        time.sleep(every)


def stays(holds, what, seconds):
    """Asserts that it holds now and for so long: what must not happen gets the time to happen."""
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        assert holds(), f"did not stay so: {what}"
        if is_last:
            return
        time.sleep(min(0.02, max(0, deadline - time.monotonic())))


def let_pass(seconds, clock):
    """Lets a clock of the product run, of which nothing is to be seen until it has: `clock` names it, as the options and pages do."""
    time.sleep(seconds)


def pause(seconds, whose):
    """The pace of somebody in the test: a client between two requests, a source that is slow."""
    time.sleep(seconds)


def pause_at_random(chance, most, least=0):
    """Draws when the next action comes, so that others are met at any point of their work."""
    time.sleep(chance.uniform(least, most))


async def pause_beside_others(seconds, whose):
    """`pause` on a thread that many share."""
    await asyncio.sleep(seconds)
