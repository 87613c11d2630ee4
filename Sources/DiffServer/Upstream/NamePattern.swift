// How a name is matched. Literals and segments alternate, and no segment contains a colon. After a segment, the first
// occurrence of the next literal is taken. That suffices: if a later occurrence matched, the text between the two,
// which has no colon, could equally belong to the segment after it. (A literal with a colon fits only at the
// next colon.) So there is no backtracking, whatever name a client sends.

import DiffSessions

/// Matches the name of one session or of many: `orders:{user}`. A segment stands for one or more characters other than
/// `:`, as few as the rest of the pattern allows, but never for `.` or `..`.
package struct NamePattern: Sendable, Equatable {
    package let text: String
    /// The literal before the first segment.
    private let start: [UInt8]
    private let parts: [Part]

    /// A segment, and the literal after it.
    private struct Part: Sendable, Equatable {
        let segment: String
        var literal: [UInt8] = []
    }

    package enum Failure: Error, Equatable {
        case character, openBrace, segmentName
        case repeatedSegment(String), adjacentSegments(String, String)
        case noName
    }

    init(_ text: String) throws(Failure) {
        var (start, parts): ([UInt8], [Part]) = ([], [])
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "{") {
                let segment = try Self.takeSegment(&rest)
                guard !parts.contains(where: { $0.segment == segment }) else { throw .repeatedSegment(segment) }
                if let last = parts.last, last.literal.isEmpty { throw .adjacentSegments(last.segment, segment) }
                parts.append(Part(segment: segment))
            } else {
                guard SessionName.isOfName(byte) else { throw .character }
                if parts.isEmpty { start.append(byte) } else { parts[parts.count - 1].literal.append(byte) }
            }
        }
        let shortest = parts.reduce(start.count) { $0 + 1 + $1.literal.count }
        guard parts.isEmpty ? SessionName.isWhole(text) : shortest <= SessionName.maxBytes else { throw .noName }
        (self.text, self.start, self.parts) = (text, start, parts)
    }

    private static func takeSegment(_ rest: inout Substring.UTF8View) throws(Failure) -> String {
        guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else { throw .openBrace }
        let name = rest[..<end]
        guard isSegment(name) else { throw .segmentName }
        rest = rest[rest.index(after: end)...]
        return String(Substring(name))
    }

    static func isSegment(_ name: some Collection<UInt8>) -> Bool {
        (1...64).contains(name.count) && name.allSatisfy { SessionName.isOfName($0) && !".~:".utf8.contains($0) }
    }

    var segments: [String] { parts.map(\.segment) }
    package var isExact: Bool { parts.isEmpty }
    /// The pattern without its segments' names: equal for patterns that match the same names.
    var form: String {
        parts.reduce(String(decoding: start, as: UTF8.self)) {
            $0 + "{}" + String(decoding: $1.literal, as: UTF8.self)
        }
    }

    /// The text that each segment matches in a session's name; nil if the name does not match. O(bytes).
    func match(_ session: String) -> [String: String]? {
        var session = session
        return session.withUTF8 { name in
            guard name.starts(with: start), SessionName.isWhole(name) else { return nil }
            var found: [String: String] = [:]
            var at = start.count
            for (index, part) in parts.enumerated() {
                guard let end = end(of: part, isLast: index == parts.count - 1, from: at, in: name) else { return nil }
                let text = name[at..<end]
                if text.count <= 2, text.allSatisfy({ $0 == UInt8(ascii: ".") }) { return nil }
                found[part.segment] = String(decoding: text, as: UTF8.self)
                at = end + part.literal.count
            }
            return at == name.count ? found : nil
        }
    }

    /// The end of the segment that begins at `start`; nil if it does not match.
    private func end(of part: Part, isLast: Bool, from start: Int, in name: UnsafeBufferPointer<UInt8>) -> Int? {
        let last = name.count - part.literal.count
        var end = isLast ? last : start + 1
        guard end > start, end <= last, !name[start..<end].contains(UInt8(ascii: ":")) else { return nil }
        while end <= last {
            if name[end..<end + part.literal.count].elementsEqual(part.literal) { return end }
            if name[end] == UInt8(ascii: ":") { return nil }
            end += 1
        }
        return nil
    }
}

extension NamePattern.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .character:
            "a name may only contain letters, digits, ._~:- and segments in braces, such as \"orders:{user}\""
        case .openBrace: "a segment's brace is not closed"
        case .segmentName: "a segment's name must be 1 to 64 letters, digits, - and _"
        case .repeatedSegment(let name): "duplicate segment {\(name)}"
        case .adjacentSegments(let one, let two): "nothing separates {\(one)} from {\(two)}"
        case .noName: SessionName.rule
        }
    }
}
