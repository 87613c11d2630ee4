import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A merge patch (RFC 7396) of the content of an item or a section: an edit that is written as a path and a body.
struct PatchContent<Element: LookupElement>: SessionEndpoint {
    private let call: Call
    private let changes: PostChanges

    init(_ call: Call) throws(Problem) {
        self.call = call
        changes = try PostChanges(call)
    }

    /// Arrays and objects around the patch in the body that it stands for.
    private static var depth: Int { 5 }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ChangeSession {
        let patch: JSONSlice
        do throws(JSONError) {
            let maxDepth = call.service.settings.stateLimits.maxDepth - Self.depth
            patch = try JSONSlice(document: StateDocument.withoutMark(body), maxDepth: maxDepth)
        } catch { throw Problem(StateError.json(error)) }
        var writer = JSONWriter(capacity: patch.text.count + 128)
        writer.append(#"{"edits":[{"op":"update",""#)
        writer.append(Element.list)
        writer.append(#"":[{"id":"#)
        writer.append(string: call.place[Element.name])
        writer.append(#","patch":"#)
        writer.append(patch.text)
        writer.append("}]}]}")
        return try changes.operation(writer.bytes())
    }

    func reply(_ outcome: ChangeSession.Outcome, in slot: SessionSlot?) -> Reply { changes.reply(outcome, in: slot) }

    func problem(_ failure: TransactionFailure, of call: Call) -> Problem {
        guard case .refused(.edits(let error)) = failure else { return Problem(failure, of: call.session) }
        switch error {
        // There is no element with the id, perhaps since it could be none.
        case .refused(let violations) where violations.first?.code == "unknown-id",
            .wrongShape(let violations) where violations.first?.code == "invalid-id":
            return Element.missing(call.place[Element.name], at: nil)
        default: return Problem(failure, of: call.session)
        }
    }
}
