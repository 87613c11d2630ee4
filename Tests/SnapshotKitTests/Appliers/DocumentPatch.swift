// RFC 6902 without what `json-patch` promises never to use: `-`, `test` and `copy`.

/// A path into a document, unescaped (RFC 6901).
struct PatchPath: Equatable, CustomStringConvertible {
    var tokens: [Text]

    init(_ tokens: [Text]) { self.tokens = tokens }

    init(_ tree: Tree) throws {
        let text = try tree.text()
        guard !text.bytes.isEmpty else {
            self.init([])
            return
        }
        try require(text.bytes.first == UInt8(ascii: "/"), "not a pointer: \(text)")
        self.init(
            try text.bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(
                Self.unescaped))
    }

    private static func unescaped(_ token: ArraySlice<UInt8>) throws -> Text {
        var (text, rest) = ([UInt8](), token)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                text.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): text.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): text.append(UInt8(ascii: "/"))
            default: throw Refusal("a bad escape in a pointer")
            }
        }
        return Text(bytes: text)
    }

    var description: String { tokens.map { "/\($0)" }.joined() }

    func isBelow(_ other: PatchPath) -> Bool {
        tokens.count > other.tokens.count && tokens.starts(with: other.tokens)
    }

    /// An array index as RFC 6901 §4 writes it; never `-`, which in an object is a member's name like any other.
    static func index(_ token: Text, upTo count: Int) throws -> Int {
        let text = token.description
        guard let index = Int(text), String(index) == text, (0..<count).contains(index) else {
            throw Refusal("no index \(text) below \(count)")
        }
        return index
    }
}

extension Tree {
    func value(at path: PatchPath) throws -> Tree {
        try path.tokens.reduce(self) { tree, token in
            switch tree {
            case .array(let elements): return elements[try PatchPath.index(token, upTo: elements.count)]
            case .object(let members): return try members.take(token)
            default: throw Refusal("nothing below \(tree)")
            }
        }
    }

    mutating func add(_ value: Tree, at path: PatchPath) throws {
        try change(path.tokens[...]) { tree, token in
            switch tree {
            case .array(var elements):
                elements.insert(value, at: try PatchPath.index(token, upTo: elements.count + 1))
                tree = .array(elements)
            case .object(var members):
                members[token] = value
                tree = .object(members)
            default: throw Refusal("nothing below \(tree)")
            }
        }
    }

    mutating func remove(at path: PatchPath) throws -> Tree {
        let value = try value(at: path)
        try change(path.tokens[...]) { tree, token in
            switch tree {
            case .array(var elements):
                elements.remove(at: try PatchPath.index(token, upTo: elements.count))
                tree = .array(elements)
            case .object(var members):
                members[token] = nil
                tree = .object(members)
            default: break
            }
        }
        return value
    }

    mutating func replace(_ value: Tree, at path: PatchPath) throws {
        _ = try remove(at: path)
        try add(value, at: path)
    }

    /// Changes the value that holds the last token of a path.
    private mutating func change(_ path: ArraySlice<Text>, by change: (inout Tree, Text) throws -> Void) throws {
        guard let first = path.first else { throw Refusal("the whole document is changed") }
        guard path.count > 1 else { return try change(&self, first) }
        switch self {
        case .array(var elements):
            let index = try PatchPath.index(first, upTo: elements.count)
            try elements[index].change(path.dropFirst(), by: change)
            self = .array(elements)
        case .object(var members):
            var member = try members.take(first)
            try member.change(path.dropFirst(), by: change)
            members[first] = member
            self = .object(members)
        default: throw Refusal("nothing below \(self)")
        }
    }
}
