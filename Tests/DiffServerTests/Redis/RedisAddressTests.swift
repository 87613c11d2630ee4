import HTTPCore
import Testing

@testable import DiffRedis

@Suite struct RedisAddressTests {
    @Test(arguments: [
        ("redis://h", "redis://h:6379"),
        ("redis://h:1", "redis://h:1"),
        ("redis://h/0", "redis://h:6379"),
        ("redis://h/", "redis://h:6379"),
        ("redis://[::1]:7/3", "redis://[::1]:7/3"),
        ("redis://[::1]", "redis://[::1]:6379"),
        ("rediss://u:p@h", "rediss://h:6379"),
        ("unix:/run/r.sock", "unix:/run/r.sock"),
        ("redis-sentinel://a,b:5,[::1]/main/2", "redis-sentinel://a:26379,b:5,[::1]:26379/main/2"),
        ("rediss-sentinel://:p@a/main", "rediss-sentinel://a:26379/main"),
        ("redis-cluster://a,b:5,[::1]", "redis-cluster://a:6379,b:5,[::1]:6379"),
        ("rediss-cluster://u:p@a/0", "rediss-cluster://a:6379"),
        ("redis-cluster://a/", "redis-cluster://a:6379"),
    ])
    func isRead(_ text: String, _ described: String) {
        #expect(RedisAddress(text)?.description == described)
    }

    @Test(arguments: [
        "", "redis", "redis:", "redis://", "http://h", "redis://h:0", "redis://h:65536", "redis://h:x", "redis://::1",
        "redis://h/x",
        "redis://h/-1", "redis://h/1/2", "redis://@h", "redis://:@h", "redis://%zz@h", "redis://%4@h", "unix:",
        "unix:r", "unix://h/r",
        "redis-sentinel://a", "redis-sentinel://a/", "redis-sentinel://a,/main", "redis-sentinel:///main",
        "redis-cluster://", "redis-cluster://a,", "redis-cluster://a/1", "redis-cluster://a/0/1", "redis-other://a",
        "redis-://a", "redis-cluster-x://a", "redisss://a", "redis://a%00@h", "redis://a%2@h",
    ])
    func isRefused(_ text: String) {
        #expect(RedisAddress(text) == nil)
    }

    @Test func credentialsAreDecodedAndNeverShown() {
        #expect(RedisAddress("redis://u%40x:p%2Fa:s@h")?.credentials == .init(user: "u@x", password: "p/a:s"))
        #expect(RedisAddress("redis://:p@h")?.credentials == .init(user: nil, password: "p"))
        #expect(RedisAddress("redis://u@h")?.credentials == .init(user: "u", password: ""))
        #expect(RedisAddress("redis://u:p@h")?.description == "redis://h:6379")
    }

    @Test func pausesGrowToTheLongest() {
        var backOff = BackOff()
        let pauses = (0..<8).map { _ in backOff.next(chance: 0) }
        #expect(pauses == [0, 50, 100, 200, 400, 800, 1600, 2000].map { .milliseconds($0) })
        #expect(backOff.next(chance: 0.5) == .milliseconds(1500))
        backOff.reset()
        #expect(backOff.next(chance: 0.5) == .milliseconds(25))
    }
}
