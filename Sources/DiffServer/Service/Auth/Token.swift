// A thin client's token: a compact JWS (RFC 7515) by HS256 (RFC 7518 §3.2), bound to one session, a scope and an end.
// The header must say HS256: every other algorithm, and none, is refused before anything else is looked at.

import SnapshotKit

/// What a token allows, and for how long.
struct Token: Sendable, Equatable {
    enum Scope: String, Sendable, CaseIterable {
        /// Every GET below the session.
        case read
        /// POST of edits.
        case edit
    }

    var session: String
    var scopes: Set<Scope>
    var expires: WallTime

    /// How far ahead the clock of whoever makes tokens may be, in seconds.
    private static let clockSkew: Int64 = 60

    /// Signs the token, under an id of its own (RFC 7519 §4.1.7), so that two of one session that end at the same time
    /// are two.
    func signed(by secret: [UInt8]) -> String {
        var claims = JSONWriter()
        claims.append("{\"sub\":")
        claims.append(string: session)
        claims.append(",\"scope\":")
        claims.append(string: scopes.map(\.rawValue).sorted().reversed().joined(separator: " "))
        claims.append(",\"exp\":")
        claims.append(Int(expires.seconds))
        claims.append(",\"jti\":")
        claims.append(string: Base64URL.encode(Digests.random(9)))
        claims.append(byte: UInt8(ascii: "}"))
        let text =
            Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8)) + "." + Base64URL.encode(claims.bytes())
        return text + "." + Base64URL.encode(Digests.hmacSHA256(Array(text.utf8), key: secret))
    }

    /// Reads and checks a token; nil unless it is whole, signed by `secret`, and valid at `now`.
    init?(_ text: String, secret: [UInt8], at now: WallTime) {
        // By octets: to split a string by characters costs more than all the rest of the check.
        let octets = Array(text.utf8)
        let parts = octets.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, octets.count <= 4096,
            let header = Self.members(parts[0]), header["alg"]?.string == "HS256", header["crit"] == nil,
            let signature = Base64URL.decode(parts[2]),
            Digests.isEqual(signature, Digests.hmacSHA256(Array(octets[..<parts[1].endIndex]), key: secret)),
            let claims = Self.members(parts[1]), let session = claims["sub"]?.string,
            let scope = claims["scope"]?.string, let expires = claims["exp"]?.number, expires > Double(now.seconds)
        else { return nil }
        if let start = claims["nbf"] {
            guard let start = start.number, start <= Double(now.seconds) else { return nil }
        }
        if let made = claims["iat"] {
            guard let made = made.number, made <= Double(now.seconds + Self.clockSkew) else { return nil }
        }
        self.session = session
        scopes = Set(scope.split(separator: " ").compactMap { Scope(rawValue: String($0)) })
        self.expires = WallTime(seconds: expires < 1e15 ? Int64(expires) : 1_000_000_000_000_000)
    }

    init(session: String, scopes: Set<Scope>, expires: WallTime) {
        self.session = session
        self.scopes = scopes
        self.expires = expires
    }

    private static func members(_ part: ArraySlice<UInt8>) -> [String: JSONSlice]? {
        guard let json = Base64URL.decode(part) else { return nil }
        return JSONSlice.members(of: json)
    }
}
