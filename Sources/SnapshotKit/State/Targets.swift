/// The pointers that a walk through one value follows, at most 16.
struct Targets {
    /// What a pointer leads to.
    enum Goal {
        case id(part: Int), kind, expanded
        /// Lists, whose elements are walked through in turn.
        case sections, items, children

        var isList: Bool {
            switch self {
            case .id, .kind, .expanded: false
            case .sections, .items, .children: true
            }
        }
    }

    private struct Target {
        let goal: Goal
        /// Each as a member's name, and as an element's index if it is one.
        let tokens: [(name: [UInt8], index: Int?)]
    }

    private var targets: [Target] = []

    /// Adds one. Add a list last, since whatever else is at its place is read before it.
    mutating func add(_ goal: Goal, at pointer: JSONPointer?) {
        guard let pointer else { return }
        targets.append(Target(goal: goal, tokens: pointer.tokens.map { ($0, $0.arrayIndex) }))
    }

    /// A set of them, a bit each.
    typealias Bits = UInt16

    var all: Bits { Bits(truncatingIfNeeded: (1 << targets.count) - 1) }

    /// Those that have so many tokens.
    func ending(_ bits: Bits, after level: Int) -> Bits { filter(bits) { $0.tokens.count == level } }

    /// Those that lead on to a member.
    func through(_ bits: Bits, _ level: Int, _ name: JSONString) -> Bits {
        filter(bits) { name.isText($0.tokens[level].name) }
    }

    /// Those that lead on to an element.
    func through(_ bits: Bits, _ level: Int, _ index: Int) -> Bits {
        filter(bits) { $0.tokens[level].index == index }
    }

    @inline(__always)
    private func filter(_ bits: Bits, _ condition: (Target) -> Bool) -> Bits {
        var (rest, result) = (bits, Bits(0))
        while rest != 0 {
            let bit = rest & (~rest + 1)
            if condition(targets[rest.trailingZeroBitCount]) { result |= bit }
            rest &= ~bit
        }
        return result
    }

    /// What those lead to, in order.
    func goals(_ bits: Bits) -> some Sequence<Goal> {
        targets.indices.lazy.filter { bits & 1 << Bits($0) != 0 }.map { targets[$0].goal }
    }

    /// Whether one of those leads to a list.
    func holdList(_ bits: Bits) -> Bool { goals(bits).contains(where: \.isList) }
}

/// What is looked for in a document, in its sections and in its items.
final class DocumentTargets {
    let places: StateShape.Places
    let document: Targets
    let section: Targets
    let item: Targets

    init(_ places: StateShape.Places) {
        self.places = places
        let element = places.element
        var (document, section, item) = (Targets(), Targets(), Targets())
        if let sections = places.sectionsAt {
            document.add(.sections, at: sections)
        } else {
            document.add(.items, at: places.items)
        }
        section.add(.id(part: 0), at: places.sectionIDAt)
        section.add(.items, at: places.items)
        if !element.isMap {
            for (part, pointer) in element.idAt.enumerated() { item.add(.id(part: part), at: pointer) }
        }
        item.add(.kind, at: element.kindAt)
        item.add(.expanded, at: element.expandedAt)
        item.add(.children, at: element.childrenAt)
        (self.document, self.section, self.item) = (document, section, item)
    }
}
