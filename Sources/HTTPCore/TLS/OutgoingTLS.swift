import CDiffOpenSSL
import Glibc

/// How connections to other servers are encrypted: TLS 1.2 and 1.3 as for our own clients, the chain and the host's
/// name always verified.
///
/// Never changed once made; loops share it. There is no switch that leaves verification out: with a certificate of
/// one's own making its authority is named.
public final class OutgoingTLS: @unchecked Sendable {
    private let raw: OpaquePointer

    /// - Parameters:
    ///   - authorityFile: a PEM file with the authorities that are trusted; nil trusts those of the system.
    ///   - identity: a PEM file with a certificate for a server that asks for one, and a file with its key.
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

    /// An SSL that accepts only a certificate for `host`: as an address if it is one, else as a name, which is then
    /// also asked for (RFC 6066 §3, RFC 9525 §6).
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
