// The documents of a recipe. None is much longer than 3 MB: a request that costs too much shows it at that size, too.

/// Writes the states, documents and edits that a recipe describes.
struct Documents {
    private let recipe: Recipe
    private static let room = 3_000_000

    init(_ recipe: Recipe) { self.recipe = recipe }

    // MARK: States

    var old: String { state(items: ids(.same), isNew: false) }
    var new: String { state(items: ids(Order(rawValue: recipe[.order])!), isNew: true) }

    /// How many items a state has: no more than its text has room for.
    var count: Int { min(recipe[.rows], Self.room / (20 + content(1, isNew: true).utf8.count)) }

    private func ids(_ order: Order) -> [Int] {
        let ids = Array(0..<count)
        var random = SplitMix64(seed: UInt64(truncatingIfNeeded: recipe[.seed]))
        switch order {
        case .same, .reparented: return ids
        case .reversed: return ids.reversed()
        case .rotated: return Array(ids[(count / 3)...] + ids[..<(count / 3)])
        case .shuffled: return ids.shuffled(using: &random)
        case .others: return ids.map { $0 + 1_000_000 }
        case .swapped: return ids.map { $0 ^ 1 }.filter { $0 < count }
        case .half: return ids.map { $0 % 2 == 0 ? $0 : $0 + 1_000_000 }
        }
    }

    private func state(items: [Int], isNew: Bool) -> String {
        let sections = max(1, recipe[.sections])
        let share = (items.count + sections - 1) / sections
        var text = #"{"sections":["#
        for section in 0..<sections {
            if section > 0 { text += "," }
            let part = items[min(section * share, items.count)..<min((section + 1) * share, items.count)]
            text += #"{"id":"s\#(section)","items":["#
            append(Array(part), isNew: isNew, to: &text)
            text += "]}"
        }
        return text + "]}"
    }

