import DiffSessions
import SnapshotKit

/// A session as a store keeps it, with its history and answered keys, which another store can take over as it is.
public struct StoredSession: Sendable {
    public let name: String
    public let version: UInt64
    public let record: SessionRecord
    /// The log entries that the record covers, at least one, and those behind it, oldest first. A missing one is empty.
    public let covered, behind: [[UInt8]]
    /// Milliseconds until the store removes it.
    public let left: Int

    /// With the name alone, a session that cannot be read.
    public init(
        name: String, version: UInt64 = 0, record: SessionRecord = SessionRecord(meta: [], head: []),
        covered: [[UInt8]] = [], behind: [[UInt8]] = [], left: Int = 0
    ) {
        (self.name, self.version, self.record, self.left) = (name, version, record, left)
        (self.covered, self.behind) = (covered.isEmpty ? [[]] : covered, behind)
    }

    public var bytes: Int { (covered + behind).reduce(record.bytes) { $0 + $1.count } }

    /// Whether another one has the same bytes. When they end may differ.
    public func isSame(as other: StoredSession) -> Bool {
        version == other.version && record == other.record && covered + behind == other.covered + other.behind
    }

    /// The same in today's format, if it is in the one before. O(bytes).
    func upgraded(by hash: KeyedHash) -> StoredSession {
        let entry = { (bytes: [UInt8]) in LogEntry.upgraded(bytes, by: hash) }
        return StoredSession(
            name: name, version: version, record: record.upgraded(by: hash), covered: covered.map(entry),
            behind: behind.map(entry), left: left)
    }

    /// Verifies all bytes, but those of the history. O(items + bytes).
    public func session(by hash: KeyedHash) throws(SessionRecord.Failure) -> Session {
        let entries = zip(1..., covered + behind).map { FoundEntry($0, $1, by: hash) }
        let session = try Session.found(
            record, covered: Array(entries.prefix(covered.count)), behind: Array(entries.dropFirst(covered.count)),
            version: version,
            by: SessionTransition(name: name, bounds: .init(), hash: hash, now: .now, isLogged: true))
        guard session.version == version else { throw .damaged }
        return session
    }
}

/// The sessions and revocations of a store as bytes, for `diffserver copy` while no server uses it. Calls block.
public protocol SessionArchive: AnyObject {
    var digestKey: String { get }
    /// How much longer than its session a record lives, in sixteenths of the time to live.
    var margin: Int { get }

    /// The names that begin with a prefix, in order.
    func names(_ prefix: String) throws(StoreError) -> [String]
    func session(named name: String) throws(StoreError) -> StoredSession?
    /// Writes a session, to be removed after `left` milliseconds, in one transaction; false if the name is taken.
    func put(_ stored: StoredSession, _ session: Session, for left: Int) throws(StoreError) -> Bool

    /// The moments up to which tokens are revoked, by session, or by session and token (see `Revocations`).
    func revocations() throws(StoreError) -> [Revocations.Moment]
    func revoke(_ revocation: Revocations.Moment) throws(StoreError)

    /// Ends its use; what was written is on disk.
    func close()
}
