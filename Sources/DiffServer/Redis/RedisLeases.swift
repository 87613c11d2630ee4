// A lease is a key, `diffserver:{name}:source` or `diffserver:{name}:hook`, that expires when the lease is due again.
// Its value names the node that holds it, and is empty once released. The note about the source is in a second key,
// `diffserver:{name}:note`; its first line is the time of the last success by Redis's clock.

import DiffStores
import HTTPCore

extension RedisStore {
    /// How long a note is kept, in milliseconds: longer than any interval.
    private static let noteLife = 4 * 3_600_000

    /// Arguments: the node, the milliseconds to hold the lease for, and whether to take it before it is due (1).
    /// Returns the state (1: acquired, 0: held by another node, -1: not due), the milliseconds until the lease expires,
    /// the note, and the time.
    private static let take: RedisScript = """
        local text = function(key)
            local found = redis.pcall('GET', key)
            return type(found) == 'string' and found
        end
        local holder = text(KEYS[1])
        local free = not holder or holder == ARGV[1] or holder == '' and ARGV[3] == '1'
        if free then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
        local state = free and 1 or holder == '' and -1 or 0
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        return {state, redis.call('PTTL', KEYS[1]), text(KEYS[2]) or '', string.format('%.0f', now)}
        """

    /// Arguments: the node, the milliseconds until the lease is due again (0: at once), the note (empty: unchanged),
    /// the milliseconds since the last success (empty: none), and how long to keep the note.
    private static let end: RedisScript = """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], '', 'PX', ARGV[2]) end
        if ARGV[3] == '' then return 1 end
        local time = redis.call('TIME')
        local at = ARGV[4] ~= '' and string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[4]) or ''
        redis.call('SET', KEYS[2], at .. '\\n' .. ARGV[3], 'PX', ARGV[5])
        return 1
        """

    private func leaseKeys(_ purpose: LeasePurpose, _ name: String) -> [RedisArgument] {
        let key = keys.channel(name)
        return [.text("\(key):\(purpose.rawValue)"), .text("\(key):note")]
    }

    package func acquireLease(
        _ purpose: LeasePurpose, of name: String, for time: Duration, isForced: Bool, on executor: any WorkExecutor
    ) -> Stored<SourceLease> {
        let arguments: [RedisArgument] = [.text(node), .number(Self.milliseconds(time)), isForced ? "1" : "0"]
        return .timed(.lease, in: table.storeTimes) { done in
            client(on: executor).ask(Self.take, keys: leaseKeys(purpose, name), arguments, done) { reply in
                guard let parts = reply.elements, parts.count == 4, case .integer(let state) = parts[0],
                    case .integer(let left) = parts[1], let text = parts[2].text,
                    let now = parts[3].text.flatMap({ Int($0) })
                else { return .failure(.unavailable("its reply about a lease cannot be read")) }
                let note = SourceNote(text, now: now)
                switch state {
                case 1: return .success(.acquired(note))
                case 0: return .success(.busy(note))
                default: return .success(.notDue(note, in: .milliseconds(max(0, left))))
                }
            }
        }
    }

    package func releaseLease(
        _ purpose: LeasePurpose, of name: String, _ note: SourceNote?, next: Duration, on executor: any WorkExecutor
    ) -> Stored<Void> {
        let arguments: [RedisArgument] = [
            .text(node), .number(next == .zero ? 0 : Self.milliseconds(next)), .text(note?.text ?? ""),
            note?.age.map { .number(Int($0 / .milliseconds(1))) } ?? "", .number(Self.noteLife),
        ]
        return .timed(.lease, in: table.storeTimes) { done in
            client(on: executor).ask(Self.end, keys: leaseKeys(purpose, name), arguments, done) { _ in .success(()) }
        }
    }

    private static func milliseconds(_ time: Duration) -> Int { max(1, Int(time / .milliseconds(1))) }
}

extension SourceNote {
    /// Outcome, interval in milliseconds, failures, revision, validators and the hash of the source, each on a line.
    fileprivate var text: String {
        let lines = [
            outcome.rawValue, "\(Int(interval / .milliseconds(1)))", "\(failures)", revision ?? "",
            validators.etag ?? "", validators.lastModified ?? "", String(sourceHash, radix: 16),
        ]
        return lines.joined(separator: "\n")
    }

    /// Parses these lines after the time of the last success; nil if they are not a note.
    fileprivate init?(_ text: String, now: Int) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 8, let outcome = Outcome(rawValue: lines[1]), let interval = Int(lines[2]),
            let failures = Int(lines[3]), (0...1 << 40).contains(interval), (0...1 << 40).contains(failures),
            let sourceHash = UInt64(lines[7], radix: 16)
        else { return nil }
        let fetched = Int(lines[0]).map { min(max(0, now.subtractingReportingOverflow($0).partialValue), 1 << 50) }
        self.init(
            outcome: outcome, age: fetched.map { .milliseconds($0) }, interval: .milliseconds(interval),
            failures: failures, revision: lines[4].isEmpty ? nil : lines[4],
            validators: SourceValidators(
                etag: lines[5].isEmpty ? nil : lines[5], lastModified: lines[6].isEmpty ? nil : lines[6]),
            sourceHash: sourceHash)
    }
}
