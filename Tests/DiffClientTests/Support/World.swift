// A server of one session in this process, behind a network that loses, delays and reorders; and a naive model of
// edits: arrays that are searched and spliced.

import DiffClient
import Foundation
import SnapshotKit
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Rows in sections, as arrays.
struct Board: Equatable, Sendable {
    struct Row: Equatable, Sendable {
        var id: String
        var number: Int
    }

    /// The rows of the sections, whose ids are their indexes.
    var sections: [[Row]]

    static let first = Board(
        sections: ["abcdef", "ghij", "", ""].map { $0.map { Row(id: String($0), number: 0) } })

    init(sections: [[Row]]) { self.sections = sections }

    init(_ list: RowList) throws {
        struct Content: Decodable { var n: Int }
        sections = try list.sections.map { section in
            try section.rows.map { Row(id: $0.id.text, number: try $0.content?.decoded(as: Content.self).n ?? -1) }
        }
    }

    var json: String {
        let sections = sections.enumerated().map { index, rows in
            let items = rows.map { #"{"id":"\#($0.id)","content":{"n":\#($0.number)}}"# }.joined(separator: ",")
            return #"{"id":"s\#(index)","items":[\#(items)]}"#
        }
        return #"{"sections":[\#(sections.joined(separator: ","))]}"#
    }

    func place(of id: String) -> (section: Int, row: Int)? {
        for (section, rows) in sections.enumerated() {
            if let row = rows.firstIndex(where: { $0.id == id }) { return (section, row) }
        }
        return nil
    }
}

/// One edit, as JSON and as its effect.
struct NaiveEdit: Sendable {
    enum Position: Sendable {
        case before(String), after(String), start(Int), end(Int)
    }

    enum Act: Sendable {
        case insert(String, Position)
        case move(String, Position)
        case delete(String)
        case update(String, Int)
    }

    let act: Act

    var json: String {
        func at(_ place: Position) -> String {
            switch place {
            case .before(let id): #""before":"\#(id)""#
            case .after(let id): #""after":"\#(id)""#
            case .start(let section): #""into":{"section":"s\#(section)"},"at":"start""#
            case .end(let section): #""into":{"section":"s\#(section)"}"#
            }
        }
        return switch act {
        case .insert(let id, let place): #"{"op":"insert","items":[{"id":"\#(id)","content":{"n":1}}],\#(at(place))}"#
        case .move(let id, let place): #"{"op":"move","items":["\#(id)"],\#(at(place))}"#
        case .delete(let id): #"{"op":"delete","items":["\#(id)"]}"#
        case .update(let id, let number): #"{"op":"update","items":[{"id":"\#(id)","content":{"n":\#(number)}}]}"#
        }
    }

    /// The board after the edit; nil if the edit does not fit.
    func applied(to board: Board) -> Board? {
        var board = board
        func put(_ row: Board.Row, _ place: Position) -> Bool {
            switch place {
            case .before(let id), .after(let id):
                guard let anchor = board.place(of: id) else { return false }
                let offset = if case .after = place { 1 } else { 0 }
                board.sections[anchor.section].insert(row, at: anchor.row + offset)
            case .start(let section): board.sections[section].insert(row, at: 0)
            case .end(let section): board.sections[section].append(row)
            }
            return true
        }
        switch act {
        case .insert(let id, let place):
            guard board.place(of: id) == nil, put(.init(id: id, number: 1), place) else { return nil }
        case .move(let id, let place):
            guard let old = board.place(of: id) else { return nil }
            guard put(board.sections[old.section].remove(at: old.row), place) else { return nil }
        case .delete(let id):
            if let old = board.place(of: id) { board.sections[old.section].remove(at: old.row) }
        case .update(let id, let number):
            guard let old = board.place(of: id) else { return nil }
            board.sections[old.section][old.row].number = number
        }
        return board
    }

    /// A random edit of an existing row; the last section is left to others.
    static func random(_ chance: inout SplitMix64, _ board: Board, new: String, moves: Bool = false) -> NaiveEdit {
        let ids = board.sections.dropLast().flatMap { $0.map(\.id) }
        let section = chance.below(board.sections.count - 1)
        guard ids.count > 3 else { return NaiveEdit(act: .insert(new, .end(section))) }
        let id = ids[chance.below(ids.count)]
        let others = ids.filter { $0 != id }
        let anchor = others[chance.below(others.count)]
        let place = [Position.before(anchor), .after(anchor), .start(section), .end(section)][chance.below(4)]
        if moves { return NaiveEdit(act: .move(id, place)) }
        return NaiveEdit(
            act: [.insert(new, place), .delete(id), .update(id, chance.below(99)), .move(id, place), .move(id, place)][
                chance.below(5)])
    }
}

/// The percentage of each fault, and the latency in milliseconds.
struct Roughness: Sendable {
    var refusal = 0
    var requestLost = 0
    var answerLost = 0
    var busy = 0
    var readLost = 0
    var expiry = 0
    var latency = 8

    static let rough = Roughness(refusal: 20, requestLost: 12, answerLost: 15, busy: 8, readLost: 8, latency: 30)
}

/// The server, and the network to it.
final class World: Sendable {
    /// The result of a batch: the revision that contains it, or its refusal.
    struct BatchResult: Sendable {
        var revision: String?
        var isRefused = false
        var times = 0
    }

    fileprivate struct State {
        var chance: SplitMix64
        var boards: [String: Board] = [:]
        var sequence = 0
        var history = 0
        var keys: Set<String> = []
        var results: [String: BatchResult] = [:]
    }

    let roughness: Roughness
    private let state: Mutex<State>

    init(seed: UInt64, _ roughness: Roughness) {
        self.roughness = roughness
        state = Mutex(State(chance: SplitMix64(seed: seed)))
        commit(.first)
    }

