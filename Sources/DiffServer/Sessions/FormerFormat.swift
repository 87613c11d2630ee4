// The format of records before this one, which `diffserver copy` turns into today's: servers read today's alone. What
// differs is known here and nowhere else.
//
// In format 6 the salt of digests was without the ignored places, and stays so until those change. `lostIgnoredAt`,
// which is passed over, counted since when readers could have different values at ignored places: today only that
// others were ignored before is noted.

import SnapshotKit

extension SessionRecord {
    package static let formerFormat = 6

    /// This record in today's format, if it is whole and in the one before.
    package func upgraded(by hash: KeyedHash) -> SessionRecord {
        guard isWhole(by: hash), let meta = Self.upgraded(object) else { return self }
        return SessionRecord(meta: Self.summed(meta, by: hash), head: head)
    }

    /// The object of a record or of an entry in today's format; nil unless it is in the one before.
    static func upgraded(_ object: some Collection<UInt8>) -> [UInt8]? {
        let former = Array("{\"format\":\(formerFormat),".utf8)
        guard object.starts(with: former) else { return nil }
        let rest = Array(object.dropFirst(former.count))
        return Array("{\"format\":\(format),".utf8)
            + rest.marking("digestEpoch", "ignoredOthers").marking("ignore", "saltedByEpoch")
    }
}

extension LogEntry {
    /// An entry in today's format, if it is whole and in the one before.
    package static func upgraded(_ bytes: [UInt8], by hash: KeyedHash) -> [UInt8] {
        guard let parts = Parts(bytes, by: hash), let meta = SessionRecord.upgraded(parts.meta) else { return bytes }
        return Parts(digits: parts.digits, meta: meta[...], step: parts.step, back: parts.back).bytes(by: hash)
    }
}

extension [UInt8] {
    /// This JSON with a new member, 1, before each of a name. Quotes in texts are escaped, so none is found inside one.
    fileprivate func marking(_ name: String, _ new: String) -> [UInt8] {
        replacing(Array("\"\(name)\":".utf8), with: Array("\"\(new)\":1,\"\(name)\":".utf8))
    }
}
