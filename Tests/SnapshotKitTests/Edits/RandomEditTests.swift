import Testing

@testable import SnapshotKit

@Suite("Random edits")
struct RandomEditTests {
    @Test("Edits do what the plainest way of doing them does", arguments: Effort.seeds(120))
    func agree(seed: UInt64) throws {
        var writer = EditWriter(random: SplitMix64(seed: seed))
        for _ in 0..<100 { try writer.compareOnce() }
    }
}

/// Makes up states and batches over a small alphabet, so that ids collide, and applies them both ways.
private struct EditWriter {
    var random: SplitMix64
    private let ids = (0..<14).map { String(UnicodeScalar(UInt8(97 + $0))) }
    private let sectionIDs = ["s", "t", "u", "v", "a"]

    init(random: SplitMix64) { self.random = random }

    mutating func compareOnce() throws {
        var naive = NaiveState()
        var free = ids.shuffled(using: &random)
        for id in sectionIDs.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)) {
            naive.sections.append(.init(id: id, items: items(&free, level: 0)))
        }
        let sections = naive.sections.map { "{\"items\":[]," + $0.json.dropFirst() }
        let json = naive.sections.contains { $0.items.isEmpty } ? nil : naive.sections.map(\.json)
        let texts = json ?? zip(naive.sections, sections).map { $0.items.isEmpty ? $1 : $0.json }
        let state = "{\"sections\":[\(texts.joined(separator: ","))]}"
        #expect(try Snapshot(json: state).outline == naive.outline)

        var (edits, typed) = ([String](), [ListEdit]())
        var expected: String?
        for index in 0..<Int.random(in: 1...6, using: &random) {
            let (edit, same, apply) = edit()
            edits.append(edit)
            typed += same
            do {
                if expected == nil { try apply(&naive) }
            } catch let refusal as NaiveState.Refusal {
                expected = "\(refusal.code) /edits/\(index)"
            }
        }
        let result = try result(of: "[\(edits.joined(separator: ","))]", on: state)
        if let expected {
            #expect(result.contains(expected), "\(state) \(edits)")
        } else {
            #expect(result == naive.outline, "\(state) \(edits)")
            try breakOnce(edits, on: state)
        }
        try compare(typed, with: "[\(edits.joined(separator: ","))]", on: state)
    }

    /// Typed edits do what their JSON does. One update in JSON may be several typed ones: only codes are compared.
    private func compare(_ typed: [ListEdit], with json: String, on state: String) throws {
        let list = try Snapshot(json: state)
        let codes = { (effect: EditBatch.Effect) in effect.description.replacing(/\ \/\d[^,]*/, with: "") }
        let one = EditBatch.Effect(of: { try list.applying(typed) })
        let other = EditBatch.Effect(of: { try list.applying(EditBatch(json: json)) })
        #expect(codes(one) == codes(other), "\(state) \(json)")
    }

    /// Breaks one edit of a batch that fits in several ways: whatever the others go on with, only that one is told of.
    private mutating func breakOnce(_ edits: [String], on state: String) throws {
        let index = Int.random(in: 0..<edits.count, using: &random)
        let edit = edits[index]
        var broken = ["{\"x\":1," + edit.dropFirst(), edit.replacing("\"op\":\"", with: "\"op\":\"x")]
        let places = ["insert", "move"].contains { edit.contains("\"\($0)\"") }
        if places, !edit.contains(/"(before|after|into|at)"/) {
            broken.append(edit.dropLast() + ",\"before\":\"zz\"}")
        }
        for edit in broken {
            var edits = edits
            edits[index] = String(edit)
            let told = try violations(of: "[\(edits.joined(separator: ","))]", on: state)
            let isOfThat = told.allSatisfy { $0.split(separator: "/").dropFirst(2).first == "\(index)" }
            #expect(!told.isEmpty && isOfThat, "\(told): \(state) \(edits)")
        }
    }

    private mutating func items(_ free: inout [String], level: Int) -> [NaiveState.Item] {
        var items: [NaiveState.Item] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard let id = free.popLast() else { break }
            var item = NaiveState.Item(id: id, isCollapsed: Int.random(in: 0..<5, using: &random) == 0)
            if Bool.random(using: &random) { item.content = "[\(Int.random(in: 0..<100, using: &random))]" }
            if level < 2 { item.items = self.items(&free, level: level + 1) }
            items.append(item)
        }
        return items
    }

    private mutating func some(_ ids: [String]) -> [String] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in ids.randomElement(using: &random)! }
    }

    private mutating func edit() -> (String, [ListEdit], (inout NaiveState) throws -> Void) {
        let isSections = Int.random(in: 0..<4, using: &random) == 0
        let named = some(isSections ? sectionIDs : ids)
        let of = { (edit: ListEdit) in isSections ? ListEdit.sections(edit) : edit }
        let list = "\"\(isSections ? "sections" : "items")\":[\(named.map { "\"\($0)\"" }.joined(separator: ","))]"
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1:
            var free = ids.shuffled(using: &random)
            let (place, text) = place(isSections)
            var new: [NaiveState.Item] = []
            if isSections {
                for id in named { new.append(.init(id: id, items: items(&free, level: 1))) }
            } else {
                new = items(&free, level: 1)
            }
            let member = "\"\(isSections ? "sections" : "items")\":[\(new.map(\.json).joined(separator: ","))]"
            return (
                "{\(member),\"op\":\"insert\"\(text)}", [of(.insert(new.map(NewElement.init), to: place))],
                { try $0.insert(new, isSections: isSections, at: place) }
            )
        case 2, 3, 4:
            let (place, text) = place(isSections)
            return (
                "{\"op\":\"move\",\(list)\(text)}", [of(.move(named, to: place))],
                { try $0.move(named, isSections: isSections, to: place) }
            )
        case 5:
            return (
                "{\"op\":\"delete\",\(list)}", [of(.remove(named))], { $0.delete(named, isSections: isSections) }
            )
        case 6:
            let updates = named.map { "{\"content\":9,\"id\":\"\($0)\"}" }.joined(separator: ",")
            return (
                "{\"op\":\"update\",\"\(isSections ? "sections" : "items")\":[\(updates)]}",
                named.map { of(.update($0, 9)) },
                { try $0.change(named, isSections: isSections) { $0.content = "9" } }
            )
        case 7:
            let collapses = Bool.random(using: &random)
            return (
                "{\"op\":\"\(collapses ? "collapse" : "expand")\",\(list)}",
                [of(collapses ? .collapse(named) : .expand(named))],
                { try $0.change(named, isSections: isSections) { $0.isCollapsed = collapses } }
            )
        default:
            guard Int.random(in: 0..<4, using: &random) == 0 else {
                return (
                    "{\"op\":\"reload\",\(list)}", [of(.reload(named))],
                    { try $0.change(named, isSections: isSections) { _ in } }
                )
            }
            return (
                "{\"op\":\"clear\",\(list)}", [of(.clear(named))],
                { naive in
                    // All names are looked up before anything is removed.
                    try naive.change(named, isSections: isSections) { _ in }
                    for id in named { try? naive.change([id], isSections: isSections) { $0.items = [] } }
                }
            )
        }
    }

    private mutating func place(_ isSections: Bool) -> (NaiveState.Place, String) {
        let anchor = (isSections ? sectionIDs : ids).randomElement(using: &random)!
        let section = sectionIDs.randomElement(using: &random)!
        let atStart = Bool.random(using: &random)
        let at = atStart ? ",\"at\":\"start\"" : ""
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return (.unsaid, "")
        case 1: return (.start, ",\"at\":\"start\"")
        case 2: return (.end, ",\"at\":\"end\"")
        case 3: return (.before(anchor), ",\"before\":\"\(anchor)\"")
        case 4: return (.after(anchor), ",\"after\":\"\(anchor)\"")
        case 5 where !isSections: return (.section(section, atStart), ",\"into\":{\"section\":\"\(section)\"}\(at)")
        case 6 where !isSections: return (.item(anchor, atStart), ",\"into\":{\"item\":\"\(anchor)\"}\(at)")
        default: return (.unsaid, "")
        }
    }
}

