/// The name probably meant by a misspelt one.
package enum Spelling {
    /// The name that differs least from a text: by at most two letters that are missing, superfluous, wrong or swapped,
    /// and by one if the text has fewer than eight. Nil if there is none.
    package static func nearest(to text: String, among names: some Sequence<String>) -> String? {
        // No name is that long, but the text may be.
        guard text.utf8.count < 64 else { return nil }
        let most = text.utf8.count < 8 ? 1 : 2
        let near = names.map { (name: $0, distance: distance(Array(text.utf8), Array($0.utf8))) }
        return near.filter { $0.distance <= most }.min { $0.distance < $1.distance }?.name
    }

    /// The distance of optimal string alignment (Damerau 1964). O(letters²).
    package static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
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
