import CDiffOpenSSL
import Glibc

/// Encryption of connections to other servers: TLS 1.2 and 1.3 as for our own clients, always verifying the chain and
/// the host.
///
/// Immutable, and shared by loops. Verification cannot be turned off: for a self-made certificate, name its authority.
public final class OutgoingTLS: @unchecked Sendable {
    private let raw: OpaquePointer

    /// - Parameters:
    ///   - authorityFile: a PEM file with the trusted authorities; nil for the system's.
    ///   - identity: PEM files with a certificate for servers that ask for one, and its key.
    public init(authorityFile: String? = nil, identity: (certificateFile: String, keyFile: String)? = nil)
        throws(ListenError)
    {
        guard let raw = SSL_CTX_new(TLS_client_method()) else { throw .tls("TLS", "out of memory") }
        self.raw = raw
        TLSContext.configureBothSides(raw)
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        if let authorityFile {
            try TLSContext.trust(authorityFile, in: raw)
        } else {
            SSL_CTX_set_default_verify_paths(raw)
        }
        if let identity { try TLSContext.use(certificate: identity.certificateFile, key: identity.keyFile, in: raw) }
    }

    deinit { SSL_CTX_free(raw) }

    /// An SSL that accepts only a certificate for `host`, an address or a name (RFC 9525 §6). A name is also sent to
    /// the server (RFC 6066 §3).
    func session(with host: String?) -> OpaquePointer? {
        guard let ssl = SSL_new(raw) else { return nil }
        guard let host else { return ssl }
        let isSet: Bool
        if Self.isAddress(host) {
            isSet = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
        } else {
            SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            isSet = SSL_set1_host(ssl, host) == 1 && tls_set_server_name(ssl, host) == 1
        }
        if isSet { return ssl }
        SSL_free(ssl)
        return nil
    }

    private static func isAddress(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }
}
