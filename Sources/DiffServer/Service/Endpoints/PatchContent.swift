import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A merge patch (RFC 7396) of an item's or a section's content: shorthand for an edit.
struct PatchContent<Element: LookupElement>: SessionEndpoint {
    let call: Call
    private let changes: PostChanges

    init(_ call: Call) throws(Problem) {
        self.call = call
        changes = try PostChanges(call)
    }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ChangeSession {
        let patch: JSONSlice
        do throws(JSONError) {
            // It is nested in the body of the edit that it stands for.
            let maxDepth = call.service.settings.stateLimits.maxDepth - 5
            patch = try JSONSlice(document: StateDocument.withoutMark(body), maxDepth: maxDepth)
        } catch { throw Problem(StateError.json(error)) }
        var writer = JSONWriter(capacity: patch.text.count + 128)
        writer.append(#"{"edits":[{"op":"update",""#)
        writer.append(Element.list)
        writer.append(#"":[{"id":"#)
        writer.append(string: Self.id(call.captures[Element.name]))
        writer.append(#","patch":"#)
        writer.append(patch.text)
        writer.append("}]}]}")
        return try changes.operation(writer.bytes())
    }

    /// The id from the path. A text that cannot be an id becomes one that no element has, since that error comes after
    /// all other checks.
    private static func id(_ text: String) -> String {
        Array(text.utf8).withUnsafeBytes { bytes in
            if bytes.canBeID { return text }
            let hash = bytes.baseAddress.map { KeyedHash.process.hash($0, bytes.count) } ?? 0
            return "no element \(Hex.encode(withUnsafeBytes(of: hash) { Array($0) }))"
        }
    }

    func reply(_ outcome: ChangeSession.Outcome, in slot: SessionSlot?) -> Reply { changes.reply(outcome, in: slot) }

    func problem(_ failure: TransactionFailure) -> Problem {
        guard case .refused(.edits(.refused(let violations))) = failure else {
            return Problem(failure, of: call.session)
        }
        if violations.first?.code == "unknown-id" { return Element.missing(call.captures[Element.name], at: nil) }
        // Pointers are relative to the body, which is the patch.
        let prefix = "/edits/0/\(Element.list)/0/patch"
        let relative = violations.map { violation in
            let pointer = violation.pointer.replacing(prefix, with: "", maxReplacements: 1)
            return Violation(pointer: pointer, code: violation.code, detail: violation.detail)
        }
        return Problem(EditError.refused(relative))
    }
}
