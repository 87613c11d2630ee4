import Foundation
import SnapshotKit
import Testing

// A real list over a season: California's active fire incidents as published, cut down to a few members of each
// incident.

@Suite("Real histories")
struct HistoryTests {
    static let states: [State] = {
        do { return try read() } catch { fatalError("\(error)") }
    }()

    private static func read() throws -> [State] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let lines = try Data(contentsOf: tests.appending(path: "Fixtures/fire-incidents.jsonl")).split(
            separator: UInt8(ascii: "\n"))
        return try lines.map { line in
            let shape = StateShape.pointers(itemsAt: JSONPointer("/Incidents"), idAt: JSONPointer("/UniqueId"))
            let snapshot = try Snapshot(json: Array(line), shape: shape)
            return State(model: try model(Array(line)), snapshot: snapshot)
        }
    }

    private static func model(_ line: [UInt8]) throws -> Model {
        guard case .object(let document) = try TreeParser.tree(line) else { throw Refusal("no object") }
        let items = try document.list("Incidents").map { incident in
            guard case .object(let members) = incident else { throw Refusal("no incident") }
            return Model.Item(id: try members.take("UniqueId").text(), content: incident)
        }
        return Model(sections: [.init(id: "main", items: items)])
    }

    /// The incidents by county: the same rows in sections that come and go.
    private static func grouped(_ model: Model) throws -> State {
        var sections: [Model.Section] = []
        for item in model.sections[0].items {
            guard case .object(let members) = item.content, let county = try members.list("Counties").first?.text()
            else { continue }
            let at = sections.firstIndex { $0.id == county } ?? sections.endIndex
            if at == sections.endIndex { sections.append(.init(id: county, content: .string(county))) }
            sections[at].items.append(item)
        }
        return try State(Model(sections: sections))
    }

    @Test("each state leads to the next, and the first to each", arguments: ContentStyle.allCases)
    func replay(style: ContentStyle) throws {
        let states = Self.states
        #expect(states.count > 50)
        for (old, new) in zip(states, states.dropFirst()) { expectSound(old, new, style) }
        for state in states { expectSound(states[0], state, style) }
    }

    @Test("each state leads to each other one in one step, whatever lies between")
    func anyPair() throws {
        let states = Self.states.enumerated().filter { $0.offset % 7 == 0 }.map(\.element)
        for old in states {
            for new in states { expectSound(old, new, .full) }
        }
    }

    @Test("grouped by county")
    func byCounty() throws {
        let states = try Self.states.map { try Self.grouped($0.model) }
        for (old, new) in zip(states, states.dropFirst()) { expectSound(old, new, .full) }
        for (old, new) in zip(states, states.dropFirst(9)) { expectSound(new, old, .full) }
    }

    @Test("the document of a posted list is a state of its own")
    func documents() throws {
        for state in Self.states { try state.requireFaithful() }
    }

    private func expectSound(_ old: State, _ new: State, _ style: ContentStyle) {
        let failures = PairCheck.failures(from: old, to: new, style: style)
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
    }
}
