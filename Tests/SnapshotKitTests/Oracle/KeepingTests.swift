import Testing

@Suite("The oracle itself")
struct KeepingTests {
    @Test("agrees with all subsequences of all lists of up to six")
    func agreesWithBruteForce() {
        for count in 0...6 {
            for order in permutations(count) {
                let members = order.enumerated().map { (old: $0.element, new: $0.offset) }
                #expect(Keeping.best(of: members) == bruteForce(members), "\(order)")
            }
        }
    }

    private func bruteForce(_ members: [(old: Int, new: Int)]) -> Keeping {
        var best = Keeping()
        for choice in 0..<1 << members.count {
            let chosen = members.indices.filter { choice >> $0 & 1 == 1 }.map { members[$0] }
            guard zip(chosen, chosen.dropFirst()).allSatisfy({ $0.old < $1.old }) else { continue }
            best = max(best, Keeping(count: chosen.count, same: chosen.count { $0.old == $0.new }))
        }
        return best
    }

    private func permutations(_ count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return permutations(count - 1).flatMap { shorter in
            (0...shorter.count).map { Array(shorter[..<$0]) + [count - 1] + Array(shorter[$0...]) }
        }
    }
}
