import DiffSessions
import SnapshotKit

/// Copies sessions and revocations from one store into another, in today's format of records.
public struct StoreCopy {
    private let source, target: any SessionArchive
    private let prefix: String
    private let hash: KeyedHash
    private let warn: (String) -> Void

    private var (copied, equal, bytes, revoked) = (0, 0, 0, 0)
    public private(set) var missed = 0

    /// - Parameter warn: told of each session that stays behind.
    public init(
        _ source: any SessionArchive, _ target: any SessionArchive, of prefix: String, warn: @escaping (String) -> Void
    ) {
        (self.source, self.target, self.prefix, self.warn) = (source, target, prefix, warn)
        hash = .digests(source.digestKey)
    }

    public var summary: String {
        let count = { (count: Int, noun: String) in "\(count) \(noun)\(count == 1 ? "" : "s")" }
        let parts = [
            "copied \(count(copied, "session"))", count(bytes, "byte"), count(revoked, "revocation"),
            equal > 0 ? "\(equal) \(equal == 1 ? "was" : "were") there already" : nil,
            missed > 0 ? "\(missed) stayed behind" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    /// - Parameter resumes: whether sessions may be there already, if they are equal.
    /// - Throws: why it stopped; what was copied stays. Nothing was if the target has other sessions.
    public mutating func run(resumes: Bool) throws(StoreError) {
        // Not a prefix of names, it may be a pattern to a store.
        let names = try source.names(prefix).filter { $0.hasPrefix(prefix) }
        let taken = Set(try target.names(prefix))
        let old = names.filter(taken.contains)
        if let first = old.first, !resumes {
            throw StoreError(
                "the target has \"\(first)\" already, and nothing was copied; --resume skips what is equal")
        }
        for name in old {
            guard let session = try source.session(named: name), let other = try target.session(named: name)
            else { continue }
            guard session.upgraded(by: hash).isSame(as: other) else {
                throw StoreError("the target has another session \"\(name)\"; nothing was copied")
            }
            equal += 1
        }
        // Before the sessions: whoever may no longer read them never can.
        try copyRevocations()
        for name in names where !taken.contains(name) { try copy(name) }
    }

    private mutating func copyRevocations() throws(StoreError) {
        // Older ones refuse no token that still lives.
        let oldest = WallTime.milliseconds - Revocations.life
        for revocation in try source.revocations()
        where revocation.session.hasPrefix(prefix) && revocation.moment > oldest {
            try target.revoke(revocation)
            revoked += 1
        }
    }

    private mutating func copy(_ name: String) throws(StoreError) {
        guard let stored = try source.session(named: name)?.upgraded(by: hash) else { return }
        let session: Session
        do throws(SessionRecord.Failure) { session = try stored.session(by: hash) } catch {
            missed += 1
            return warn("\"\(name)\" \(error.words)")
        }
        let margin = Int(session.settings.timeToLive.wholeNanoseconds / 16_000_000)
        // Whole milliseconds of what is left of a session, even if that is less than one.
        let time = max(1, stored.left - source.margin * margin) + target.margin * margin
        guard try target.put(stored, session, for: time) else {
            throw StoreError("\"\(name)\" came into the target meanwhile: a server uses it")
        }
        copied += 1
        bytes += stored.bytes
    }
}

extension SessionRecord.Failure {
    /// What is wrong with a session, in words that follow its name.
    fileprivate var words: String {
        switch self {
        case .damaged: "is damaged, and stays behind"
        case .format(let format):
            "has a record of another version of diffserver (format \(format); this one copies "
                + "\(SessionRecord.formerFormat) and \(SessionRecord.format)), and stays behind"
        }
    }
}
