import SnapshotKit

/// The only cursor: which state of a session is meant. Written `<sequence>-<digest>`, such as `2-0c4f77d1aa19be02`.
struct Revision: Hashable, Sendable {
    /// Grows by one with each commit of a session; all ones where the text had more digits than fit, which no session
    /// ever reaches.
    var sequence: UInt64
    /// Of the state: equal states of one session have equal digests.
    var digest: UInt64
    /// How a client wrote it, if not as we would: it is echoed so.
    private var written: String?

    init(sequence: UInt64, digest: UInt64) {
        self.sequence = sequence
        self.digest = digest
    }

    /// Reads `[0-9]+-[0-9a-f]{16}`; nil for anything else.
    init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[1].count == 16,
            parts[0].allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            parts[1].allSatisfy({ $0 &- UInt8(ascii: "0") < 10 || $0 &- UInt8(ascii: "a") < 6 }),
            let digest = UInt64(String(decoding: parts[1], as: UTF8.self), radix: 16)
        else { return nil }
        sequence = UInt64(String(decoding: parts[0], as: UTF8.self)) ?? .max
        self.digest = digest
        if ours != text { written = String(text) }
    }

    var text: String { written ?? ours }

    /// Appends the text, in quotes.
    func write(into writer: inout JSONWriter) {
        writer.append("\"")
        if let written { writer.append(verbatim: written) } else { writeOurs(into: &writer) }
        writer.append("\"")
    }

    private func writeOurs(into writer: inout JSONWriter) {
        if let number = Int(exactly: sequence) {
            writer.append(number)
        } else {
            writer.append(verbatim: String(sequence))
        }
        writer.append("-")
        writer.append(hex: digest)
    }

    private var ours: String {
        var writer = JSONWriter(capacity: 64)
        writeOurs(into: &writer)
        return String(decoding: writer.bytes(), as: UTF8.self)
    }
}
