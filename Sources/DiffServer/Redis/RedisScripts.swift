// A session is one hash, `diffserver:{name}`. The braces keep it and the channel of the same name in one slot of a
// cluster; `--store-prefix` may replace what precedes them:
//
//     v  the version: a new random number with each commit (docs/stores.md)
//     r  the revision
//     i  the visible rows and the bytes, for listings; if several nodes write, also when the current turn ends, in
//        milliseconds since 1970, the node that has it, and the waiting nodes in order
//     t  the time to live in milliseconds; a session that is read somewhere lives longer
//     n  the position of the last entry of the log, f that of the first, c that of the last one in the checkpoint
//     e<position>  an entry, which begins with the version that it made
//     b  the version of the checkpoint, m<version> its meta, h<version> its head
//
// A node may take a turn with a read (docs/stores.md): for 20 ms no other node commits. Those that come meanwhile are
// told how long to wait, and are served in order; a node that stays away for 20 ms loses its turn.
//
// A new checkpoint is first staged under its own version, where nobody reads it. In the same transaction the script
// then compares the version, and adopts or removes it. So large values never pass through a script, where Lua would
// hash each of their bytes (31 instead of 78 µs of Redis's time for a state of 13 KB).
//
// Revocations are one sorted set for all sessions, `diffserver:revoked`. Its members are names, scored by moments in
// milliseconds since 1970. The empty name, which no session has, is scored by a version, smaller than any moment.
//
// `diffserver:records` identifies how sessions are written: the record format, and a checksum that differs with each
// digest key. The first process writes it, and a process that differs does not start.
//
// A use renews the expiry only once less than the time to live is left, and then adds a sixteenth. So reads seldom
// write, and a session never ends early.

import DiffSessions
import DiffStores
import SnapshotKit

/// The names of all keys and channels, under one prefix.
package final class RedisKeys: Sendable {
    /// The key that identifies the record format and the digest key; the key of the revocations, and the channel that
    /// announces them; a key and channel to test whether Redis takes writes; and what all sessions' keys begin with.
    let records, revoked, probe, start: String

    /// - Parameter prefix: letters, digits and `._:-`; others are special in patterns, or to a cluster.
    package init(prefix: String = "diffserver:") {
        (records, revoked, probe, start) = (prefix + "records", prefix + "revoked", prefix + "probe", prefix + "{")
    }

    /// The channel to which all nodes that use a database listen, so that one can tell whether there are any.
    func nodes(of database: Int) -> String { "\(records):\(database)" }

    /// The channel of a session, which is also its key.
    func channel(_ session: String) -> String { "\(start)\(session)}" }

    func key(_ session: String) -> RedisArgument { .key(session, self) }

    /// The session's name in a key; nil for any other key.
    func session(_ key: String) -> String? {
        guard key.hasPrefix(start), key.hasSuffix("}") else { return nil }
        return String(key.dropFirst(start.count).dropLast())
    }
}

enum RedisScripts {
    /// In milliseconds since 1970; a smaller score is a version.
    static let firstMoment = 1_000_000_000_000

    /// Reads fields of a session into `found`. The script answers `{'damaged'}` if the key cannot be used, such as one
    /// of another type: an error would look like a failure of Redis itself.
    private static func find(_ fields: String) -> String {
        """
        local found = redis.pcall('HMGET', KEYS[1], \(fields))
        if found.err then return string.find(found.err, 'WRONGTYPE', 1, true) and {'damaged'} or found end
        """
    }

    /// Reads the control fields. They may have been edited by hand: the numbers are in range and order only if the
    /// record `isWhole`. Lua counts exactly up to 1e15. A loop over the log is no longer than there are fields.
    private static let control =
        find("'v', 't', 'n', 'f', 'c', 'b', 'i'") + """

            local time, last = tonumber(found[2]) or 0, tonumber(found[3]) or 0
            local first, covered = tonumber(found[4]) or 0, tonumber(found[5]) or 0
            local isWhole = (found[1] or '') ~= '' and found[6]
                and time >= 1 and time <= \(Session.Settings.maxTimeToLive * 1000)
                and first >= 1 and first <= covered and covered <= last and last <= 1e15
            """

