// A state and a batch of edits: never a trap; refused, the state is unchanged; accepted, the result is a state that
// reads again.

import CFuzzer
import SnapshotKit

@testable import FuzzSupport

private let hash = KeyedHash(seed: 1, 2)

private func digest(_ state: Snapshot) -> UInt64 { Fingerprints(of: state, by: hash).digest(salt: "") }

/// A state and edits separated by a byte that no JSON holds, or both made of the bytes.
private func parts(_ bytes: [UInt8]) -> (Snapshot, [UInt8])? {
    if let border = bytes.firstIndex(of: 0xFF) {
        guard let state = try? Snapshot(json: Array(bytes[..<border])) else { return nil }
        return (state, Array(bytes[(border + 1)...]))
    }
    var maker = StateMaker(bytes)
    guard let state = try? Snapshot(json: maker.state()) else { fatalError("a state that was made does not read") }
    var edits: [String] = []
    while !maker.choices.isEmpty { edits.append(EditMaker.edit(&maker.choices)) }
    return (state, Array("[\(edits.joined(separator: ","))]".utf8))
}

private func examine(_ bytes: [UInt8]) {
    guard let (state, json) = parts(bytes) else { return }
    let before = (state.documentJSON(), digest(state))
    do {
        let batch = try EditBatch(json: json)
        check((try? TreeParser.tree(json, maxDepth: 64)) != nil, "took edits that are no JSON")
        let (edited, marks, shared) = try state.applying(batch)
        examine(edited, after: state, marks, shared)
    } catch {
        check(!"\(error)".isEmpty, "an error without a word")
    }
    check(before == (state.documentJSON(), digest(state)), "a state that is a value has changed")
}

private func examine(_ edited: Snapshot, after state: Snapshot, _ marks: Marks, _ shared: SharedRuns?) {
    let document = edited.documentJSON()
    _ = tree(document, "the result's document")
    var limits = StateLimits()
    limits.maxDepth = 80
    guard let again = try? Snapshot(json: document, limits: limits) else {
        fatalError("the result does not read again")
    }
    check(digest(again) == digest(edited), "the result reads as another")
    let change = Changeset(from: state, to: edited, marks: marks, shared: shared)
    check(
        change.json(.indexed) == Changeset(from: state, to: edited, marks: marks).json(.indexed),
        "changes differ when some are known")
    let known = Fingerprints(of: state, by: hash)
    check(
        Fingerprints(of: edited, from: known, reusing: change.shared).digest(salt: "") == digest(edited),
        "fingerprints differ when some are known")
    check(
        edited.applying([SnapshotDelta(backOver: change)])?.snapshot.documentJSON() == state.documentJSON(),
        "the way back misses the state")
    if let on = SnapshotDelta(over: change) {
        check(
            state.applying([on])?.snapshot.documentJSON() == edited.documentJSON(), "the way on misses the state")
    }
    for dialect in Dialect.allCases { _ = tree(change.json(dialect), "\(dialect)") }
    do {
        let changes = tree(Changeset(from: state, to: edited).json(.indexed), "indexed")
        let applied = try IndexedApplier.apply(changes, to: readRows(state.rowsJSON()))
        check(try applied.rows == readRows(edited.rowsJSON()), "indexed misses the target")
    } catch { fatalError("indexed: \(error)") }
}

/// Edits that fit more often than not.
private enum EditMaker {
    static func edit(_ choices: inout Choices) -> String {
        let operations = ["insert", "delete", "move", "update", "reload", "reconfigure", "expand", "collapse", "clear"]
        let operation = operations[choices.next(operations.count)]
        let isSection = choices.once(in: 4)
        let ids = (0..<1 + choices.next(3)).map { _ in StateMaker.name(choices.next(isSection ? 10 : 70)) }
        var text = #"{"op":"\#(operation)","\#(isSection || operation == "clear" ? "sections" : "items")":["#
        switch operation {
        case "insert":
            text += ids.map { #"{"id":\#($0)\#(isSection ? #","items":[]"# : "")}"# }.joined(separator: ",")
        case "update":
            text += ids.map { #"{"id":\#($0),\#(content(&choices))}"# }.joined(separator: ",")
        default: text += ids.joined(separator: ",")
        }
        text += "]"
        if operation == "insert" || operation == "move" { text += place(&choices, isSection) }
        return text + "}"
    }

    /// A content, or intents that mostly fit existing ones.
    private static func content(_ choices: inout Choices) -> String {
        let amount = ["1", "-0.5", "25e-2", "1e17", "999999999999999999", "0.000000000000000001"][choices.next(6)]
        let path = ["", "/a", "/a/b", "/l/0", "/l/1/a", "/~1~0/\\u0061", "/a/a/a"][choices.next(7)]
        let value = ["null", "1.50", "{}", #"{"a":null}"#, #"[1,{"a":2}]"#, #"{"b":{"c":0.1}}"#, #""x""#][
            choices.next(7)]
        switch choices.next(5) {
        case 0: return #""content":\#(choices.next(9))"#
        case 1: return #""content":{"a":\#(value), "l": [\#(amount),\#(value)]}"#
        case 2: return #""patch":{"\#(choices.once(in: 2) ? "a" : "l")":\#(value)}"#
        case 3: return #""add":{"\#(path)":\#(amount)}"#
        default: return #""add":{"/a":1,"/l/0":\#(amount)},"patch":\#(value)"#
        }
    }

    private static func place(_ choices: inout Choices, _ isSection: Bool) -> String {
        let anchor = StateMaker.name(choices.next(isSection ? 10 : 70))
        switch choices.next(10) {
        case 6: return #","before":null"#
        case 7: return #","after":null"#
        case 8: return #","before":[\#(StateMaker.name(choices.next(70))),\#(anchor)]"#
        case 9: return #","after":[\#(anchor),null]"#
        case 0: return #","before":\#(anchor)"#
        case 1: return #","after":\#(anchor)"#
        case 2: return #","into":{"item":\#(anchor)}"#
        case 3: return #","into":{"section":\#(StateMaker.name(choices.next(8)))},"at":"start""#
        case 4: return #","into":\#(anchor)"#
        case 5: return #","at":"start""#
        default: return ""
        }
    }
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
_ = LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    examine(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}
