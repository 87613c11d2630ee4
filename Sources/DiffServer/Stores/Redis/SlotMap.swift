import HTTPCore

/// Which primary has which keys.
///
/// A cluster divides its keys into 16,384 slots, by a checksum of the key or of the part in its first braces, and each
/// slot belongs to one primary (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/). Without a
/// cluster one primary has all slots.
struct SlotMap: Sendable, Equatable {
    static let slotCount = 16_384

    private(set) var primaries: [RedisAddress.Endpoint]
    /// The replicas of all.
    private(set) var replicas: [ConnectAddress] = []
    /// For each slot the index of its primary, or -1; empty if one primary has all.
    private var owners: [Int16] = []

    /// A map in which one primary has everything.
    init(sole primary: RedisAddress.Endpoint) { primaries = [primary] }

    /// Reads the answer to `CLUSTER SLOTS`; nil if it is none.
    ///
    /// - Parameter speaker: the node that answered, which leaves out its own host if it does not know that.
    init?(_ reply: RedisReply, from speaker: ConnectAddress) {
        guard let ranges = reply.elements, (1...Self.slotCount).contains(ranges.count) else { return nil }
        (primaries, owners) = ([], [Int16](repeating: -1, count: Self.slotCount))
        for range in ranges {
            guard let parts = range.elements, parts.count >= 3, case .integer(let first) = parts[0],
                case .integer(let last) = parts[1], 0 <= first, first <= last, last < Self.slotCount
            else { return nil }
            let nodes = parts[2...].compactMap { Self.node($0, from: speaker) }
            guard nodes.count == parts.count - 2 else { return nil }
            let owner = index(of: nodes[0])
            for slot in Int(first)...Int(last) { owners[slot] = owner }
            for replica in nodes.dropFirst() where !replicas.contains(replica) { replicas.append(replica) }
        }
    }

    /// Reads a node: its host, its port, and more that does not matter here.
    private static func node(_ reply: RedisReply, from speaker: ConnectAddress) -> ConnectAddress? {
        guard let parts = reply.elements, parts.count >= 2, case .integer(let number) = parts[1],
            let port = UInt16(exactly: number)
        else { return nil }
        return ConnectAddress.announced(host: parts[0].text ?? "", port: port, by: speaker)
    }

    private mutating func index(of primary: ConnectAddress) -> Int16 {
        let endpoint = RedisAddress.Endpoint.server(primary)
        if let index = primaries.firstIndex(of: endpoint) { return Int16(index) }
        primaries.append(endpoint)
        return Int16(primaries.count - 1)
    }

    /// Gives a slot to a primary, which may be new. One that has no slots left is removed.
    mutating func move(_ slot: Int, to primary: ConnectAddress) {
        if owners.isEmpty { owners = [Int16](repeating: 0, count: Self.slotCount) }
        let former = owners[slot]
        owners[slot] = index(of: primary)
        guard former >= 0, !owners.contains(former) else { return }
        primaries.remove(at: Int(former))
        for slot in owners.indices where owners[slot] > former { owners[slot] -= 1 }
    }

    /// The primary of a key; nil if none has its slot.
    func primary(of key: some Collection<UInt8>) -> RedisAddress.Endpoint? {
        guard !owners.isEmpty else { return primaries[0] }
        let owner = owners[Self.slot(of: key)]
        return owner < 0 ? nil : primaries[Int(owner)]
    }

    func primary(of key: String) -> RedisAddress.Endpoint? { primary(of: key.utf8) }

    /// A slot that no primary has.
    var orphan: Int? { owners.firstIndex(of: -1) }

    /// One key on each primary: `name` itself if one primary has all slots, else `name{0}` and the like. There may be
    /// none on a primary with few slots.
    func keys(_ name: String) -> [String] {
        guard !owners.isEmpty else { return [name] }
        var missing = Set(primaries)
        var keys: [String] = []
        for number in 0..<Self.slotCount where !missing.isEmpty {
            let key = "\(name){\(number)}"
            if let primary = primary(of: key), missing.remove(primary) != nil { keys.append(key) }
        }
        return keys
    }

    // MARK: Checksums

    /// The slot of a key: that of the part in its first braces, unless that is empty, else that of the whole key.
    static func slot(of key: some Collection<UInt8>) -> Int {
        if let open = key.firstIndex(of: UInt8(ascii: "{")) {
            let rest = key[key.index(after: open)...]
            if let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex {
                return checksum(rest[..<close]) % slotCount
            }
        }
        return checksum(key) % slotCount
    }

    /// CRC-16/XMODEM: polynomial 0x1021, initial value 0, not reflected.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> Int {
        Int(bytes.reduce(UInt16(0)) { $0 << 8 ^ remainders[Int(UInt8(truncatingIfNeeded: $0 >> 8) ^ $1)] })
    }

    private static let remainders = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { rest, _ in rest & 0x8000 == 0 ? rest << 1 : rest << 1 ^ 0x1021 }
    }
}

extension ConnectAddress {
    /// A node's address as nodes announce it. An unknown host (empty, or `?`) is that of the node that answered.
    static func announced(host: String, port: UInt16, by speaker: ConnectAddress?) -> ConnectAddress? {
        guard port > 0 else { return nil }
        if !host.isEmpty, host != "?" { return .tcp(host: host, port: port) }
        guard case .tcp(let known, _) = speaker else { return nil }
        return .tcp(host: known, port: port)
    }
}
