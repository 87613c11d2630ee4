// `staged` as DIFF §4 describes it. Each stage is one performBatchUpdates; whatever UIKit refuses, or is known to draw
// wrongly, is refused here.

/// Applies the stages of `staged`.
struct StagedApplier {
    /// One stage and the rows after it.
    struct Step {
        var name: String
        var rows: Rows
        var operations: Operations
    }

    /// All stages one by one.
    static func apply(_ changes: Tree, to old: Rows) throws -> [Step] {
        let stages = try changes.elements()
        try require(stages.count <= 5, "more than five stages")
        var steps: [Step] = []
        for tree in stages {
            do { steps.append(try step(tree, from: steps.last?.rows ?? old)) } catch {
                throw Refusal("\(error) at stage \(tree)")
            }
        }
        let order = ["updates", "deletes", "sections", "items", "headers"]
        let places = try steps.map { step in
            guard let place = order.firstIndex(of: step.name) else { throw Refusal("no stage is named \(step.name)") }
            return place
        }
        try require(zip(places, places.dropFirst()).allSatisfy(<), "stages out of order: \(steps.map(\.name))")
        return steps
    }

    private static func step(_ tree: Tree, from before: Rows) throws -> Step {
        let members = try tree.members("name", "counts", "sections", "items")
        let name = try members.take("name").text().description
        let batch = try Batch(members, namesBoth: false)
        try requireShape(batch, of: name)
        try requireSafety(batch)
        let (rows, operations) = try BatchApplier.apply(batch, to: before, sectionsCarryRows: true)
        let counts = try members.take("counts").elements().map { try $0.integer() }
        try require(counts == rows.map(\.rows.count), "counts \(counts) after rows \(rows.summary)")
        return Step(name: name, rows: rows, operations: operations)
    }

    /// The allowed content of each stage.
    private static func requireShape(_ batch: Batch, of name: String) throws {
        let (sections, items) = (batch.sections, batch.items)
        let updatesItems = !items.updated.isEmpty
        let updatesSections = !sections.updated.isEmpty
        let changesItems = !items.sources.isEmpty || !items.targets.isEmpty
        let changesSections = !sections.sources.isEmpty || !sections.targets.isEmpty
        let comesOrMoves = !items.targets.isEmpty || !sections.targets.isEmpty
        let isRight =
            switch name {
            case "updates": updatesItems && !updatesSections && !changesItems && !changesSections
            case "deletes": (changesItems || changesSections) && !comesOrMoves && !updatesItems && !updatesSections
            case "sections": changesSections && !changesItems && !updatesItems && !updatesSections
            case "items": changesItems && !changesSections && !updatesItems && !updatesSections
            case "headers": updatesSections && !updatesItems && !changesItems && !changesSections
            default: false
            }
        try require(isRight, "operations that \(name) must not hold, or none")
    }

    /// What UIKit refuses or corrupts; index ranges and repeated names are checked while the batch is applied.
    private static func requireSafety(_ batch: Batch) throws {
        try require(
            batch.sections.deleted.isEmpty || batch.sections.moved.isEmpty, "section deletes with section moves")
        let sources = Set(batch.sections.sources)
        let targets = Set(batch.sections.targets)
        for path in batch.items.sources + batch.items.updated.map(\.from) {
            try require(!sources.contains(path.section), "item operation in a deleted or moved section: \(path)")
        }
        for path in batch.items.targets + batch.items.updated.map(\.at) {
            try require(!targets.contains(path.section), "item operation in an inserted or moved section: \(path)")
        }
    }
}
