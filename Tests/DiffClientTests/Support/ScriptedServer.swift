import Foundation
import Synchronization

/// A server on the loopback that answers each request by a script, on a separate connection.
final class ScriptedServer: Sendable {
    /// A part of an answer.
    enum Part: Sendable {
        case send(String)
        case pause(milliseconds: UInt32)
        /// Nothing more comes, and the connection stays open until the client closes it.
        case silence
    }

    let url: URL
    private let listener: Int32
    private let log = Log()

    private final class Log: Sendable {
        let heads = Mutex<[String]>([])
    }

    /// - Parameter script: the answer to a request, given its head and the number of earlier requests.
    init(_ script: @escaping @Sendable (_ head: String, _ number: Int) -> [Part]) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in(loopback: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isBound, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw ChildProcess.Failure(code: errno)
        }
        self.url = url
        Thread.detachNewThread { [log] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { Self.serve(client, log, script) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// The heads of all requests so far.
    var requests: [String] { log.heads.withLock(\.self) }

    private static func serve(_ client: Int32, _ log: Log, _ script: (String, Int) -> [Part]) {
        defer { close(client) }
        var head = ""
        var room = [UInt8](repeating: 0, count: 4096)
        while !head.contains("\r\n\r\n") {
            let count = recv(client, &room, room.count, 0)
            guard count > 0 else { return }
            head += String(decoding: room[..<count], as: UTF8.self)
        }
        let number = log.heads.withLock {
            $0.append(head)
            return $0.count - 1
        }
        for part in script(head, number) {
            switch part {
            case .send(let text): _ = send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
            case .pause(let milliseconds): pauseThread(.milliseconds(milliseconds), "the scripted server")
            case .silence: while recv(client, &room, room.count, 0) > 0 {}
            }
        }
    }
}
