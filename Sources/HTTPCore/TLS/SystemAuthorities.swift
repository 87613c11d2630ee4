import CDiffSystem

/// Where a system keeps the authorities that it trusts: the server may run on another one than a library is built for.
public enum SystemAuthorities {
    /// One PEM file with all of them, on Debian, Fedora (before and from version 43 on), openSUSE and Alpine.
    static let files = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// The file in the variable that OpenSSL's own tools read, or else the first of these that can be read; nil without
    /// one. Looked for at each call, since it may be installed meanwhile.
    public static var file: String? { file(getenv("SSL_CERT_FILE").map { String(cString: $0) }, or: files) }

    static func file(_ named: String?, or files: [String]) -> String? {
        if let named, !named.isEmpty { return named }
        return files.first { access($0, R_OK) == 0 }
    }
}
