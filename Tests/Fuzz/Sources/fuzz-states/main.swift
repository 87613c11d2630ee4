// Any bytes as a state: never a trap, accepted if and only if a second reader accepts them, and the result reads again
// as the same.

import CFuzzer
import SnapshotKit

@testable import FuzzSupport

private let hash = KeyedHash(seed: 1, 2)

private func digest(_ state: Snapshot) -> UInt64 { Fingerprints(of: state, by: hash).digest(salt: "") }

private func examine(_ json: [UInt8]) {
    // A byte order mark is white space.
    let text = json.starts(with: [0xEF, 0xBB, 0xBF]) ? [0x20] + json.dropFirst(3) : json
    let tree = try? TreeParser.tree(text, maxDepth: 64)
    let isState = tree.map(StateRules.accept) ?? false
    do throws(StateError) {
        let state = try Snapshot(json: json)
        check(isState, "accepted what is no state")
        readAgain(state)
    } catch {
        check(!isState, "refused a state: \(error)")
        if case .json = error {
            check(tree == nil, "took JSON for none: \(error)")
        } else {
            check(tree != nil, "took no JSON for JSON")
        }
    }
    guess(json)
    // Any document, with pointers: only that it never traps.
    for pointer in ["", "/id", "/items", "/0/a~1b"] {
        let shape = StateShape.pointers(
            sectionsAt: JSONPointer("/sections"), itemsAt: JSONPointer(pointer), idAt: JSONPointer("/id"))
        _ = try? Snapshot(json: json, shape: shape)
        _ = try? Snapshot(json: json, shape: .pointers(itemsAt: JSONPointer(pointer), idAt: JSONPointer("")))
        for shape in shapes(at: pointer) {
            if let state = try? Snapshot(json: json, shape: shape) { readAgain(state) }
        }
    }
}

/// A guessed shape is accepted, gives what the guess says, and can be written.
private func guess(_ json: [UInt8]) {
    var document = StateDocument(json)
    for guess in (try? document.shapes()) ?? [] {
        guard let state = try? Snapshot(json: json, shape: guess.shape) else { fatalError("guessed what is refused") }
        check(state.rowCount == guess.rows && state.sectionCount == guess.sections, "guessed other rows")
        if guess.shape == .native { continue }
        var writer = JSONWriter()
        guess.shape.write(into: &writer)
        guard let value = try? JSONText(writer.bytes()).slice, (try? StateShape(value)) == guess.shape else {
            fatalError("guessed what cannot be written")
        }
    }
}

/// Shapes with all members of an element.
private func shapes(at pointer: String) -> [StateShape] {
    let rest: [(StateShape.Member, String)] = [
        (.itemsAt, pointer), (.kindAt, "/kind"), (.childrenAt, "/items"), (.expandedAt, "/expanded"),
        (.duplicates, "first"), (.missing, "empty"), (.invalid, "skip"),
    ]
    let ids: [[(StateShape.Member, String)]] = [
        [(.idAt, "/id")], [(.idAt, "/id"), (.idAt, "/kind")], [(.map, "true")],
    ]
    return ids.compactMap { try? StateShape($0 + rest) }
}

private func readAgain(_ state: Snapshot) {
    let document = state.documentJSON()
    _ = tree(document, "a document that was written")
    var limits = StateLimits()
    limits.maxDepth = 80
    guard let again = try? Snapshot(json: document, limits: limits) else {
        fatalError("wrote a document that does not read")
    }
    check(again.documentJSON() == document, "wrote another document the second time")
    check(digest(again) == digest(state), "another digest")
    check(Changeset(from: state, to: again).isEmpty, "a change between a state and itself")
    _ = tree(state.rowsJSON(), "what rows were written")
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
_ = LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    examine(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}
