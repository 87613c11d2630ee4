import HTTPCore

/// What ties a request's log line to the line of whoever caused it.
///
/// A client's own words go into the log only in the forms that these fields have: a line of the log holds nothing that
/// a client made up.
struct RequestTrace: Sendable, Equatable {
    /// `X-Request-Id`, if it is 1 to 128 letters, digits and `._~:+/=@-`; else a new one.
    let id: String
    /// `traceparent` (W3C Trace Context §3.2), if it is valid.
    let parent: String?

    /// - Parameter newID: makes an id where the client sends none that will do.
    init(_ head: RequestHead?, newID: () -> String = RequestTrace.newID) {
        id = Self.only("x-request-id", of: head).flatMap { Self.isID($0) ? $0 : nil } ?? newID()
        parent = Self.only("traceparent", of: head).flatMap { Self.isTraceParent($0) ? $0 : nil }
    }

    /// 64 random bits in hexadecimal.
    static func newID() -> String { Hex.encode(Digests.random(8)) }

    private static func only(_ name: String, of head: RequestHead?) -> String? {
        guard let values = head?.values(of: name), values.count == 1 else { return nil }
        return values[0]
    }

    private static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                byte | 0x20 &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
                    || "._~:+/=@-".utf8.contains(byte)
            }
    }

    /// `version-traceid-parentid-flags` in lower-case hexadecimal; neither id is all zeros, and `ff` is no version.
    private static func isTraceParent(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2] else { return false }
        let isHex = parts.joined().allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 &- UInt8(ascii: "a") < 6 }
        let isSomething = [1, 2].allSatisfy { part in parts[part].contains { $0 != UInt8(ascii: "0") } }
        return isHex && isSomething && !parts[0].elementsEqual("ff".utf8)
    }
}
