import Foundation
import Testing

@testable import DiffClient

/// Tests/Fixtures/edits.json: typed edits show at once what they do in the server.
@Suite("The vectors of edits")
struct EditVectorTests {
    @Test("typed edits show what the server does, and are refused where it refuses them")
    func vectors() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let file = [UInt8](try Data(contentsOf: root.appending(path: "Tests/Fixtures/edits.json")))
        let client = ListClient(url: root, session: "list")
        var (count, refusals, untyped) = (0, 0, [String]())
        for vector in try JSONSlice(checking: file).asArray().compactMap(\.members) {
            let (name, after) = (vector["name"]?.string ?? "", try #require(vector["after"]))
            let edits = try #require(vector["edits"]).asArray().map(typed)
            guard !edits.contains(where: \.isEmpty) else {
                untyped.append(name)
                continue
            }
            let before = try RowList(state: #require(vector["state"]))
            let batch = try client.json(edits.flatMap(\.self)).bytes
            let shown = try? before.applying(EditBatch(json: batch))
            let wanted = after.members == nil ? nil : try RowList(state: after)
            #expect(shown == wanted, "\(name)")
            count += 1
            if wanted == nil { refusals += 1 }
        }
        #expect(count > 70 && refusals > 15, "\(count), \(refusals), \(untyped)")
    }

    /// Empty if no typed edit says the same.
    private func typed(_ edit: JSONSlice) throws -> [ListEdit] {
        let members = try #require(edit.members)
        let edits = try typed(members, (members["sections"] ?? members["items"])?.asArray() ?? [])
        return members["sections"] == nil ? edits : edits.map(ListEdit.sections)
    }

    private func typed(_ members: [String: JSONSlice], _ elements: [JSONSlice]) throws -> [ListEdit] {
        let end = members["at"]?.string.flatMap(ListEdit.End.init) ?? .end
        let operation = members["op"]?.string
        if operation == "update" { return try elements.flatMap(updates) }
        if operation == "insert" {
            let new = try elements.map(element)
            if let siblings = members["before"] { return [.insert(new, before: try ids(siblings))] }
            if let siblings = members["after"] { return [.insert(new, after: try ids(siblings))] }
            guard let parent = members["into"] else { return [.insert(new, at: end)] }
            return try self.parent(parent).map { [.insert(new, into: $0, at: end)] } ?? []
        }
        let ids = try elements.map { try $0.asID() }
        switch operation {
        case "move":
            if let siblings = members["before"] { return [.move(ids, before: try self.ids(siblings))] }
            if let siblings = members["after"] { return [.move(ids, after: try self.ids(siblings))] }
            guard let parent = members["into"] else { return [.move(ids, at: end)] }
            return try self.parent(parent).map { [.move(ids, into: $0, at: end)] } ?? []
        case "delete": return [.remove(ids)]
        case "clear": return [members["items"] ?? members["sections"] == nil ? .clear() : .clear(ids)]
        case "expand": return [.expand(ids)]
        case "collapse": return [.collapse(ids)]
        case "reload": return [.reload(ids)]
        case "reconfigure": return [.reconfigure(ids)]
        default: return []
        }
    }

    private func ids(_ value: JSONSlice) throws -> [ElementID?] {
        try (value.elements ?? [value]).map { $0.isNull ? nil : try $0.asID() }
    }

    private func parent(_ value: JSONSlice) throws -> ListEdit.Parent? {
        if let id = value.members?["section"] { return .section(try id.asID()) }
        return try value.members?["item"].map { .item(try $0.asID()) }
    }

    private func element(_ value: JSONSlice) throws -> NewElement {
        guard let members = value.members else { return NewElement(try value.asID()) }
        return NewElement(
            try #require(members["id"]).asID(), members["content"]?.json,
            kind: members["kind"]?.string,
            isExpanded: members["expanded"]?.flag, items: try members["items"]?.asArray().map(element))
    }

    private func updates(_ value: JSONSlice) throws -> [ListEdit] {
        let members = try #require(value.members)
        let id = try #require(members["id"]).asID()
        var edits: [ListEdit] = []
        if let content = members["content"] { edits.append(.update(id, content.json)) }
        if let patch = members["patch"] { edits.append(.patch(id, patch.json)) }
        for (pointer, amount) in members["add"]?.members ?? [:] {
            guard let amount = amount.number else { return [] }
            edits.append(.add(id, pointer, amount))
        }
        if let kind = members["kind"]?.string { edits.append(.update(id, kind: kind)) }
        if let isExpanded = members["expanded"]?.flag { edits.append(isExpanded ? .expand(id) : .collapse(id)) }
        return edits
    }
}
