/// `diffserver key` and `diffserver token`: credentials without a server.
enum KeyCommands {
    /// Makes a key: the secret for the client, and the option for the server.
    static func key(name: String) {
        let secret = KeyRing.newSecret()
        let hash = Hex.encode(Digests.sha256(Array(secret.utf8)))
        print("key:     \(secret)\noption:  --key \(name):\(hash)")
    }

    /// Mints a token with the server's secret.
    static func token(sessions: [String], scopes: Set<Token.Scope>, seconds: Int, secret: [UInt8]) {
        let token = Token(
            sessions: sessions, scopes: scopes, expires: WallTime.after(.seconds(seconds)),
            made: WallTime.milliseconds)
        print(token.signed(by: secret))
    }
}
