import SnapshotKit
import Testing

@testable import DiffSessions

/// What a commit writes to a store, and what is read back from it.
@Suite struct SessionLogTests {
    private let hash = KeyedHash.digests("tests")
    private let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])

    private func transition(_ bounds: History.Bounds = .init()) -> SessionTransition {
        SessionTransition(name: "s", bounds: bounds, hash: hash, now: .now, isLogged: true)
    }

    private func rows(_ count: Int, _ change: (Int) -> Int = { _ in 0 }) throws -> Snapshot {
        let rows = (0..<count).map { #"{"id":\#($0),"content":{"text":"some words of a row","n":\#(change($0))}}"# }
        return try Snapshot(json: "[\(rows.joined(separator: ","))]")
    }

    @Test(arguments: [0, 1, 3, 64])
    func `what is read is what was written, past and all`(_ revisions: Int) throws {
        let transition = transition(History.Bounds(revisions: revisions))
        let first = transition.firstSession(try rows(20), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, revisions: revisions, by: hash)
        try requireSame(try kept.found(by: transition), kept.session)
        for commit in 1...40 {
            let state = try rows(20 + commit % 3) { $0 == commit % 20 ? commit : 0 }
            let batch = try EditBatch(json: #"[{"op":"reload","items":[\#(commit % 20)]}]"#)
            let marks = commit % 4 == 0 ? try state.applying(batch).marks : .none
            let maker = commit % 3 == 0 ? RequestFingerprint(value: UInt64(commit)) : nil
            var next = transition.session(after: kept.session, state, marks: marks, maker: maker).0
            if commit % 5 == 0 {
                var replays = next.replays
                replays.remember(
                    ReplayWindow.Entry(
                        fingerprint: RequestFingerprint(value: 1), made: false, before: nil, done: .now),
                    by: ReplayWindow.Key(writer: "w", key: "k\(commit)"))
                next = next.with(replays: replays)
            }
            kept.commit(next, by: hash)
            if commit % 7 < 2 { try requireSame(try kept.found(by: transition), kept.session) }
        }
        #expect(kept.entries.count <= 3 * max(1, revisions) + 4)
        #expect(revisions > 1 ? kept.checkpoints < 30 : kept.checkpoints > 5)
    }

    @Test func `what a node without a past wrote leads nobody back`() throws {
        let forgetful = transition(History.Bounds(revisions: 0))
        let first = transition().firstSession(try rows(20), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        for commit in 1...6 {
            let by = commit == 3 ? forgetful : transition()
            kept.commit(by.session(after: kept.session, try rows(20) { $0 == 5 ? commit : 0 }, maker: nil).0, by: hash)
        }
        let found = try kept.found(by: transition())
        #expect(found.head.snapshot.documentJSON() == kept.session.head.snapshot.documentJSON())
        #expect(found.history.entries.map(\.revision.sequence) == [4, 5, 6])
        #expect(found.state(at: 0)!.snapshot.documentJSON() == (try rows(20) { $0 == 5 ? 3 : 0 }.documentJSON()))
    }

    @Test func `a log that has lost all its entries is begun anew`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(3), settings: settings, after: nil, maker: nil)
        let next = transition.session(after: first, try rows(4), maker: nil).0
        // The session as it is found when the newest entry is missing.
        let commit = LogCommit(next, after: first.with(log: SessionLog()), id: 7, revisions: 8, by: hash)
        #expect(commit.isStart && commit.isCheckpoint && commit.session.log.entries.map(\.id) == [7])
    }

    @Test func `commits that only remember keys do not make the log grow for ever`() throws {
        let transition = transition()
        var kept = try KeptSession(
            transition.firstSession(try rows(3), settings: settings, after: nil, maker: nil), revisions: 8, by: hash)
        for commit in 1...200 {
            var replays = kept.session.replays
            replays.remember(
                ReplayWindow.Entry(fingerprint: RequestFingerprint(value: 1), made: false, before: nil, done: .now),
                by: ReplayWindow.Key(writer: "w", key: "k\(commit)"))
            kept.commit(kept.session.with(replays: replays), by: hash)
            #expect(kept.entries.count <= 3 * commit / 8 + 3 * 8 + 66)
        }
        try requireSame(try kept.found(by: transition), kept.session)
    }

    @Test func `the digest of a time when other places were ignored stays until the state changes`() throws {
        let transition = transition()
        let state = try rows(3)
        let fresh = transition.firstSession(state, settings: settings, after: nil, maker: nil)
        let provenance = Session.Head.Provenance(
            revision: Revision(sequence: 4, digest: 0x0123_4567_89ab_cdef), marks: .none, parent: nil, maker: nil,
            made: .now, hasOldDigest: true)
        let old = Session.Head(provenance, snapshot: state, fingerprints: fresh.head.fingerprints)
        var kept = try KeptSession(fresh.with(head: old), by: hash)
        #expect(try kept.found(by: transition).head.revision.digest == 0x0123_4567_89ab_cdef)
        let marks = try state.applying(EditBatch(json: #"[{"op":"reload","items":[1]}]"#)).marks
        kept.commit(transition.session(after: kept.session, state, marks: marks, maker: nil).0, by: hash)
        #expect(try kept.found(by: transition).head.revision.text == "5-0123456789abcdef")
        kept.commit(transition.session(after: kept.session, try rows(4), maker: nil).0, by: hash)
        let found = try kept.found(by: transition)
        #expect(!found.head.hasOldDigest && found.head.revision.digest == found.head.fingerprints.digest(salt: "s"))
    }

    @Test func `settings are written as what changed, and hold for what is behind them`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(200), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        let began = kept.session
        var settings = settings
        for commit in 1...12 {
            switch commit % 4 {
            case 0: settings.timeToLive = .seconds(commit)
            case 1: settings.shape = .pointers(idAt: JSONPointer("/\(commit)"))
            case 2: settings.ignored = commit % 8 == 2 ? [JSONPointer("/n")!] : []
            default: settings.keepsExpanded.toggle()
            }
            let before = kept.session
            kept.commit(transition.session(before, settled: settings), by: hash)
            settings = kept.session.settings
            #expect(kept.session.head.revision == before.head.revision && kept.entries.last!.bytes.count < 400)
            let entry = try LogEntry(kept.entries.last!.bytes, by: hash)
            #expect(entry.settings == settings && entry.change == nil)
            try requireSame(try kept.found(by: transition), kept.session)
            let state = try rows(200) { $0 == 3 ? commit : 0 }
            let next = transition.session(after: kept.session, state, maker: nil).0
            #expect((next === kept.session) == (settings.ignored.count == 1))
            if next !== kept.session { kept.commit(next, by: hash) }
            try requireSame(try kept.found(by: transition), kept.session)
        }
        #expect(kept.checkpoints == 1 && settings.digestEpoch == 3)
        let behind = try #require(kept.entries(behind: began, by: hash))
        try requireSame(try kept.followed(from: began, behind, by: transition), kept.session)
        // The format stops a process that does not know entries with settings.
        let text = String(decoding: kept.entries[1].bytes, as: UTF8.self)
        #expect(text.contains(#"{"format":7,"settings":{"ttl":60,"ignore":[],"shape":{"itemsAt":"","idAt":"/1"}}}"#))
    }

    @Test func `a head that settings alone are behind is checked`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(3), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        var settings = settings
        settings.ignored = [JSONPointer("/n")!]
        kept.commit(transition.session(kept.session, settled: settings), by: hash)
        let entries = kept.entries.map { FoundEntry($0.id, $0.bytes, by: hash) }
        var record = kept.record
        record.head = try rows(4).documentJSON()
        #expect(throws: SessionRecord.Failure.damaged) {
            try Session.found(
                record, covered: [entries[0]], behind: [entries[1]], version: kept.session.version, by: transition)
        }
    }

    @Test func `settings may come with a state, and cost no past`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(200), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        var settings = settings
        for commit in 1...9 {
            switch commit % 3 {
            case 0: settings.guessedAnswers += 1
            case 1: settings.ignored = commit % 2 == 0 ? [] : [JSONPointer("/n")!]
            default: settings.timeToLive = .seconds(commit)
            }
            let before = kept.session
            let settled = transition.session(before, settled: settings)
            let state = try rows(200 + commit % 2) { $0 == 3 ? commit : 0 }
            kept.commit(transition.session(after: settled, state, maker: nil).0, by: hash)
            settings = kept.session.settings
            #expect(kept.entries.last!.bytes.count < 500 && kept.session.history.entries.count == commit)
            try requireSame(try kept.found(by: transition), kept.session)
            let behind = try #require(kept.entries(behind: before, by: hash))
            try requireSame(try kept.followed(from: before, behind, by: transition), kept.session)
        }
        #expect(kept.checkpoints == 1)
    }

    @Test func `an entry is as large as the change`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(100), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        var written = 0
        for commit in 1...100 {
            let before = kept.checkpoints
            kept.commit(
                transition.session(after: kept.session, try rows(100) { $0 == 7 ? commit : 0 }, maker: nil).0, by: hash)
            #expect(kept.entries.last!.bytes.count < 260)
            written += kept.entries.last!.bytes.count + (kept.checkpoints > before ? kept.record.bytes : 0)
        }
        #expect(written < 100 * 600)
    }

    @Test func `a change that is as large as the state is a checkpoint, and the past stays`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(50), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        let other = (0..<50).map { #"{"id":"other-\#($0)","content":["words of quite another kind",\#($0)]}"# }.joined(
            separator: ",")
        kept.commit(
            transition.session(after: kept.session, try Snapshot(json: "[\(other)]"), maker: nil).0, by: hash)
        #expect(kept.checkpoints == 2 && kept.entries.last!.bytes.count < kept.record.bytes * 3)
        let found = try kept.found(by: transition)
        try requireSame(found, kept.session)
        #expect(found.state(at: 0)!.snapshot.documentJSON() == (try rows(50).documentJSON()))
    }

    @Test(arguments: [0, 1, 2]) func `a log with a gap behind its checkpoint is damage`(_ gap: Int) throws {
        let transition = transition()
        let first = transition.firstSession(try rows(100), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        for commit in 1...4 {
            kept.commit(
                transition.session(after: kept.session, try rows(100) { $0 == 1 ? commit : 0 }, maker: nil).0, by: hash)
        }
        try requireSame(try kept.found(by: transition), kept.session)
        #expect(kept.covered == 1)
        kept.entries.remove(at: 1 + gap)
        #expect(throws: SessionRecord.Failure.damaged) { try kept.found(by: transition) }
    }

    @Test func `an entry of another format is told from damage`() throws {
        let transition = transition()
        var kept = try KeptSession(
            transition.firstSession(try rows(100), settings: settings, after: nil, maker: nil), by: hash)
        kept.commit(transition.session(after: kept.session, try rows(100) { $0 }, maker: nil).0, by: hash)
        kept.commit(transition.session(after: kept.session, try rows(101) { $0 }, maker: nil).0, by: hash)
        var bytes = Array(kept.entries.last!.bytes.dropLast(8))
        let format = Array("\"format\":7".utf8)
        let place = try #require((0..<bytes.count).first { bytes[$0...].starts(with: format) })
        bytes[place + format.count - 1] = UInt8(ascii: "8")
        withUnsafeBytes(of: hash.sum(bytes).littleEndian) { bytes += $0 }
        kept.entries[kept.entries.count - 1].bytes = bytes
        #expect(throws: SessionRecord.Failure.format(8)) { try kept.found(by: transition) }
    }

    @Test func `who is behind reads what it lacks`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(100), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        for commit in 1...10 {
            let behind = kept.session
            kept.commit(
                transition.session(after: kept.session, try rows(100) { $0 == commit ? 9 : 0 }, maker: nil).0, by: hash)
            let last = kept.entries.last!
            let entry = FoundEntry(last.id, last.bytes, by: hash)
            try requireSame(try behind.advanced(by: [entry], by: transition), kept.session)
            // A delta does not apply to another state.
            if commit > 1 {
                #expect(throws: SessionRecord.Failure.damaged) {
                    try kept.session.advanced(by: [entry], by: transition)
                }
            }
        }
    }

    @Test func `an entry that was torn or altered, or that is not there, is damage`() throws {
        let transition = transition()
        let first = transition.firstSession(try rows(3), settings: settings, after: nil, maker: nil)
        var kept = try KeptSession(first, by: hash)
        var commits = 0
        while commits < 3 || kept.covered != kept.entries.last!.id {
            commits += 1
            kept.commit(
                transition.session(after: kept.session, try rows(3) { $0 == 1 ? commits : 0 }, maker: nil).0, by: hash)
        }
        let whole = kept.entries.last!.bytes
        for index in whole.indices {
            var other = whole
            other[index] ^= 1
            #expect(throws: SessionRecord.Failure.damaged) { try LogEntry(other, by: hash) }
            if index != 16 {
                #expect(throws: SessionRecord.Failure.damaged) { try LogEntry(Array(whole.prefix(index)), by: hash) }
            }
        }
        #expect(throws: SessionRecord.Failure.damaged) { try LogEntry(whole, by: KeyedHash(seed: 3, 4)) }
        // The checkpoint keeps everything but the history before the gap.
        kept.entries.remove(at: kept.entries.count - 2)
        #expect(try kept.found(by: transition).history.entries.map(\.revision.sequence) == [UInt64(commits)])
    }
}
