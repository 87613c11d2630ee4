import Foundation

/// A list of sections with nested rows, over so few ids that they collide; and random changes to it.
struct RandomList: Codable {
    struct Content: Codable {
        var text: String
        var views: Int
    }

    struct Row: Codable {
        var id: String
        var content: Content?
        var kind: String?
        var expanded: Bool?
        var items: [Row]?

        var children: [Row] {
            get { items ?? [] }
            set { items = newValue.isEmpty ? nil : newValue }
        }
    }

    struct Section: Codable {
        var id: String
        var content: Content?
        var items: [Row]
    }

    private(set) var content: Content?
    private(set) var sections: [Section]

    private static let rowIDs = (0..<24).map { "row-\($0)" }
    private static let sectionIDs = ["one", "two", "three", "four"]
    private static let words = ["short", "a few words of a row", String(repeating: "many words ", count: 12)]

    /// A random list.
    init(_ random: inout SplitMix64) {
        let names = Self.sectionIDs.shuffled(using: &random).prefix(1 + random.below(3))
        sections = names.map { Section(id: $0, items: []) }
        for id in Self.rowIDs.shuffled(using: &random).prefix(random.below(18)) { put(Self.row(id, &random), &random) }
    }

    /// The list that a document holds.
    init(_ document: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(document)) }

    var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return Array(try encoder.encode(self))
        }
    }

    private static func content(_ random: inout SplitMix64) -> Content {
        Content(text: words[random.below(words.count)], views: random.below(100))
    }

    private static func row(_ id: String, _ random: inout SplitMix64) -> Row {
        Row(
            id: id, content: random.once(in: 5) ? nil : content(&random), kind: random.once(in: 5) ? "banner" : nil,
            expanded: random.once(in: 6) ? false : nil)
    }

    /// The lists of rows: in sections, and in rows down to a depth.
    private var places: [WritableKeyPath<Self, [Row]>] {
        var places: [WritableKeyPath<Self, [Row]>] = sections.indices.map { \.sections[$0].items }
        var next = 0
        while next < places.count, places.count < 40 {
            let place = places[next]
            places += self[keyPath: place].indices.map { place.appending(path: \.[$0].children) }
            next += 1
        }
        return places
    }

    private mutating func put(_ row: Row, _ random: inout SplitMix64) {
        let places = places
        guard !places.isEmpty else { return }
        let place = places[random.below(random.once(in: 3) ? places.count : sections.count)]
        self[keyPath: place].insert(row, at: random.below(self[keyPath: place].count + 1))
    }

    /// Inserts, removes, moves and changes some rows and sections.
    mutating func change(_ random: inout SplitMix64, _ count: Int) {
        for _ in 0...random.below(3) { changeOnce(&random, count) }
    }

    private mutating func changeOnce(_ random: inout SplitMix64, _ count: Int) {
        let held = places.filter { !self[keyPath: $0].isEmpty }
        let deed = random.below(10)
        guard deed < 7, !held.isEmpty else { return changeSections(&random, count) }
        let place = held[random.below(held.count)]
        let index = random.below(self[keyPath: place].count)
        switch deed {
        case 0: self[keyPath: place].remove(at: index)
        case 1, 2: put(self[keyPath: place].remove(at: index), &random)
        case 3: self[keyPath: place][index].content?.views = count
        case 4: self[keyPath: place][index].expanded = random.once(in: 2) ? nil : false
        default: self[keyPath: place][index].content = Content(text: "\(count)", views: 0)
        }
    }

    private mutating func changeSections(_ random: inout SplitMix64, _ count: Int) {
        if random.once(in: 3) { content = random.once(in: 3) ? nil : Self.content(&random) }
        switch random.below(8) {
        case 0 where !sections.isEmpty: sections.remove(at: random.below(sections.count))
        case 1: sections.shuffle(using: &random)
        case 2 where !sections.isEmpty: sections[random.below(sections.count)].content = Self.content(&random)
        case 3:
            let name = Self.sectionIDs[random.below(Self.sectionIDs.count)]
            if !sections.contains(where: { $0.id == name }) { sections.append(Section(id: name, items: [])) }
        default:
            let used = Set(places.flatMap { self[keyPath: $0] }.map(\.id))
            let id = Self.rowIDs[random.below(Self.rowIDs.count)]
            if !used.contains(id) { put(Self.row(id, &random), &random) }
        }
    }

    // MARK: Edits

    /// Edits that fit most lists.
    static func edits(_ random: inout SplitMix64, _ count: Int) -> [String] {
        (0...random.below(3)).map { _ in edit(&random, count) }
    }

    private static func edit(_ random: inout SplitMix64, _ count: Int) -> String {
        let id = "\"\(rowIDs[random.below(rowIDs.count)])\""
        let section = "\"\(sectionIDs[random.below(sectionIDs.count)])\""
        switch random.below(11) {
        case 0: return #"{"op":"insert","items":[{"id":\#(id),"content":{"text":"\#(count)","views":1}}]}"#
        case 1: return #"{"op":"insert","items":[\#(id)],"into":{"section":\#(section)},"at":"start"}"#
        case 2: return #"{"op":"delete","items":[\#(id)]}"#
        case 3: return #"{"op":"move","items":[\#(id)],"at":"start"}"#
        case 4: return #"{"op":"move","items":[\#(id)],"into":{"section":\#(section)}}"#
        case 5: return #"{"op":"update","items":[{"id":\#(id),"content":{"text":"\#(count)","views":2}}]}"#
        case 6: return #"{"op":"reload","items":[\#(id)]}"#
        case 7: return #"{"op":"reconfigure","items":[\#(id)]}"#
        case 8: return #"{"op":"reload","sections":[\#(section)]}"#
        case 9: return #"{"op":"\#(random.once(in: 2) ? "collapse" : "expand")","items":[\#(id)]}"#
        default: return #"{"op":"clear","sections":[\#(section)]}"#
        }
    }
}
