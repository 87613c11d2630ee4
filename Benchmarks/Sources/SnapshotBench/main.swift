// Measures the library and prints what `docs/performance.md` shows. Every figure is a median of many runs; ratios are
// taken inside a run.
//
//   snapshot-bench [diff] [large] [json] [write] [memory] [hash] [views] [hostile]     all of them without an argument
//
// Ends with 1 if a limit that the project set itself is not kept.

import CAllocations
import Glibc

allocations_keep_memory()
let chosen = Set(CommandLine.arguments.dropFirst())
func wants(_ group: String) -> Bool { chosen.isEmpty || chosen.contains(group) }

if wants("diff") { try measureDiffs(rows: 10_000, runs: 201) }
if wants("large") {
    try measureDiffs(rows: 100_000, runs: 31)
    try measureDiffs(rows: 1_000_000, runs: 7)
}
if wants("json") { try measureReading() }
if wants("write") { try measureWriting() }
if wants("hash") { try measureHashing() }
if wants("views") { try measureViews() }
if wants("memory") { try measureMemory() }
if wants("hostile") { try measureHostile() }
print("\nchecksum \(checksum)")
for breach in Table.breaches { print("not met: \(breach)") }
exit(Table.breaches.isEmpty ? 0 : 1)
