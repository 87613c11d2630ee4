import SnapshotKit

extension Spelling {
    /// Guesses the path that was meant: one that differs by a trailing slash, a missing `/v1`, or two letters. Nil if
    /// there is none. O(patterns · bytes).
    static func nearestPath(to path: String, among patterns: some Sequence<String>) -> String? {
        let segments = path.split(separator: "/", maxSplits: 8)
        let variants = [segments, ["v1"] + segments]
        var best: (path: String, distance: Int)?
        for names in patterns.map({ $0.split(separator: "/") }) where names.count <= 8 {
            for given in variants where given.count == names.count {
                let pairs = zip(names, given).map { (name: $0, given: $1, isParameter: $0.hasPrefix("{")) }
                let literals = pairs.filter { !$0.isParameter }
                // No pattern has a segment this long, but a request's path may.
                guard literals.allSatisfy({ $0.given.utf8.count < 32 }) else { continue }
                let differences = literals.reduce(given.count - segments.count) {
                    $0 + distance(Array($1.given.utf8), Array($1.name.utf8))
                }
                guard differences <= 2, differences < best?.distance ?? .max else { continue }
                best = ("/" + pairs.map { $0.isParameter ? $0.given : $0.name }.joined(separator: "/"), differences)
            }
        }
        return best?.path
    }
}
