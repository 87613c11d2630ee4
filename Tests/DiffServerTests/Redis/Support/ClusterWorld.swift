import Foundation
import HTTPCore

@testable import DiffRedis

/// A cluster on this machine: three primaries with a third of the slots each, and a replica of each if wanted.
final class ClusterWorld: Sendable {
    let primaries: [RedisServer]
    let replicas: [RedisServer]

    var address: String { "redis-cluster://\(primaries.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))" }

    init(withReplicas: Bool = false) throws {
        primaries = try (0..<3).map { _ in try Self.node() }
        replicas = try withReplicas ? (0..<3).map { _ in try Self.node() } : []
        let all = primaries + replicas
        for (index, primary) in primaries.enumerated() {
            primary.ask("CLUSTER", "ADDSLOTSRANGE", "\(index * 16_384 / 3)", "\((index + 1) * 16_384 / 3 - 1)")
        }
        for (index, node) in all.enumerated() { node.ask("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)") }
        for node in all.dropFirst() { Self.meet(all[0], node) }
        try wait(all) { Self.knows($0, all) }
        for (primary, replica) in zip(primaries, replicas) {
            replica.ask("CLUSTER", "REPLICATE", Self.name(of: primary))
        }
        try wait(replicas) { $0.ask("INFO", "replication").contains("master_link_status:up") }
        try wait(all) { node in
            Self.isUsable(node)
                && node.ask("CLUSTER", "NODES").components(separatedBy: "slave ").count == 1 + replicas.count
        }
    }

    /// A node that belongs to no cluster yet.
    static func node() throws -> RedisServer {
        try RedisServer([
            "cluster-enabled yes", "cluster-config-file DIRECTORY/nodes.conf", "cluster-port \(RedisServer.freePort())",
            "cluster-node-timeout 5000", "cluster-replica-validity-factor 0",
        ])
    }

    /// A primary without slots.
    func joined() throws -> RedisServer {
        let node = try Self.node()
        Self.meet(primaries[0], node)
        let all = primaries + [node]
        try wait(all) { Self.knows($0, all) && Self.isUsable($0) }
        return node
    }

    /// From now on 0.8 seconds of silence mean death. Earlier, a busy machine might cause one.
    func noticeDeathsSoon() {
        for node in primaries + replicas { node.ask("CONFIG", "SET", "cluster-node-timeout", "800") }
    }

    func primary(of key: String) -> RedisServer { primaries[HashSlotMap.hashSlot(of: key.utf8) * 3 / 16_384] }

    /// Begins to move the slot of a key; existing keys stay until they are `pushed`.
    func beginMoving(_ key: String, from old: RedisServer, to new: RedisServer) {
        let slot = "\(HashSlotMap.hashSlot(of: key.utf8))"
        new.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", Self.name(of: old))
        old.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", Self.name(of: new))
    }

    func push(_ key: String, from old: RedisServer, to new: RedisServer) {
        old.ask("MIGRATE", "127.0.0.1", "\(new.port)", key, "0", "60000")
    }

    func endMoving(_ key: String, from old: RedisServer, to new: RedisServer) {
        let slot = "\(HashSlotMap.hashSlot(of: key.utf8))"
        for node in [new, old] { node.ask("CLUSTER", "SETSLOT", slot, "NODE", Self.name(of: new)) }
    }

    private static func knows(_ node: RedisServer, _ others: [RedisServer]) -> Bool {
        let nodes = node.ask("CLUSTER", "NODES")
        return others.allSatisfy { nodes.contains("127.0.0.1:\($0.port)@") } && !nodes.contains("handshake")
    }

    private static func isUsable(_ node: RedisServer) -> Bool {
        node.ask("CLUSTER", "INFO").contains("cluster_state:ok")
    }

    private static func meet(_ one: RedisServer, _ other: RedisServer) {
        let bus = one.cli("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
        other.ask("CLUSTER", "MEET", "127.0.0.1", "\(one.port)", String(bus))
    }

    private static func name(of node: RedisServer) -> String { node.ask("CLUSTER", "MYID") }

    private func wait(_ nodes: [RedisServer], _ holds: (RedisServer) -> Bool) throws {
        if eventually({ nodes.allSatisfy(holds) }) { return }
        throw RedisServer.Failure(log: nodes.map { $0.ask("CLUSTER", "NODES") }.joined(separator: "\n"))
    }
}
