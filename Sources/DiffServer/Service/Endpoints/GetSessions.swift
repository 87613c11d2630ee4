import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The list of sessions by name, in pages.
enum GetSessions {
    private static let standardLimit = 100
    private static let limits = 1...1000

    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let limit = try call.parameters.count("limit") ?? standardLimit
        guard limits.contains(limit) else {
            throw .malformed("limit must be from \(limits.lowerBound) to \(limits.upperBound), not \(limit)")
        }
        let (asked, after) = (try start("prefix", call), try start("after", call))
        try call.checkAcceptance()
        let own = call.identity.prefix
        guard asked.hasPrefix(own) || own.hasPrefix(asked) else {
            return .now(response(call, SessionPage(entries: [], next: nil)))
        }
        let range = SessionRange(prefix: asked.hasPrefix(own) ? asked : own, after: after, limit: limit)
        return .later { pending in
            call.service.workers.run {
                call.service.store.list(range).whenDone { result in
                    call.answer(pending) { () throws(Problem) in .now(response(call, try call.get(result))) }
                }
            }
        }
    }

    /// A parameter that names may start with; empty if it is not given.
    private static func start(_ parameter: String, _ call: Call) throws(Problem) -> String {
        guard let text = call.parameters[parameter], !text.isEmpty else { return "" }
        guard SessionName.isStart(text) else { throw .malformed("no session's name can start with this \(parameter)") }
        return text
    }

    private static func response(_ call: Call, _ page: SessionPage) -> Response {
        var object = JSONObject()
        object.list("sessions", page.entries) { list, entry in
            list.object {
                $0.text("session", entry.name)
                $0.text("revision", entry.revision)
                $0.number("rows", entry.rows)
                $0.number("bytes", entry.bytes)
                $0.text("expiresAt", entry.expires.text)
                // Of this node.
                $0.number("readers", call.service.table.anySlot(entry.name)?.readerCount ?? 0)
            }
        }
        object.text("next", page.next)
        return Response(json: object.bytes())
    }
}
