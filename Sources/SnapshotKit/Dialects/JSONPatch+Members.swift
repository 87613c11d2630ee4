// Members of items and sections, once all elements are in place. Content is patched member by member where that is no
// larger than replacing it; arrays in it are replaced whole. As in `MergePatch`, objects are not compared first.

extension JSONPatch {
    /// A value; empty for none.
    private typealias Bytes = UnsafeRawBufferPointer

    mutating func updateAll() {
        let (old, new) = (changeset.old, changeset.new)
        if changeset.change.changesList {
            goTo(ColumnsTree.root)
            update("/content", old.listContent, new.listContent)
        }
        for section in new.sections.indices where changeset.isUpdated(section: section) {
            let oldSection = changeset.oldSection(of: section)
            update(
                1 + section, (old.sections[oldSection].flags, new.sections[section].flags),
                content: (old.content(ofSection: oldSection), new.content(ofSection: section)))
        }
        for item in new.nodes.indices {
            let oldItem = Int(changeset.change.items.oldOfNew[item])
            if oldItem < 0 || isKnownUnchanged(item) { continue }
            let (before, after) = (old.nodes[oldItem].flags, new.nodes[item].flags)
            update(
                newTree.firstItem + item, (before, after), ignoring: changeset.change,
                content: (old.content(ofItem: oldItem), new.content(ofItem: item)),
                kind: (
                    before.contains(.hasKind) ? old.kind(ofItem: oldItem) : Self.none,
                    after.contains(.hasKind) ? new.kind(ofItem: item) : Self.none
                ))
        }
    }

    /// The changeset compares items that are rows in both states.
    private func isKnownUnchanged(_ item: Int) -> Bool {
        let row = changeset.new.row(ofItem: item)
        return row >= 0 && !changeset.isNew(row: row) && !changeset.isUpdated(row: row)
    }

    private mutating func update(
        _ vertex: Int, _ flags: (old: NodeFlags, new: NodeFlags), ignoring change: Changeset? = nil,
        content: (old: Bytes, new: Bytes), kind: (old: Bytes, new: Bytes) = (none, none)
    ) {
        let changesContent = !sameValue(content.old, content.new, ignoring: change?.ignored ?? .none)
        let changesKind = !sameValue(kind.old, kind.new, ignoring: .none)
        let expands = flags.old.contains(.isCollapsed) != flags.new.contains(.isCollapsed)
        guard changesContent || changesKind || expands else { return }
        goTo(vertex)
        if let change, !content.old.isEmpty, !content.new.isEmpty, change.mayBeUnknown(content.new) {
            inside({ $0.append("/content") }) { $0.writeValue(content.new, by: "replace") }
        } else if changesContent {
            update("/content", content.old, content.new)
        }
        if changesKind { update("/kind", kind.old, kind.new) }
        if expands, flags.new.contains(.isCollapsed) {
            operation("add", "/expanded\",\"value\":false}")
        } else if expands {
            operation("remove", "/expanded\"}")
        }
    }

    private static var none: Bytes { Bytes(start: nil, count: 0) }

    private mutating func operation(_ name: StaticString, _ rest: StaticString) {
        begin(name)
        writer.append(path, from: 0)
        writer.append(rest)
    }

    private mutating func update(_ member: StaticString, _ old: Bytes, _ new: Bytes) {
        inside({ $0.append(member) }) {
            if new.isEmpty { return $0.operation("remove", "\"}") }
            if old.isEmpty { return $0.writeValue(new, by: "add") }
            $0.before.load(old)
            $0.after.load(new)
            $0.replace((old, $0.before.all), (new, $0.after.all), limit: .max)
        }
    }

    /// A value and, for an object, the range of its members in `before` or `after`.
    private typealias Value = (text: Bytes, members: Range<Int>)

    /// Writes the operations between two values at the path: inside it or the whole, whichever is smaller. Anything if
    /// all text gets longer than `limit`: then the caller withdraws it.
    private mutating func replace(_ old: Value, _ new: Value, limit: Int) {
        guard old.text.first == UInt8(ascii: "{"), new.text.first == UInt8(ascii: "{") else {
            if !sameValue(old.text, new.text, ignoring: .none) { writeValue(new.text, by: "replace") }
            return
        }
        let start = writer.count
        let operation = path.count + #"{"op":"replace","path":"","value":}"#.utf8.count
        let whole = start + (writer.needsComma ? 1 : 0) + operation + new.text.count
        patchMembers(old.members, new.members, limit: min(limit, whole))
        if writer.count > whole {
            writer.truncate(to: start)
            writeValue(new.text, by: "replace")
        }
    }

    private mutating func writeValue(_ value: Bytes, by name: StaticString) {
        operation(name, "\",\"value\":")
        writer.emit("", value, "}")
    }

    /// Stops once the text exceeds `limit`: otherwise many short members at a long path could fill all memory before
    /// the whole turns out to be smaller.
    private mutating func patchMembers(_ old: Range<Int>, _ new: Range<Int>, limit: Int) {
        var search = MemberSearch(old)
        var index = new.lowerBound
        while index < new.upperBound, writer.count <= limit {
            if let previous = search.find(after[index].name, in: before) {
                before.take(previous)
                after.take(index)
                inside({ [name = after[index].name] in $0.append(pointerToken: name) }) {
                    $0.replace(
                        ($0.before[previous].value, $0.before.inside(previous)),
                        ($0.after[index].value, $0.after.inside(index)), limit: limit)
                }
            }
            index = after[index].end
        }
        index = before.firstLeft(from: old.lowerBound, in: old)
        while index < old.upperBound, writer.count <= limit {
            inside({ [name = before[index].name] in $0.append(pointerToken: name) }) { $0.operation("remove", "\"}") }
            index = before.firstLeft(from: before[index].end, in: old)
        }
        index = after.firstLeft(from: new.lowerBound, in: new)
        while index < new.upperBound, writer.count <= limit {
            let arrival = after[index]
            inside({ $0.append(pointerToken: arrival.name) }) { $0.writeValue(arrival.value, by: "add") }
            index = after.firstLeft(from: arrival.end, in: new)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func append(pointerToken name: JSONString) {
        append(byte: UInt8(ascii: "/"))
        JSONPointer.escape(name.text) { append(escaped: $0) }
    }
}
