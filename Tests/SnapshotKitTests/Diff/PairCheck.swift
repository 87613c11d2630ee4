import SnapshotKit

/// A state in all the forms that a check needs.
struct State: Sendable {
    let model: Model
    let rows: Rows
    let snapshot: Snapshot

    init(_ model: Model) throws {
        self.init(model: model, snapshot: try Snapshot(json: model.json, limits: .none))
    }

    /// A state that the library read from a document of another shape.
    init(model: Model, snapshot: Snapshot) {
        self.model = model
        self.snapshot = snapshot
        rows = model.rows
    }

    /// A part of a state, of which only the rows matter.
    init(rows: Rows, list: Tree?, snapshot: Snapshot) {
        (model, self.rows, self.snapshot) = (Model(content: list), rows, snapshot)
    }

    /// Compares the library's view of the state with the model.
    func requireFaithful() throws {
        let document = try Model(document: try TreeParser.tree(snapshot.documentJSON()))
        try require(document == model, "the document is \(document.json)")
        try require(try readRows(snapshot.rowsJSON()) == rows, "the rows are \(rows.summary)")
    }
}

// One pair of states, all dialects: each must lead from the old to the new one by the fewest operations, and all must
// agree on what stays. A check throws at the first breach; the message holds everything needed to repeat it.

/// Checks one changeset in all dialects.
struct PairCheck {
    let old: State
    let new: State
    let changeset: Changeset
    let style: ContentStyle
    let minimum: RowMinimum

    /// What is wrong between two states, one line for each faulty dialect.
    static func failures(
        from old: State, to new: State, dialects: [Dialect] = Dialect.allCases, style: ContentStyle = .full
    ) -> [String] {
        let changeset = Changeset(from: old.snapshot, to: new.snapshot)
        let minimum = RowMinimum(from: old.rows, to: new.rows)
        let check = PairCheck(old: old, new: new, changeset: changeset, style: style, minimum: minimum)
        let list = Result { try check.checkList() }
        let failures =
            (try? list.get()) == nil ? ["list: \(list)\n  old \(old.model.json)\n  new \(new.model.json)"] : []
        return failures
            + dialects.compactMap { dialect in
                do {
                    try check.check(dialect)
                    return nil
                } catch {
                    let text = String(decoding: changeset.json(dialect, content: style), as: UTF8.self)
                    return "\(dialect): \(error)\n  old \(old.model.json)\n  new \(new.model.json)\n  got \(text)"
                }
            }
    }

    private func check(_ dialect: Dialect) throws {
        switch dialect {
        case .keyed: try checkKeyed()
        case .indexed: try checkIndexed()
        case .staged:
            try checkSafe()
            try checkCompact()
        case .diffable: try checkDiffable()
        case .sequential: try checkSequential()
        case .counts: try checkCounts()
        case .jsonPatch: try checkPatch()
        }
    }

    /// An answer's account of the list's own content.
    private func checkList() throws {
        let (before, after) = (old.model.content, new.model.content)
        try require(changeset.changesList == (before != after), "changesList is \(changeset.changesList)")
        guard changeset.changesList else { return }
        var writer = JSONWriter()
        changeset.writeList(content: style, into: &writer)
        var members = try TreeParser.tree(writer.bytes()).members("content", "patch", "append")
        try require(style != .full || members["patch"] == nil, "a patch, which was not asked for")
        try require(style == .delta || members["append"] == nil, "texts, which were not asked for")
        let content = try Tree.updated(&members, from: before)
        try require(content == after, "content is \(String(describing: content))")
    }

    private func tree(_ dialect: Dialect, staging: Staging = .safe) throws -> Tree {
        try TreeParser.tree(changeset.json(dialect, staging: staging, content: style))
    }

    func requireSame(_ rows: Rows, _ expected: Rows, _ what: String = "the result") throws {
        try require(rows == expected, "\(what) is \(rows.summary), not \(expected.summary)")
    }

    // MARK: keyed and indexed

    private func checkKeyed() throws {
        let (rows, operations) = try KeyedApplier.apply(try tree(.keyed), to: old.rows)
        try requireSame(rows, new.rows)
        try requireMinimal(operations)
        let indexed = try IndexedApplier.apply(try tree(.indexed), to: old.rows).operations
        try require(operations == indexed, "\(operations) by keyed, \(indexed) by indexed")
    }

    private func checkIndexed() throws {
        let changes = try tree(.indexed)
        let (rows, operations) = try IndexedApplier.apply(changes, to: old.rows)
        try requireSame(rows, new.rows)
        try requireMinimal(operations)
        try require((old.rows == new.rows) == (changes == .object([:])), "nothing changed is {}, and only that")
        let counts = operations.items.counts + operations.sections.counts
        let claimed = changeset.counts
        try require(Counts(claimed) == counts, "counts are \(claimed), not \(counts)")
        let total = counts.deletions + counts.insertions + counts.moves + counts.updates
        try require(claimed.total == total, "the total is \(claimed.total), not \(total)")
    }

