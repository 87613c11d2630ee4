/// The name probably meant by a misspelt one.
package enum Spelling {
    /// The name that differs least from a text: by at most two letters that are missing, superfluous, wrong or swapped,
    /// and by one if the text has fewer than eight. Nil if there is none.
    package static func nearest(to text: String, among names: some Sequence<String>) -> String? {
        let most = text.utf8.count < 8 ? 1 : 2
        let near = names.map { (name: $0, distance: distance(Array(text.utf8), Array($0.utf8))) }
        return near.filter { $0.distance <= most }.min { $0.distance < $1.distance }?.name
    }

    /// The path probably meant by another one: it may differ by a slash at the end, a missing `/v1`, or two letters.
    /// Nil if there is none. O(patterns · bytes).
    package static func nearestPath(to path: String, among patterns: some Sequence<String>) -> String? {
        let segments = path.split(separator: "/", maxSplits: 8)
        let variants = [segments, ["v1"] + segments]
        var best: (path: String, distance: Int)?
        for names in patterns.map({ $0.split(separator: "/") }) where names.count <= 8 {
            for given in variants where given.count == names.count {
                let pairs = zip(names, given).map { (name: $0, given: $1, isParameter: $0.hasPrefix("{")) }
                let literals = pairs.filter { !$0.isParameter }
                // No name is that long, but the path may be.
                guard literals.allSatisfy({ $0.given.utf8.count < 32 }) else { continue }
                let distance = literals.reduce(given.count - segments.count) {
                    $0 + self.distance(Array($1.given.utf8), Array($1.name.utf8))
                }
                guard distance <= 2, distance < best?.distance ?? .max else { continue }
                best = ("/" + pairs.map { $0.isParameter ? $0.given : $0.name }.joined(separator: "/"), distance)
            }
        }
        return best?.path
    }

    /// The distance of optimal string alignment (Damerau 1964). O(letters²).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var rows = [Array(0...other.count)]
        for i in one.indices {
            var row = [i + 1]
            for j in other.indices {
                var least = min(rows[i][j] + (one[i] == other[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
