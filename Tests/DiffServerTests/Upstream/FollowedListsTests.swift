import Testing

@testable import DiffUpstream

@Suite struct FollowedListsTests {
    /// How many lists of an entry are accepted until one is refused.
    private func taken(by entry: String, _ lists: inout FollowedLists<Int>, of room: Int, among entries: Int) -> Int {
        var count = 0
        while lists.hasRoom(for: entry, of: room, among: entries) {
            let number = lists.all.count
            lists.add(number, named: "\(entry):\(number)", of: entry)
            count += 1
        }
        return count
    }

    @Test func `one entry has all room`() {
        var lists = FollowedLists<Int>()
        #expect(taken(by: "a", &lists, of: 10, among: 1) == 10)
    }

    @Test func `each entry has its share however many another one asks for`() {
        var lists = FollowedLists<Int>()
        #expect(["a", "b", "c", "a"].map { taken(by: $0, &lists, of: 60, among: 3) } == [40, 10, 10, 0])
        lists.remove("a:0")
        #expect(["b", "a"].map { taken(by: $0, &lists, of: 60, among: 3) } == [1, 0])
    }

    @Test func `more entries than there is room for`() {
        var lists = FollowedLists<Int>()
        #expect(["a", "b"].map { taken(by: $0, &lists, of: 3, among: 100) } == [3, 0])
    }

    @Test func `another file shares anew`() {
        var lists = FollowedLists<Int>()
        _ = taken(by: "a", &lists, of: 8, among: 1)
        let dropped = lists.reassign { $0 < "a:4" ? "b" : $0 < "a:6" ? "c" : nil }
        #expect(dropped.sorted() == [6, 7])
        #expect(lists.all.count == 6 && lists["a:7"] == nil && lists["a:5"] == 5)
        #expect(["b", "c"].map { taken(by: $0, &lists, of: 8, among: 2) } == [2, 0])
    }
}
