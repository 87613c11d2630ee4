// Looks for requests that cost more work than their bytes:
//
//   fuzz-work SECONDS CORPUS            measures the recipes of a text, one a line; then makes and changes recipes
//   fuzz-work RECIPE [TIMES]            measures one, and runs it so many times more, for a profiler
//
// Ends with 1 if a recipe is beyond the bound, and prints the dearest of each kind. FUZZ_SEED repeats a run.

import Foundation

let arguments = CommandLine.arguments
let meter = Meter()
if arguments.count > 1, let recipe = Recipe(arguments[1]), !recipe.text.isEmpty {
    let cost = meter.cost(of: recipe)
    print("\(cost.bytes) bytes, \(shown(cost.time)) ms, \(shown(cost.rate)) ms/MB, \(shown(cost.share * 100)) %")
    let request = Request(recipe)
    for _ in 0..<(arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0) { _ = request.run() }
    exit(cost.share > Meter.margin ? 1 : 0)
}
guard arguments.count > 2, let seconds = Double(arguments[1]),
    let text = try? String(contentsOfFile: arguments[2], encoding: .utf8)
else {
    print("usage: fuzz-work SECONDS CORPUS, or fuzz-work RECIPE [TIMES]")
    exit(2)
}

/// The dearest recipes of each kind, the dearest first.
var known: [Request.Kind: [(recipe: Recipe, cost: Cost)]] = [:]
var beyond: [(recipe: Recipe, cost: Cost)] = []
var count = 0

/// Measures a recipe; true if it is dearer than the known ones of its kind.
@MainActor func examine(_ recipe: Recipe) -> Bool {
    let kind = Request.Kind.allCases[recipe[.kind]]
    let cost = meter.cost(of: recipe)
    count += 1
    if cost.share > Meter.margin { beyond.append((recipe, cost)) }
    var list = known[kind] ?? []
    guard list.count < 8 || cost.share > list.last!.cost.share, !list.contains(where: { $0.recipe == recipe }) else {
        return false
    }
    list.append((recipe, cost))
    list.sort { $0.cost.share > $1.cost.share }
    known[kind] = Array(list.prefix(8))
    return true
}

for line in text.split(separator: "\n") where !line.hasPrefix("#") {
    guard let recipe = Recipe(line) else {
        print("no recipe: \(line)")
        exit(2)
    }
    _ = examine(recipe)
}
let seed = ProcessInfo.processInfo.environment["FUZZ_SEED"].flatMap { Int($0) } ?? Int.random(in: 0..<1 << 32)
var random = SplitMix64(seed: UInt64(truncatingIfNeeded: seed))
let end = Date() + seconds
while Date() < end, beyond.isEmpty {
    let kind = Request.Kind.allCases.randomElement(using: &random)!
    guard let list = known[kind], Int.random(in: 0..<4, using: &random) > 0 else {
        _ = examine(Recipe(random: &random))
        continue
    }
    _ = examine(list.randomElement(using: &random)!.recipe.changed(&random))
}

/// A row of a table in Markdown.
func row(_ cells: String...) -> String { "| " + cells.joined(separator: " | ") + " |" }

func shown(_ number: Double) -> String { String(format: number < 10 ? "%.1f" : "%.0f", number) }

print("\(count) requests, seed \(seed)")
print(row("kind", "request and answer", "processor time", "a MB", "of the bound", "recipe"))
print(row("---", "--:", "--:", "--:", "--:", "---"))
for kind in Request.Kind.allCases {
    for (recipe, cost) in known[kind]?.prefix(2) ?? [] {
        print(
            row(
                kind.rawValue, "\(shown(Double(cost.bytes) / 1_000)) KB", "\(shown(cost.time)) ms",
                "\(shown(cost.rate)) ms", "\(shown(cost.share * 100)) %", "`\(recipe.text)`"))
    }
}
for (recipe, cost) in beyond {
    print("BEYOND THE BOUND of \(shown(cost.limit)) ms: \(shown(cost.time)) ms, \(cost.bytes) bytes: \(recipe.text)")
}
exit(beyond.isEmpty ? 0 : 1)
