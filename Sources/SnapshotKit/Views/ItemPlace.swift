/// Where in an item a view looks.
enum ItemPlace: Hashable, Sendable {
    case id, kind, expanded
    /// In its content.
    case content(MemberPath)

    /// The place that a pointer into an item leads to; nil if no item can have it.
    init?(_ pointer: JSONPointer) {
        switch (pointer.tokens.first.map { String(decoding: $0, as: UTF8.self) }, pointer.tokens.count) {
        case ("id", 1): self = .id
        case ("kind", 1): self = .kind
        case ("expanded", 1): self = .expanded
        case ("content", _): self = .content(MemberPath(pointer.tokens.dropFirst()))
        default: return nil
        }
    }

    /// The pointer that leads here.
    var pointer: JSONPointer {
        switch self {
        case .id: JSONPointer(tokens: [Array("id".utf8)])
        case .kind: JSONPointer(tokens: [Array("kind".utf8)])
        case .expanded: JSONPointer(tokens: [Array("expanded".utf8)])
        case .content(let path): JSONPointer(tokens: [Array("content".utf8)] + path.names)
        }
    }
}

extension ColumnsView {
    /// An item's value at a place. O(bytes of its content).
    @inline(__always)
    func value(ofItem item: Int, at place: ItemPlace) -> OrderedValue {
        switch place {
        case .id: return OrderedValue(id(ofItem: item))
        case .kind: return nodes[item].flags.contains(.hasKind) ? OrderedValue(kindText(ofItem: item)) : .absent
        case .expanded: return OrderedValue(!nodes[item].flags.contains(.isCollapsed))
        case .content(let path): return content(ofItem: item, at: path).map(OrderedValue.init(at:)) ?? .absent
        }
    }

    /// The start of a value in an item's content; nil if there is none. Arrays are not entered.
    @inline(__always)
    func content(ofItem item: Int, at path: MemberPath) -> UnsafeRawPointer? {
        guard nodes[item].flags.contains(.hasContent) else { return nil }
        return path.value(in: text.at(payloads[item].contentStart))
    }
}

/// A path of member names, each in the value of the one before; empty for the whole value.
struct MemberPath: Hashable, Sendable {
    /// The names, each after its length in four bytes: one array, since a walk along the path, for each item of a list,
    /// would retain each of several.
    private let bytes: [UInt8]

    init(_ names: some Sequence<[UInt8]>) {
        bytes = names.flatMap { name in
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: name.count).littleEndian, Array.init) + name
        }
    }

    /// The start of the value at the path in another value; nil if there is none. O(bytes).
    @inline(__always)
    func value(in whole: UnsafeRawPointer) -> UnsafeRawPointer? {
        bytes.withUnsafeBytes { bytes in
            var (cursor, at) = (JSONCursor(whole), 0)
            while at < bytes.count {
                let name = UnsafeRawBufferPointer(
                    start: bytes.baseAddress! + at + 4, count: Int(load32(bytes.baseAddress! + at)))
                guard cursor.findsMember(name) else { return nil }
                at += 4 + name.count
            }
            return cursor.at
        }
    }

    var names: [[UInt8]] {
        var (names, rest) = ([[UInt8]](), bytes[...])
        while !rest.isEmpty {
            let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            names.append(Array(rest.dropFirst(4).prefix(count)))
            rest = rest.dropFirst(4 + count)
        }
        return names
    }
}

extension JSONCursor {
    /// Moves to the value of a member, if the value here is an object that has it; otherwise it may be anywhere.
    @inline(__always)
    fileprivate mutating func findsMember(_ wanted: UnsafeRawBufferPointer) -> Bool {
        guard byte == UInt8(ascii: "{"), enter() else { return false }
        repeat {
            if takeName().isText(wanted) { return true }
            skipValue()
        } while takesComma()
        return false
    }
}
