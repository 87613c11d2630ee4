import SnapshotKit

/// The only cursor: names a state of a session. Written `<sequence>-<digest>`, such as `2-0c4f77d1aa19be02`, and for a
/// part of the state `2-0c4f77d1aa19be02~100.50.100`.
public struct Revision: Hashable, Sendable {
    /// Grows by one with each commit; `UInt64.max`, which no session ever reaches, if the text has too many digits.
    public var sequence: UInt64
    /// Equal for equal states of one session. For a reader with views a hash of the sequence, the state's digest and
    /// the views.
    public internal(set) var digest: UInt64
    /// The members that few revisions have: one reference, so that revisions are cheap to copy.
    private var details: Details?

    private indirect enum Details: Hashable, Sendable { case some(position: WindowPosition?, written: String?) }

    public init(sequence: UInt64, digest: UInt64) {
        self.sequence = sequence
        self.digest = digest
    }

    /// Reads `[0-9]+-[0-9a-f]{16}`, optionally with `~` and a position; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let separator = text.utf8.firstIndex(of: UInt8(ascii: "~"))
        let parts = text.utf8[..<(separator ?? text.endIndex)]
            .split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[1].count == 16,
            parts[0].allSatisfy(\.isDigit),
            parts[1].allSatisfy({ $0.isDigit || $0 &- UInt8(ascii: "a") < 6 }),
            let digest = UInt64(String(decoding: parts[1], as: UTF8.self), radix: 16)
        else { return nil }
        sequence = UInt64(String(decoding: parts[0], as: UTF8.self)) ?? .max
        self.digest = digest
        if let separator {
            guard let position = WindowPosition(String(text[text.index(after: separator)...])) else { return nil }
            details = .some(position: position, written: nil)
        }
        if ownText != text { details = .some(position: position, written: String(text)) }
    }

    /// The rows of the revision that a reader shows; nil for all.
    public var position: WindowPosition? { if case .some(let position, _)? = details { position } else { nil } }
    /// The text sent by a client, if it is unusual; it is echoed.
    private var written: String? { if case .some(_, let written)? = details { written } else { nil } }

    /// The revision for a reader who shows these rows of it.
    public func showing(_ position: WindowPosition?) -> Revision {
        var revision = Revision(sequence: sequence, digest: digest)
        revision.details = position.map { .some(position: $0, written: nil) }
        return revision
    }

    public var text: String { written ?? ownText }

    /// Appends the text, in quotes.
    public func write(into writer: inout JSONWriter) {
        writer.append(byte: UInt8(ascii: "\""))
        if let written { writer.append(verbatim: written) } else { writeOwn(into: &writer) }
        writer.append(byte: UInt8(ascii: "\""))
    }

    private func writeOwn(into writer: inout JSONWriter) {
        if let number = Int(exactly: sequence) {
            writer.append(number)
        } else {
            writer.append(verbatim: String(sequence))
        }
        writer.append(byte: UInt8(ascii: "-"))
        writer.append(hex: digest)
        if let position { writer.append(verbatim: "~\(position)") }
    }

    private var ownText: String {
        // Avoids an array: stores and answers write many revisions.
        let (number, position) = (String(sequence), position.map { "~\($0)" } ?? "")
        return String(unsafeUninitializedCapacity: number.utf8.count + 17 + position.utf8.count) { room in
            var (_, at) = room.initialize(from: number.utf8)
            room[at] = UInt8(ascii: "-")
            at += 17
            for position in 1...16 {
                let digit = UInt8(truncatingIfNeeded: digest >> UInt64(4 * position - 4)) & 15
                room[at - position] = digit &+ (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            }
            return room[at...].initialize(fromContentsOf: position.utf8)
        }
    }
}

// MARK: - Digests

extension KeyedHash {
    public static func digests(_ key: String) -> KeyedHash { KeyedHash(key: Array(key.utf8)) }

    public func sum(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { digest(of: $0) } }
}
