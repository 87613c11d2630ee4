import CDiffSystem

/// A non-blocking stream of bytes: a socket, TLS over one, or a test's script of faults.
protocol Transport: AnyObject {
    /// Continues the handshake, if there is one. A plain socket is ready at once.
    func prepare() -> Preparation
    /// Reads into `room`, which is not empty.
    func receive(into room: UnsafeMutableRawBufferPointer) -> Transfer
    /// Writes a part of `bytes`, which are not empty. `hasMore`: another send follows at once.
    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer
    /// Tells the peer that nothing more will be sent.
    func finishSending()
    /// Whether a receive that filled only a part of the room has emptied the socket, so that more input is a new event.
    var shortReceiveIsLast: Bool { get }
    /// The octets of memory that it keeps for input that is not whole yet, at most.
    var held: Int { get }
    /// Limits what the kernel queues for a slow reader.
    func limitUnsent(bytes: Int)
    /// Roughly, the octets sent that the peer has not acknowledged.
    var unacknowledged: Int { get }
    /// Closes; `gracefully` sends the protocol's end first, if it has one.
    func close(gracefully: Bool)
}

/// The result of a read or a write.
enum Transfer: Equatable {
    /// More than 0 octets.
    case moved(Int)
    case blocked
    /// The peer has shut down its side.
    case ended
    case failed

    /// How many octets were moved.
    var count: Int { if case .moved(let count) = self { count } else { 0 } }
}

/// How far a handshake is.
enum Preparation: Equatable {
    case ready
    case blocked
    /// The peer speaks plain HTTP; it can be answered in kind.
    case plainText
    case failed
}

/// A non-blocking stream socket. The loop, which may watch the descriptor, closes it.
final class SocketTransport: Transport {
    private let descriptor: Int32
    private let loop: EventLoop

    init(descriptor: Int32, on loop: EventLoop) { (self.descriptor, self.loop) = (descriptor, loop) }

    func prepare() -> Preparation { .ready }

    var shortReceiveIsLast: Bool { true }
    var held: Int { 0 }

    func receive(into room: UnsafeMutableRawBufferPointer) -> Transfer {
        Self.transfer { recv(descriptor, room.baseAddress, room.count, 0) }
    }

    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer {
        let flags = Int32(MSG_NOSIGNAL) | (hasMore ? Int32(MSG_MORE) : 0)
        return Self.transfer { CDiffSystem.send(descriptor, bytes.baseAddress, bytes.count, flags) }
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func limitUnsent(bytes: Int) { setOption(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Int32(bytes)) }

    var unacknowledged: Int {
        var count = Int32(0)
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    func close(gracefully: Bool) { loop.close(descriptor) }

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
