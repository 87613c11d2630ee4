import SnapshotKit

/// A JSON value, as the naive rounds compare it.
indirect enum PlainValue: Equatable {
    case token(String)
    case text(String)
    case array([PlainValue])
    case object([String: PlainValue])

    var json: String {
        switch self {
        case .token(let token): token
        case .text(let text): "\"\(text)\""
        case .array(let elements): "[\(elements.map(\.json).joined(separator: ","))]"
        // In any order: it makes no difference.
        case .object(let members):
            "{\(members.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ","))}"
        }
    }

    /// The value without the members of these names.
    func without(_ names: Set<String>) -> PlainValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { !names.contains($0.key) })
    }

    /// Each text with its place.
    func texts(at place: String = "") -> [String] {
        switch self {
        case .token: []
        case .text(let text): ["\(place)=\(text)"]
        case .array(let elements): elements.enumerated().flatMap { $1.texts(at: "\(place)[\($0)") }
        case .object(let members): members.flatMap { $1.texts(at: "\(place).\($0)") }.sorted()
        }
    }

    func sharesMember(with other: PlainValue) -> Bool {
        switch (self, other) {
        case (.array(let one), .array(let other)): zip(one, other).contains { $0 == $1 }
        case (.object(let one), .object(let other)): one.contains { other[$0] == $1 }
        default: false
        }
    }

    func isOfKind(of other: PlainValue) -> Bool {
        switch (self, other) {
        case (.array, .array), (.object, .object): true
        default: false
        }
    }
}

/// The rounds of matching, written as the contract says them, with every element compared with every other.
struct NaiveMatching {
    /// A place in a list: the beginning, a header, an element, or the end.
    enum Entry: Equatable {
        case beginning, header(String), element(PlainValue), end

        var value: PlainValue? { if case .element(let value) = self { value } else { nil } }
    }

    private let old: [Entry]
    private let new: [Entry]
    /// The old position of each new one that has a partner.
    private(set) var partners: [Int: Int] = [:]

    /// - Parameter sections: their ids, and their elements without what is ignored.
    init(
        _ old: [(id: String, elements: [PlainValue])], _ new: [(id: String, elements: [PlainValue])],
        groupedBy group: String?
    ) {
        let shared = Set(old.map(\.id)).intersection(new.map(\.id))
        let entries = { (sections: [(id: String, elements: [PlainValue])]) in
            [Entry.beginning]
                + sections.flatMap { section in
                    (shared.contains(section.id) ? [Entry.header(section.id)] : [])
                        + section.elements.map(Entry.element)
                } + [.end]
        }
        (self.old, self.new) = (entries(old), entries(new))
        for (place, entry) in self.new.enumerated() where entry.value == nil {
            partners[place] = self.old.firstIndex(of: entry)
        }
        let withoutGroup = Set(group.map { [$0] } ?? [])
        pairAlike { $0 == $1 }
        pairAlike { one, other in
            let (one, other) = (one.without(withoutGroup), other.without(withoutGroup))
            return one.isOfKind(of: other) && !one.texts().isEmpty && one.texts() == other.texts()
        }
        for gap in gaps where gap.old.count == gap.new.count {
            for (place, other) in zip(gap.old, gap.new) {
                guard let one = self.old[place].value, let two = self.new[other].value, one.isOfKind(of: two)
                else { continue }
                let haveText = [one, two].contains { !$0.without(withoutGroup).texts().isEmpty }
                if !haveText || one.sharesMember(with: two) { partners[other] = place }
            }
        }
    }

    /// The number of the old element that each new one continues, counted over all sections; nil for a new one.
    var oldOfNew: [Int?] {
        let number = { (place: Int) in old[..<place].count { $0.value != nil } }
        return new.indices.filter { new[$0].value != nil }.map { partners[$0].map(number) }
    }

    private var oldLeft: [Int] { old.indices.filter { !partners.values.contains($0) } }
    private var newLeft: [Int] { new.indices.filter { partners[$0] == nil } }

    private mutating func pairAlike(_ areAlikeValues: (PlainValue, PlainValue) -> Bool) {
        func areAlike(_ one: Entry, _ other: Entry) -> Bool {
            guard let one = one.value, let other = other.value else { return false }
            return areAlikeValues(one, other)
        }
        var found: [Int: Int] = [:]
        for place in newLeft {
            let others = oldLeft.filter { areAlike(old[$0], new[place]) }
            if others.count == 1, newLeft.filter({ areAlike(old[others[0]], new[$0]) }).count == 1 {
                found[place] = others[0]
            }
        }
        partners.merge(found) { $1 }
        for step in [1, -1] {
            var isDone = false
            while !isDone {
                isDone = true
                for (place, other) in partners {
                    let (next, one) = (place + step, other + step)
                    if new.indices.contains(next), old.indices.contains(one), partners[next] == nil,
                        oldLeft.contains(one), areAlike(old[one], new[next])
                    {
                        partners[next] = one
                        isDone = false
                    }
                }
            }
        }
        for gap in gaps {
            var left = gap.old
            for place in gap.new {
                if let index = left.firstIndex(where: { areAlike(old[$0], new[place]) }) {
                    partners[place] = left.remove(at: index)
                }
            }
        }
    }

    /// What is left between two pairs that follow each other in both lists.
    private var gaps: [(old: [Int], new: [Int])] {
        let pairs = partners.sorted { $0.key < $1.key }
        return zip(pairs, pairs.dropFirst()).compactMap { one, next in
            guard one.value < next.value else { return nil }
            let others = Array(one.value + 1..<next.value)
            guard others.allSatisfy(oldLeft.contains) else { return nil }
            return (others, Array(one.key + 1..<next.key))
        }
    }
}