    /// Returns the milliseconds that `node` has to wait for its turn, and queues it; or 0 if it may write now, or
    /// `takes` its turn. The second value is the record of turns to store.
    private static let turn = """
        local turn = function(node, takes)
            local figures, noted = string.match(found[7] or '', '^(%d+ %d+)(.*)$')
            local time = redis.pcall('TIME')
            -- Without the right to ask for the time there are no turns.
            if not figures or time.err then return 0, '' end
            local now = time[1] * 1000 + math.floor(time[2] / 1000)
            local ends, holder, line = string.match(noted, '^ (%d+) (%x+)([ %x]*)$')
            local left = (tonumber(ends) or 0) - now
            -- Nobody has it for longer: somebody set the clock, or wrote this.
            if left > 20 or left <= -20 then left, line = -20, '' end
            local first, rest = string.match(line, '^ (%x+)(.*)$')
            local wait = 0
            if left > 0 and holder ~= node or left <= 0 and first and first ~= node then
                local ahead = string.match(line, '^(.-) ' .. node)
                if not ahead then noted = noted .. ' ' .. node end
                local _, count = string.gsub(ahead or line, '%x+', '')
                wait = math.max(left, 0) + 20 * count
            elseif left <= 0 then
                noted = takes and string.format(' %.0f %s%s', now + 20, node, rest or '') or first and noted or ''
            end
            if wait > 0 or takes then redis.pcall('HSET', KEYS[1], 'i', figures .. noted) end
            return wait, noted
        end
        """

    /// Reads a session. Arguments: the known version (empty: none), how much longer than its time to live it must last,
    /// its position in the log (empty: none), that version as a log entry begins with it, the largest record to send,
    /// the known version of revocations, whose key is the second one (except in a cluster), and the node that takes a
    /// turn (empty: none).
    ///
    /// Returns null without a session; `{'revoked'}` if revocations have another version; `{'damaged'}` if control
    /// fields are missing or impossible; how long to wait for the turn (see `commit`); `{}` if the session has the
    /// known version; `{version, position of the checkpoint, first position, entries}` if the log continues from there;
    /// `{version, size}` if the record is too large; else the same four with all entries, followed by `meta` and
    /// `head`.
    static let read: RedisScript = """
        if KEYS[2] and (redis.call('ZSCORE', KEYS[2], '') or '') ~= ARGV[6] then return {'revoked'} end
        \(control)
        if not (found[1] or found[2] or found[3] or found[4] or found[5] or found[6]) then return false end
        if not isWhole then return {'damaged'} end
        if ARGV[7] ~= '' then
            \(turn)
            local wait = turn(ARGV[7], true)
            if wait > 0 then return -1 - wait end
        end
        local least = time + tonumber(ARGV[2])
        if redis.call('PTTL', KEYS[1]) < least then redis.call('PEXPIRE', KEYS[1], math.floor(least + time / 16)) end
        if found[1] == ARGV[1] then return {} end
        if last - first >= redis.call('HLEN', KEYS[1]) then return {'damaged'} end
        local known = tonumber(ARGV[3])
        local entries = function(from)
            local all = {}
            for start = from, last, 1000 do
                local names = {}
                for position = start, math.min(start + 999, last) do names[#names + 1] = 'e' .. position end
                for _, entry in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do all[#all + 1] = entry end
            end
            return all
        end
        if known and first <= known and known < last then
            local entry = redis.call('HGET', KEYS[1], 'e' .. known)
            if entry and string.sub(entry, 1, 16) == ARGV[4] then
                return {found[1], found[5], found[4], entries(known + 1)}
            end
        end
        local meta, head = 'm' .. found[6], 'h' .. found[6]
        local size = redis.call('HSTRLEN', KEYS[1], meta) + redis.call('HSTRLEN', KEYS[1], head)
        if size > tonumber(ARGV[5]) then return {found[1], size} end
        local record = redis.call('HMGET', KEYS[1], meta, head)
        return {found[1], found[5], found[4], entries(first), record[1], record[2]}
        """

