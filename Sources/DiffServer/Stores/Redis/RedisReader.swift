import CHiredis

/// Takes answers out of a stream of bytes, by hiredis.
final class RedisReader {
    /// What was read is not RESP2, or longer than an answer may be.
    struct Garbage: Error { let reason: String }

    private let reader: UnsafeMutablePointer<redisReader>
    private var unanswered = 0

    /// Bytes of one answer. Redis itself has this limit for a string.
    private static let maxAnswerBytes = 512 << 20

    init() {
        guard let reader = redisReaderCreate() else { preconditionFailure("out of memory") }
        self.reader = reader
    }

    deinit { redisReaderFree(reader) }

    func feed(_ bytes: UnsafeRawBufferPointer) throws(Garbage) {
        unanswered += bytes.count
        guard unanswered <= Self.maxAnswerBytes else {
            throw Garbage(reason: "an answer of more than \(Self.maxAnswerBytes) bytes")
        }
        let status = redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        if status != REDIS_OK { throw garbage }
    }

    /// The next answer if all of it is there.
    func next() throws(Garbage) -> RedisReply? {
        var object: UnsafeMutableRawPointer?
        guard redisReaderGetReply(reader, &object) == REDIS_OK else { throw garbage }
        guard let object else { return nil }
        defer { freeReplyObject(object) }
        unanswered = 0
        return Self.value(object.assumingMemoryBound(to: redisReply.self).pointee)
    }

    private var garbage: Garbage {
        Garbage(
            reason: withUnsafeBytes(of: reader.pointee.errstr) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            })
    }

    /// No deeper than hiredis reads: seven arrays in one another.
    private static func value(_ reply: redisReply) -> RedisReply {
        switch reply.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: .bytes(Array(bytes(reply)))
        case REDIS_REPLY_INTEGER: .integer(reply.integer)
        case REDIS_REPLY_ARRAY:
            .array((0..<reply.elements).map { reply.element[$0].map { value($0.pointee) } ?? .null })
        case REDIS_REPLY_ERROR: .error(RedisError(text: String(decoding: bytes(reply), as: UTF8.self)))
        default: .null
        }
    }

    private static func bytes(_ reply: redisReply) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: reply.str, count: reply.len)
    }
}
