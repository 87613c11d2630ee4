import Testing

@testable import SnapshotKit

@Suite("A hash that goes on")
struct GrowingHashTests {
    @Test("is that of all bytes so far, however they came", arguments: UInt64(0)..<64)
    func parts(seed: UInt64) {
        var state = seed &+ 0x9E37_79B9_7F4A_7C15
        func drawn(upTo most: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % (most + 1)
        }
        let (hash, from) = (KeyedHash(seed: seed, 7), seed % 3)
        var (bytes, growing) = ([UInt8](), KeyedHash.Growing(by: hash, from: from))
        for _ in 0..<40 {
            let part = (0..<drawn(upTo: [3, 20, 100][Int(seed % 3)])).map { _ in UInt8(drawn(upTo: 255)) }
            bytes += part
            growing.append(part)
            guard !bytes.isEmpty else { continue }
            let whole = bytes.withUnsafeBytes { hash.hash($0.baseAddress!, $0.count, from: from) }
            #expect(growing.value == whole, "\(bytes.count) bytes")
        }
    }
}
