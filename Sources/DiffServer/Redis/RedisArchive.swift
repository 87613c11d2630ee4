import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The sessions in Redis as bytes, each read and written in one transaction. Leases and notes of sources stay behind.
package final class RedisArchive: SessionArchive {
    package let digestKey: String
    package let margin = 0
    private let topology: RedisTopology
    private let client: RedisClient
    private let loop: EventLoop

    /// For `serve --check` nothing is written but the key of the probe, which expires.
    package enum Purpose: Sendable { case source, target, check }

    /// - Throws: if Redis cannot be used, holds sessions that this process cannot read, or is a target in use.
    package init(_ dialer: RedisDialer, digestKey: String, for purpose: Purpose, polling: Polling) throws(StoreError) {
        self.digestKey = digestKey
        do throws(ListenError) { loop = try EventLoop.standalone(named: "redis", polling: polling) } catch {
            throw StoreError("\(error)")
        }
        var dialer = dialer
        // A large session takes its time.
        if purpose != .check { dialer.commandTimeout = .seconds(60) }
        topology = RedisTopology(dialer, on: loop)
        client = RedisClient(topology, on: loop)
        do throws(StoreError) { try check(purpose) } catch {
            close()
            throw error
        }
    }

    private func check(_ purpose: Purpose) throws(StoreError) {
        let (key, hash) = (RedisArgument.text(client.keys.records), KeyedHash.digests(digestKey))
        var found = try answer { client.send(RedisCommand("GET", key), about: key, $0) }
        if found == .null, purpose == .source { throw failure("no sessions of diffserver are there under this prefix") }
        Progress<Void, Never>.of { done in topology.whenWhole { done(.success(())) } }.wait().get()
        guard topology.isWhole else { throw failure("a slot has no primary") }
        if purpose == .target {
            if try isInUse() { throw failure("a server uses the sessions under this prefix: stop it first") }
            let records = RedisScripts.records(by: hash)
            if found == .null {
                found = try answer { client.run(RedisScripts.claim, keys: [key], [.text(records)], $0) }
            }
        }
        let known = (purpose == .source ? [SessionRecord.formerFormat] : []) + [SessionRecord.format]
        if found != .null, let problem = RedisScripts.problem(with: found.text, by: hash, reading: known) {
            throw failure(problem)
        }
        // What is only read need not take writes.
        if purpose == .source { return }
        let answers = Progress<[RedisResult], Never>.of { [client] done in
            client.probe { done(.success($0)) }
        }.wait().get()
        for case .failure(let problem) in answers { throw failure("\(problem)") }
    }

    private func isInUse() throws(StoreError) -> Bool {
        let channel = RedisArgument.text(client.keys.nodes(of: topology.dialer.address.database))
        let question: RedisArgument = topology.isCluster ? "SHARDNUMSUB" : "NUMSUB"
        let reply = try answer { client.send(RedisCommand("PUBSUB", question, channel), about: channel, $0) }
        return reply.elements?.last != .integer(0)
    }

    package func close() {
        topology.close()
        client.close()
        loop.end()
    }

    // MARK: Sessions

    package func names(_ prefix: String) throws(StoreError) -> [String] {
        // A scan may find a key twice.
        var names: Set<String> = []
        for primary in topology.map.keys(client.keys.probe) {
            var cursor: String? = "0"
            while let from = cursor {
                let command = RedisCommand.scan(prefix, from: from, in: client.keys)
                let reply = try answer { client.send(command, about: .text(primary), $0) }
                guard let found = ScannedNames(reply, in: client.keys) else { throw failure(ScannedNames.fault) }
                names.formUnion(found.names)
                cursor = found.next
            }
        }
        return names.sorted()
    }

    package func session(named name: String) throws(StoreError) -> StoredSession? {
        let key = client.keys.key(name)
        let commands = [["MULTI"], ["PTTL", key], ["HGETALL", key], ["EXEC"]]
        let reply = try answer { client.send(RedisCommand(pipeline: commands), about: key, $0) }
        guard let parts = reply.elements, parts.count == 2, case .integer(let left) = parts[0] else {
            throw failure("its reply about a session cannot be read")
        }
        return left == -2 ? nil : StoredSession(name, parts[1], left: Int(left))
    }

    /// A session comes under a key of its slot, and takes its own if no other has it.
    package func put(_ stored: StoredSession, _ session: Session, for left: Int) throws(StoreError) -> Bool {
        let key = client.keys.key(stored.name)
        let staged = RedisArgument.text(client.keys.channel(stored.name) + ":copied")
        let (fields, most) = (stored.fields(session), 1000)
        let parts = stride(from: 0, to: fields.count, by: most).map {
            ["HSET", staged] + fields[$0..<min($0 + most, fields.count)]
        }
        let commands =
            [["MULTI"], ["DEL", staged]] + parts
            + [["PEXPIRE", staged, .number(left)], ["RENAMENX", staged, key], ["DEL", staged], ["EXEC"]]
        let reply = try answer { client.send(RedisCommand(pipeline: commands), about: key, isWrite: true, $0) }
        let answers = reply.elements ?? []
        for case .error(let error) in answers { throw failure(error.text) }
        return answers.dropLast().last == .integer(1)
    }

    // MARK: Revocations

    package func revocations() throws(StoreError) -> [Revocations.Moment] {
        let (keys, unknown) = ([RedisArgument.text(client.keys.revoked)], RedisArgument.text(RedisRevocations.unknown))
        let reply = try answer { client.run(RedisScripts.revoked, keys: keys, [unknown], $0) }
        guard let found = FoundRevocations(reply) else { throw failure(FoundRevocations.fault) }
        return found.moments
    }

    package func revoke(_ revocation: Revocations.Moment) throws(StoreError) {
        let (arguments, _) = RedisRevocations.arguments(revocation, in: topology.dialer.address.database)
        _ = try answer {
            client.run(RedisScripts.revoke, keys: [.text(client.keys.revoked)], arguments, isWrite: true, $0)
        }
    }

    // MARK: Asking

    /// Blocks until the client calls back.
    private func answer(_ begin: (@escaping RedisClient.Completion) -> Void) throws(StoreError) -> RedisReply {
        do throws(RedisFailure) { return try Progress.of(begin).wait().get() } catch { throw failure("\(error)") }
    }

    private func failure(_ problem: String) -> StoreError { StoreError("\(topology.dialer.address): \(problem)") }
}

