import SnapshotKit

/// What the values at one place of a list's rows have in common, as a type that clients declare.
struct RowType {
    /// What a value may be, besides null.
    enum Kind: Hashable { case text, flag, integer, decimal, object, array }

    struct Member {
        let name: String
        var type = RowType()
        fileprivate var count = 0
    }

    private(set) var kinds: Set<Kind> = []
    private(set) var isNull = false
    /// Those of objects, in the order in which they were first seen.
    private(set) var members: [Member] = []
    /// The type of all elements of arrays, which is there after the first array.
    private(set) var elements: [RowType] = []
    private var indexes: [String: Int] = [:]
    private var objects = 0

    init() {}

    /// The type of the contents of all items, children included; nil if none has any.
    init?(of snapshot: Snapshot) {
        let sections = JSONSlice.members(of: snapshot.documentJSON())?["sections"]?.elements ?? []
        var waiting = sections.compactMap(\.members)
        while let parent = waiting.popLast() {
            let items = parent["items"]?.elements?.compactMap(\.members) ?? []
            for content in items.compactMap({ $0["content"] }) { take(content) }
            waiting += items
        }
        if kinds.isEmpty, !isNull { return nil }
    }

    /// Whether some objects lack a member of this type.
    func lacks(_ member: Member) -> Bool { member.count < objects }

    private mutating func take(_ value: JSONSlice) {
        if let found = value.orderedMembers {
            kinds.insert(.object)
            objects += 1
            for member in found {
                let index = indexes[member.name] ?? members.count
                if index == members.count {
                    indexes[member.name] = index
                    members.append(Member(name: member.name))
                }
                members[index].count += 1
                members[index].type.take(member.value)
            }
        } else if let found = value.elements {
            kinds.insert(.array)
            if elements.isEmpty { elements.append(RowType()) }
            for element in found { elements[0].take(element) }
        } else if value.isNull {
            isNull = true
        } else if value.string != nil {
            kinds.insert(.text)
        } else if value.flag != nil {
            kinds.insert(.flag)
        } else {
            kinds.insert(value.integer == nil ? .decimal : .integer)
        }
    }
}
