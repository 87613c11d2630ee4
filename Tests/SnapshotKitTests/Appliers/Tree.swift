import SnapshotKit

/// A JSON value as the tests see it: the order of members is lost, number tokens are kept as text, strings are bytes.
indirect enum Tree: Equatable, Sendable {
    /// A number, `true`, `false` or `null`, as it was written.
    case token(String)
    case string(Text)
    case array([Tree])
    case object([Text: Tree])

    static let null = Tree.token("null")

    /// A value written in a test.
    static func json(_ text: String) -> Tree {
        do { return try TreeParser.tree(Array(text.utf8)) } catch { fatalError("\(error) in \(text)") }
    }

    static func number(_ value: Int) -> Tree { .token(String(value)) }
}

// MARK: Reading

extension Tree {
    /// The members of an object that may hold only `known` ones.
    func members(_ known: Text...) throws -> [Text: Tree] {
        guard case .object(let members) = self else { throw Refusal("not an object: \(self)") }
        for name in members.keys where !known.contains(name) { throw Refusal("unknown member \(name) in \(self)") }
        return members
    }

    func elements() throws -> [Tree] {
        guard case .array(let elements) = self else { throw Refusal("not an array: \(self)") }
        return elements
    }

    func text() throws -> Text {
        guard case .string(let text) = self else { throw Refusal("not a string: \(self)") }
        return text
    }

    func integer() throws -> Int {
        guard case .token(let token) = self, let value = Int(token) else { throw Refusal("not an integer: \(self)") }
        return value
    }

    func boolean() throws -> Bool {
        guard case .token(let token) = self, token == "true" || token == "false" else {
            throw Refusal("not a Boolean: \(self)")
        }
        return token == "true"
    }

    /// The text of an id, written as a string or as an integer.
    func id() throws -> Text {
        switch self {
        case .string(let text): return text
        case .token(let token) where Int(token) != nil || token.allSatisfy { $0.isNumber || $0 == "-" }:
            return Text(token)
        default: throw Refusal("not an id: \(self)")
        }
    }

    /// An id, or nil for null.
    func optionalID() throws -> Text? { self == .null ? nil : try id() }
}

extension [Text: Tree] {
    /// A required member.
    func take(_ name: Text) throws -> Tree {
        guard let value = self[name] else { throw Refusal("no \(name) in \(Tree.object(self))") }
        return value
    }

    /// The elements of a list, which may be left out, but is not empty if `isNeverEmpty`.
    func list(_ name: Text, isNeverEmpty: Bool = false) throws -> [Tree] {
        guard let value = self[name] else { return [] }
        let elements = try value.elements()
        if isNeverEmpty { try require(!elements.isEmpty, "an empty list of \(name)") }
        return elements
    }
}

// MARK: Writing

extension Tree: CustomStringConvertible {
    var description: String { json }

    /// Compact JSON, members in order of their names.
    var json: String {
        switch self {
        case .token(let token): return token
        case .string(let text): return Self.quoted(text)
        case .array(let elements): return "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            let written = members.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.json)" }
            return "{" + written.joined(separator: ",") + "}"
        }
    }

    /// A string with the escapes that JSON demands.
    static func quoted(_ text: Text) -> String {
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x10: bytes += Array("\\u000\(String(byte, radix: 16))".utf8)
            case 0x10..<0x20: bytes += Array("\\u00\(String(byte, radix: 16))".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: Merge patch

extension Tree {
    /// RFC 7396 §2.
    func merged(with patch: Tree) -> Tree {
        guard case .object(let changes) = patch else { return patch }
        var members: [Text: Tree] = [:]
        if case .object(let own) = self { members = own }
        for (name, value) in changes {
            members[name] = value == .null ? nil : (members[name] ?? .null).merged(with: value)
        }
        return .object(members)
    }
}

// MARK: Updates

extension Tree {
    /// This content with texts behind strings in it, found through objects alone (CONTRACT §4).
    func appending(_ texts: Tree) throws -> Tree {
        guard case .object(let texts) = texts, !texts.isEmpty else { throw Refusal("no texts to append: \(texts)") }
        return try texts.reduce(self) { value, text in
            let pointer = String(decoding: text.key.bytes, as: UTF8.self)
            guard let path = JSONPointer(pointer)?.tokens else { throw Refusal("no pointer: \(pointer)") }
            return try value.appending(try text.value.text(), at: path[...])
        }
    }

    private func appending(_ text: Text, at path: ArraySlice<[UInt8]>) throws -> Tree {
        guard let name = path.first else {
            try require(!text.bytes.isEmpty, "nothing to append")
            return .string(Text(bytes: try self.text().bytes + text.bytes))
        }
        guard case .object(var members) = self, let member = members[Text(bytes: name)] else {
            throw Refusal("no object with \(name): \(json)")
        }
        members[Text(bytes: name)] = try member.appending(text, at: path.dropFirst())
        return .object(members)
    }

    /// The content after an update, or after that of the list: takes the members that say it. What is sent is smaller
    /// than the whole.
    static func updated(_ members: inout [Text: Tree], from old: Tree?) throws -> Tree? {
        let change = ["patch", "append"].compactMap { name in members.removeValue(forKey: name).map { (name, $0) } }
        guard !change.isEmpty else { return members.removeValue(forKey: "content") }
        guard members["content"] == nil, let old else { throw Refusal("a change of no content: \(change)") }
        let after = try change.reduce(old) { $1.0 == "patch" ? $0.merged(with: $1.1) : try $0.appending($1.1) }
        let size = change.reduce(0) { $0 + $1.1.json.utf8.count } + (change.count == 2 ? ",\"append\":".utf8.count : 0)
        try require(size < after.json.utf8.count, "a change that is not smaller: \(change)")
        return after
    }
}
