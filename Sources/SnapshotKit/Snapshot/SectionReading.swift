// One section from a document of its own: an array of items, an object that names what it brings, or any document of a
// shape. It is read as the section `main` of a state, whose own content stands for the section's, as what a shape's
// `rest` keeps does.

/// What a document says of one section. An object, since it is passed on often.
public final class SectionReading: Sendable {
    /// The section's id.
    let id: [UInt8]
    /// The section's items, as the only ones of a state, and its content, as that state's own.
    let reading: StateReading
    /// Whether the document has items. Those of before stay otherwise, even if it has other members.
    let hasItems: Bool
    /// Whether the section is expanded; nil if the document does not say.
    let isExpanded: Bool?
    /// Where ids are written that are not in the document as such.
    let idOffsets: IDOffsets

    /// Whether its elements had no ids.
    public var continuesHead: Bool { reading.snapshot.continuesHead }

    /// What was left out of it, at most 20 elements.
    public var warnings: [StateWarning] { reading.warnings }

    fileprivate init(_ id: [UInt8], _ reading: StateReading, _ body: StateParser.SectionBody, _ idOffsets: IDOffsets) {
        (self.id, self.reading, self.idOffsets) = (id, reading, idOffsets)
        (hasItems, isExpanded) = (body.hasItems, body.isExpanded)
    }
}

extension StateDocument {
    /// The document as one section. O(n).
    ///
    /// - Parameters:
    ///   - id: the section's id.
    ///   - scopesIDs: whether an item's id is the section's, a slash and its own; in place of what the shape says.
    ///   - known: the state that has the section.
    ///   - keepsExpanded: whether what is collapsed there stays so where the document does not say.
    ///   - head: of elements without ids, which continue the section's items in the known state.
    /// - Throws: `StateError`: `.json`, then `.wrongShape` for members that no section has, then the others.
    package mutating func section(
        _ id: String, _ shape: StateShape, scopesIDs: Bool, limits: StateLimits, upon known: Snapshot? = nil,
        keepsExpanded: Bool = false, continuing head: ElementHead? = nil
    ) throws(StateError) -> SectionReading {
        let id = Array(id.utf8)
        removeTail()
        var body = StateParser.SectionBody(violations: Violations(limit: limits.maxViolations))
        var parser = try read(limits) { (parser) throws(JSONError) in
            if keepsExpanded, known?.columns.hasCollapsed == true { parser.mentioned = [] }
            if shape.continuesHead {
                var head = head ?? ElementHead(sequence: 1)
                head.section = id
                parser.elements = ElementReading(head, groupAt: nil, hasHead: known != nil)
            }
            // Ids that are made are unique in the whole state.
            try parser.readSection(id, shape, scopesIDs: scopesIDs && !shape.continuesHead, into: &body)
        }
        guard body.violations.isEmpty else { throw .wrongShape(withStart { body.violations.reported(in: $0) }) }
        guard id.withUnsafeBytes({ $0.canBeID }) else {
            let rule = "a section's id must be 1 to 2,048 bytes without control characters; the path names another"
            throw .invalid([Violation(pointer: "", code: "invalid-id", detail: rule)])
        }
        let text = try takeText(of: &parser)
        let isUpon = keepsExpanded || shape.continuesHead
        let reading = try parser.finish(over: text, upon: isUpon ? known?.columns : nil)
        return SectionReading(id, reading, body, parser.idOffsets)
    }
}

extension StateParser {
    /// What a document of one section brings, besides items and content, and members that it must not have.
    fileprivate struct SectionBody {
        var hasItems = false
        var isExpanded: Bool?
        var violations: Violations
    }

    private enum SectionMember: String, CaseIterable { case items, content, expanded }

    /// Takes a document of one section.
    fileprivate mutating func readSection(
        _ id: [UInt8], _ shape: StateShape, scopesIDs: Bool, into body: inout SectionBody
    ) throws(JSONError) {
        if var mapping = shape.mapping {
            mapping.element.scopesIDs = false
            body.hasItems = true
            try read(StateShape(mapping), depth: 0)
        } else {
            scanner.skipSpace()
            root = scanner.at
            try readSection(into: &body)
        }
        if scopesIDs { scopeIDs(ofItemsFrom: 0, inSection: id, at: root) }
    }

    private mutating func readSection(into body: inout SectionBody) throws(JSONError) {
        switch scanner.byte(root) {
        case UInt8(ascii: "["):
            body.hasItems = true
            return try readMain(depth: 0)
        case UInt8(ascii: "{"):
            try readObject(depth: 1) { (reader, name) throws(JSONError) in try reader.readMember(name, of: &body) }
        default:
            body.violations.note(
                "wrong-type", "the body must be an array of items, or an object with items, content or expanded",
                advice: scanner.adviceIfEncodedTwice(at: root) ?? Self.sectionAdvice, at: DocumentPlace(root))
            try scanner.skipValue(depth: 0)
        }
        if !body.hasItems {
            beginMain()
            builder.endSection()
        }
    }

    private mutating func readMember(_ name: StringToken, of body: inout SectionBody) throws(JSONError) {
        switch scanner.string(name).word(of: SectionMember.allCases) {
        case .items:
            body.hasItems = true
            try readMain(depth: 1)
        case .content: try readListContent(depth: 1)
        case .expanded: body.isExpanded = try readExpanded(depth: 1)
        case nil:
            scanner.skipSpace()
            body.violations.note(
                "unknown-member",
                "the body of one section has no member \"\(Violations.shown(Array(scanner.string(name).text)))\"",
                advice: Self.sectionAdvice, at: here)
            try scanner.skipValue(depth: 1)
        }
    }

    private static let sectionAdvice =
        "name a shape to send any document\(StateError.exampleOfShape); states, edits and settings go to …/changes"
}
