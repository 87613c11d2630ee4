// What has to happen at once happens within Redis. A session is one hash, `diffserver:{name}` (the braces keep it and its channel of the same
// name in one slot of a cluster):
//
//     v  the version: a new random name with each commit. Comparing revisions would not do: a commit that only remembers an answered key
//        keeps the revision, and a session that was deleted and made again may come to one that it had.
//     r  the revision, for people
//     t  its time to live in milliseconds; what is read somewhere lives longer, since its readers are heard of only now and then
//     m  the record's meta, h  its head
//     k<revision>  the skeleton of a past revision
//
// Time is written anew by a use only where a sixteenth of it is gone, and then for a seventeenth more, so that reads seldom write, and a
// session never ends early.

import SnapshotKit

enum RedisScripts {
    static let prefix = "diffserver:"

    /// The key of a session, and its channel.
    static func key(_ session: String) -> String { "\(prefix){\(session)}" }

    /// The session of a key.
    static func session(_ key: String) -> String? {
        guard key.hasPrefix(prefix + "{"), key.hasSuffix("}") else { return nil }
        return String(key.dropFirst(prefix.count + 1).dropLast())
    }

    /// The version that is known, and by how much longer than its time it is to live → nothing if there is none, `{}` if it is the same, else
    /// `{version, meta, head}`.
    static let read = RedisScript(
        """
        local found = redis.call('HMGET', KEYS[1], 'v', 't')
        if not found[1] then return false end
        local time = tonumber(found[2])
        local least = time + tonumber(ARGV[2])
        if redis.call('PTTL', KEYS[1]) < least then redis.call('PEXPIRE', KEYS[1], math.floor(least + time / 16)) end
        if found[1] == ARGV[1] then return {} end
        local record = redis.call('HMGET', KEYS[1], 'm', 'h')
        return {found[1], record[1], record[2]}
        """)

    /// The version that is expected (empty: none), the new one, revision, time, meta, head (empty: as it was), the number of fields that go,
    /// those fields, then those that come, each with its value → 1, or 0 where the version is another.
    static let commit = RedisScript(
        """
        local found = redis.call('HMGET', KEYS[1], 'v', 't')
        if (found[1] or '') ~= ARGV[1] then return 0 end
        redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[3], 't', ARGV[4], 'm', ARGV[5])
        if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'h', ARGV[6]) end
        local first = 8 + tonumber(ARGV[7])
        for i = 8, first - 1 do redis.call('HDEL', KEYS[1], ARGV[i]) end
        for i = first, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
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

    /// The arguments of `commit`.
    ///
    /// - Parameter before: what the session is to follow; nil for a new one.
    static func commitArguments(_ next: Session, after before: Session?) -> [RedisArgument] {
        let isNews = before?.head.revision != next.head.revision
        let record = SessionRecord(next)
        let milliseconds = next.settings.timeToLive / .milliseconds(1)
        var arguments = [
            RedisArgument(before?.versionText ?? ""), RedisArgument(next.versionText), RedisArgument(next.head.revision.text),
            RedisArgument(Int(milliseconds)),
            RedisArgument(record.meta), RedisArgument(isNews ? record.head : []),
        ]
        guard let before else { return arguments + ["0"] }
        let past = SessionRecord.Past(from: before, to: next)
        arguments.append(RedisArgument(past.removed.count))
        arguments += past.removed.compactMap { before.history.field($0) }
        for (sequence, skeleton) in past.added {
            guard let field = next.history.field(sequence) else { continue }
            arguments += [field, RedisArgument(skeleton)]
        }
        return arguments
    }
}

extension Session {
    var versionText: String { Self.text(version) }

    /// A version as Redis holds it; empty for none.
    static func text(_ version: UInt64) -> String { version == 0 ? "" : String(version, radix: 16) }
}

extension History {
    /// The field that holds the skeleton of a revision. By its digest too, so that a session that was made again never finds those of the
    /// one before.
    func field(_ sequence: UInt64) -> RedisArgument? {
        entries.last { $0.revision.sequence == sequence }.map { RedisArgument("k" + $0.revision.text) }
    }
}
