/// A request method (RFC 9110 §9). Methods are case-sensitive.
public enum Method: Hashable, Sendable {
    /// The methods known here.
    case get, head, post, put, delete, options, patch
    /// Any other token, as it was sent.
    case other(String)

    /// The method as in a request line.
    public var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .other(let name): name
        }
    }

    init(_ token: UnsafeRawBufferPointer) {
        switch token.count {
        case 3 where token.spells("GET"): self = .get
        case 3 where token.spells("PUT"): self = .put
        case 4 where token.spells("POST"): self = .post
        case 4 where token.spells("HEAD"): self = .head
        case 5 where token.spells("PATCH"): self = .patch
        case 6 where token.spells("DELETE"): self = .delete
        case 7 where token.spells("OPTIONS"): self = .options
        default: self = .other(String(decoding: token, as: UTF8.self))
        }
    }
}
