/// A test that a view's items have to pass.
struct ItemTest: Sendable {
    let place: ItemPlace
    let condition: Condition

    enum Condition: Sendable {
        /// Whether the value is one of several, given by their hashes.
        case isAmong(Set<UInt64>, Bool)
        /// The signs of a comparison with a number or a string that pass: -1, 0 and 1.
        case compares(ClosedRange<Int>, to: JSONText)
        case contains(TextSearch)
        case exists(Bool)
    }

    /// Whether an item passes. O(bytes of its content).
    func passes(_ item: Int, of view: ColumnsView) -> Bool {
        switch condition {
        case .isAmong(let hashes, let isAmong): return self.isAmong(hashes, item, view) == isAmong
        case .exists(let exists): return (view.value(ofItem: item, at: place).sort != .absent) == exists
        case .compares(let signs, let operand):
            let value = view.value(ofItem: item, at: place)
            return operand.withBytes { bytes in
                let operand = OrderedValue(at: bytes.baseAddress!)
                return value.sort == operand.sort && signs.contains(OrderedValue.compare(value, operand).signum())
            }
        case .contains(let search):
            let value = view.value(ofItem: item, at: place)
            return value.sort == .string && search.isFound(in: value.string)
        }
    }

    private func isAmong(_ hashes: Set<UInt64>, _ item: Int, _ view: ColumnsView) -> Bool {
        switch place {
        case .content(let path):
            return view.content(ofItem: item, at: path).map { hashes.contains(valueHash(at: $0)) } ?? false
        case .id:
            // `1` and `"1"` are the same id; and the number `1` equals `1.0`, which is no id.
            let id = view.id(ofItem: item)
            return hashes.contains(valueHash(ofText: id.text))
                || id.flags.contains(.integerID) && hashes.contains(DecimalToken(id.text).hashed(by: .process))
        case .kind:
            return view.nodes[item].flags.contains(.hasKind)
                && hashes.contains(valueHash(of: view.kindText(ofItem: item)))
        case .expanded:
            return hashes.contains(view.nodes[item].flags.contains(.isCollapsed) ? Self.hashes.no : Self.hashes.yes)
        }
    }

    private static let hashes = (
        yes: valueHash(at: StaticString("true,").utf8Start), no: valueHash(at: StaticString("false,").utf8Start)
    )

    /// The hashes of which a value must have one to equal any of these values at a place.
    static func hashes(of values: [JSONSlice], at place: ItemPlace) -> Set<UInt64> {
        var hashes: Set<UInt64> = []
        for value in values {
            value.withCursor { cursor, _ in
                hashes.insert(valueHash(at: cursor.at))
                let operand = OrderedValue(at: cursor.at)
                if place == .id, operand.sort == .number { hashes.insert(valueHash(ofText: operand.text)) }
            }
        }
        return hashes
    }
}

/// Searches the text of a string, whatever its escapes, for bytes. O(length) for any text (Knuth, Morris and Pratt
/// 1977).
struct TextSearch: Sendable {
    private let wanted: [UInt8]
    /// By the number of bytes found less one: how many of them still count as found if the next byte is another one.
    private let fallback: [Int]

    init(_ wanted: [UInt8]) {
        self.wanted = wanted
        var fallback = [0]
        var length = 0
        for index in wanted.indices.dropFirst() {
            while length > 0, wanted[index] != wanted[length] { length = fallback[length - 1] }
            if wanted[index] == wanted[length] { length += 1 }
            fallback.append(length)
        }
        self.fallback = fallback
    }

    func isFound(in string: JSONString) -> Bool {
        if wanted.isEmpty { return true }
        var found = 0
        for byte in string.text {
            while found > 0, wanted[found] != byte { found = fallback[found - 1] }
            if wanted[found] == byte { found += 1 }
            if found == wanted.count { return true }
        }
        return false
    }
}
