// A keyed 64-bit hash of bytes by folded multiplication: each 16 bytes are masked by secrets and the running state,
// multiplied to 128 bits, and the halves folded by exclusive or. One multiplication for ids of up to 16 bytes.
//
// The known weakness of this family is a factor of zero: whoever knows the masks can choose a word that cancels the
// state. Here all masks are secret, drawn per process or derived from the operator's key, so a client cannot aim. It is
// not a message authentication code: from many inputs and hashes one may learn the masks. Clients see only revisions,
// which cover whole states.

/// A hash function, chosen by secret words.
public struct KeyedHash: Sendable, Equatable {
    /// Drawn anew by each process, for tables in memory. Its hashes are never sent anywhere.
    public static let process: KeyedHash = {
        var random = SystemRandomNumberGenerator()
        return KeyedHash(seed: random.next(), random.next())
    }()

    /// The secret words. An object, since everything hashed by them refers to them.
    private final class Secrets: Sendable {
        let mask: (UInt64, UInt64, UInt64, UInt64)

        init(_ mask: (UInt64, UInt64, UInt64, UInt64)) { self.mask = mask }
    }

    private let secrets: Secrets
    private var mask: (UInt64, UInt64, UInt64, UInt64) { secrets.mask }

    /// The function of a pair of words, which is the same on every machine.
    public init(seed: UInt64, _ second: UInt64) {
        var state = seed
        // splitmix64 (Steele, Lea and Flood 2014) spreads the two words over four.
        func draw(_ word: UInt64) -> UInt64 {
            state = (state ^ word) &+ 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
        secrets = Secrets((draw(second), draw(0), draw(second), draw(0)))
    }

    /// A function chosen by a key of any length, such as an operator's secret.
    public init(key: some Collection<UInt8>) {
        let fixed = KeyedHash(seed: 0x6469_6666_7365_7276, 0x736E_6170_7368_6F74)
        self = Array(key).withUnsafeBytes { text in
            let start = text.baseAddress ?? KeyedHash.nothing
            return KeyedHash(seed: fixed.hash(start, text.count), fixed.hash(start, text.count, from: 1))
        }
    }

    /// Two functions are equal when their secrets are.
    public static func == (one: KeyedHash, other: KeyedHash) -> Bool { one.mask == other.mask }

    /// The hash of bytes, padded or not. O(count).
    public func digest(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        hash(bytes.baseAddress ?? Self.nothing, bytes.count)
    }

    private static var nothing: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 8)! }

    @inline(__always)
    static func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.high ^ product.low
    }

    @inline(__always)
    package func mixed(_ word: UInt64) -> UInt64 { Self.fold(word ^ mask.0, mask.1) ^ word }

    @inline(__always)
    package func mixed(_ one: UInt64, _ other: UInt64) -> UInt64 {
        Self.fold(Self.fold(one ^ mask.0, other ^ mask.1) ^ mask.2, mask.3)
    }

    /// The hash of `count` bytes; `from` starts another stream. O(count).
    @inline(__always)
    package func hash(_ start: UnsafeRawPointer, _ count: Int, from: UInt64 = 0) -> UInt64 {
        var state = mask.0 ^ from
        var one: UInt64
        var other: UInt64
        if count <= 16 {
            if count >= 8 {
                (one, other) = (load64(start), load64(start + count - 8))
            } else if count >= 4 {
                (one, other) = (load32(start), load32(start + count - 4))
            } else if count > 0 {
                let byte = { (at: Int) in UInt64(start.load(fromByteOffset: at, as: UInt8.self)) }
                (one, other) = (byte(0) << 16 | byte(count >> 1) << 8 | byte(count - 1), 0)
            } else {
                (one, other) = (0, 0)
            }
        } else {
            state = absorbed(start, count, into: state)
            (one, other) = (load64(start + count - 16), load64(start + count - 8))
        }
        return finished(one, other, state, count)
    }

    @inline(__always)
    private func finished(_ one: UInt64, _ other: UInt64, _ state: UInt64, _ count: Int) -> UInt64 {
        Self.fold(Self.fold(one ^ mask.1, other ^ state) ^ mask.2, UInt64(truncatingIfNeeded: count) ^ mask.3)
    }

    /// Absorbs all blocks of 16 bytes except the last bytes, which `hash` takes itself.
    private func absorbed(_ start: UnsafeRawPointer, _ count: Int, into state: UInt64) -> UInt64 {
        var state = state
        var lane = state ^ mask.2
        let at = absorb(start, count, &state, &lane)
        return absorbed(start + at, count - at, state, lane)
    }

    /// Absorbs blocks of 32 bytes as long as that does not depend on what follows; returns how many bytes.
    @inline(__always)
    private func absorb(_ start: UnsafeRawPointer, _ count: Int, _ state: inout UInt64, _ lane: inout UInt64) -> Int {
        var at = 0
        while at + 48 < count {
            // Two independent chains, so that two multiplications are under way at once.
            state = Self.fold(load64(start + at) ^ mask.1, load64(start + at + 8) ^ state)
            lane = Self.fold(load64(start + at + 16) ^ mask.3, load64(start + at + 24) ^ lane)
            at += 32
        }
        return at
    }

    @inline(__always)
    private func absorbed(_ start: UnsafeRawPointer, _ count: Int, _ state: UInt64, _ lane: UInt64) -> UInt64 {
        var (state, at) = (state, 0)
        while at + 16 < count {
            state = Self.fold(load64(start + at) ^ mask.1, load64(start + at + 8) ^ state)
            at += 16
        }
        return state ^ (lane &* 0x9E37_79B9_7F4A_7C15)
    }

    /// The hash of bytes to which more can be appended: O(those), however many there are.
    struct Growing: Sendable {
        private let hash: KeyedHash
        private let from: UInt64
        private var state: UInt64
        private var lane: UInt64
        private var count = 0
        /// The last bytes, which are not absorbed yet: at most 48.
        private var rest: [UInt8] = []

        init(by hash: KeyedHash, from: UInt64) {
            (self.hash, self.from, state) = (hash, from, hash.mask.0 ^ from)
            lane = state ^ hash.mask.2
        }

        mutating func append(_ bytes: [UInt8]) {
            rest += bytes
            count += bytes.count
            let absorbed = rest.withUnsafeBytes { [hash, count = rest.count] in
                count == 0 ? 0 : hash.absorb($0.baseAddress!, count, &state, &lane)
            }
            if absorbed > 0 { rest = Array(rest[absorbed...]) }
        }

        /// What `hash` returns for all of them, of which there must be some.
        var value: UInt64 {
            rest.withUnsafeBytes { rest in
                let start = rest.baseAddress!
                if rest.count == count { return hash.hash(start, count, from: from) }
                let state = hash.absorbed(start, rest.count, state, lane)
                return hash.finished(load64(start + rest.count - 16), load64(start + rest.count - 8), state, count)
            }
        }
    }
}
