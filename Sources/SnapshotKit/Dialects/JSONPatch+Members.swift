// Members of items and sections, once every element is in its final place. Content is patched member by member where that is no larger
// than replacing it; arrays in it are replaced whole.

extension JSONPatch {
    mutating func updateAll() {
        switch script.change.basis {
        case .contents(let ignored):
            var comparison = SnapshotComparison(script.old, script.new, ignoring: ignored)
            updateSections(&comparison)
            updateItems(&comparison)
        case .fingerprints(let fingerprints):
            var comparison = SkeletonComparison(script.old, script.new, fingerprints)
            updateSections(&comparison)
            updateItems(&comparison)
        }
    }

    private mutating func updateSections<Comparison: ContentComparison>(_ comparison: inout Comparison) {
        for section in script.new.sections.indices where script.change.sectionFates[section].contains(.updated) {
            let oldSection = script.oldSection(of: section)
            let (old, new) = (script.old.sections[oldSection].flags, script.new.sections[section].flags)
            let bothContent = old.contains(.hasContent) && new.contains(.hasContent)
            let path = path { $0.appendPath(section: section) }
            if !bothContent || !comparison.hasSameContent(section: oldSection, section) {
                updateContent(
                    old.contains(.hasContent) ? script.old.content(ofSection: oldSection) : nil,
                    new.contains(.hasContent) ? script.new.content(ofSection: section) : nil, at: path)
            }
            updateExpanded(old, new, at: path)
        }
    }

    private mutating func updateItems<Comparison: ContentComparison>(_ comparison: inout Comparison) {
        for item in script.new.nodes.indices where partner(item) >= 0 {
            let oldItem = partner(item)
            let (old, new) = (script.old.nodes[oldItem].flags, script.new.nodes[item].flags)
            let bothKind = old.contains(.hasKind) && new.contains(.hasKind)
            let bothContent = old.contains(.hasContent) && new.contains(.hasContent)
            let sameKind = !bothKind || comparison.hasSameKind(item: oldItem, item)
            let sameContent = !bothContent || comparison.hasSameContent(item: oldItem, item)
            if sameKind, sameContent, old.intersection(.shown) == new.intersection(.shown) { continue }
            let path = path { $0.appendPath(item: item) }
            if !sameContent || old.contains(.hasContent) != new.contains(.hasContent) {
                updateContent(
                    old.contains(.hasContent) ? script.old.content(ofItem: oldItem, known: !script.old.isSkeleton) : nil,
                    new.contains(.hasContent) ? script.new.content(ofItem: item) : nil, at: path)
            }
            updateKind(sameKind, old, item, at: path)
            updateExpanded(old, new, at: path)
        }
    }

    private mutating func operation(_ name: StaticString, at path: [UInt8], _ member: StaticString) {
        begin(name)
        write {
            $0.append(path)
            $0.append(member)
        }
    }

    private mutating func updateKind(_ isSame: Bool, _ old: NodeFlags, _ item: Int, at path: [UInt8]) {
        let hasKind = script.new.nodes[item].flags.contains(.hasKind)
        guard !isSame || old.contains(.hasKind) != hasKind else { return }
        guard hasKind else { return operation("remove", at: path, "/kind\"}") }
        operation(old.contains(.hasKind) ? "replace" : "add", at: path, "/kind\",\"value\":")
        let kind = script.new.kind(ofItem: item)
        write {
            $0.append(kind)
            $0.append(byte: UInt8(ascii: "}"))
        }
    }

    private mutating func updateExpanded(_ old: NodeFlags, _ new: NodeFlags, at path: [UInt8]) {
        guard old.contains(.isCollapsed) != new.contains(.isCollapsed) else { return }
        if new.contains(.isCollapsed) {
            operation("add", at: path, "/expanded\",\"value\":false}")
        } else {
            operation("remove", at: path, "/expanded\"}")
        }
    }

    // MARK: Content

    private mutating func updateContent(
        _ old: UnsafeRawBufferPointer?, _ new: UnsafeRawBufferPointer?, at path: [UInt8]
    ) {
        switch (old, new) {
        case (nil, nil): return
        case (_?, nil): operation("remove", at: path, "/content\"}")
        case (nil, let new?):
            operation("add", at: path, "/content\",\"value\":")
            write {
                $0.append(new)
                $0.append(byte: UInt8(ascii: "}"))
            }
        case (let old?, let new?): replace(old, new, at: path + Array("/content".utf8))
        }
    }

    /// Writes the operations between two values at a place: inside it, or the whole, whichever is smaller.
    private mutating func replace(_ old: UnsafeRawBufferPointer, _ new: UnsafeRawBufferPointer, at path: [UInt8]) {
        if !old.isEmpty, sameValue(old, new, ignoring: .none) { return }
        let start = position
        if old.first == UInt8(ascii: "{"), new.first == UInt8(ascii: "{") {
            let whole = path.count + new.count + #"{"op":"replace","path":"","value":},"#.utf8.count
            patchMembers(old, new, at: path)
            if writer.count - start.count <= whole { return }
            withdraw(to: start)
        }
        begin("replace")
        write {
            $0.append(path)
            $0.append("\",\"value\":")
            $0.append(new)
            $0.append(byte: UInt8(ascii: "}"))
        }
    }

    private mutating func patchMembers(_ old: UnsafeRawBufferPointer, _ new: UnsafeRawBufferPointer, at path: [UInt8]) {
        var before = JSONMembers(JSONCursor(old.baseAddress!))
        var cursor = JSONCursor(new.baseAddress!)
        var arrivals: [(JSONString, UnsafeRawBufferPointer)] = []
        if cursor.enter() {
            repeat {
                let name = cursor.takeName()
                let start = cursor.at
                cursor.skipValue()
                let value = UnsafeRawBufferPointer(start: start, count: cursor.at - start)
                if let previous = before.take(name) {
                    replace(previous, value, at: path + name.pointerToken)
                } else {
                    arrivals.append((name, value))
                }
            } while cursor.takesComma()
        }
        for name in before.left {
            begin("remove")
            write {
                $0.append(path + name.pointerToken)
                $0.append("\"}")
            }
        }
        for (name, value) in arrivals {
            begin("add")
            write {
                $0.append(path + name.pointerToken)
                $0.append("\",\"value\":")
                $0.append(value)
                $0.append(byte: UInt8(ascii: "}"))
            }
        }
    }
}

extension JSONString {
    /// `/name` as it stands in a pointer that stands in a JSON string.
    fileprivate var pointerToken: [UInt8] {
        var writer = JSONWriter()
        writer.append(string: Array(("/" + JSONPointer.escaped(text)).utf8))
        return Array(writer.bytes().dropFirst().dropLast())
    }
}

extension ColumnsView {
    /// An item's content, or nothing where only its fingerprint is left.
    fileprivate func content(ofItem item: Int, known: Bool) -> UnsafeRawBufferPointer {
        known ? content(ofItem: item) : UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

extension JSONWriter {
    /// A copy of what was written from an offset on.
    func tail(from start: Int) -> [UInt8] { Array(written.dropFirst(start)) }
}
