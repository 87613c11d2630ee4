/// Edits in the plainest way: arrays in arrays, searched from the front. The real ones are compared with these.
struct NaiveState {
    struct Item {
        var id: String
        var content: String?
        var isCollapsed = false
        var items: [Item] = []

        var all: [Item] { [self] + items.flatMap(\.all) }

        var outline: String {
            let below = items.isEmpty ? "" : "(" + items.map(\.outline).joined(separator: " ") + ")"
            return id + (content.map { "=" + $0 } ?? "") + (isCollapsed ? "-" : "") + below
        }

        var json: String {
            let members = [
                "\"id\":\"\(id)\"", content.map { "\"content\":\($0)" }, isCollapsed ? "\"expanded\":false" : nil,
                items.isEmpty ? nil : "\"items\":[\(items.map(\.json).joined(separator: ","))]",
            ]
            return "{" + members.compactMap { $0 }.joined(separator: ",") + "}"
        }
    }

    enum Place {
        case unsaid, start, end, before(String), after(String), section(String, Bool), item(String, Bool)
    }

    struct Refusal: Error { let code: String }

    /// A list of items, or of sections, which are items of a separate level.
    var sections: [Item] = []

    var outline: String {
        sections.map { section in
            let head = section.id + (section.content.map { "=" + $0 } ?? "") + (section.isCollapsed ? "-" : "")
            return head + "[" + section.items.map(\.outline).joined(separator: " ") + "]"
        }.joined(separator: " ")
    }

    var itemIDs: [String] { sections.flatMap(\.items).flatMap(\.all).map(\.id) }

    // MARK: Operations

    mutating func insert(_ new: [Item], isSections: Bool, at place: Place) throws {
        let ids = new.flatMap(\.all).map(\.id)
        if case .before(let id) = place, isSections ? new.map(\.id).contains(id) : ids.contains(id),
            !has(id, isSections)
        {
            throw Refusal(code: "anchor-in-batch")
        }
        if case .after(let id) = place, isSections ? new.map(\.id).contains(id) : ids.contains(id), !has(id, isSections)
        {
            throw Refusal(code: "anchor-in-batch")
        }
        let path = try self.path(to: place, isSections: isSections)
        let newItems = isSections ? new.flatMap(\.items).flatMap(\.all).map(\.id) : ids
        let newSections = isSections ? new.map(\.id) : []
        guard Set(newItems + itemIDs).count == newItems.count + itemIDs.count,
            Set(newSections + sections.map(\.id)).count == newSections.count + sections.count
        else { throw Refusal(code: "duplicate-id") }
        put(new, at: path)
    }

    mutating func move(_ ids: [String], isSections: Bool, to place: Place) throws {
        for id in ids where !has(id, isSections) { throw Refusal(code: "unknown-id") }
        if Set(ids).count < ids.count { throw Refusal(code: "duplicate-id") }
        switch place {
        case .before(let id) where ids.contains(id), .after(let id) where ids.contains(id):
            throw Refusal(code: "anchor-in-batch")
        default: break
        }
        _ = try path(to: place, isSections: isSections)
        if !isSections {
            let target: String? =
                switch place {
                case .before(let id), .after(let id), .item(let id, _): id
                default: nil
                }
            for item in sections.flatMap(\.items).flatMap(\.all) where ids.contains(item.id) {
                if let target, item.all.contains(where: { $0.id == target }) { throw Refusal(code: "cycle") }
            }
        }
        var taken: [Item] = []
        for id in ids {
            // It may have been taken already, along with its parent.
            var item = take(id, isSections)
            for index in taken.indices where item == nil { item = Self.take(id, &taken[index].items) }
            taken.append(item!)
        }
        put(taken, at: try! path(to: place, isSections: isSections))
    }

    mutating func delete(_ ids: [String], isSections: Bool) { for id in ids { _ = take(id, isSections) } }

    mutating func change(_ ids: [String], isSections: Bool, _ body: (inout Item) -> Void) throws {
        for id in ids where !has(id, isSections) { throw Refusal(code: "unknown-id") }
        for id in ids {
            if isSections {
                body(&sections[sections.firstIndex { $0.id == id }!])
            } else {
                for index in sections.indices { Self.change(id, &sections[index].items, body) }
            }
        }
    }

    // MARK: Lists

    private func has(_ id: String, _ isSections: Bool) -> Bool {
        isSections ? sections.contains { $0.id == id } : itemIDs.contains(id)
    }

    private static func change(_ id: String, _ items: inout [Item], _ body: (inout Item) -> Void) {
        for index in items.indices {
            if items[index].id == id { return body(&items[index]) }
            change(id, &items[index].items, body)
        }
    }

    private mutating func take(_ id: String, _ isSections: Bool) -> Item? {
        if isSections {
            return sections.firstIndex { $0.id == id }.map { sections.remove(at: $0) }
        }
        for index in sections.indices { if let item = Self.take(id, &sections[index].items) { return item } }
        return nil
    }

    private static func take(_ id: String, _ items: inout [Item]) -> Item? {
        if let index = items.firstIndex(where: { $0.id == id }) { return items.remove(at: index) }
        for index in items.indices { if let item = take(id, &items[index].items) { return item } }
        return nil
    }

    /// Where to put something: indexes down the lists, the last one the place in its list.
    private func path(to place: Place, isSections: Bool) throws -> [Int] {
        switch place {
        case .unsaid, .end:
            if isSections { return [sections.count] }
            guard let last = sections.last else { throw Refusal(code: "no-section") }
            return [sections.count - 1, last.items.count]
        case .start:
            if isSections { return [0] }
            if sections.isEmpty { throw Refusal(code: "no-section") }
            return [0, 0]
        case .section(let id, let atStart):
            guard let index = sections.firstIndex(where: { $0.id == id }) else { throw Refusal(code: "unknown-id") }
            return [index, atStart ? 0 : sections[index].items.count]
        case .item(let id, let atStart):
            guard let path = find(id) else { throw Refusal(code: "unknown-id") }
            return path + [atStart ? 0 : item(at: path).items.count]
        case .before(let id), .after(let id):
            let path = isSections ? sections.firstIndex { $0.id == id }.map { [$0] } : find(id)
            guard var path else { throw Refusal(code: "anchor-not-found") }
            if case .after = place { path[path.count - 1] += 1 }
            return path
        }
    }

    private func find(_ id: String) -> [Int]? {
        for index in sections.indices { if let path = Self.find(id, sections[index].items) { return [index] + path } }
        return nil
    }

    private static func find(_ id: String, _ items: [Item]) -> [Int]? {
        for index in items.indices {
            if items[index].id == id { return [index] }
            if let path = find(id, items[index].items) { return [index] + path }
        }
        return nil
    }

    private func item(at path: [Int]) -> Item { path.dropFirst().reduce(sections[path[0]]) { $0.items[$1] } }

    private mutating func put(_ new: [Item], at path: [Int]) {
        func put(_ list: inout [Item], _ rest: ArraySlice<Int>) {
            if rest.count == 1 {
                list.insert(contentsOf: new, at: rest.first!)
            } else {
                put(&list[rest.first!].items, rest.dropFirst())
            }
        }
        put(&sections, path[...])
    }
}
