// Lists that fetch themselves, and edits that reach their owner (CONTRACT §11). A session of the file is fetched from
// its source while somebody reads it, at most once per interval; edits to one with a hook wait for the hook's consent.
// The target knows libcurl and the service, which knows it only as `SessionSource`.
//
// The mutable state is confined to a separate loop, which also drives libcurl: requests to other servers, their
// handshakes and timers delay no client. A result goes to the store by a transaction, like any write.

import DiffService
import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The lists of a file, and the requests made for them.
package final class Upstream: SessionSource {
    let service: DiffService
    package let loop: EventLoop
    let transfers: Transfers
    let tallies = UpstreamTallies()
    let outages: Outages
    let hooks: HookCalls
    private let file: Locked<ListsFile>
    fileprivate let lists = Locked(FollowedLists<SessionSources>())
    private let lookedForRoom = Locked(Instant.now)

    /// The most sessions that may have a source at a time: each takes some 2 KB.
    private var limit: Int { max(1, min(service.table.bounds.sessions / 2, service.table.bounds.bytes / (8 * 1024))) }

    package init(_ file: ListsFile, for service: DiffService, polling: Polling = .preferred) throws(ListenError) {
        (self.service, self.file, outages) = (service, Locked(file), Outages(service.journal))
        loop = try EventLoop.standalone(named: "sources", polling: polling)
        transfers = Transfers(on: loop, budget: service.table.account.incoming)
        hooks = HookCalls(for: service, on: loop, outages)
    }

    // MARK: What the file says

    func match(_ name: String) -> ListMatch? { file.withLock { $0 }.list(of: name) }

    package func list(of name: String) -> (any ListedSession)? { match(name).map { NamedList(name, $0, self) } }

    package func name(ofSource url: String) -> String? {
        file.withLock { $0 }.lists.first { $0.name.isExact && $0.feed(of: nil)?.source.url.text == url }?.name.text
    }

    package func replace(by next: ListsFile) {
        let before = file.withLock { exchange(&$0, with: next) }
        // A list that somebody waits for may have no session yet.
        for name in Set(service.table.names).union(lists.withLock { $0.all.map(\.name) }) {
            let (old, new) = (before.list(of: name)?.definition, next.list(of: name)?.definition)
            guard let new, new.hasSource else {
                if old?.hasSource == true { remove(name) }
                continue
            }
            if new != old { update(name, to: new) }
            // There may be readers already.
            if new.feeds != old?.feeds, let slot = service.table.anySlot(name) { watch(slot) }
        }
        let dropped = lists.withLock {
            $0.reassign { name in (next.list(of: name)?.definition).flatMap { $0.hasSource ? $0.name.text : nil } }
        }
        // Somebody may still wait for them.
        for list in dropped.flatMap(\.all) { list.settingsChanged() }
        // Lists may be public no more.
        service.table.readers.endWithdrawn()
    }

    /// Goes on with the sources that a session's list has now, and brings its sections into their order.
    private func update(_ name: String, to definition: ListDefinition) {
        let sources = lists.withLock { lists -> [SourcedList] in
            guard let before = lists[name]?.all else { return [] }
            let sources = SessionSources(name, of: definition, self, others: before)
            lists.replace(name, by: sources)
            return sources.all + before.filter { old in !sources.all.contains { $0 === old } }
        }
        for source in sources { source.settingsChanged() }
        guard let outlines = definition.outlines else { return }
        let settings = definition.settings.applied(to: service.settings.defaultSettings)
        let arrangement = AdoptSource(body: nil, base: nil, settings: settings, outlines: outlines)
        Transaction(arrangement, for: FetchContext(name, self)).run().whenDone { _ in }
    }

    /// Removes a session that the file no longer fetches; with a revision, unless somebody has written since.
    func remove(_ name: String, at revision: Revision? = nil) {
        let match = revision.map { RevisionTags(isAny: false, texts: [$0.text]) }
        let removal = RemoveSession(condition: WriteCondition(match: match))
        Transaction(removal, for: FetchContext(name, self)).run().whenDone { [journal = service.journal] in
            guard case .failure(let failure) = $0 else { return }
            let problem = Problem(failure, of: name)
            if problem.type == .revisionMismatch { return }
            journal.log(
                "\(name) is no longer in the lists file but could not be removed: \(problem.detail)", level: "error")
        }
    }

    // MARK: Readers

    package func watch(_ slot: SessionSlot) {
        if slot.readerCount > 0 { list(slot.name)?.readersArrived() }
    }

    package func staleness(of name: String) -> Int? { lists.withLock { $0[name] }?.staleness }

    /// What fetches a session; nil if it has no source, or too many are being fetched.
    fileprivate func list(_ name: String) -> SessionSources? {
        lists.withLock { lists in
            if let list = lists[name] { return list }
            // By the file of this moment: when the file is replaced, the lists are reassigned under this lock.
            guard let definition = match(name)?.definition, definition.hasSource else { return nil }
            let (entry, entries) = (definition.name.text, file.withLock { $0.sourceCount })
            if !lists.hasRoom(for: entry, of: limit, among: entries), mayLookForRoom() {
                forget(&lists) { !$0.isInUse }
            }
            guard lists.hasRoom(for: entry, of: limit, among: entries) else { return nil }
            let list = SessionSources(name, of: definition, self)
            lists.add(list, named: name, of: entry)
            return list
        }
    }

    /// Whether it is time to look for unused lists: if all were in use, each request would examine them all.
    private func mayLookForRoom() -> Bool {
        let now = Instant.now
        return lookedForRoom.withLock { last in
            guard now - last > .milliseconds(100) else { return false }
            last = now
            return true
        }
    }

    package func sweep() {
        let now = Instant.now
        lists.withLock { forget(&$0) { $0.isIdle(at: now) } }
    }

    private func forget(_ lists: inout FollowedLists<SessionSources>, where isUseless: (SessionSources) -> Bool) {
        for (name, list) in lists.all where isUseless(list) {
            lists.remove(name)
            for source in list.all { outages.forgetAll(of: source.name) }
        }
    }

    package func write(into text: inout MetricsText) {
        tallies.writeSources(ages, into: &text)
        hooks.tallies.writeHooks(into: &text)
    }

    private var ages: [(list: SourceName, seconds: Int)] {
        let now = Instant.now
        var ages: [SourceName: Int] = [:]
        for (name, sources) in lists.withLock({ $0.all }) {
            guard let list = match(name)?.definition.name.text else { continue }
            for source in sources.all {
                guard let fetched = source.fetched else { continue }
                let label = SourceName(list, section: source.name.section)
                ages[label] = max(ages[label, default: 0], Int((now - fetched) / .seconds(1)))
            }
        }
        return ages.sorted { $0.key.text < $1.key.text }.map { ($0.key, $0.value) }
    }
}

