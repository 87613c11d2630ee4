import CDiffOpenSSL
import CDiffSystem

/// TLS over another transport, which OpenSSL calls through a BIO. So SIGPIPE cannot happen, and a read that emptied the
/// socket is noticed. The BIO's reference is unretained: the transport owns the SSL, which owns the BIO.
final class TLSTransport: Transport {
    private let below: any Transport
    private let ssl: OpaquePointer
    /// `blocked` during the handshake. A peer that spoke plain HTTP is answered in kind.
    private var state = Preparation.blocked
    /// Why it failed, for people.
    private(set) var failure = ""
    private var hasNotified = false
    private var emptiedBelow = false
    /// Whether octets have come that the handshake has not answered.
    private var hasUnanswered = false

    /// The server's side.
    convenience init?(_ below: any Transport, context: TLSContext) {
        guard let ssl = SSL_new(context.raw) else { return nil }
        SSL_set_accept_state(ssl)
        self.init(below, owning: ssl)
    }

    /// The client's side. The certificate must be for `host`, if that is given.
    convenience init?(_ below: any Transport, context: OutgoingTLS, host: String?) {
        guard let ssl = context.session(with: host) else { return nil }
        SSL_set_connect_state(ssl)
        self.init(below, owning: ssl)
    }

    private init?(_ below: any Transport, owning ssl: OpaquePointer) {
        guard let bio = BIO_new(Self.method) else {
            SSL_free(ssl)
            return nil
        }
        (self.below, self.ssl) = (below, ssl)
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        SSL_set_bio(ssl, bio, bio)
    }

    deinit { SSL_free(ssl) }

    func prepare() -> Preparation {
        guard state == .blocked else { return state }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_NONE: state = .ready
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
        default:
            let isHTTP = ERR_peek_error() & 0x7F_FFFF == UInt(SSL_R_HTTP_REQUEST)
            failure = handshakeFailure()
            state = isHTTP ? .plainText : .failed
        }
        return state
    }

    private func handshakeFailure() -> String {
        let verdict = SSL_get_verify_result(ssl)
        if verdict != Int(X509_V_OK) { return String(cString: X509_verify_cert_error_string(verdict)) }
        return ERR_peek_error() == 0 ? "the peer ended the connection" : TLSContext.reason()
    }

    var shortReceiveIsLast: Bool { emptiedBelow && SSL_has_pending(ssl) == 0 }

    /// OpenSSL makes room for a whole handshake message once its length has come, and for a whole record.
    var held: Int {
        switch state {
        case .blocked: hasUnanswered ? Self.largestMessage : 0
        case .ready: SSL_has_pending(ssl) == 1 ? Self.largestRecord : 0
        case .plainText, .failed: 0
        }
    }

    /// The largest ClientHello that OpenSSL takes, 131,396 octets, and a record.
    private static let largestMessage = 152 * 1024
    private static let largestRecord = 17 * 1024

    func receive(into room: UnsafeMutableRawBufferPointer) -> Transfer {
        if state == .plainText { return below.receive(into: room) }
        var filled = 0
        while filled < room.count {
            ERR_clear_error()
            let count = SSL_read(ssl, room.baseAddress! + filled, Int32(clamping: room.count - filled))
            if count > 0 {
                filled += Int(count)
                if shortReceiveIsLast { break }
                continue
            }
            if filled > 0 { break }  // the next call meets the same obstacle
            return transfer(count)
        }
        return .moved(filled)
    }

    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer {
        if state == .plainText { return below.send(bytes, hasMore: hasMore) }
        ERR_clear_error()
        let count = SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
        return count > 0 ? .moved(Int(count)) : transfer(count)
    }

    func finishSending() {
        notify()
        below.finishSending()
    }

    var unacknowledged: Int { below.unacknowledged }

    func limitUnsent(bytes: Int) { below.limitUnsent(bytes: bytes) }

    func close(gracefully: Bool) {
        if gracefully { notify() }
        below.close(gracefully: gracefully)
    }

    /// Sends close_notify, by which clients tell an end from a truncation (RFC 8446 §6.1).
    private func notify() {
        guard state == .ready, !hasNotified else { return }
        hasNotified = true
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    private func transfer(_ result: Int32) -> Transfer {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .blocked
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            // For example, the alert of a server that requires a certificate: in TLS 1.3 it comes after the handshake.
            failure = ERR_peek_error() == 0 ? String(cString: strerror(errno)) : TLSContext.reason()
            state = .failed
            return .failed
        }
    }

    // MARK: The BIO

    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "transport")
        BIO_meth_set_read(method) { bio, room, count in
            guard let bio, let room, count > 0 else { return 0 }
            return TLSTransport.of(bio).read(bio, UnsafeMutableRawBufferPointer(start: room, count: Int(count)))
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let bio, let bytes, count > 0 else { return 0 }
            return TLSTransport.of(bio).write(bio, UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()

    private static func of(_ bio: OpaquePointer) -> TLSTransport {
        Unmanaged<TLSTransport>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
    }

    private func read(_ bio: OpaquePointer, _ room: UnsafeMutableRawBufferPointer) -> Int32 {
        tls_bio_clear_retry(bio)
        switch below.receive(into: room) {
        case .moved(let count):
            emptiedBelow = count < room.count && below.shortReceiveIsLast
            hasUnanswered = true
            return Int32(count)
        case .blocked:
            emptiedBelow = true
            tls_bio_should_retry_read(bio)
            return -1
        case .ended: return 0
        case .failed: return -1
        }
    }

    private func write(_ bio: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        tls_bio_clear_retry(bio)
        switch below.send(bytes, hasMore: false) {
        case .moved(let count):
            hasUnanswered = false
            return Int32(count)
        case .blocked:
            tls_bio_should_retry_write(bio)
            return -1
        case .ended, .failed: return -1
        }
    }
}