    /// A client with short waits.
    var client: ListClient {
        var client = ListClient(url: URL(string: "http://world.example")!, session: "list")
        client.backOff = ListClient.BackOff(first: 0.02, longest: 0.1)
        client.transport = { try await self.carry($0) }
        return client
    }

    var revision: String { state.withLock(\.revision) }
    var head: Board { state.withLock { $0.boards[$0.revision]! } }
    func board(at revision: String) -> Board? { state.withLock { $0.boards[revision] } }
    func result(of edits: String) -> BatchResult { state.withLock { $0.results[edits] ?? BatchResult() } }

    func commit(_ board: Board) { state.withLock { $0.commit(board) } }

    /// Applies an edit by another writer.
    func write(_ edit: NaiveEdit) {
        state.withLock { state in
            if let board = edit.applied(to: state.boards[state.revision]!) { state.commit(board) }
        }
    }

    /// Deletes the session and creates it again: sequences restart, and answered keys are gone.
    func recreate() {
        state.withLock { state in
            state.history += 1
            state.sequence = 0
            state.keys = []
            state.commit(.first)
        }
    }

    /// Whether a revision contains everything in another one, or belongs to another history.
    static func holds(_ later: String, _ revision: String) -> Bool {
        let parts = [later, revision].map { $0.split(separator: "-").compactMap { Int($0) } }
        return parts[0][1] != parts[1][1] || parts[0][0] >= parts[1][0]
    }

    // MARK: Requests

    private func carry(_ request: URLRequest) async throws -> (Data, URLResponse) {
        try await delay()
        let query = URLComponents(url: request.url!, resolvingAgainstBaseURL: false)?.queryItems ?? []
        var parameters: [String: String] = [:]
        for item in query { parameters[item.name] = item.value }
        let (status, body): (Int, String)
        if request.httpMethod == "POST" {
            (status, body) = try post(request)
        } else {
            let wait = Duration.seconds(Int(parameters["wait"] ?? "0") ?? 0)
            await eventually(within: wait) { parameters["since"] != revision }
            try await delay()
            if once(roughness.readLost) { throw URLError(.networkConnectionLost) }
            (status, body) = (200, try answer(parameters))
        }
        try await delay()
        let response = HTTPURLResponse(
            url: request.url!, statusCode: status, httpVersion: nil,
            headerFields: ["Content-Type": "application/json", "Retry-After": "0"])
        return (Data(body.utf8), response!)
    }

    private func delay() async throws {
        let milliseconds = state.withLock { $0.chance.below(roughness.latency) }
        try await pause(.milliseconds(milliseconds), "the network")
    }

    private func once(_ percent: Int) -> Bool { state.withLock { $0.chance.below(100) < percent } }

    private func answer(_ parameters: [String: String]) throws -> String {
        let (revision, head, base) = state.withLock { state in
            (state.revision, state.boards[state.revision]!, parameters["since"].flatMap { state.base($0) })
        }
        let new = try Snapshot(json: head.json)
        let since = parameters["since"].map { "\"\($0)\"" } ?? "null"
        let dialect = Dialect(rawValue: parameters["dialect"] ?? "keyed")!
        var writer = JSONWriter()
        writer.append(
            verbatim: #"{"session":"list","from":\#(since),"to":"\#(revision)","dialect":"\#(dialect.rawValue)","#)
        if let base, !once(roughness.expiry) {
            writer.append(verbatim: #""changes":"#)
            Changeset(from: try Snapshot(json: base.json), to: new).write(
                dialect, staging: Staging(rawValue: parameters["staging"] ?? "safe")!, into: &writer)
        } else {
            writer.append(verbatim: #""reset":"expired","state":"#)
            new.writeRows(into: &writer)
        }
        writer.append(verbatim: "}")
        return String(decoding: writer.bytes(), as: UTF8.self)
    }

    /// The model's edits, by the JSON that stands for them in a test's batches.
    let edits = Mutex<[String: [NaiveEdit]]>([:])

    private func post(_ request: URLRequest) throws -> (Int, String) {
        if once(roughness.requestLost) { throw URLError(.networkConnectionLost) }
        if once(roughness.busy) { return (503, #"{"title":"No hook","status":503}"#) }
        let body = String(decoding: request.httpBody!, as: UTF8.self)
        let json = String(body.dropFirst(#"{"edits":"#.count).dropLast())
        let key = request.value(forHTTPHeaderField: "Idempotency-Key")!
        let batch = edits.withLock { $0[json]! }
        let isRefused = once(roughness.refusal)
        let to: String? = state.withLock { state in
            if state.keys.contains(key) { return state.revision }
            let head = state.boards[state.revision]!
            let next = batch.reduce(head as Board?) { board, edit in board.flatMap(edit.applied) }
            guard !isRefused, let next else {
                state.results[json, default: BatchResult()].isRefused = true
                return nil
            }
            if next != head { state.commit(next) }
            state.keys.insert(key)
            state.results[json, default: BatchResult()].times += 1
            state.results[json, default: BatchResult()].revision = state.revision
            return state.revision
        }
        guard let to else { return (422, #"{"title":"Refused","status":422,"detail":"no"}"#) }
        if once(roughness.answerLost) { throw URLError(.networkConnectionLost) }
        return (200, #"{"session":"list","from":"\#(to)","to":"\#(to)"}"#)
    }
}

extension World.State {
    var revision: String { "\(sequence)-\(history)" }

    mutating func commit(_ board: Board) {
        sequence += 1
        boards[revision] = board
    }

    /// The recorded state of a revision of this history.
    func base(_ revision: String) -> Board? { revision.hasSuffix("-\(history)") ? boards[revision] : nil }
}
