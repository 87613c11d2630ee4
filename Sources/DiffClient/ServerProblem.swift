import Foundation
import SnapshotKit

/// Why a request failed: the server's problem (RFC 9457), a failure to reach it, or a value that cannot be encoded.
public struct ServerProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status; nil if there was no answer, or no request.
    public var status: Int?
    /// The page that explains it, such as `/problems/session-not-found`.
    public var type: String?
    /// The kind of problem, for people.
    public var title: String
    /// What was wrong this time, for people.
    public var detail: String?
    /// The violations in the request's body, each with a pointer such as `/edits/0/before`, a code for programs and a
    /// sentence; empty if the server names none.
    public var errors: [Violation]
    /// The head, if the required revision is a different one.
    public var current: String?
    /// How many seconds to wait before another request, if the server says so.
    public var retryAfter: TimeInterval?

    /// An answer that does not fit the list, so that asking again at once helps.
    static let otherList = ServerProblem(title: "An answer was for another list")

    /// An address such as `localhost:8080`, whose scheme is `localhost`.
    static let noScheme = ServerProblem(title: "The server's URL needs http:// or https://")

    /// A problem; public for previews and tests.
    public init(
        status: Int? = nil, type: String? = nil, title: String, detail: String? = nil, current: String? = nil,
        retryAfter: TimeInterval? = nil, errors: [Violation] = []
    ) {
        (self.status, self.type, self.title, self.errors) = (status, type, title, errors)
        (self.detail, self.current, self.retryAfter) = (detail, current, retryAfter)
    }

    /// The problem in an answer or at the end of a stream; `title` is the default. A member of another type is ignored
    /// (RFC 9457 §3.1).
    init(json: Data, title: String = "The stream has ended") {
        let members = JSONSlice.members(of: [UInt8](json)) ?? [:]
        (status, type, detail) = (members["status"]?.integer, members["type"]?.string, members["detail"]?.string)
        self.title = members["title"]?.string ?? title
        current = members["current"]?.string
        errors = members["errors"]?.elements?.compactMap(Violation.init) ?? []
    }

    init(_ response: HTTPURLResponse, _ body: Data) {
        self.init(json: body, title: HTTPURLResponse.localizedString(forStatusCode: response.statusCode))
        status = response.statusCode
        retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Self.delay($0, from: Date()) }
    }

    /// The status and the first three errors with their pointers, or else the detail, or else the title; for people. A
    /// problem without a status has both title and detail, since the detail is then another library's.
    public var description: String {
        var texts = errors.prefix(3).map { "\($0.detail) (\($0.pointer))" }
        if errors.count > texts.count { texts.append("and \(errors.count - texts.count) more") }
        let what = texts.isEmpty ? detail : texts.joined(separator: "; ")
        // What the server says of this time includes what it says of the kind.
        let kind = status == nil || what == nil ? title : nil
        return [status.map { "\($0)" }, kind, what].compactMap(\.self).joined(separator: ": ")
    }

    /// Whether the same request may succeed later: no connection, no session yet, too many requests, a server that is
    /// shutting down, or a proxy without one.
    var isPassing: Bool {
        switch status {
        case nil: self != .noScheme
        // Sessions come and go, but a server's routes do not.
        case 404: type != "/problems/route-not-found"
        case 408, 425, 429: true
        case let status?: status >= 500
        }
    }

    /// `Retry-After` (RFC 9110 §10.2.3): seconds, or a date. Nil for anything else, and for past dates.
    static func delay(_ text: String, from now: Date) -> TimeInterval? {
        if let seconds = UInt32(text) { return TimeInterval(seconds) }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let seconds = format.date(from: text)?.timeIntervalSince(now), seconds >= 0 else { return nil }
        return seconds
    }
}

extension Violation {
    /// One of a problem's errors; nil if it does not say where and what.
    fileprivate init?(_ json: JSONSlice) {
        guard let members = json.members, let pointer = members["pointer"]?.string, let code = members["code"]?.string
        else { return nil }
        self.init(pointer: pointer, code: code, detail: members["detail"]?.string ?? "")
    }
}
