import DiffStores
import HTTPCore
import SnapshotKit

/// The sessions that are used most at this node.
enum GetHot {
    private static let limit = 20

    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let measure: HotSessions.Measure = try call.parameters.choice("by") ?? .writes
        try call.checkAcceptance()
        guard measure == .readers else {
            let hot = call.service.metrics.hot
            return .now(response(measure, seconds: hot.seconds(), hot.top(limit, by: measure)))
        }
        let table = call.service.table
        return .later { pending in
            call.service.workers.run(.rows(table.size.sessions)) {
                let entries = table.mostRead(limit).map { HotSessions.Entry(session: $0.name, count: $0.readers) }
                call.answer(pending) { () throws(Problem) in .now(response(measure, seconds: 0, entries)) }
            }
        }
    }

    private static func response(
        _ measure: HotSessions.Measure, seconds: Int, _ entries: [HotSessions.Entry]
    ) -> Response {
        var object = JSONObject()
        object.text("by", measure.rawValue)
        object.number("seconds", seconds)
        object.list("sessions", entries) { list, entry in
            list.object {
                $0.text("session", entry.session)
                $0.number("count", entry.count)
                $0.number("error", entry.error)
            }
        }
        return Response(json: object.body())
    }
}
