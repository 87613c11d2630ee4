import CDiffSystem
import Glibc

/// The bytes of one connection, without waiting. What lies below, a socket, TLS or a script of faults, the connection
/// does not know.
protocol Transport: AnyObject {
    /// Goes on with what has to happen before bytes pass. A plain socket is ready at once.
    func prepare() -> Preparation
    /// Reads into `room`, which is not empty.
    func receive(into room: UnsafeMutableRawBufferPointer) -> Transfer
    /// Writes a part of `bytes`, which are not empty. `hasMore` says that more follows at once.
    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer
    /// Tells the peer that nothing more will be sent.
    func finishSending()
    /// Whether a receive that filled only a part of the room has emptied the socket, so that the next event will tell
    /// of more.
    var shortReceiveIsLast: Bool { get }
    /// Limits what the kernel queues for a slow reader.
    func limitUnsent(bytes: Int)
    /// Octets that were sent and that the peer has not acknowledged, roughly.
    var unacknowledged: Int { get }
    /// Closes; `gracefully` tells the peer so first, where the protocol has words for it.
    func close(gracefully: Bool)
}

/// What became of a read or a write.
enum Transfer: Equatable {
    /// More than 0 octets.
    case moved(Int)
    case blocked
    /// The peer sends nothing more.
    case ended
    case failed
}

/// How far a connection is before its first byte.
enum Preparation: Equatable {
    case ready
    case blocked
    /// The peer speaks in the clear where it should not; it can be told so.
    case plainText
    case failed
}

/// A non-blocking stream socket.
final class SocketTransport: Transport {
    private let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    func prepare() -> Preparation { .ready }

    var shortReceiveIsLast: Bool { true }

    func receive(into room: UnsafeMutableRawBufferPointer) -> Transfer {
        Self.transfer { recv(descriptor, room.baseAddress, room.count, 0) }
    }

    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer {
        let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
        return Self.transfer { Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    }

    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func limitUnsent(bytes: Int) {
        var value = Int32(bytes)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    var unacknowledged: Int {
        var count = Int32(0)
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    func close(gracefully: Bool) {
        Glibc.close(descriptor)
    }

    private static func transfer(_ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .blocked
            default: return .failed
            }
        }
    }
}