extension StoredSession {
    /// Reads the answer of `HGETALL`; `left` is negative for ever, which no session of ours lives.
    fileprivate init(_ name: String, _ reply: RedisReply, left: Int) {
        let parts = reply.elements ?? []
        var fields: [String: [UInt8]] = [:]
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            if let field = parts[index].text, case .bytes(let value) = parts[index + 1] { fields[field] = value }
        }
        let text = { (field: String) in fields[field].flatMap { String(validating: $0, as: UTF8.self) } }
        let number = { (field: String) in text(field).flatMap { Int($0) } }
        guard let version = text("v").flatMap({ UInt64($0, radix: 16) }), Session.text(version) == text("v"),
            let base = text("b"), let meta = fields["m" + base], let head = fields["h" + base],
            let first = number("f"), let covered = number("c"), let last = number("n"),
            1 <= first, first <= covered, covered <= last, last - first < fields.count
        else {
            self.init(name: name)
            return
        }
        let entries = { (range: ClosedRange<Int>) in range.map { fields["e\($0)"] ?? [] } }
        self.init(
            name: name, version: version, record: SessionRecord(meta: meta, head: head),
            covered: entries(first...covered), behind: covered < last ? entries(covered + 1...last) : [],
            left: left < 0 ? Session.Settings.maxTimeToLive * 1000 : left)
    }

    /// The same, as arguments of `HSET`.
    fileprivate func fields(_ session: Session) -> [RedisArgument] {
        let (version, entries) = (Session.text(version), covered + behind)
        let fields: [RedisArgument] = [
            "v", .text(version), "r", .revision(session.head.revision),
            "i", .text("\(session.rows) \(session.log.bytes)"),
            "t", RedisArgument(milliseconds: session.settings.timeToLive), "n", .number(entries.count), "f", 1, "c",
            .number(covered.count), "b", .text(version),
            .text("m" + version), .bytes(record.meta), .text("h" + version), .bytes(record.head),
        ]
        return fields + zip(1..., entries).flatMap { [.text("e\($0)"), .bytes($1)] }
    }
}