    /// Commits. Arguments: the expected version (empty: none), the new one, the revision, the time to live, the entry's
    /// position, the entry, the position of the first entry to keep, the fate of the checkpoint (empty: it stays,
    /// `new`: the staged one replaces it, `start`: it replaces everything), rows, bytes, the known version of
    /// revocations (see `read`), whether to notify readers now (1), and the node.
    ///
    /// Returns 1 once the commit is done, now or by an earlier try; 0 on a conflict; -1 if the node misses revocations;
    /// -1 minus the milliseconds to wait if another node has the turn; `{'damaged'}` if the record cannot be continued.
    static let commit: RedisScript = """
        \(control)
        local before = found[1] or ''
        local meta, head = 'm' .. ARGV[2], 'h' .. ARGV[2]
        if before == ARGV[2] then return 1 end
        local knows = not KEYS[2] or (redis.call('ZSCORE', KEYS[2], '') or '') == ARGV[11]
        local stays = tonumber(ARGV[7])
        local continues = isWhole and (first == stays or stays - first < redis.call('HLEN', KEYS[1]))
        local wait, noted = 0, ''
        if isWhole and string.find(found[7] or '', ' .* ') then
            \(turn)
            wait, noted = turn(ARGV[13], false)
        end
        if before ~= ARGV[1] or not knows or wait > 0 or not (continues or ARGV[8] == 'start') then
            -- A replayed commit finds its own checkpoint already in use.
            if ARGV[8] ~= '' and found[6] ~= ARGV[2] then redis.call('HDEL', KEYS[1], meta, head) end
            return not knows and -1 or wait > 0 and -1 - wait or before ~= ARGV[1] and 0 or {'damaged'}
        end
        if ARGV[8] == 'start' then
            for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
                if field ~= meta and field ~= head then redis.call('HDEL', KEYS[1], field) end
            end
        else
            if ARGV[8] == 'new' then redis.call('HDEL', KEYS[1], 'm' .. found[6], 'h' .. found[6]) end
            for position = first, stays - 1 do redis.call('HDEL', KEYS[1], 'e' .. position) end
        end
        redis.call('HSET', KEYS[1], 'v', ARGV[2], 'r', ARGV[3], 'i', ARGV[9] .. ' ' .. ARGV[10] .. noted)
        redis.call('HSET', KEYS[1], 'n', ARGV[5], 'e' .. ARGV[5], ARGV[6])
        if ARGV[8] ~= '' then redis.call('HSET', KEYS[1], 'b', ARGV[2], 'c', ARGV[5]) end
        if ARGV[8] == 'start' or found[4] ~= ARGV[7] then redis.call('HSET', KEYS[1], 'f', ARGV[7]) end
        if ARGV[8] == 'start' or found[2] ~= ARGV[4] then redis.call('HSET', KEYS[1], 't', ARGV[4]) end
        local longest = math.floor(tonumber(ARGV[4]) * 17 / 16)
        if found[2] ~= ARGV[4] or redis.call('PTTL', KEYS[1]) < longest then
            redis.call('PEXPIRE', KEYS[1], longest)
        end
        if ARGV[12] == '1' then redis.call('PUBLISH', KEYS[1], ARGV[2]) end
        return 1
        """

    /// Returns null without a session, `{'damaged'}`, or `{revision, rows and bytes, time left}`. Does not count as
    /// use.
    static let describe: RedisScript = """
        \(find("'v', 'r', 'i'"))
        if not found[1] then return false end
        return {found[2], found[3], redis.call('PTTL', KEYS[1])}
        """

    /// Deletes the expected version (empty: whatever is there). Returns 1, 0 on a conflict, or `{'damaged'}`.
    static let drop: RedisScript = """
        if ARGV[1] ~= '' then
            \(find("'v'"))
            if found[1] ~= ARGV[1] then return 0 end
        end
        if redis.call('DEL', KEYS[1]) == 1 then redis.call('PUBLISH', KEYS[1], '') end
        return 1
        """

