/// Encryption of connections: TLS 1.2 and 1.3, with forward secrecy and authenticated encryption only.
public struct TLSOptions: Sendable, Hashable {
    /// A PEM file with the server's certificate, followed by its chain.
    public var certificateFile: String
    /// A PEM file with the private key, without a passphrase.
    public var keyFile: String
    /// A PEM file with the authorities of client certificates; nil asks for none.
    public var clientAuthorityFile: String?
    /// With `clientAuthorityFile`, whether clients without a certificate are refused in the handshake. Default true.
    public var requiresClientCertificate = true

    /// TLS with this certificate and key.
    public init(certificateFile: String, keyFile: String, clientAuthorityFile: String? = nil) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.clientAuthorityFile = clientAuthorityFile
    }
}
