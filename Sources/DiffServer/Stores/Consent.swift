import SnapshotKit

/// Somebody who has to agree to edits, after every check and before they are committed.
protocol Consent: AnyObject, Sendable {
    /// Whether they agreed. What is done then is done whoever else has written meanwhile.
    var isGiven: Bool { get }
    /// The revision that they were last asked about.
    var asked: Revision? { get }

    /// Does the next thing that it takes: after each of them the edits are checked again.
    ///
    /// - Parameters:
    ///   - revision: to which the edits can be applied.
    ///   - body: in which they stand.
    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, Problem>
}
