/// Reads contents as the elements of a shape, by the reader of documents itself, so that edits and documents never
/// disagree about a value.
final class ShapeReader {
    let targets: DocumentTargets
    private let groupPlace: PointerSet
    private static let groupName = PointerSet([JSONPointer(tokens: [Array("group".utf8)])])

    /// Whether ids of elements are unique within their section only.
    let scopesIDs: Bool
    /// Whether elements have no ids of their own.
    var matchesElements: Bool { targets.mapping.element.continuesHead }
    var isGrouped: Bool { targets.isGrouped }
    var hasSections: Bool { targets.mapping.sectionsAt != nil }

    /// Nil for the native shape, which reads nothing in contents.
    init?(_ shape: StateShape?) {
        guard var mapping = shape?.mapping else { return nil }
        // The section that ids are within may follow from an anchor.
        mapping.element.scopesIDs = false
        targets = DocumentTargets(mapping)
        groupPlace = PointerSet(mapping.element.groupAt.map { [$0] } ?? [])
        scopesIDs = shape?.mapping?.element.scopesIDs ?? false
    }

    /// The fields of a content; empty if there is none. O(bytes).
    func fields(of content: UnsafeRawBufferPointer, isSection: Bool) -> ShapeFields {
        var fields = ShapeFields()
        if isGrouped, !isSection { fields.group = group(in: content, at: groupPlace) }
        guard let base = content.baseAddress, !content.isEmpty else { return fields }
        var reader = StateParser(base: base, count: content.count, limits: .none)
        reader.builder.beginSection()
        reader.mentioned = []
        do throws(JSONError) {
            if isSection {
                try reader.readSectionElement(targets, depth: 0)
            } else {
                let item = reader.builder.beginItem(parent: -1, level: 0)
                // Below the top level elements have no groups.
                try reader.readItemElement(item, level: 1, targets, depth: 0)
                reader.builder.endItem(item)
            }
        } catch { return fields }
        let builder = reader.builder
        let (node, payload) = isSection ? builder.sections[0].asItem : (builder.nodes[0], builder.payloads[0])
        if node.idCount > 0 { fields.id = reader.bytes(ofID: node) }
        if node.flags.contains(.hasKind) { fields.kind = reader.token(at: Int(payload.kindStart)) }
        if node.flags.contains(.isCollapsed) {
            fields.isExpanded = false
        } else if reader.mentioned?.isEmpty == false {
            fields.isExpanded = true
        }
        // The content of an element is the element without its list.
        if !node.flags.contains(.hasContent) || Int(payload.contentCount) < content.count {
            let member = isSection ? "itemsAt" : "childrenAt"
            let detail = "a list at \(member) is no part of the content: insert, move or delete its items"
            fields.faults = [Violation(pointer: "", code: "wrong-shape", detail: detail)]
        } else {
            // A section's content has no items anyway.
            fields.faults = reader.violations.reported(in: base).filter { $0.code != "missing-items" }.map {
                let suffix = $0.pointer.isEmpty ? "" : ", at \"\($0.pointer)\" of the content"
                return Violation(pointer: "", code: $0.code, detail: $0.detail + suffix)
            }
        }
        return fields
    }

    private func group(in content: UnsafeRawBufferPointer, at place: PointerSet) -> ShapeFields.Group {
        let start = content.isEmpty ? nil : place.value(in: content.baseAddress!, entersArrays: true)
        let value = start.map { OrderedValue(at: $0) } ?? .absent
        return GroupValue.of(value, prefix: targets.mapping.element.groupPrefix) { ShapeFields.Group($0) }
    }

    /// Whether grouping gives a section with an id this content.
    func groups(_ content: UnsafeRawBufferPointer, intoSection id: [UInt8]) -> Bool {
        content.groupAlone != nil && group(in: content, at: Self.groupName).id.text == id
    }

}

/// The shapes of a list's sections, by their ids, where each may have its own.
package typealias SectionShapes = [[UInt8]: StateShape]

/// The readers of sections with shapes of their own. Each is made when it is first needed.
final class SectionReaders {
    private let shapes: SectionShapes
    private var readers: [[UInt8]: ShapeReader] = [:]

    init(_ shapes: SectionShapes) { self.shapes = shapes }

    subscript(section: [UInt8]) -> ShapeReader? {
        if let reader = readers[section] { return reader }
        readers[section] = ShapeReader(shapes[section])
        return readers[section]
    }
}

/// What a shape reads in a content.
struct ShapeFields {
    var id: [UInt8]?
    /// The kind, as a JSON string.
    var kind: [UInt8]?
    /// Nil if the content does not say.
    var isExpanded: Bool?
    /// The group of a row; nil if rows have none.
    var group: Group?
    /// Values that cannot be read.
    var faults: [Violation] = []

    /// The section that a row belongs to.
    struct Group {
        let id: GivenIDs.ID
        /// What grouping gives it for a content.
        let content: JSONText

        fileprivate init(_ group: GroupValue) {
            id = GivenIDs.ID(Array(group.id), isInteger: group.form == .literal && group.id.isInteger)
            var buffer = TokenBuffer()
            let range = buffer.append(headerOf: group.id, group.form) ?? 0..<0
            content = JSONText(accepted: Array(buffer.bytes[range]))
        }
    }
}

extension StateParser {
    /// The string at an offset, of the text or of what is stored behind it.
    fileprivate func token(at start: Int) -> [UInt8] {
        if start >= store.start {
            let token = store.bytes.dropFirst(start - store.start)
            return [token.first!] + token.dropFirst().prefix { $0 != UInt8(ascii: "\"") } + [UInt8(ascii: "\"")]
        }
        var cursor = JSONCursor(scanner.base + start)
        return Array(cursor.takeValue())
    }
}

extension UnsafeRawBufferPointer {
    /// The value of the member `group` of an accepted object without other members.
    var groupAlone: UnsafeRawBufferPointer? {
        guard let baseAddress, first == UInt8(ascii: "{") else { return nil }
        var cursor = JSONCursor(baseAddress)
        guard cursor.enter(), cursor.takeName().isText("group") else { return nil }
        let value = cursor.takeValue()
        return cursor.takesComma() ? nil : value
    }
}
