"""Which modules of tests run in which round. A module that is in no list is refused, so that somebody decides.

The round in memory, `make test`, leaves out the modules with stores of their own and what computes longest: they have a round to themselves
(`--rest`), which CI runs, too. A round over a store (DIFFSERVER_STORE=sqlite or redis) runs what a store can change. `--all` runs everything
in every round.
"""

from . import store

# What sessions answer: run in memory, over SQLite and over Redis.
SESSIONS = """awaited changes compressed_streams concurrency conditions counts draining edits elements_without_ids events
    everything groups growing history hooks idempotency ignored_places intents keep limits list_content listing long_poll long_work
    lookups many_lists model public reload replay revocation scrolling section_sources sections sessions settings shaped_edits shapes
    shared_answers since_and_resets smallest source_faults source_readers sources tokens_and_keys view_readers view_spelling
    view_tokens views windows""".split()

# The same over each store: what is read before a session is looked at, and what is around the service.
ONCE = """check_lists command_line container_engine cors counted_work diff edge example_upstream guessed_lists guesses hostile hot kubernetes
    least_privilege libcurl lists_as_they_come logs loopback_rule memory metrics mistakes negotiation nginx observing options page_headers
    pages peers pointers_own_json problems row_types slow traps upstreams version watchdog watching""".split()

# Of a server that has no other store.
MEMORY = ("small",)

# With stores of their own.
STORES = """copy cut_off descriptors former_format hot_list lost_nodes reading_elsewhere redis_compaction redis_damage redis_faults rolling_restart shared
    shared_sources sqlite sqlite_calls sqlite_faults store_cache""".split()

# More than half of what the round in memory would compute.
LATER = ("test_compressed_streams.ManyCompressedStreams", "test_memory.SmallBudget", "test_memory.TLS", "test_row_types.RowTypes",
         "test_history.Changes", "test_concurrency.Together", "test_counted_work.CountedWork", "test_long_work.LongSession",
         "test_options.Amounts", "test_observing.Alerts", "test_scrolling.Scrolling", "test_edge.CrowdForAMoment", "test_many_lists.Ended",
         "test_growing.Killed", "test_growing.Cost")

# Too long for each change: run by `make test FULL=1`.
LONG = ("test_memory.DefaultBudget", "test_counted_work.LongList", "test_edge.CrowdForLong")


def belongs(name, runs_all, rest=False):
    """Whether a class, `module.Class`, is part of this round."""
    module = name.partition(".")[0].removeprefix("test_")
    if module not in {*SESSIONS, *ONCE, *MEMORY, *STORES}:
        raise ValueError(f"say in Tests/EndToEnd/support/suites.py in which rounds test_{module} runs")
    if module in MEMORY:
        return store.KIND == "memory" and not rest
    if runs_all:
        return True
    if store.KIND != "memory":
        return name not in LONG and module in SESSIONS
    return name not in LONG and rest == (module in STORES or name in LATER)
