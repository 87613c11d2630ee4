import HTTPCore
import Testing

@testable import DiffRedis

@Suite struct RedisRedirectionTests {
    private static let responder = ConnectAddress.tcp(host: "asked", port: 1)

    @Test(arguments: [
        ("MOVED 3999 10.0.0.1:6381", RedisRedirection.moved(hashSlot: 3999, .tcp(host: "10.0.0.1", port: 6381))),
        ("MOVED 0 ::1:6381", .moved(hashSlot: 0, .tcp(host: "::1", port: 6381))),
        ("MOVED 7 :6381", .moved(hashSlot: 7, .tcp(host: "asked", port: 6381))),
        ("MOVED 7 ?:6381", .moved(hashSlot: 7, .tcp(host: "asked", port: 6381))),
        ("ASK 16383 redis-2.local:6379", .ask(.tcp(host: "redis-2.local", port: 6379))),
        ("TRYAGAIN Multiple keys request during rehashing of slot", .later),
        ("CLUSTERDOWN The cluster is down", .down),
        ("MOVED 16384 a:1", nil), ("MOVED x a:1", nil), ("MOVED 1 a", nil), ("MOVED 1 a:0", nil), ("MOVED 1", nil),
        ("MOVED", nil), ("ERR MOVED 1 a:1", nil), ("CROSSSLOT Keys in request don't hash to the same slot", nil),
    ])
    func isRead(_ text: String, _ redirection: RedisRedirection?) {
        #expect(RedisRedirection(RedisError(text: text), from: Self.responder) == redirection)
    }
}
