import CDiffOpenSSL
import CDiffSystem

@testable import HTTPCore

/// Certificates made for one test, in a separate directory.
struct TestCertificates {
    let directory: String
    let authority: OpaquePointer
    let authorityKey: OpaquePointer

    var certificateFile: String { "\(directory)/certificate.pem" }
    var keyFile: String { "\(directory)/key.pem" }
    var authorityFile: String { "\(directory)/authority.pem" }

    init() {
        var template = Array("/tmp/httpcore-tests-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template))
        authorityKey = Self.key()
        authority = Self.certificate("authority", authorityKey, issuer: nil, authorityKey)
        Self.write(certificate: authority, to: "\(directory)/authority.pem")
        issue("localhost")
    }

    func remove() {
        for name in ["certificate.pem", "key.pem", "authority.pem"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    /// Writes a new server certificate and its key over the old ones, followed by the authority's certificate if
    /// requested. The authority's is valid for an hour.
    func issue(_ name: String, hours: Int = 1, withAuthority: Bool = false) {
        let (certificate, key) = client(name, hours: hours)
        Self.write(certificate: certificate, to: certificateFile)
        if withAuthority { Self.write(certificate: authority, to: certificateFile, mode: "a") }
        let bio = BIO_new_file(keyFile, "w")
        PEM_write_bio_PrivateKey(bio, key, nil, nil, 0, nil, nil)
        BIO_free(bio)
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// A certificate signed by the authority, with its key.
    func client(_ name: String, hours: Int = 1) -> (certificate: OpaquePointer, key: OpaquePointer) {
        let key = Self.key()
        return (Self.certificate(name, key, issuer: authority, authorityKey, hours: hours), key)
    }

    private static func key() -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        EVP_PKEY_CTX_set_group_name(context, "P-256")
        var key: OpaquePointer?
        EVP_PKEY_generate(context, &key)
        return key!
    }

    private static func certificate(
        _ name: String, _ key: OpaquePointer, issuer: OpaquePointer?, _ issuerKey: OpaquePointer, hours: Int = 1
    ) -> OpaquePointer {
        let certificate = X509_new()!
        X509_set_version(certificate, 0)  // version 1: a root without extensions
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1..<1 << 30))
        X509_gmtime_adj(X509_getm_notBefore(certificate), -60)
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600 * hours)
        X509_set_pubkey(certificate, key)
        X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_FLAG, name, -1, -1, 0)
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate))
        X509_sign(certificate, issuerKey, EVP_sha256())
        return certificate
    }

    private static func write(certificate: OpaquePointer, to file: String, mode: String = "w") {
        let bio = BIO_new_file(file, mode)
        PEM_write_bio_X509(bio, certificate)
        BIO_free(bio)
    }
}

/// A blocking TLS client over a `Client`.
final class TLSClient {
    private let client: Client
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    let isConnected: Bool

    /// - offered: protocols for ALPN.
    init(
        _ address: SocketAddress, versions: ClosedRange<Int32> = TLS1_2_VERSION...TLS1_3_VERSION,
        offered: [String] = [],
        identity: (certificate: OpaquePointer, key: OpaquePointer)? = nil, session: OpaquePointer? = nil,
        ciphers: String? = nil
    ) throws {
        client = try Client(address)
        context = SSL_CTX_new(TLS_client_method())!
        tls_context_set_versions(context, versions.lowerBound, versions.upperBound)
        if let ciphers { SSL_CTX_set_cipher_list(context, ciphers) }
        if let identity {
            SSL_CTX_use_certificate(context, identity.certificate)
            SSL_CTX_use_PrivateKey(context, identity.key)
        }
        ssl = SSL_new(context)!
        if let session { SSL_set_session(ssl, session) }
        let list = offered.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !list.isEmpty { SSL_set_alpn_protos(ssl, list, UInt32(list.count)) }
        SSL_set_fd(ssl, client.descriptor)
        isConnected = SSL_connect(ssl) == 1
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    var session: OpaquePointer? { SSL_get1_session(ssl) }
    var isResumed: Bool { SSL_session_reused(ssl) == 1 }
    var version: String { String(cString: SSL_get_version(ssl)) }

    var chosenProtocol: String {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &count)
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    /// The common name of the server's certificate.
    var serverName: String {
        var name = [CChar](repeating: 0, count: 256)
        let certificate = SSL_get1_peer_certificate(ssl)
        defer { X509_free(certificate) }
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &name, 256)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func send(_ text: String) {
        var text = text
        text.withUTF8 { _ = SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
    }

    func receive(until text: String) -> String {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 65_536)
        while !String(decoding: bytes, as: UTF8.self).hasSuffix(text) {
            let count = SSL_read(ssl, &room, Int32(room.count))
            guard count > 0 else { break }
            bytes += room[..<Int(count)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the server ended with close_notify.
    func endsCleanly() -> Bool {
        var octet: UInt8 = 0
        let count = SSL_read(ssl, &octet, 1)
        return count == 0 && SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN
    }
}
