/// What is wrong with a document, as far as it is told. Text is made for what is told, and for nothing else: a document
/// may hold a violation every two bytes, each with a long pointer.
struct Violations {
    private(set) var list: [Violation] = []
    private let limit: Int
    /// Bytes of text so far.
    private var text = 0

    /// Bytes of pointers and details after which no more is told.
    static let maxText = 256 * 1024

    /// Room for `limit` violations.
    init(limit: Int) { self.limit = limit }

    /// Whether no more is told.
    var isFull: Bool { list.count >= limit || text >= Self.maxText }

    /// Notes a violation, unless no more is told.
    mutating func note(_ code: String, _ detail: @autoclosure () -> String, at pointer: @autoclosure () -> String) {
        guard !isFull else { return }
        let violation = Violation(pointer: pointer(), code: code, detail: detail())
        text += violation.pointer.utf8.count + violation.detail.utf8.count
        list.append(violation)
    }

    /// Text from a document as a detail shows it: at most 256 bytes, then an ellipsis.
    static func shown(_ text: some Collection<UInt8>) -> String {
        let start = text.prefix(256)
        return String(decoding: start, as: UTF8.self) + (start.count < text.count ? "…" : "")
    }
}

/// The place of each item among its siblings. O(n) to count them all, once: where some violations have to name the
/// place, counting siblings for each would be quadratic.
struct SiblingOrdinals {
    private let ordinals: [UInt32]

    init<Nodes: RandomAccessCollection<Node>>(_ nodes: Nodes, sections: Int) where Nodes.Index == Int {
        var ordinals = [UInt32](filled: 0, count: nodes.count)
        var children = [UInt32](filled: 0, count: nodes.count)
        var roots = [UInt32](filled: 0, count: sections)
        for index in nodes.indices {
            let (parent, section) = (Int(nodes[index].parent), Int(nodes[index].section))
            if parent < 0 {
                ordinals[index] = roots[section]
                roots[section] += 1
            } else {
                ordinals[index] = children[parent]
                children[parent] += 1
            }
        }
        self.ordinals = ordinals
    }

    subscript(item: Int) -> Int { Int(ordinals[item]) }
}
