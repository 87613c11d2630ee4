import DiffSessions
import SnapshotKit

/// What a reader of several sessions has, as the id of an event, which browsers send back when they reconnect. Opaque
/// to clients.
///
/// The request names the sessions and what the reader had of each. A cursor has what is newer, by the sessions' places
/// in the request: `3=17-9f86d081884c7d65,5=2-…`. With other sessions it leads to resets, since their digests differ.
enum StreamCursor {
    static func text(_ revisions: [Revision?]) -> String {
        revisions.enumerated().compactMap { place, revision in revision.map { "\(place)=\($0.text)" } }
            .joined(separator: ",")
    }

    /// A cursor's revisions by place; nil if it is malformed or has other places.
    static func revisions(_ text: String, count: Int) -> [Int: Revision]? {
        var revisions: [Int: Revision] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, let place = pair[0].wholeNumber, place < count,
                let revision = Revision(String(pair[1])), revisions.updateValue(revision, forKey: place) == nil
            else { return nil }
        }
        return revisions
    }
}
