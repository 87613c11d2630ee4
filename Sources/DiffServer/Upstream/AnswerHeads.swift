/// Limits the heads of one answer: its own, those of interim answers before it, and its trailers.
///
/// libcurl keeps them all, searches all of them for each field, and undoes as many nested transfer codings as they
/// name: 3 KB compressed three times can pass through 200 MB, and end in nothing that a limit on the body would count.
struct AnswerHeads: Equatable {
    private var bytes = 0
    private var fields = 0
    /// Codings of the body.
    private var codings = 0

    static let maxBytes = 64 * 1024
    static let maxFields = 256
    /// The coding that is asked for, and the only one that is undone. It takes at most 40 KB.
    static let coding = "gzip"

    /// Whether the body is in that coding.
    var isCompressed: Bool { codings > 0 }

    /// Takes one line.
    ///
    /// - Returns: why the rest of the answer is refused, if it is.
    mutating func take(_ line: some Collection<UInt8>) -> String? {
        bytes += line.count
        fields += 1
        guard bytes <= Self.maxBytes, fields <= Self.maxFields else {
            return "its headers are more than \(Self.maxBytes) bytes or \(Self.maxFields) lines"
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard name == "content-encoding" || name == "transfer-encoding" else { return nil }
        let value = String(decoding: line[line.index(after: colon)...], as: UTF8.self).lowercased()
        for coding in value.split(whereSeparator: { ", \t\r\n".contains($0) }) {
            switch coding {
            case "identity", "chunked": break
            case Self.coding, "x-gzip":
                guard name == "content-encoding" else { return Self.unasked }
                codings += 1
            default: return Self.unasked
            }
        }
        return codings > 1 ? "its body is compressed more than once" : nil
    }

    private static let unasked = "its body is in a coding that it was not asked for"
}
