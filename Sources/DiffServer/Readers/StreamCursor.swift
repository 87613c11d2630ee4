import SnapshotKit

/// Where a reader of several sessions is: the id of an event, which a browser says again when it comes back. Opaque to
/// clients.
///
/// The request says which sessions they are, and what the reader had of each; a cursor holds what has changed of that
/// since: `3=17-9f86d081884c7d65,5=2-…`, by the sessions' places in the request. One that was made for other sessions
/// leads to a reset, as their digests are others.
enum StreamCursor {
    static func text(_ revisions: [Revision?]) -> String {
        revisions.enumerated().compactMap { place, revision in revision.map { "\(place)=\($0.text)" } }
            .joined(separator: ",")
    }

    /// What a cursor says, by place; nil if it is none for so many sessions.
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