/// A session of a list of the file.
private final class NamedList: ListedSession {
    let name: String
    let match: ListMatch
    let upstream: Upstream

    init(_ name: String, _ match: ListMatch, _ upstream: Upstream) {
        (self.name, self.match, self.upstream) = (name, match, upstream)
    }

    var hasSource: Bool { match.definition.hasSource }
    var settings: Session.SettingsChange { match.definition.settings }
    var hasHook: Bool { match.definition.hook != nil }
    var holdsChanges: Bool { match.definition.feeds.count > 1 }
    var sectionShapes: SectionShapes { match.definition.sectionShapes }
    private var list: SessionSources? { upstream.list(name) }

    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>? {
        guard hasSource else { return nil }
        guard let list else { return sessionExists ? nil : .done(.failure(.crowded)) }
        return list.readiness(sessionExists: sessionExists, patience: patience)?.unlessMissing(by: self) { next in
            next.readiness(sessionExists: sessionExists, patience: patience) ?? .done(.success(()))
        }
    }

    func fetch(tracedBy trace: String?) -> Progress<[StateWarning], SourceFailure> {
        list?.fetch(tracedBy: trace).unlessMissing(by: self) { $0.fetch(tracedBy: trace) } ?? .done(.failure(.crowded))
    }

    /// The same session by another file that was read since, if that fetches it.
    fileprivate var next: NamedList? {
        guard let match = upstream.match(name), match.definition !== self.match.definition, match.definition.hasSource
        else { return nil }
        return NamedList(name, match, upstream)
    }

    var failureDetail: String? { upstream.lists.withLock { $0[name] }?.failureDetail }

    func consent(for call: Call, key: ReplayWindow.Key?, body: [UInt8]) -> (any Consent)? {
        EditConsent(call, match, upstream.hooks, key: key, body: body)
    }
}

extension Progress where Failure == SourceFailure {
    /// Asks anew if a list is missing because its source was replaced by another one meanwhile.
    fileprivate func unlessMissing(
        by list: NamedList, _ again: @escaping @Sendable (NamedList) -> Progress
    ) -> Progress {
        guard case .pending(let promise) = self else { return self }
        return .of { done in
            promise.whenKept { result in
                guard case .failure(.missing) = result, let next = list.next else { return done(result) }
                again(next).whenDone(done)
            }
        }
    }
}

// MARK: - Followed lists

/// Lists being followed. Half of the room is shared equally among the entries of the file, and the other half goes to
/// whichever comes first: however many lists of one pattern are requested, there is room for some of each other entry.
struct FollowedLists<List> {
    private var lists: [String: (list: List, entry: String)] = [:]
    /// By entry.
    private var counts: [String: Int] = [:]

