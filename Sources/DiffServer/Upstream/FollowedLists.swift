/// Lists that are followed, with room for each entry of the file.
///
/// Half of the room is shared equally among the entries, and the other half is whoever's comes first: however many
/// lists of one pattern are asked for, there is room for some of each other, and a file of one entry has it all.
struct FollowedLists<List> {
    private var lists: [String: (list: List, entry: String)] = [:]
    /// By entry.
    private var counts: [String: Int] = [:]

    subscript(name: String) -> List? { lists[name]?.list }

    /// Names and lists.
    var all: [(name: String, list: List)] { lists.map { ($0.key, $0.value.list) } }

    /// Whether another list of an entry may be followed. O(entries).
    ///
    /// - Parameters:
    ///   - room: how many lists may be followed in all.
    ///   - entries: how many entries the file has.
    func hasRoom(for entry: String, of room: Int, among entries: Int) -> Bool {
        guard lists.count < room else { return false }
        let share = room / (2 * max(1, entries))
        if counts[entry, default: 0] < share { return true }
        let beyond = counts.values.reduce(0) { $0 + max(0, $1 - share) }
        return beyond < room - entries * share
    }

    /// Follows a list that is not followed yet.
    mutating func add(_ list: List, named name: String, of entry: String) {
        lists[name] = (list, entry)
        counts[entry, default: 0] += 1
    }

    mutating func remove(_ name: String) {
        guard let entry = lists.removeValue(forKey: name)?.entry, let count = counts[entry] else { return }
        counts[entry] = count > 1 ? count - 1 : nil
    }

    /// Follows the lists by the entries of another file, without those that it has none for.
    mutating func reassign(to entry: (String) -> String?) {
        let before = exchange(&lists, with: [:])
        counts = [:]
        for (name, each) in before { if let entry = entry(name) { add(each.list, named: name, of: entry) } }
    }
}
