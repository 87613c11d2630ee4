import HTTPCore

/// A request that was let in: what an endpoint may look at besides the body.
struct Call: Sendable {
    let head: RequestHead
    let peer: Peer
    let place: RouteParameters
    let identity: Identity
    let parameters: Parameters
    let acceptance: Acceptance
    let service: DiffService

    /// The name of the session that the path names.
    var session: String { place["session"] }

    /// The path without its query, for problems.
    var instance: String { head.instance }

    /// The session's slot, if it is alive.
    func slot() throws(Problem) -> SessionSlot {
        guard let slot = service.table.slot(session) else { throw .noSession(session) }
        return slot
    }

    /// The slot and the session in it.
    func reading() throws(Problem) -> Reading {
        let slot = try slot()
        guard let session = slot.session else { throw .noSession(session) }
        return Reading(slot: slot, session: session, bounds: service.table.bounds.history)
    }
}

extension RequestHead {
    /// The target without its query.
    var instance: String { String(target.prefix { $0 != "?" }) }

    /// The names in all `Prefer` fields, with their values (RFC 7240).
    var preferences: [(name: String, value: String)] {
        values(of: "prefer").flatMap { $0.split(separator: ",") }.map { part in
            let pair = part.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            let value = pair.count > 1 ? pair[1].trimmed : ""
            let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            return (pair.first.map { $0.trimmed.lowercased() } ?? "", isQuoted ? String(value.dropFirst().dropLast()) : value)
        }
    }
}
