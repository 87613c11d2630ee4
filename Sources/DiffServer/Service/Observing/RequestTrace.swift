import DiffSessions
import HTTPCore

/// What ties a request's log line to the logs of its client. Only well-formed values go into the log.
struct RequestTrace: Sendable, Equatable {
    /// `X-Request-Id`, if it is 1 to 128 letters, digits and `._~:+/=@-`, or else a new id.
    let id: String
    /// `traceparent` (W3C Trace Context §3.2), if it is valid.
    let parent: String?

    /// - Parameter newID: makes an id if the client has sent no valid one.
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
            && text.utf8.allSatisfy { SessionName.isOfName($0) || "+/=@".utf8.contains($0) }
    }

    /// `version-traceid-parentid-flags` in lower-case hexadecimal. No id may be all zeros, nor the version `ff`.
    private static func isTraceParent(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2] else { return false }
        let isHex = parts.joined().allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 &- UInt8(ascii: "a") < 6 }
        let areNonZero = [1, 2].allSatisfy { part in parts[part].contains { $0 != UInt8(ascii: "0") } }
        return isHex && areNonZero && !parts[0].elementsEqual("ff".utf8)
    }
}
