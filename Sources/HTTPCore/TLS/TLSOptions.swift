/// How connections are encrypted: TLS 1.2 and 1.3, forward secrecy and authenticated encryption only.
public struct TLSOptions: Sendable, Hashable {
    /// A PEM file with the server's certificate first and then its chain.
    public var certificateFile: String
    /// A PEM file with the private key, without a passphrase.
    public var keyFile: String
    /// A PEM file with the authorities whose client certificates are accepted; nil asks for none.
    public var clientAuthorityFile: String?
    /// Whether a client without a certificate is turned away in the handshake; only with `clientAuthorityFile`. Default
    /// true.
    public var requiresClientCertificate = true

    /// TLS with this certificate and key.
    public init(certificateFile: String, keyFile: String, clientAuthorityFile: String? = nil) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.clientAuthorityFile = clientAuthorityFile
    }
}