    private func requireMinimal(_ operations: Operations) throws {
        let (items, sections) = (operations.items, operations.sections)
        try require(items.counts == minimum.items, "items \(items.counts), fewest \(minimum.items)")
        try require(sections.counts == minimum.sections, "sections \(sections.counts), fewest \(minimum.sections)")
        try require(items.updated == minimum.changedRows, "updated \(items.updated), not \(minimum.changedRows)")
        try require(sections.updated == minimum.changedSections, "updated \(sections.updated)")
        let sameRows = sameRows(but: items.moved)
        try require(sameRows == minimum.sameRows, "\(sameRows) rows stay where they are, not \(minimum.sameRows)")
        let oldSections = old.rows.sectionPlaces
        let sameSections = new.rows.enumerated().count {
            oldSections[$0.element.id] == $0.offset && !sections.moved.contains($0.element.id)
        }
        try require(sameSections == minimum.sameSections, "\(sameSections) sections stay, not \(minimum.sameSections)")
    }

    /// Rows that stay in a kept section at the same index.
    private func sameRows(but moved: Set<Text>) -> Int {
        let places = old.rows.places
        return new.rows.reduce(0) { sum, section in
            sum
                + section.rows.enumerated().count { index, row in
                    guard let place = places[row.id], place.row == index, !moved.contains(row.id) else { return false }
                    return old.rows[place.section].id == section.id
                }
        }
    }

    // MARK: staged

    private func checkSafe() throws {
        let models = StageModels(from: old.rows, to: new.rows)
        let steps = try StagedApplier.apply(try tree(.staged), to: old.rows)
        for step in steps where step.name != "deletes" {
            let deleted = step.operations.items.deleted.union(step.operations.sections.deleted)
            try require(deleted.isEmpty, "deletions in \(step.name)")
        }
        try check(steps, models)
    }

    private func check(_ steps: [StagedApplier.Step], _ models: StageModels) throws {
        for step in steps { try requireSame(step.rows, models.model(after: step.name), "after \(step.name)") }
        try requireSame(steps.last?.rows ?? old.rows, new.rows)
        let items = steps.reduce(Counts()) { $0 + $1.operations.items.counts }
        let sections = steps.reduce(Counts()) { $0 + $1.operations.sections.counts }
        try require(items == models.items, "items \(items), fewest \(models.items)")
        try require(sections == models.sections, "sections \(sections), fewest \(models.sections)")
        let indexed = try IndexedApplier.apply(try tree(.indexed), to: old.rows).operations
        let moved = steps.reduce(Set<Text>()) { $0.union($1.operations.items.moved) }
        try require(moved == indexed.items.moved.intersection(models.survivors), "what stays differs from indexed")
        let movedSections = steps.reduce(Set<Text>()) { $0.union($1.operations.sections.moved) }
        try require(movedSections == indexed.sections.moved, "which sections stay differs from indexed")
    }

    private func checkCompact() throws {
        let models = StageModels(from: old.rows, to: new.rows)
        let steps = try StagedApplier.apply(try tree(.staged, staging: .compact), to: old.rows)
        try check(steps, models)
        let (items, sections) = (models.items, models.sections)
        let changesItems = items.deletions + items.insertions + items.moves > 0
        let changesSections = sections.deletions + sections.insertions + sections.moves > 0
        let isUnsafe = sections.deletions > 0 && sections.moves > 0
        let border = steps.filter { $0.name != "updates" && $0.name != "headers" }.map(\.name)
        if changesItems, changesSections {
            try requireAsSafe()
        } else if changesItems {
            let comes = items.insertions + items.moves > 0
            try require(border == ["items"] || !comes && border == ["deletes"], "stages \(border) for items only")
        } else if changesSections, isUnsafe {
            try requireAsSafe()
        } else if changesSections {
            let comes = sections.insertions + sections.moves > 0
            try require(border == ["sections"] || !comes && border == ["deletes"], "stages \(border) for sections only")
        }
    }

    private func requireAsSafe() throws {
        try require(try tree(.staged, staging: .compact) == tree(.staged), "a merge that is not safe")
    }

    // MARK: diffable and sequential

    private func checkDiffable() throws {
        let result = try DiffableApplier.apply(try tree(.diffable), to: old.rows)
        try requireSame(result.rows, new.rows)
        let (oldRows, newRows) = (old.rows.byID, new.rows.byID)
        let reloaded = minimum.changedRows.filter { oldRows[$0]?.kind != newRows[$0]?.kind }
        try require(result.reloaded == reloaded, "reload \(result.reloaded), not \(reloaded)")
        let reconfigured = minimum.changedRows.subtracting(reloaded)
        try require(result.reconfigured == reconfigured, "reconfigure \(result.reconfigured), not \(reconfigured)")
        try require(result.reloadedSections.isEmpty, "reloadSections \(result.reloadedSections)")
        try require(
            result.reconfiguredSections == minimum.changedSections,
            "reconfigureSections \(result.reconfiguredSections), not \(minimum.changedSections)")
        let oldSections = old.rows.sectionPlaces
        let sent = minimum.changedRows.union(newRows.keys.filter { oldRows[$0] == nil })
        let sections = minimum.changedSections.union(new.rows.map(\.id).filter { oldSections[$0] == nil })
        try require(result.sentItems == sent, "items \(result.sentItems), not \(sent)")
        try require(result.sentSections == sections, "sections \(result.sentSections), not \(sections)")
    }

