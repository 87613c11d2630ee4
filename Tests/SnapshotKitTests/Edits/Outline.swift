@testable import SnapshotKit

extension Snapshot {
    /// The state on one line: `s=content[a:kind=content b-(c)] t-[]`; `-` is collapsed.
    var outline: String {
        columns.withView { view in
            view.sections.indices.map { section in
                let node = view.sections[section]
                var text = String(decoding: view.id(ofSection: section).text, as: UTF8.self)
                if node.flags.contains(.hasContent) {
                    text += "=" + String(decoding: view.content(ofSection: section), as: UTF8.self)
                }
                if node.flags.contains(.isCollapsed) { text += "-" }
                return text + "[" + view.outline(Int(node.firstItem)..<Int(node.endItem)) + "]"
            }.joined(separator: " ")
        }
    }
}

extension ColumnsView {
    fileprivate func outline(_ siblings: Range<Int>) -> String {
        var texts: [String] = []
        var item = siblings.lowerBound
        while item < siblings.upperBound {
            let node = nodes[item]
            var text = String(decoding: id(ofItem: item).text, as: UTF8.self)
            if node.flags.contains(.hasKind) {
                text += ":" + String(decoding: Array(kindText(ofItem: item).text), as: UTF8.self)
            }
            if node.flags.contains(.hasContent) { text += "=" + String(decoding: content(ofItem: item), as: UTF8.self) }
            if node.flags.contains(.isCollapsed) { text += "-" }
            if Int(node.end) > item + 1 { text += "(" + outline(item + 1..<Int(node.end)) + ")" }
            texts.append(text)
            item = Int(node.end)
        }
        return texts.joined(separator: " ")
    }
}

/// The effect of a batch on a state: the resulting outline, or each violation as `code pointer`.
func result(of edits: String, on state: String, limits: StateLimits = StateLimits()) throws -> String {
    let snapshot = try Snapshot(json: state)
    let outcome: String
    do throws(EditError) {
        let edited = try snapshot.applying(try batch(edits, limits), limits: limits).snapshot
        // The result must be a state like any other: reading it again gives the same.
        let again = try! Snapshot(json: edited.documentJSON(), limits: .none)
        precondition(again.outline == edited.outline && again.rowsJSON() == edited.rowsJSON())
        outcome = edited.outline
    } catch {
        outcome = error.summary
    }
    return outcome
}

/// A batch read as the server reads one.
func batch(
    _ edits: String, _ limits: StateLimits = StateLimits(), shape: StateShape? = nil,
    ofSections sections: SectionShapes = [:]
) throws(EditError) -> EditBatch {
    let members = Envelope.Members(states: [], values: ["edits"], required: ["edits"])
    let envelope = try! Envelope(json: Array("{\"edits\":\(edits)}".utf8), members: members)
    return try EditBatch(envelope.values["edits"]!, shape: shape, ofSections: sections, limits: limits)
}

extension EditError {
    var summary: String {
        switch self {
        case .json(let error): "json \(error)"
        case .wrongShape(let violations), .refused(let violations):
            violations.map { "\($0.code) \($0.pointer)" }.joined(separator: ", ")
        case .limitExceeded(let what, let limit, let actual, let pointer): "\(actual) \(what) of \(limit) \(pointer)"
        }
    }
}
