/// What was encoded and has not yet been sent.
///
/// Small answers are joined in one buffer, so that all answers of one read leave in one write. A large body is not copied: it waits in
/// line as its own segment.
struct OutputQueue {
    private var segments: [[UInt8]] = []
    private var tail: [UInt8] = []
    private var sent = 0
    private(set) var count = 0

    /// From here on a body is not copied.
    static let largeBody = 32 * 1024

    var isEmpty: Bool { count == 0 }

    /// Lets `write` append to the end of the queue. `spare` provides a buffer when there is none.
    mutating func append(spare: () -> [UInt8], _ write: (inout [UInt8]) -> Void) {
        if tail.capacity == 0 { tail = spare() }
        let before = tail.count
        write(&tail)
        count += tail.count - before
    }

    mutating func append(body: consuming [UInt8], spare: () -> [UInt8]) {
        guard body.count >= Self.largeBody else {
            append(spare: spare) { [body] in $0.append(contentsOf: body) }
            return
        }
        if !tail.isEmpty {
            segments.append(tail)
            tail = []
        }
        count += body.count
        segments.append(body)
    }

    /// Sends until everything is gone or the transport has no room.
    ///
    /// - Returns: nil when the queue is empty, else why it is not.
    mutating func flush(_ transport: any Transport, recycle: (consuming [UInt8]) -> Void) -> Transfer? {
        var line = 0
        defer { segments.removeFirst(line) }
        while count > 0 {
            let isTail = line == segments.count
            let length = isTail ? tail.count : segments[line].count
            let remaining = length - sent
            let result = (isTail ? tail : segments[line]).withUnsafeBytes {
                transport.send($0.slice(sent, length), hasMore: remaining < count)
            }
            switch result {
            case .moved(let moved):
                count -= moved
                if moved < remaining {
                    sent += moved
                    continue
                }
                sent = 0
                if isTail {
                    let done = tail
                    tail = []
                    recycle(done)
                } else {
                    line += 1
                }
            case .blocked, .ended, .failed: return result
            }
        }
        return nil
    }
}
