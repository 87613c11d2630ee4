// A client's token: a compact JWS (RFC 7515) with HS256 (RFC 7518 §3.2), bound to sessions, a scope and an expiry. Any
// other algorithm, and `none`, is refused before anything else is checked.

import DiffSessions
import DiffStores
import FoundationEssentials
import HTTPCore
import SnapshotKit
import SnapshotViews

/// What a token allows, and for how long.
package struct Token: RevocableToken, Sendable, Equatable {
    package enum Scope: Hashable, Sendable {
        /// Any GET of the session.
        case read
        /// POST of edits.
        case edit
        /// POST of edits with only this operation.
        case operation(EditOperation)
    }

    /// At least one.
    package var sessions: [String]
    var scopes: Set<Scope>
    var expires: WallTime
    /// When the token was made, in milliseconds since 1970; nil counts as older than all others.
    package var made: Int?
    /// What tells it from other tokens (`jti`, RFC 7519 §4.1.7), so that it can be revoked alone; nil if nothing does.
    package var id: String?
    /// The view that every answer to this token goes through; nil for the whole session.
    var view: StateView?
    /// The client that the token is for (`client_id`, RFC 8693 §4.3), which has its own Idempotency-Keys. Nil for a
    /// client that shares them with others.
    var client: String?

    package static let maxSessions = 64
    /// Enough for `maxSessions` sessions with the longest names.
    static let maxBytes = 16 * 1024
    /// The length of a client's name, and of an id, in bytes.
    package static let clientBytes = 1...128
    /// How far ahead the clock of a token's maker may be, in seconds.
    private static let clockSkew: Int64 = 60

    /// A new id, so that two tokens for the same session and expiry differ.
    static func newID() -> String { Base64URL.encode(Digests.random(9)) }

    /// Signs the token, with a new id if it has none.
    package func signed(by secret: [UInt8]) -> String {
        var claims = JSONObject()
        if sessions.count == 1 {
            claims.text("sub", sessions[0])
        } else {
            claims.list("sessions", sessions) { $0.writer.append(string: $1) }
        }
        claims.text("scope", scopes.map(\.text).sorted().reversed().joined(separator: " "))
        if let made { claims.json("iat", Array("\(made / 1000).\(String(made % 1000 + 1000).dropFirst())".utf8)) }
        if let view { claims.json("view", view.jsonHidingContents) }
        claims.text("client_id", client)
        claims.number("exp", Int(expires.seconds))
        claims.text("jti", id ?? Self.newID())
        let text = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8) + "." + Base64URL.encode(claims.bytes())
        return text + "." + Base64URL.encode(Digests.hmacSHA256(Array(text.utf8), key: secret))
    }

    /// Reads a token; nil unless it is well-formed, signed with `secret`, and valid at `now`.
    package init?(_ text: String, secret: [UInt8], at now: WallTime) {
        // Split by octets: splitting a string by characters costs more than the rest of the check.
        let octets = Array(text.utf8)
        let parts = octets.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, octets.count <= Self.maxBytes,
            let header = Self.members(parts[0]), header["alg"]?.string == "HS256", header["crit"] == nil,
            let signature = Base64URL.decode(parts[2]),
            Digests.isEqual(signature, Digests.hmacSHA256(Array(octets[..<parts[1].endIndex]), key: secret)),
            let claims = Self.members(parts[1]), let sessions = Self.sessions(claims),
            let scope = claims["scope"]?.string, let expires = claims["exp"]?.number, expires > Double(now.seconds)
        else { return nil }
        if let claim = claims["view"] {
            // A token whose view is ignored would show too much.
            guard let view = try? StateView(claim, hidesContents: true) else { return nil }
            self.view = view
        }
        if let claim = claims["client_id"] {
            guard let client = claim.string, Self.clientBytes.contains(client.utf8.count) else { return nil }
            self.client = client
        }
        id = claims["jti"]?.string.flatMap { Self.clientBytes.contains($0.utf8.count) ? $0 : nil }
        if let start = claims["nbf"] {
            guard let start = start.number, start <= Double(now.seconds) else { return nil }
        }
        if let made = claims["iat"] {
            guard let made = made.number, made <= Double(now.seconds + Self.clockSkew) else { return nil }
            // Rounded down: at worst, a token is revoked too early. A thousandth makes up for inexact fractions.
            self.made = Int(min(max((made * 1000 + 0.001).rounded(.down), -1e15), 1e15))
        }
        self.sessions = sessions
        // Unknown words permit nothing.
        scopes = Set(scope.split(separator: " ").compactMap(Scope.init))
        self.expires = WallTime(seconds: expires < 1e15 ? Int64(expires) : 1_000_000_000_000_000)
        guard view == nil || !mayEdit else { return nil }
    }

    package init(
        sessions: [String], scopes: Set<Scope>, expires: WallTime, made: Int? = nil, id: String? = nil,
        view: StateView? = nil, client: String? = nil
    ) {
        (self.sessions, self.scopes, self.expires, self.made) = (sessions, scopes, expires, made)
        (self.id, self.view, self.client) = (id, view, client)
    }

    /// Its memory in bytes, including its entries among the revocable tokens, but not its view.
    var footprint: Int { sessions.reduce(0) { $0 + $1.utf8.count + 512 } }

    /// Whether any scope permits edits. A token with a view must not edit: it could change what it cannot see.
    var mayEdit: Bool { scopes.contains { $0 != .read } }

    var operations: Set<EditOperation> {
        let mayAll = scopes.contains(.edit)
        return Set(EditOperation.allCases.filter { mayAll || scopes.contains(.operation($0)) })
    }

    /// The sessions of the claims: `sub` or a list. Nil if both are given, which would be ambiguous.
    private static func sessions(_ claims: [String: JSONSlice]) -> [String]? {
        guard let list = claims["sessions"] else { return claims["sub"]?.string.map { [$0] } }
        guard claims["sub"] == nil, let names = list.strings else { return nil }
        return (1...maxSessions).contains(names.count) ? names : nil
    }

    private static func members(_ part: ArraySlice<UInt8>) -> [String: JSONSlice]? {
        Base64URL.decode(part).flatMap { JSONSlice.members(of: $0) }
    }
}

