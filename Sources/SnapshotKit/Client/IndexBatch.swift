/// Operations on indexes, all at once: what `indexed` says, and what each stage of `staged` says.
///
/// `deleted` and each `from` count in the list before the batch; each `at` and `to` in the list after it, but for those
/// of the updates of a stage, whose indexes are the same in both.
public struct IndexBatch: Sendable {
    /// Operations on sections, or on rows.
    public struct Operations<Index: Hashable & Sendable>: Sendable {
        /// Before the batch.
        public internal(set) var deleted: [Index] = []
        /// After the batch.
        public internal(set) var inserted: [Index] = []
        /// From before the batch to after it.
        public internal(set) var moved: [Move<Index>] = []
        /// What shows differently.
        public internal(set) var updated: [Update<Index>] = []

        /// Whether there are none.
        public var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }
    }

    /// One move.
    public struct Move<Index: Hashable & Sendable>: Sendable, Equatable {
        /// Before the batch.
        public let from: Index
        /// After the batch.
        public let to: Index
    }

    /// One update.
    public struct Update<Index: Hashable & Sendable>: Sendable, Equatable {
        /// Before the batch.
        public let from: Index
        /// After the batch.
        public let at: Index
        /// How to draw it; nil for a section that was not marked.
        public let redraw: Marks.Redraw?
    }

    /// Of sections, by index.
    public internal(set) var sections = Operations<Int>()
    /// Of rows, by path.
    public internal(set) var items = Operations<RowPath>()

    // What arrives, beside the indexes that say where.
    var insertedSections: [RowList.Section] = []
    var insertedRows: [RowList.Row] = []
    var updatedSections: [Changed<RowList.Section>] = []
    var updatedRows: [Changed<RowList.Row>] = []
    /// Where the batch stands in the changes.
    var offset = 0
}

// MARK: Reading

extension IndexBatch {
    /// Reads one of the two lists' objects; with `namesBoth` an update says where it was and where it is.
    mutating func readSections(_ place: ChangeText.Place, _ text: ChangeText, namesBoth: Bool) throws(ApplyError) {
        let lists = Lists<Int>(text: text, namesBoth: namesBoth, element: "section") { (place) throws(ApplyError) in
            try text.integer(place)
        }
        sections = try lists.read(
            place, inserted: { (place) throws(ApplyError) in insertedSections.append(try text.section(place)) },
            updated: { (place) throws(ApplyError) in updatedSections.append(try text.changedSection(place)) })
    }

    mutating func readItems(_ place: ChangeText.Place, _ text: ChangeText, namesBoth: Bool) throws(ApplyError) {
        let lists = Lists<RowPath>(text: text, namesBoth: namesBoth, element: "item") { (place) throws(ApplyError) in
            var numbers: [Int] = []
            try text.elements(of: place) { (number) throws(ApplyError) in numbers.append(try text.integer(number)) }
            guard numbers.count == 2 else { throw text.wrong("a path is [section,row]", place) }
            return RowPath(section: numbers[0], row: numbers[1])
        }
        items = try lists.read(
            place, inserted: { (place) throws(ApplyError) in insertedRows.append(try text.row(place)) },
            updated: { (place) throws(ApplyError) in updatedRows.append(try text.changedRow(place)) })
    }
}

/// Reads `deleted`, `inserted`, `moved` and `updated`.
private struct Lists<Index: Hashable & Sendable> {
    typealias Place = ChangeText.Place
    let text: ChangeText
    let namesBoth: Bool
    let element: StaticString
    let index: (Place) throws(ApplyError) -> Index

    func read(
        _ place: Place, inserted: (Place) throws(ApplyError) -> Void, updated: (Place) throws(ApplyError) -> Void
    ) throws(ApplyError) -> IndexBatch.Operations<Index> {
        var operations = IndexBatch.Operations<Index>()
        try text.members(of: place) { (name, list) throws(ApplyError) in
            try text.elements(of: list) { (place) throws(ApplyError) in
                if name.isText("deleted") {
                    operations.deleted.append(try index(place))
                } else if name.isText("inserted") {
                    let found = try members(place, "at", element)
                    operations.inserted.append(try index(try text.required(found[0], "at", place)))
                    try inserted(try text.required(found[1], element, place))
                } else if name.isText("moved") {
                    let found = try members(place, "from", "to")
                    operations.moved.append(
                        .init(
                            from: try index(try text.required(found[0], "from", place)),
                            to: try index(try text.required(found[1], "to", place))))
                } else if name.isText("updated") {
                    operations.updated.append(try update(place, updated))
                } else {
                    throw text.unknownMember(name, list)
                }
            }
        }
        return operations
    }

    private func update(
        _ place: Place, _ updated: (Place) throws(ApplyError) -> Void
    ) throws(ApplyError) -> IndexBatch.Update<Index> {
        let found = try members(place, "at", element, "as", namesBoth ? "from" : nil)
        let at = try index(try text.required(found[0], "at", place))
        let from = namesBoth ? try index(try text.required(found[3], "from", place)) : at
        try updated(try text.required(found[1], element, place))
        var redraw: Marks.Redraw?
        if let place = found[2] { redraw = try text.redraw(place) }
        return .init(from: from, at: at, redraw: redraw)
    }

    /// The members of an object, which has no others than those named.
    private func members(_ place: Place, _ names: StaticString?...) throws(ApplyError) -> [Place?] {
        var found: [Place?] = Array(repeating: nil, count: names.count)
        try text.members(of: place) { (name, value) throws(ApplyError) in
            guard let member = names.firstIndex(where: { $0.map { name.isText($0) } ?? false }) else {
                throw text.unknownMember(name, value)
            }
            found[member] = value
        }
        return found
    }
}