    private func checkSequential() throws {
        let changes = try tree(.sequential)
        let (before, after) = (old.rows.flat, new.rows.flat)
        let (list, keys) = try SequentialApplier.apply(changes, to: old.rows)
        try require(list.map(\.key) == after.map(\.key), "the keys are \(list.map(\.key))")
        for (row, target) in zip(list, after) { try require(row == target, "\(row.key) is not as in the target") }
        let minimum = FlatMinimum(from: before, to: after)
        try require(keys.removed.count == minimum.removals, "\(keys.removed.count) removals of \(minimum.removals)")
        try require(
            keys.inserted.count == minimum.insertions, "\(keys.inserted.count) of \(minimum.insertions) insertions")
        try require(keys.moved.count == minimum.moves, "\(keys.moved.count) moves, fewest \(minimum.moves)")
        try requireUpdatesAreNeeded(keys, before, after)
        let runs = { (op: String) in try changes.elements().count { try $0.hasOp(op) } }
        try require(try runs("remove") == minimum.removedRuns, "removed runs, fewest \(minimum.removedRuns)")
        try require(try runs("insert") == minimum.insertedRuns, "inserted runs, fewest \(minimum.insertedRuns)")
        // A change of kind is redrawn differently from its neighbours, and only neighbours redrawn alike are merged.
        let kinds = Dictionary(uniqueKeysWithValues: before.map { ($0.key, $0.row?.kind) })
        let updatedRuns = [true, false].reduce(0) { runs, reloads in
            runs
                + FlatMinimum.runs(
                    after.map { keys.updated.contains($0.key) && (kinds[$0.key] != $0.row?.kind) == reloads })
        }
        try require(try runs("update") == updatedRuns, "updated runs, fewest \(updatedRuns)")
    }

    private func requireUpdatesAreNeeded(
        _ keys: SequentialApplier.Keys, _ before: [FlatRow], _ after: [FlatRow]
    ) throws {
        var old = Dictionary(uniqueKeysWithValues: before.map { ($0.key, $0) })
        for row in after where keys.updated.contains(row.key) {
            // The move gave the row's new place.
            if keys.moved.contains(row.key) { old[row.key]?.section = row.section }
            try require(old[row.key] != row, "\(row.key) is updated, and did not change")
        }
    }

    // MARK: counts

    private func checkCounts() throws {
        let groups = ["sections": minimum.sections, "items": minimum.items].mapValues { counts in
            [
                "deleted": counts.deletions, "inserted": counts.insertions, "moved": counts.moves,
                "updated": counts.updates,
            ].filter { $0.value > 0 }
        }
        let expected = groups.filter { !$0.value.isEmpty }
        let text = String(decoding: changeset.json(.counts), as: UTF8.self)
        let found = try tree(.counts).members("sections", "items").mapValues { group in
            try group.members("deleted", "inserted", "moved", "updated").mapValues { try $0.integer() }
        }
        try require(
            found.count == expected.count
                && expected.allSatisfy { name, numbers in
                    guard let group = found[Text(name)] else { return false }
                    return group.count == numbers.count && numbers.allSatisfy { group[Text($0.key)] == $0.value }
                }, "\(text), fewest \(expected)")
    }

    // MARK: json-patch

    private func checkPatch() throws {
        let changes = try tree(.jsonPatch)
        let (document, operations) = try PatchApplier.apply(changes, to: old.model.tree)
        // The notation of an id is no change.
        try require(try Model(document: document) == new.model, "the document is \(document)")
        try requireSmallContents(changes, in: new.model.tree)
        let minimum = DocumentMinimum(from: old.model, to: new.model)
        try require(
            operations.items.counts == minimum.items, "items \(operations.items.counts), fewest \(minimum.items)")
        let sections = operations.sections.counts
        try require(sections == minimum.sections, "sections \(sections), fewest \(minimum.sections)")
    }
}

extension Tree {
    fileprivate func hasOp(_ op: String) throws -> Bool {
        guard case .object(let members) = self else { throw Refusal("no operation") }
        return try members.take("op").text().description == op
    }
}

extension Counts {
    init(_ counts: OperationCounts) {
        self.init(
            deletions: counts.deletions, insertions: counts.insertions, moves: counts.moves, updates: counts.updates)
    }
}