    /// Revokes tokens. Arguments: the session, the moment up to which its tokens are refused, that up to which all are
    /// forgotten, a new version, the life of the set, and the database, as all databases share a channel. Returns the
    /// version before.
    static let revoke: RedisScript = """
        local before = redis.call('ZSCORE', KEYS[1], '') or ''
        local moment = redis.call('ZSCORE', KEYS[1], ARGV[1])
        if not moment or tonumber(moment) < tonumber(ARGV[2]) then redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '\(firstMoment)', ARGV[3])
        redis.call('ZADD', KEYS[1], ARGV[4], '')
        redis.call('PEXPIRE', KEYS[1], ARGV[5])
        redis.call('PUBLISH', KEYS[1], table.concat({ARGV[6], before, ARGV[4], ARGV[2], ARGV[1]}, ' '))
        return before
        """

    /// Takes the known version. Returns `{}` if it is current, else `{version, names and moments}`.
    static let revoked: RedisScript = """
        local version = redis.call('ZSCORE', KEYS[1], '') or ''
        if version == ARGV[1] then return {} end
        return {version, redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')}
        """

    /// Records what sessions are written with, unless that is recorded already; returns the recorded value. A full
    /// Redis can still return an existing one.
    static let claim: RedisScript = """
        local found = redis.call('GET', KEYS[1])
        if not found then redis.call('SET', KEYS[1], ARGV[1]) end
        return found or ARGV[1]
        """

    /// Writes and publishes as a commit does, without effect.
    static let probe: RedisScript = """
        redis.call('SET', KEYS[1], '', 'PX', 60000)
        redis.call('PUBLISH', KEYS[1], '')
        return 1
        """

    /// How sessions are written: the record format, and a checksum that tells digest keys apart.
    static func records(by hash: KeyedHash, format: Int = SessionRecord.format) -> String {
        "\(format) \(String(hash.sum(Array("diffserver:records".utf8)), radix: 16))"
    }

    /// Why records written with `found` cannot be read in one of the known formats; nil if they can.
    static func problem(
        with found: String?, by hash: KeyedHash, reading known: [Int] = [SessionRecord.format]
    ) -> String? {
        guard let found else { return "its key of the records is not a string" }
        if known.contains(where: { found == records(by: hash, format: $0) }) { return nil }
        let (format, formats) = (found.prefix { $0 != " " }, known.map(String.init))
        return formats.contains(String(format))
            ? "in use with a different --digest-key"
            : "in use by another version of diffserver (format \(format); this one reads "
                + "\(formats.joined(separator: " and ")))"
    }
}

extension RedisStore {
    /// The command that commits.
    func command(for commit: PendingCommit, _ key: RedisArgument) -> RedisCommand {
        let (session, log, known) = (commit.session, commit.log, revocations.knownVersion)
        let staging = log.checkpoint(by: hash).map { record -> [RedisArgument] in
            let version = Session.text(session.version)
            return ["HSET", key, .text("m" + version), .bytes(record.meta), .text("h" + version), .bytes(record.head)]
        }
        return RedisCommand(
            RedisScripts.commit.text(inCluster: topology.isCluster), keys: revocations.keys(with: key), count: 13,
            room: min(log.entry.count, RedisCommand.largeArgument) + known.count + 384, staging: staging
        ) { encoder in
            encoder.append(.version(commit.before?.version ?? 0))
            encoder.append(.version(session.version))
            encoder.append(.revision(session.head.revision))
            encoder.append(RedisArgument(milliseconds: session.settings.timeToLive))
            encoder.append(RedisArgument(log.id))
            encoder.append(.bytes(log.entry))
            encoder.append(RedisArgument(session.log.entries.first?.id ?? log.id))
            encoder.append(log.isStart ? "start" : log.isCheckpoint ? "new" : "")
            encoder.append(.number(session.rows))
            encoder.append(.number(session.log.bytes))
            encoder.append(known)
            encoder.append(isReplicated ? 0 : 1)
            encoder.append(.text(node))
        }
    }
}

extension RedisReply {
    /// The milliseconds that a script makes a node wait for its turn; 0 for none.
    var wait: Int { if case .integer(let number) = self, number < -1 { Int(-1 - number) } else { 0 } }
}

extension Session {
    /// A version as stored in Redis; empty for none.
    static func text(_ version: UInt64) -> String { version == 0 ? "" : String(version, radix: 16) }
}
