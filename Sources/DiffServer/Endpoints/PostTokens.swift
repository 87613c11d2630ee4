import HTTPCore
import SnapshotKit

/// Mints a thin client's token for one session, which need not exist yet.
enum PostTokens {
    private static let defaultSeconds = 3600

    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        { (body) throws(Problem) in try mint(call, token(call, body)) }
    }

    private static func mint(_ call: Call, _ token: Token) throws(Problem) -> Reply {
        var writer = JSONWriter()
        writer.append("{\"token\":")
        writer.append(string: token.signed(by: call.service.access.tokenSecret))
        writer.append(",\"expiresAt\":")
        writer.append(string: token.expires.text)
        writer.append(byte: UInt8(ascii: "}"))
        return .now(
            Response(
                status: 201, fields: [Field("Content-Type", "application/json"), Field("Cache-Control", "no-store")],
                body: .bytes(writer.bytes())))
    }

    private static func token(_ call: Call, _ body: consuming [UInt8]) throws(Problem) -> Token {
        let envelope: Envelope
        do throws(StateError) {
            envelope = try Envelope(json: body, members: .init(states: [], values: ["ttl", "scope"]))
        } catch { throw Problem(error) }
        let seconds = envelope.values["ttl"].map { $0.integer ?? 0 } ?? defaultSeconds
        guard (1...Options.maxTimeToLive).contains(seconds) else {
            throw .wrongMember("/ttl", "ttl is a whole number of seconds from 1 to \(Options.maxTimeToLive)")
        }
        let names = envelope.values["scope"].map { $0.strings ?? [] } ?? [Token.Scope.read.rawValue]
        let scopes = names.compactMap(Token.Scope.init)
        guard !scopes.isEmpty, scopes.count == names.count else {
            throw .wrongMember("/scope", "scope is an array with \"read\", \"edit\" or both")
        }
        return Token(session: call.session, scopes: Set(scopes), expires: WallTime.now.adding(.seconds(seconds)))
    }
}