extension NewElement {
    fileprivate init(_ item: NaiveState.Item) {
        self.init(
            item.id, item.content.flatMap { try? JSONText($0) }, isExpanded: item.isCollapsed ? false : nil,
            items: item.items.isEmpty ? nil : item.items.map(NewElement.init))
    }
}

extension ListEdit {
    fileprivate static func insert(_ elements: [NewElement], to place: NaiveState.Place) -> ListEdit {
        switch place {
        case .unsaid: .insert(elements)
        case .start: .insert(elements, at: .start)
        case .end: .insert(elements, at: .end)
        case .before(let id): .insert(elements, before: id)
        case .after(let id): .insert(elements, after: id)
        case .section(let id, let atStart): .insert(elements, into: .section(id), at: atStart ? .start : .end)
        case .item(let id, let atStart): .insert(elements, into: .item(id), at: atStart ? .start : .end)
        }
    }

    fileprivate static func move(_ ids: [String], to place: NaiveState.Place) -> ListEdit {
        switch place {
        case .unsaid: .move(ids)
        case .start: .move(ids, at: .start)
        case .end: .move(ids, at: .end)
        case .before(let id): .move(ids, before: id)
        case .after(let id): .move(ids, after: id)
        case .section(let id, let atStart): .move(ids, into: .section(id), at: atStart ? .start : .end)
        case .item(let id, let atStart): .move(ids, into: .item(id), at: atStart ? .start : .end)
        }
    }
}
