// What may stay: the longest increasing subsequence, and among those the one with the most members whose index is the
// same in both states. Quadratic, by dynamic programming over pairs (length, same), which add up along a subsequence.

/// The best that any choice of what stays can reach.
struct Keeping: Equatable, Comparable, Sendable {
    /// Members that stay.
    var count = 0
    /// Those of them whose index is the same in both states.
    var same = 0

    static func < (one: Keeping, other: Keeping) -> Bool {
        (one.count, one.same) < (other.count, other.same)
    }

    /// The best for members given in new order.
    static func best(of members: [(old: Int, new: Int)]) -> Keeping {
        var best = Keeping()
        var endings: [Keeping] = []
        endings.reserveCapacity(members.count)
        for (index, member) in members.enumerated() {
            var ending = Keeping()
            for before in 0..<index where members[before].old < member.old && endings[before] > ending {
                ending = endings[before]
            }
            ending.count += 1
            if member.old == member.new { ending.same += 1 }
            endings.append(ending)
            best = max(best, ending)
        }
        return best
    }
}
