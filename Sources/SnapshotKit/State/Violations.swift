/// The violations of a document that are reported. No text is made for others: a document may have a violation every
/// two bytes, each with a long pointer.
struct Violations {
    private(set) var list: [Violation] = []
    private let limit: Int
    /// Bytes of text so far.
    private var text = 0

    /// Bytes of pointers and details after which nothing more is reported.
    static let maxText = 256 * 1024

    /// Room for `limit` violations.
    init(limit: Int) { self.limit = limit }

    /// Whether nothing more is reported.
    var isFull: Bool { list.count >= limit || text >= Self.maxText }

    /// Notes a violation, unless the report is full.
    mutating func note(_ code: String, _ detail: @autoclosure () -> String, at pointer: @autoclosure () -> String) {
        guard !isFull else { return }
        let violation = Violation(pointer: pointer(), code: code, detail: detail())
        text += violation.pointer.utf8.count + violation.detail.utf8.count
        list.append(violation)
    }

    /// Text of a document as details show it: at most 256 bytes, then an ellipsis.
    static func shown(_ text: some Collection<UInt8>) -> String {
        let start = text.prefix(256)
        return String(decoding: start, as: UTF8.self) + (start.count < text.count ? "…" : "")
    }
}

/// The ordinal of each item among its siblings. Counted once, in O(n): counting for each violation would be quadratic.
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
