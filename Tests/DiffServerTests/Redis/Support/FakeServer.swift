import CDiffSystem
import Foundation

/// A server on a Unix socket, or on a port of this machine, with scripted answers, for one client after the other.
final class FakeServer: @unchecked Sendable {
    let path: String
    let port: UInt16
    private let descriptor: Int32
    private let answer: @Sendable (_ connection: Int, _ request: String) -> String?

    /// - Parameters:
    ///   - port: to listen to in place of a Unix socket; 0 for that.
    ///   - answer: to what came in one read; nil closes. Called with the connection's number, from 0.
    init(port: UInt16 = 0, _ answer: @escaping @Sendable (_ connection: Int, _ request: String) -> String?) {
        self.answer = answer
        self.port = port
        path = "/tmp/diffserver-fake-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        descriptor = CDiffSystem.socket(port == 0 ? AF_UNIX : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if port == 0 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            _ = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        } else {
            var address = sockaddr_in(loopback: port)
            _ = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        listen(descriptor, 16)
        let listening = descriptor
        Thread.detachNewThread { [answer] in
            for number in 0... {
                let client = accept(listening, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { Self.serve(client, number, answer) }
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
        unlink(path)
    }

    private static func serve(_ client: Int32, _ number: Int, _ answer: (Int, String) -> String?) {
        defer { close(client) }
        var room = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(client, &room, room.count, 0)
            guard count > 0, let text = answer(number, String(decoding: room[..<count], as: UTF8.self)) else { return }
            _ = text.withCString { send(client, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
    }
}
