// Lists to measure with, the same in every run: ids of 12 bytes, contents of 100 bytes, one section.

/// A row: its id, and the version of its content.
struct Row {
    var id: Int
    var version = 0
}

/// How a list is written as JSON.
struct Style {
    /// Of a content, at least 64.
    var contentBytes = 100
    /// Between rows.
    var separator = ","
    /// Whether the content's members stand in another order.
    var swapsMembers = false
}

extension [UInt8] {
    /// JSON of the rows as one section.
    init(rows: some Sequence<Row>, _ style: Style = Style()) {
        self = Array("[".utf8)
        var isFirst = true
        for row in rows {
            if !isFirst { append(contentsOf: style.separator.utf8) }
            isFirst = false
            append(contentsOf: #"{"id":""#.utf8)
            append(digits: UInt64(row.id) &* 0x9E37_79B9_7F4A_7C15 ^ 0x5555, count: 12)
            append(contentsOf: #"","content":"#.utf8)
            append(contentOf: row, style)
            append(contentsOf: "}".utf8)
        }
        append(contentsOf: "]".utf8)
    }

    private mutating func append(contentOf row: Row, _ style: Style) {
        let start = count
        append(contentsOf: style.swapsMembers ? #"{"price":"#.utf8 : #"{"title":""#.utf8)
        if style.swapsMembers {
            append(contentsOf: String(100_000 + (row.id &* 7919 &+ row.version) % 900_000).utf8)
            append(contentsOf: #","title":""#.utf8)
        }
        append(digits: UInt64(row.id) &* 0xD1B5_4A32_D192_ED03 &+ UInt64(row.version), count: 16)
        if !style.swapsMembers {
            append(contentsOf: #"","price":"#.utf8)
            append(contentsOf: String(100_000 + (row.id &* 7919 &+ row.version) % 900_000).utf8)
            append(contentsOf: #","subtitle":""#.utf8)
        } else {
            append(contentsOf: #"","subtitle":""#.utf8)
        }
        let words = Array<UInt8>("the quick brown fox jumps over the lazy dog and back ".utf8)
        var at = row.id % words.count
        while count - start < style.contentBytes - 2 {
            append(words[at])
            at = (at + 1) % words.count
        }
        append(contentsOf: "\"}".utf8)
    }

    /// The lowest `count` hexadecimal digits of a number.
    private mutating func append(digits number: UInt64, count: Int) {
        for place in (0..<count).reversed() {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(place * 4 & 63) & 15)
            append(digit < 10 ? digit + 48 : digit + 87)
        }
    }
}

/// Changes to a list, by name.
enum Change: String, CaseIterable {
    case identical = "identical, parsed separately"
    case spaced = "identical, white space between rows"
    case reordered = "identical, members of each content reordered"
    case onePercent = "1 % inserted, deleted and changed"
    case onePercentMoved = "the same plus 1 % moved"
    case shuffle = "full shuffle"
    case disjoint = "disjoint"
    case endToFront = "last row to the front"
    case reversal = "reversal"

    /// The project's target, as a ratio to the floor.
    var limit: Double? {
        switch self {
        case .identical, .spaced: 2
        case .onePercent: 6
        case .onePercentMoved: 10
        case .shuffle: 30
        case .disjoint: 5
        case .reordered, .endToFront, .reversal: nil
        }
    }

    /// The new list, as JSON.
    func json(after rows: [Row]) -> [UInt8] {
        switch self {
        case .spaced: [UInt8](rows: rows, Style(separator: ",\n    "))
        case .reordered: [UInt8](rows: rows, Style(swapsMembers: true))
        default: [UInt8](rows: self.rows(after: rows))
        }
    }

    private func rows(after rows: [Row]) -> [Row] {
        var random = SplitMix64(seed: 7)
        switch self {
        case .identical, .spaced, .reordered: return rows
        case .onePercent: return edited(rows, moves: 0, &random)
        case .onePercentMoved: return edited(rows, moves: rows.count / 100, &random)
        case .shuffle: return rows.shuffled(using: &random)
        case .disjoint: return rows.map { Row(id: $0.id + 1 << 30) }
        case .endToFront: return [rows[rows.count - 1]] + rows.dropLast()
        case .reversal: return rows.reversed()
        }
    }

    /// One row in a hundred deleted, one changed, one inserted, at random places. O(n).
    private func edited(_ rows: [Row], moves: Int, _ random: inout SplitMix64) -> [Row] {
        let share = rows.count / 100
        let order = rows.indices.shuffled(using: &random)
        var fate = [UInt8](repeating: 0, count: rows.count)
        for place in order[..<share] { fate[place] = 1 }
        for place in order[share..<2 * share] { fate[place] = 2 }
        for place in order[2 * share..<2 * share + moves] { fate[place] = 3 }
        var arrivals = [[Row]](repeating: [], count: rows.count)
        for index in 0..<share {
            arrivals[Int.random(in: 0..<rows.count, using: &random)].append(Row(id: 1 << 30 + index))
        }
        for place in order[2 * share..<2 * share + moves] {
            arrivals[Int.random(in: 0..<rows.count, using: &random)].append(rows[place])
        }
        var edited: [Row] = []
        for (place, row) in rows.enumerated() {
            edited += arrivals[place]
            if fate[place] == 0 { edited.append(row) }
            if fate[place] == 2 { edited.append(Row(id: row.id, version: 1)) }
        }
        return edited
    }
}
