// What has to happen at once happens within Redis. A session is one hash, `diffserver:{name}` (the braces keep it and
// its channel of the same name in one slot of a cluster):
//
//     v  the version: a new random name with each commit. Comparing revisions would not do: a commit that only
//        remembers an answered key keeps the revision, and a session that was deleted and made again may come to one
//        that it had.
//     r  the revision, for people
//     t  its time to live in milliseconds; what is read somewhere lives longer, since its readers are heard of only
//        now and then
//     m<version>  the record's meta, h<version>  its head
//     k<version>  the skeleton of the revision that was retired when the session came to that version, and behind it a
//     sum
//
// A commit puts its fields there first, under its own version and so in nobody's way, then has the script compare: that
// makes them the session, or takes them away again. Both happen in one transaction. The large values never pass through
// a script, where Lua would hash each of their bytes (31 in place of 78 µs of Redis's time for a state of 13 KB).
//
// Time is written anew by a use only where a sixteenth of it is gone, and then for a seventeenth more, so that reads
// seldom write, and a session never ends early.

import SnapshotKit

enum RedisScripts {
    static let prefix = "diffserver:"
    /// The key of the digests, on which all nodes agree.
    static let digestKey = prefix + "key"
    /// Is written, and spoken on, to see whether that can be done.
    static let probeKey = prefix + "probe"

    /// The key of a session, and its channel.
    static func key(_ session: String) -> String { "\(prefix){\(session)}" }

    /// The session of a key.
    static func session(_ key: String) -> String? {
        guard key.hasPrefix(prefix + "{"), key.hasSuffix("}") else { return nil }
        return String(key.dropFirst(prefix.count + 1).dropLast())
    }

    /// The version that is known, and by how much longer than its time it is to live → nothing if there is none, `{}`
    /// if it is the same, else `{version, meta, head}`.
    static let read = RedisScript(
        """
        local found = redis.call('HMGET', KEYS[1], 'v', 't')
        if not found[1] then return false end
        local time = tonumber(found[2])
        local least = time + tonumber(ARGV[2])
        if redis.call('PTTL', KEYS[1]) < least then redis.call('PEXPIRE', KEYS[1], math.floor(least + time / 16)) end
        if found[1] == ARGV[1] then return {} end
        local record = redis.call('HMGET', KEYS[1], 'm' .. found[1], 'h' .. found[1])
        return {found[1], record[1], record[2]}
        """)

    /// The version that is expected (empty: none), the new one, whose fields are there, revision, time, the key of its
    /// digests, then the names of skeletons that go → 1, also where somebody on the way had it done before; 0 where the
    /// version is another; -1 where nodes agree on another key, or on none: then this node has not heard yet that Redis
    /// was emptied, and what it writes nobody else could read. (That the key is in another slot does not matter to a
    /// single Redis, nor does one in cluster mode mind that has all slots.)
    static let commit = RedisScript(
        """
        local found = redis.call('HMGET', KEYS[1], 'v', 't')
        local before = found[1] or ''
        if before == ARGV[2] then return 1 end
        local agrees = redis.call('GET', '\(digestKey)') == ARGV[5]
        if before ~= ARGV[1] or not agrees then
            redis.call('HDEL', KEYS[1], 'm' .. ARGV[2], 'h' .. ARGV[2], 'k' .. ARGV[2])
            return agrees and 0 or -1
        end
        redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[3], 't', ARGV[4])
        redis.call('HDEL', KEYS[1], 'm' .. before, 'h' .. before)
        for i = 6, #ARGV do redis.call('HDEL', KEYS[1], 'k' .. ARGV[i]) end
        local time = math.floor(tonumber(ARGV[4]) * 17 / 16)
        if found[2] ~= ARGV[4] or redis.call('PTTL', KEYS[1]) < time then redis.call('PEXPIRE', KEYS[1], time) end
        redis.call('PUBLISH', KEYS[1], ARGV[2])
        return 1
        """)

    /// The version that is expected (empty: any) → 1, or 0 where it is another.
    static let drop = RedisScript(
        """
        if ARGV[1] ~= '' and redis.call('HGET', KEYS[1], 'v') ~= ARGV[1] then return 0 end
        if redis.call('DEL', KEYS[1]) == 1 then redis.call('PUBLISH', KEYS[1], '') end
        return 1
        """)

    /// A key that is proposed → the one that holds: what was there, or else the proposal.
    static let agree = RedisScript(
        """
        redis.call('SET', KEYS[1], ARGV[1], 'NX')
        return redis.call('GET', KEYS[1])
        """)

    /// Does what a commit does, to no effect.
    static let probe = RedisScript(
        """
        redis.call('SET', KEYS[1], '', 'PX', 60000)
        redis.call('PUBLISH', KEYS[1], '')
        return 1
        """)

    /// What a commit comes to: the command that puts its fields there, and the arguments of `commit`.
    struct Commit {
        let staging: [RedisArgument]
        let arguments: [RedisArgument]

        /// - Parameters:
        ///   - next: under its new version.
        ///   - before: what the session is to follow; nil for a new one.
        ///   - hash: of the store.
        ///   - digestKey: of that hash.
        init(
            _ next: Session, to key: RedisArgument, after before: Session?, by hash: KeyedHash, digestKey: String
        ) {
            let name = next.versionText
            let past = before.map { SessionRecord.Past(from: $0, to: next) }
            let record = SessionRecord(next, by: hash)
            var staging: [RedisArgument] = [
                "HSET", key, RedisArgument("m" + name), RedisArgument(record.meta), RedisArgument("h" + name),
                RedisArgument(record.head),
            ]
            if let added = past?.added {
                staging += [RedisArgument("k" + name), RedisArgument(hash.sealed(added.document))]
            }
            self.staging = staging
            arguments =
                [
                    RedisArgument(before?.versionText ?? ""), RedisArgument(name),
                    RedisArgument(next.head.revision.text),
                    RedisArgument(Int(next.settings.timeToLive / .milliseconds(1))), RedisArgument(digestKey),
                ] + (past?.removed ?? []).map { RedisArgument(Session.text($0.name)) }
        }
    }
}

extension Session {
    var versionText: String { Self.text(version) }

    /// A version as Redis holds it; empty for none.
    static func text(_ version: UInt64) -> String { version == 0 ? "" : String(version, radix: 16) }
}
