import CDiffSystem

@testable import HTTPCore

/// A blocking client over a real socket, for tests. Reads give up after a minute.
final class Client {
    let descriptor: Int32

    init(_ address: SocketAddress, from source: SocketAddress? = nil, receiveBuffer: Int32? = nil) throws {
        let family =
            switch address {
            case .v4: AF_INET
            case .v6: AF_INET6
            case .unix: AF_UNIX
            }
        descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if let source, source.withRaw({ bind(descriptor, $0, $1) }) != 0 { throw Failure(errno) }
        guard address.withRaw({ connect(descriptor, $0, $1) }) == 0 else { throw Failure(errno) }
    }

    deinit { close(descriptor) }

    struct Failure: Error {
        let code: Int32
        init(_ code: Int32) { self.code = code }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                CDiffSystem.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset.
    func abort() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    /// Everything up to `text`, or until the peer closes; nil for the end or a minute of silence with nothing read.
    func receive(until text: String) -> String {
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains(text) {
            guard let more = receive() else { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func receiveToEnd() -> String {
        var bytes: [UInt8] = []
        while let more = receive() { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until this many octets have come or no more do; returns how many came.
    func receive(octets: Int) -> Int {
        var count = 0
        while count < octets, let more = receive() { count += more.count }
        return count
    }

    func receive(atMost count: Int = 65_536) -> [UInt8]? {
        var room = [UInt8](repeating: 0, count: count)
        let read = recv(descriptor, &room, count, 0)
        return read > 0 ? Array(room[..<read]) : nil
    }
}