extension Token.Scope {
    /// A word of the claim `scope`.
    package init?(_ text: some StringProtocol) {
        guard let scope = Self.named[String(text)] else { return nil }
        self = scope
    }

    var text: String {
        switch self {
        case .read: "read"
        case .edit: "edit"
        case .operation(let operation): "edit:\(operation.rawValue)"
        }
    }

    private static let named = Dictionary(
        uniqueKeysWithValues: ([.read, .edit] + EditOperation.allCases.map(Self.operation)).map { ($0.text, $0) })

    /// The valid words, for error messages.
    package static let words =
        "read, edit, or edit:OPERATION, where OPERATION is one of "
        + EditOperation.allCases.map(\.rawValue).joined(separator: ", ")
}

/// The secrets of tokens. The first one signs and all verify, so that secrets rotate without refusing anyone: on all
/// nodes, add the new secret after the old one, then move it to the front, and remove the old one once its tokens have
/// expired.
package final class TokenSecrets: Sendable {
    /// The minimum for HS256 (RFC 7518 §3.2).
    package static let minBytes = 32
    /// Limited, since an invalid token is checked against every secret.
    package static let maxCount = 16

    let current: Credentials<[UInt8]>

    /// - Parameter secrets: at least one.
    package init(_ secrets: [[UInt8]]) {
        precondition(!secrets.isEmpty, "without a secret nothing can be signed")
        current = Credentials(secrets)
    }

    package func replace(by others: [[UInt8]]) {
        precondition(!others.isEmpty, "without a secret nothing can be signed")
        current.replace(by: others)
    }

    func signed(_ token: Token) -> String { token.signed(by: current.all[0]) }

    /// Reads a token; nil unless one of the secrets signed it and it is valid at `now`.
    func token(_ text: String, at now: WallTime) -> (token: Token, signature: TokenSignature)? {
        for secret in current.all {
            if let token = Token(text, secret: secret, at: now) {
                // A signature is 32 bytes, so 43 letters in Base64.
                return (token, TokenSignature(text: String(text.suffix(43)), secret: secret))
            }
        }
        return nil
    }

    /// Splits a text into secrets, one per line, ignoring empty lines; nil if one is too short or there are too many.
    package static func read(_ text: some Sequence<UInt8>) -> [[UInt8]]? {
        let lines = Array(text).split(separator: UInt8(ascii: "\n")).compactMap { line -> [UInt8]? in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty ? nil : Array(line)
        }
        return (1...maxCount).contains(lines.count) && lines.allSatisfy { $0.count >= minBytes } ? lines : nil
    }

    /// The requirements of `read`, for error messages.
    package static let rule = "up to \(maxCount) secrets of at least \(minBytes) bytes each, one per line"
}

/// The signature that identifies a token, and the secret that made it.
package struct TokenSignature: Sendable {
    let text: String
    let secret: [UInt8]
}

/// Base64 for URLs, without padding (RFC 4648 §5, RFC 7515 §2).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedData().prefix { $0 != UInt8(ascii: "=") }
        return String(decoding: standard.map(swapped), as: UTF8.self)
    }

    /// Decodes only what `encode` can write; nil for letters outside the alphabet, padding, or non-zero trailing bits.
    package static func decode(_ letters: some Collection<UInt8>) -> [UInt8]? {
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: -letters.count & 3)
        guard let bytes = Data(base64Encoded: Data(letters.map(swapped) + padding)).map(Array.init) else { return nil }
        // The incomplete last group must be spelled as by `encode`.
        let end = encode(bytes.suffix(bytes.count % 3)).utf8
        return letters.suffix(end.count).elementsEqual(end) ? bytes : nil
    }

    /// Maps between this alphabet and that of standard Base64, which differ in two letters.
    private static func swapped(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: letter
        }
    }
}