    subscript(name: String) -> List? { lists[name]?.list }

    var all: [(name: String, list: List)] { lists.map { ($0.key, $0.value.list) } }

    /// O(entries).
    func hasRoom(for entry: String, of room: Int, among entries: Int) -> Bool {
        guard lists.count < room else { return false }
        let share = room / (2 * max(1, entries))
        if counts[entry, default: 0] < share { return true }
        let beyond = counts.values.reduce(0) { $0 + max(0, $1 - share) }
        return beyond < room - entries * share
    }

    mutating func replace(_ name: String, by list: List) { lists[name]?.list = list }

    mutating func add(_ list: List, named name: String, of entry: String) {
        lists[name] = (list, entry)
        counts[entry, default: 0] += 1
    }

    mutating func remove(_ name: String) {
        guard let entry = lists.removeValue(forKey: name)?.entry, let count = counts[entry] else { return }
        counts[entry] = count > 1 ? count - 1 : nil
    }

    /// Follows the lists by the entries of another file. Returns those without one, which are dropped.
    mutating func reassign(to entry: (String) -> String?) -> [List] {
        let before = exchange(&lists, with: [:])
        counts = [:]
        var dropped: [List] = []
        for (name, each) in before {
            if let entry = entry(name) { add(each.list, named: name, of: entry) } else { dropped.append(each.list) }
        }
        return dropped
    }
}

// MARK: - Metrics

/// The results of asking sources, or hooks, by the names in the file of lists and their sections: a session's name is
/// no label.
final class UpstreamTallies: Sendable {
    struct Tally: Sendable {
        /// By the raw values of `SourceNote.Outcome` or `HookOutcome`.
        var outcomes: [String: Int] = [:]
        var durations = Histogram()
        var notModified = 0
        var bytes = 0
        /// Lone surrogates that were replaced.
        var replaced = 0
    }

    private let tallies = Locked<[SourceName: Tally]>([:])

    func count(_ list: SourceName, _ add: (inout Tally) -> Void) {
        tallies.withLock { add(&$0[list, default: Tally()]) }
    }

    func count(_ outcome: some RawRepresentable<String>, _ list: SourceName) {
        count(list) { $0.outcomes[outcome.rawValue, default: 0] += 1 }
    }

    private var byLabels: [(labels: String, tally: Tally)] {
        tallies.withLock { $0 }.sorted { $0.key.text < $1.key.text }.map { ($0.key.labels, $0.value) }
    }

    /// - Parameter ages: the seconds since a source last answered, for the session of a list with the oldest answer.
    fileprivate func writeSources(_ ages: [(list: SourceName, seconds: Int)], into text: inout MetricsText) {
        let tallies = byLabels
        text.family(
            "diffserver_source_fetches_total", "counter", "Requests to sources, by outcome.",
            Self.samples(of: [SourceNote.Outcome.fetched, .failed, .missing], tallies))
        text.family(
            "diffserver_source_duration_seconds", "Time that requests to sources took.",
            tallies.map { ($0, $1.durations) })
        text.family(
            "diffserver_source_not_modified_total", "counter", "Answers of sources with status 304, not modified.",
            tallies.map { ($0, $1.notModified) })
        text.family(
            "diffserver_source_received_bytes_total", "counter", "Bytes of sources' answers.",
            tallies.map { ($0, $1.bytes) })
        text.family(
            "diffserver_source_replaced_surrogates_total", "counter",
            "Lone surrogates in sources' answers, replaced by U+FFFD.", tallies.map { ($0, $1.replaced) })
        text.family(
            "diffserver_source_age_seconds", "gauge", "Longest time since a source last answered.",
            ages.map { ($0.list.labels, $0.seconds) })
    }

    fileprivate func writeHooks(into text: inout MetricsText) {
        let tallies = byLabels
        text.family(
            "diffserver_hook_calls_total", "counter", "Calls of hooks, and edits turned away without one, by outcome.",
            Self.samples(of: HookOutcome.allCases, tallies))
        text.family(
            "diffserver_hook_duration_seconds", "Time that calls of hooks took.", tallies.map { ($0, $1.durations) })
    }

    private static func samples(
        of outcomes: [some RawRepresentable<String>], _ tallies: [(labels: String, tally: Tally)]
    ) -> [(String, Int)] {
        tallies.flatMap { labels, tally in
            outcomes.map { ("\(labels),outcome=\"\($0.rawValue)\"", tally.outcomes[$0.rawValue] ?? 0) }
        }
    }
}

/// What came of edits that need a hook's consent.
enum HookOutcome: String, CaseIterable {
    case agreed, refused, failed
    /// It answered 401 or 403: it does not take our calls.
    case unauthorized
    /// Edits were turned away without a call, since too many waited for theirs.
    case skipped
}
