import SnapshotKit

/// Input made to hurt: what four times as much of it costs. Near 4 is linear, 16 would be quadratic.
func measureHostile() throws {
    var table = Table("Hostile input: what four times as much costs", "", "n", "ms at n", "ms at 4 n", "×", "asked")
    for attack in Attack.all {
        let (one, four) = (attack.make(attack.count), attack.make(attack.count * 4))
        let times = [one, four].map { inputs in
            Stopwatch(runs: 9, prepare: { inputs.map { [UInt8](copying: $0, room: 64) } }) { attack.work($0) }.median
                / 1e6
        }
        let growth = times[1] / times[0]
        table.add(
            attack.name, attack.count.grouped, times[0].short, times[1].short, growth.short,
            Table.atMost(8, growth, "four times \(attack.name)"))
    }
    table.show()
}

private struct Attack: Sendable {
    var name: String
    var count: Int
    /// One or two documents of a given size.
    var make: @Sendable (Int) -> [[UInt8]]
    var work: @Sendable ([[UInt8]]) -> UInt64 = { read($0) }

    static let all: [Attack] = [
        Attack(name: "one id, n times", count: 100_000) { list(0..<$0) { _ in #""a""# } },
        Attack(name: "n/2 ids, each twice", count: 50_000) { size in list(0..<size) { "\($0 / 2)" } },
        Attack(name: "ids of 64 KiB", count: 64) { list(0..<$0) { "\"" + letters(65_536, $0) + "\"" } },
        Attack(name: "ids of 2,048 bytes that differ at the end", count: 4_000) {
            list(0..<$0) { "\"" + letters(2_040, 0) + String(10_000_000 + $0) + "\"" }
        },
        Attack(name: "ids that meet under another key", count: 20_000) { size in list(colliding(size)) { "\"\($0)\"" }
        },
        Attack(name: "one object of n members", count: 25_000) { content(members($0) { "name-\($0)-of-this-object" }) },
        Attack(name: "names that differ in the middle", count: 25_000) {
            content(members($0) { "aaaaaaaa\(100_000 + $0)zzzzzzzz" })
        },
        Attack(name: "names written with escapes", count: 25_000) { content(members($0) { #"\u006eame\#($0)"# }) },
        Attack(name: "contents nested 60 deep", count: 2_000) {
            list(0..<$0) { #"{"id":\#($0),"content":"# + deep(60) + "}" }
        },
        Attack(name: "brackets only, refused", count: 1_000_000) { [[UInt8](repeating: UInt8(ascii: "["), count: $0)] },
        Attack(
            name: "equal objects, n members in reverse", count: 25_000, make: { reversedPair($0) },
            work: { compare($0) }),
        Attack(
            name: "one object with names of 4 KiB, reversed", count: 100, make: { longNames($0) }, work: { compare($0) }
        ),
        Attack(
            name: "outline, each row moved to another parent", count: 10_000, make: { outlines($0) },
            work: { compare($0) }),
        Attack(
            name: "every second row of a list, and the others", count: 40_000, make: { interleaved($0) },
            work: { compare($0) }),
    ]

    static func read(_ inputs: [[UInt8]]) -> UInt64 {
        var sum: UInt64 = 0
        for json in inputs {
            do {
                sum &+= UInt64(try Snapshot(json: json, limits: .none).itemCount)
            } catch {
                sum &+= UInt64("\(error)".utf8.count)
            }
        }
        return sum
    }

    /// Reads two states and writes what changed, in every dialect.
    static func compare(_ inputs: [[UInt8]]) -> UInt64 {
        guard let old = try? Snapshot(json: inputs[0], limits: .none),
            let new = try? Snapshot(json: inputs[1], limits: .none)
        else { return 0 }
        let change = Changeset(from: old, to: new)
        return Dialect.allCases.reduce(0) { $0 &+ UInt64(change.json($1).count) }
    }

    static func reversedPair(_ size: Int) -> [[UInt8]] {
        let names = (0..<size).map { #""name\#($0)":\#($0)"# }
        return [names, names.reversed()].flatMap { content("{" + $0.joined(separator: ",") + "}") }
    }

    static func longNames(_ size: Int) -> [[UInt8]] {
        let names = (0..<size).map { "\"" + letters(4_096, 0) + "\($0)\":0" }
        return [names, names.reversed()].flatMap { content("{" + $0.joined(separator: ",") + "}") }
    }

    static func outlines(_ size: Int) -> [[UInt8]] {
        let group = 100
        let trees = [0, 1].map { shift in
            (0..<size / group).map { parent in
                let children = (0..<group).map { "\"c\((parent * group + $0 + shift * group * 3) % size)\"" }
                return #"{"id":"p\#(parent)","items":[\#(children.joined(separator: ","))]}"#
            }
        }
        return trees.map { Array("[\($0.joined(separator: ","))]".utf8) }
    }

    static func interleaved(_ size: Int) -> [[UInt8]] {
        list(stride(from: 0, to: size, by: 2)) { "\($0)" } + list(stride(from: 1, to: size, by: 2)) { "\($0)" }
    }

    private static func list(_ rows: some Sequence<Int>, _ row: (Int) -> String) -> [[UInt8]] {
        [Array("[\(rows.map(row).joined(separator: ","))]".utf8)]
    }

    private static func content(_ json: String) -> [[UInt8]] { [Array(#"[{"id":1,"content":\#(json)}]"#.utf8)] }

    private static func members(_ count: Int, _ name: (Int) -> String) -> String {
        "{" + (0..<count).map { "\"\(name($0))\":0" }.joined(separator: ",") + "}"
    }

    private static func letters(_ count: Int, _ salt: Int) -> String {
        String(repeating: String(UnicodeScalar(UInt8(97 + salt % 26))), count: count)
    }

    private static func deep(_ levels: Int) -> String {
        String(repeating: #"{"a":["#, count: levels / 2) + "1" + String(repeating: "]}", count: levels / 2)
    }

    /// Numbers whose text has the same low bits of its hash under a key that an attacker might guess.
    private static func colliding(_ count: Int) -> [Int] {
        let guess = KeyedHash(seed: 0, 0)
        var found: [Int] = []
        var number = 0
        while found.count < count {
            let text = Array(String(number).utf8)
            if text.withUnsafeBytes({ guess.digest(of: $0) }) >> 32 & 0xFF == 0 { found.append(number) }
            number += 1
        }
        return found
    }
}