    /// Items in runs, each below the one before it; a reparented state has runs of another length.
    private func append(_ items: [Int], isNew: Bool, to text: inout String) {
        var levels = recipe[.levels]
        if isNew, recipe[.order] == Order.reparented.rawValue { levels = 7 - levels }
        var index = 0
        while index < items.count {
            if index > 0 { text += "," }
            let run = min(levels + 1, items.count - index)
            for level in 0..<run {
                text += #"{"id":\#(items[index + level])"#
                let content = content(items[index + level], isNew: isNew)
                if !content.isEmpty { text += #","content":\#(content)"# }
                if level + 1 < run { text += #","items":["# }
            }
            for level in 0..<run { text += level + 1 < run ? "}]" : "}" }
            index += run
        }
    }

    // MARK: Contents

    func content(_ item: Int, isNew: Bool) -> String {
        let change = isNew ? Change(rawValue: recipe[.change])! : .same
        // All of it stays within the 64 levels that are read.
        let isReparented = recipe[.order] == Order.reparented.rawValue
        let levels = isReparented ? max(recipe[.levels], 7 - recipe[.levels]) : recipe[.levels]
        let (depth, width) = (min(recipe[.depth], 56 - 2 * levels), recipe[.width])
        switch Content(rawValue: recipe[.content])! {
        case .none: return ""
        case .small: return object(["title", "done", "n"], change, item)
        case .deep: return nested(depth, change) { object(["a"], change, item) }
        case .wide: return object(names(width), change, item)
        case .deepAndWide: return nested(depth, change) { object(names(width), change, item) }
        case .array:
            return "[" + (0..<min(width, 2_000)).map { object(["a", "b"], change, $0) }.joined(separator: ",") + "]"
        case .text:
            let letter = recipe[.escapes] == 1 ? "\\u0041" : "A"
            return "\"\(String(repeating: letter, count: width))\(change == .same ? "" : "x")\""
        case .arrays:
            return String(repeating: "[", count: depth + 1) + "\(change == .same ? 0 : 1)"
                + String(repeating: "]", count: depth + 1)
        }
    }

    private func names(_ count: Int) -> [String] {
        let pad = String(repeating: "-", count: min(recipe[.name], 100_000 / max(1, count)))
        return (0..<count).map { "m\($0)\(pad)" }
    }

    private func nested(_ depth: Int, _ change: Change, _ bottom: () -> String) -> String {
        let pad = String(repeating: "-", count: recipe[.name])
        var (before, after) = ("", "")
        for level in 0..<depth {
            let rest = [#""a":1"#, #""b":2"#]
            let members = change == .reordered || change == .reorderedAndChanged ? rest.reversed() : rest
            if level % 2 == recipe[.seed] % 2 {
                before += #"{"x\#(pad)":"#
                after = "," + members.joined(separator: ",") + "}" + after
            } else {
                before += "{" + members.joined(separator: ",") + #","x\#(pad)":"#
                after = "}" + after
            }
        }
        return before + bottom() + after
    }

    private func object(_ names: [String], _ change: Change, _ item: Int) -> String {
        let names = recipe[.escapes] == 1 ? names.map { $0.replacing("m", with: "\\u006d") } : names
        var members = names.enumerated().map { #""\#($1)":\#($0 + item)"# }
        switch change {
        case .same: break
        case .reordered: members.reverse()
        case .reorderedAndChanged:
            if let last = names.last { members[members.count - 1] = #""\#(last)":-1"# }
            members.reverse()
        case .changed: members = names.map { #""\#($0)":-1"# }
        case .spaced: return "{ " + members.joined(separator: " ,\t") + " }"
        case .otherMembers: members = names.enumerated().map { #""\#($1)\#($0 % 2 == 0 ? "" : "+")":\#($0)"# }
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    // MARK: Documents of another shape

    /// A pointer of `segments` segments, to the place of the id in an element.
    var pointer: String {
        let name = String(repeating: "a", count: 1 + min(recipe[.name], 7_000 / max(1, recipe[.segments])))
        return String(repeating: "/\(name)", count: max(1, min(recipe[.segments], 60)))
    }

    /// An array of elements with ids at `pointer`, of which some have none, or all have the same.
    var document: String {
        let segments = pointer.split(separator: "/")
        let before = segments.map { #"{"\#($0)":"# }.joined()
        let after = String(repeating: "}", count: segments.count)
        let count = min(max(1, recipe[.rows]), Self.room / (10 + before.utf8.count))
        let elements = (0..<count).map { index in
            switch recipe[.bad] {
            case 1: "1"
            case 2: index % 3 == 0 ? "{}" : before + "\(index)" + after
            case 3: before + "\(index % max(1, count - 1_000))" + after
            default: before + "\(index)" + after
            }
        }
        return "[\(elements.joined(separator: ","))]"
    }

    // MARK: Edits

    var edits: String {
        var random = SplitMix64(seed: UInt64(truncatingIfNeeded: recipe[.seed]))
        let count = max(1, self.count)
        let sections = max(1, recipe[.sections])
        let any = { (random: inout SplitMix64) in Int.random(in: 0..<count, using: &random) }
        var gone: Set<Int> = []
        func known(_ random: inout SplitMix64) -> Int? {
            for _ in 0..<20 {
                let item = any(&random)
                if !gone.contains(item) { return item }
            }
            return nil
        }
        let edits = (0..<recipe[.edits]).compactMap { index -> String? in
            let named = EditKind(rawValue: recipe[.edit])!
            let kind = named == .mixed ? EditKind(rawValue: Int.random(in: 0..<9, using: &random))! : named
            guard let item = known(&random) else { return #"{"op":"insert","items":[{"id":"n\#(index)"}]}"# }
            switch kind {
            case .insert: return #"{"op":"insert","items":[{"id":"n\#(index)"}],"before":\#(item)}"#
            case .delete where recipe[.levels] == 0:
                gone.insert(item)
                return #"{"op":"delete","items":[\#(item)]}"#
            case .delete: return #"{"op":"delete","items":["nobody"]}"#
            case .move:
                guard let other = known(&random), other != item, recipe[.levels] == 0 else { return nil }
                return #"{"op":"move","items":[\#(item)],"after":\#(other)}"#
            case .update: return #"{"op":"update","items":[{"id":\#(item),"content":\#(index)}]}"#
            case .collapse: return #"{"op":"\#(index % 2 == 0 ? "collapse" : "expand")","items":[\#(item)]}"#
            case .clear: return named == .clear ? #"{"op":"clear"}"# : nil
            case .sections:
                let section = Int.random(in: 0..<sections, using: &random)
                return #"{"op":"move","sections":["s\#(section)"],"at":"\#(index % 2 == 0 ? "start" : "end")"}"#
            case .moveIntoEachOther:
                return #"{"op":"move","items":[0],"into":{"section":"s\#(index % sections)"}}"#
            default: return #"{"op":"reload","items":[\#(item)]}"#
            }
        }
        return "[\(edits.joined(separator: ","))]"
    }

    // MARK: Heads

    /// A request with a list of that many elements.
    var head: String {
        let names = ["Accept", "Accept-Encoding", "Prefer", "If-Match", "If-None-Match"]
        let elements = [",", ";q=0.123,", "*/*;q=1,", "\"a\",", "a=b;c=d,", "\",", "gzip;q=0,"]
        let element = elements[recipe[.seed] % elements.count]
        let list = String(repeating: element, count: min(recipe[.elements], 30_000 / element.utf8.count))
        return "GET / HTTP/1.1\r\nHost: a\r\n\(names[recipe[.seed] / 7 % names.count]): \(list)\r\n\r\n"
    }
}
