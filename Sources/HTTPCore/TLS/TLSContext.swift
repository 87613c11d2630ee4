import CDiffOpenSSL
import CDiffSystem

/// A certificate with its key, and the parameters of handshakes.
///
/// Immutable, so loops may share it: OpenSSL locks its session cache. New files make a new context. Open connections
/// keep the old one, but its sessions are not resumed, so that no client outlives a change of authorities.
///
/// TLS 1.2 is limited to ECDHE with AES-GCM or ChaCha20, as TLS 1.3 always is, which excludes the weaknesses of CBC,
/// RSA key transport and renegotiation. Compression is off (CRIME).
final class TLSContext: @unchecked Sendable {
    let raw: OpaquePointer
    /// The earliest expiry in the certificate chain, in seconds since 1970.
    private(set) var expiry: Int?

    init(_ options: TLSOptions) throws(ListenError) {
        guard let raw = SSL_CTX_new(TLS_server_method()) else { throw .tls("TLS", "out of memory") }
        self.raw = raw
        Self.configure(raw)
        try Self.use(certificate: options.certificateFile, key: options.keyFile, in: raw)
        expiry = Self.certificates(in: raw).compactMap(Self.expiry).min()
        if let authorities = options.clientAuthorityFile {
            try verifyClients(authorities, isRequired: options.requiresClientCertificate)
        }
    }

    deinit { SSL_CTX_free(raw) }

    private static func configure(_ context: OpaquePointer) {
        configureBothSides(context)
        tls_context_cache_sessions(context, 20_000)
        let name = Array("http".utf8)
        SSL_CTX_set_session_id_context(context, name, UInt32(name.count))
        // Chooses `http/1.1`; a client that offers only others gets an alert (RFC 7301 §3.2).
        let choose: SSL_CTX_alpn_select_cb_func = { _, chosen, length, offered, count, _ in
            let known: StaticString = "\u{8}http/1.1"
            var name: UnsafeMutablePointer<UInt8>?
            let verdict = SSL_select_next_proto(
                &name, length, known.utf8Start, UInt32(known.utf8CodeUnitCount), offered, count)
            chosen?.pointee = UnsafePointer(name)
            return verdict == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
        }
        SSL_CTX_set_alpn_select_cb(context, choose, nil)
    }

    /// The common configuration of servers and clients.
    fileprivate static func configureBothSides(_ context: OpaquePointer) {
        tls_context_set_versions(context, TLS1_2_VERSION, TLS1_3_VERSION)
        SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20")
        _ = tls_context_set_groups(context, "X25519:P-256:P-384")
        tls_context_set_options(context)
        // A partial write may continue from a buffer that has moved. Buffers are released between records, or an idle
        // connection would hold 34 KB. A read takes all that the socket has.
        tls_context_set_mode(
            context,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | Int(SSL_MODE_RELEASE_BUFFERS))
        tls_context_set_read_ahead(context)
        // Otherwise OpenSSL would ask the terminal for the passphrase of an encrypted key.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
    }

    /// Reads a certificate with its chain, and its key.
    static func use(certificate: String, key: String, in context: OpaquePointer) throws(ListenError) {
        try checkReadable(certificate)
        try checkReadable(key)
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw .tls(certificate, "not a PEM certificate: \(reason())")
        }
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
            throw .tls(key, "not a PEM private key without a passphrase: \(reason())")
        }
        guard SSL_CTX_check_private_key(context) == 1 else { throw .tls(key, "not the key of \(certificate)") }
    }

    private static func certificates(in context: OpaquePointer) -> [OpaquePointer] {
        var chain: OpaquePointer?
        SSL_CTX_ctrl(context, SSL_CTRL_GET_CHAIN_CERTS, 0, &chain)
        let rest = (0..<max(0, OPENSSL_sk_num(chain))).compactMap {
            OPENSSL_sk_value(chain, $0).map { OpaquePointer($0) }
        }
        return (SSL_CTX_get0_certificate(context).map { [$0] } ?? []) + rest
    }

    private static func expiry(_ certificate: OpaquePointer) -> Int? {
        var time = tm()
        guard ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1 else { return nil }
        return timegm(&time)
    }

    private func verifyClients(_ authorities: String, isRequired: Bool) throws(ListenError) {
        try Self.trust(authorities, in: raw)
        guard let names = SSL_load_client_CA_file(authorities) else {
            throw .tls(authorities, "no PEM certificates found: \(Self.reason())")
        }
        SSL_CTX_set_client_CA_list(raw, names)
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | (isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nil)
    }

    /// Reads the authorities that the peer's certificate must come from.
    static func trust(_ authorities: String, in context: OpaquePointer) throws(ListenError) {
        try checkReadable(authorities)
        ERR_clear_error()
        guard SSL_CTX_load_verify_file(context, authorities) == 1 else {
            throw .tls(authorities, "no PEM certificates found: \(reason())")
        }
    }

    private static func checkReadable(_ file: String) throws(ListenError) {
        guard access(file, R_OK) == 0 else { throw .tls(file, String(cString: strerror(errno))) }
    }

    /// The reason of the first error, which is the cause.
    static func reason() -> String {
        let code = ERR_get_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

extension ListenError {
    static func tls(_ file: String, _ reason: String) -> ListenError { ListenError(address: file, reason: reason) }
}

/// Encryption of connections to other servers: TLS 1.2 and 1.3 as for our own clients. Immutable, and shared by loops.
///
/// The chain and the host are always verified: for a self-made certificate, name its authority.
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
            if let file = SystemAuthorities.file { SSL_CTX_load_verify_file(raw, file) }
            ERR_clear_error()
        }
        if let identity { try TLSContext.use(certificate: identity.certificateFile, key: identity.keyFile, in: raw) }
    }

    deinit { SSL_CTX_free(raw) }

    /// An SSL that accepts only a certificate for `host` (RFC 9525 §6). The server is told a name (RFC 6066 §3).
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
