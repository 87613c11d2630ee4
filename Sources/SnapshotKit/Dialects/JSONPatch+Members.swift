// Members of items and sections, once every element is in its final place. Content is patched member by member where
// that is no larger than replacing it; arrays in it are replaced whole. Objects are never compared: two that are the
// same have no operations. So what stands in them is compared once, and not again at each level.

extension JSONPatch {
    mutating func updateAll() {
        updateList()
        updateSections()
        updateItems()
    }

    private mutating func updateList() {
        guard changeset.change.changesList else { return }
        let (old, new) = (changeset.old.listContent, changeset.new.listContent)
        goTo { _ in }
        updateContent(old.isEmpty ? nil : old, new.isEmpty ? nil : new)
    }

    private mutating func updateSections() {
        for section in changeset.new.sections.indices where changeset.change.sectionChanges[section].contains(.updated)
        {
            let oldSection = changeset.oldSection(of: section)
            let (old, new) = (changeset.old.sections[oldSection].flags, changeset.new.sections[section].flags)
            let bothContent = old.contains(.hasContent) && new.contains(.hasContent)
            goTo { $0.appendPath(section: section) }
            if !bothContent || !changeset.old.hasSameContent(section: oldSection, as: changeset.new, section) {
                updateContent(
                    old.contains(.hasContent) ? changeset.old.content(ofSection: oldSection) : nil,
                    new.contains(.hasContent) ? changeset.new.content(ofSection: section) : nil)
            }
            updateExpanded(old, new)
        }
    }

    private mutating func updateItems() {
        let (source, target) = (changeset.old, changeset.new)
        for item in target.nodes.indices where partner(item) >= 0 {
            if isKnownUnchanged(item) { continue }
            let oldItem = partner(item)
            let (old, new) = (source.nodes[oldItem].flags, target.nodes[item].flags)
            let bothKind = old.contains(.hasKind) && new.contains(.hasKind)
            let bothContent = old.contains(.hasContent) && new.contains(.hasContent)
            let sameKind = !bothKind || source.hasSameKind(item: oldItem, as: target, item)
            let sameContent =
                !bothContent
                || source.hasSameContent(item: oldItem, as: target, item, ignoring: changeset.change.ignored)
            if sameKind, sameContent, old.intersection(.shown) == new.intersection(.shown) { continue }
            goTo { $0.appendPath(item: item) }
            if !sameContent || old.contains(.hasContent) != new.contains(.hasContent) {
                updateContent(
                    old.contains(.hasContent) ? source.content(ofItem: oldItem) : nil,
                    new.contains(.hasContent) ? target.content(ofItem: item) : nil)
            }
            updateKind(sameKind, old, item)
            updateExpanded(old, new)
        }
    }

    /// Whether the changeset compared this item: it has, where both rows are visible.
    private func isKnownUnchanged(_ item: Int) -> Bool {
        let row = changeset.new.row(ofItem: item)
        return row >= 0 && !changeset.isNew(row: row) && !changeset.isUpdated(row: row)
    }

    /// Starts an operation at the place.
    private mutating func operation(_ name: StaticString, _ rest: StaticString) {
        begin(name)
        writer.append(place, from: 0)
        writer.append(rest)
    }

    private mutating func updateKind(_ isSame: Bool, _ old: NodeFlags, _ item: Int) {
        let hasKind = changeset.new.nodes[item].flags.contains(.hasKind)
        guard !isSame || old.contains(.hasKind) != hasKind else { return }
        guard hasKind else { return operation("remove", "/kind\"}") }
        operation(old.contains(.hasKind) ? "replace" : "add", "/kind\",\"value\":")
        writer.emit("", changeset.new.kind(ofItem: item), "}")
    }

    private mutating func updateExpanded(_ old: NodeFlags, _ new: NodeFlags) {
        guard old.contains(.isCollapsed) != new.contains(.isCollapsed) else { return }
        if new.contains(.isCollapsed) {
            operation("add", "/expanded\",\"value\":false}")
        } else {
            operation("remove", "/expanded\"}")
        }
    }

    // MARK: Content

    private mutating func updateContent(_ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?) {
        switch (old, new) {
        case (nil, nil): return
        case (_?, nil): operation("remove", "/content\"}")
        case (nil, let new?):
            operation("add", "/content\",\"value\":")
            writer.emit("", new, "}")
        case (let old?, let new?):
            before.load(old)
            after.load(new)
            inside({ $0.append("/content") }) { $0.replace((old, $0.before.all), (new, $0.after.all), limit: .max) }
        }
    }

    /// A value, and where its members stand in `before` or `after`, if it is an object.
    private typealias Value = (text: UnsafeRawBufferPointer, members: Range<Int>)

    /// Writes the operations between two values at the place: inside it, or the whole, whichever is smaller; none if
    /// they are the same.
    ///
    /// - Parameter limit: a length of all text beyond which it is withdrawn anyway; anything may have been written
    ///   then.
    private mutating func replace(_ old: Value, _ new: Value, limit: Int) {
        guard old.text.first == UInt8(ascii: "{"), new.text.first == UInt8(ascii: "{") else {
            let isSame = sameValue(old.text, new.text, ignoring: .none)
            if !isSame { writeValue(new.text, by: "replace") }
            return
        }
        let start = position
        let comma = start.list.isEmpty ? 0 : 1
        let operation = comma + place.count + #"{"op":"replace","path":"","value":}"#.utf8.count
        let whole = start.count + operation + new.text.count
        patchMembers(old.members, new.members, limit: min(limit, whole))
        if writer.count > whole {
            withdraw(to: start)
            writeValue(new.text, by: "replace")
        }
    }

    private mutating func writeValue(_ value: UnsafeRawBufferPointer, by name: StaticString) {
        operation(name, "\",\"value\":")
        writer.emit("", value, "}")
    }

    /// Stops once there is more text than `limit`. Otherwise many short members at a long path would be more text than
    /// memory holds before it is found that the whole is smaller.
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
    /// `/name` as it stands in a pointer that stands in a JSON string.
    fileprivate mutating func append(pointerToken name: JSONString) {
        append(byte: UInt8(ascii: "/"))
        for byte in name.text {
            switch byte {
            case UInt8(ascii: "~"): append("~0")
            case UInt8(ascii: "/"): append("~1")
            default: append(escaped: byte)
            }
        }
    }
}
