/// Small worlds: everything that a few ids allow.
enum Small {
    /// All ordered subsets of some ids.
    static func orderedSubsets(of ids: [Text]) -> [[Text]] {
        [[]]
            + ids.flatMap { first in
                orderedSubsets(of: ids.filter { $0 != first }).map { [first] + $0 }
            }
    }

    /// All states of some sections and items: every order of every subset, cut in every way.
    static func states(sections: [Text], items: [Text]) -> [Model] {
        orderedSubsets(of: sections).flatMap { sections -> [Model] in
            guard !sections.isEmpty else { return [Model()] }
            return orderedSubsets(of: items).flatMap { items in
                cuts(of: items.count, into: sections.count).map { model(sections, items, $0) }
            }
        }
    }

    /// Whether ids appear in alphabetical order without a gap: any pair of states can be renamed so that this holds for
    /// the old one.
    static func isCanonical(_ model: Model) -> Bool {
        isPrefix(model.sectionIDs, of: "ABC") && isPrefix(model.itemIDs, of: "abcde")
    }

    private static func isPrefix(_ ids: [Text], of alphabet: String) -> Bool {
        ids == alphabet.prefix(ids.count).map { Text(String($0)) }
    }

    /// Sizes of `parts` runs that add up to `count`.
    private static func cuts(of count: Int, into parts: Int) -> [[Int]] {
        guard parts > 1 else { return [[count]] }
        return (0...count).flatMap { first in cuts(of: count - first, into: parts - 1).map { [first] + $0 } }
    }

    private static func model(_ sections: [Text], _ items: [Text], _ sizes: [Int]) -> Model {
        var rest = items[...]
        return Model(
            sections: zip(sections, sizes).map { id, size in
                defer { rest = rest.dropFirst(size) }
                return Model.Section(id: id, items: rest.prefix(size).map { Model.Item(id: $0) })
            })
    }
}

/// Collects what went wrong, and stops a test that fails everywhere.
struct FailureLog {
    private(set) var lines: [String] = []
    private(set) var count = 0

    var isFull: Bool { count >= 40 }

    mutating func add(_ failures: [String]) {
        count += failures.count
        if lines.count < 5 { lines += failures }
    }

    var summary: String { "\(count) failures\(isFull ? " or more" : "")\n" + lines.prefix(5).joined(separator: "\n") }
}
