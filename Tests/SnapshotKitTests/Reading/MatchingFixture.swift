import Testing

/// States of a list without ids, with the name that a person would give to each row.
struct MatchingFixture: Sendable, CustomTestStringConvertible {
    var name: String
    var states: [[(person: String, json: String)]]
    /// The most rows of a state that may get another id than a person would give them.
    var mostWrong = 0
    /// Places that the session ignores.
    var ignored: [String] = []

    var testDescription: String { name }

    func json(_ step: Int) -> String { "[\(states[step].map(\.json).joined(separator: ","))]" }

    static let all = [
        weather(texts: false, mostWrong: 0), weather(texts: true, mostWrong: 6),
        weather(texts: true, mostWrong: 0, ignored: ["/sky"]), departures, logTail(kinds: 20, mostWrong: 0),
        logTail(kinds: 3, mostWrong: 98), leaderboard, table, tableOfArrays, scalars,
    ]

    /// 40 cities, of which one goes and one comes each time, and whose measures all change. With a text among these,
    /// which belongs into `ignore`, the place has to tell; around a city that goes it cannot.
    static func weather(texts: Bool, mostWrong: Int, ignored: [String] = []) -> MatchingFixture {
        var random = SplitMix64(seed: 5)
        let states = (0..<5).map { step in
            (step..<step + 40).map { city in
                let sky = texts ? #","sky":"\#(["rain", "sun", "fog"][random.below(3)])""# : ""
                return (
                    "city \(city)",
                    #"{"city":"City \#(city)","temp":\#(random.below(300)),"wind":\#(random.below(90))\#(sky),"#
                        + #""country":\#(city % 7)}"#
                )
            }
        }
        return MatchingFixture(
            name: texts ? "weather with a text" : "weather", states: states, mostWrong: mostWrong, ignored: ignored)
    }

    /// Departures of a stop: lines repeat, minutes run down, the first leave, others come.
    static let departures = MatchingFixture(
        name: "departures",
        states: (0..<6).map { step in
            (step * 2..<step * 2 + 12).map { bus in
                (
                    "bus \(bus)",
                    #"{"line":"\#(["7", "12", "N4"][bus % 3])","to":"\#(["Harbour", "Hill"][bus % 2])","#
                        + #""time":"\#(10 + bus / 6):\#(10 + bus * 3 % 50)","in":\#((bus - step * 2) * 3)}"#
                )
            }
        })

    /// The last 100 lines of a log, of which 20 go and 20 come.
    static func logTail(kinds: Int, mostWrong: Int) -> MatchingFixture {
        var random = SplitMix64(seed: 8)
        let lines = (0..<200).map { line in
            kinds > 3 && line % 3 == 0 ? "\"GET /item/\(line)\"" : "\"line \(random.below(kinds))\""
        }
        return MatchingFixture(
            name: "log of \(kinds) kinds of lines",
            states: (0..<5).map { step in (step * 20..<step * 20 + 100).map { ("line \($0)", lines[$0]) } },
            mostWrong: mostWrong)
    }

    /// 50 players by name; scores, ranks and the order change.
    static let leaderboard: MatchingFixture = {
        var random = SplitMix64(seed: 13)
        var scores = (0..<50).map { (player: $0, score: 1000 - $0) }
        return MatchingFixture(
            name: "leaderboard",
            states: (0..<5).map { _ in
                for index in scores.indices { scores[index].score += random.below(40) }
                scores.sort { $0.score > $1.score }
                return scores.enumerated().map { rank, each in
                    (
                        "player \(each.player)",
                        #"{"rank":\#(rank + 1),"name":"Player \#(each.player)","score":\#(each.score)}"#
                    )
                }
            })
    }()

    /// Rows of a CSV file, in which two cells change each time.
    private static func cells(_ write: ([Int]) -> String) -> [[(person: String, json: String)]] {
        var random = SplitMix64(seed: 21)
        var rows = (0..<30).map { row in [row % 5, row * 7 % 11, row % 3] }
        return (0..<5).map { step in
            if step > 0 { for _ in 0..<2 { rows[random.below(30)][random.below(3)] += 100 } }
            return rows.enumerated().map { ("row \($0)", write($1)) }
        }
    }

    static let table = MatchingFixture(
        name: "CSV rows as objects", states: cells { #"{"a":"\#($0[0])","b":"\#($0[1])","c":"\#($0[2])"}"# })
    static let tableOfArrays = MatchingFixture(
        name: "CSV rows as arrays", states: cells { #"["\#($0[0])","\#($0[1])",\#($0[2])]"# })

    /// 40 scalars of four values: one goes, one comes.
    static let scalars: MatchingFixture = {
        var random = SplitMix64(seed: 34)
        var (values, next) = ((0..<40).map { (number: $0, value: random.below(4)) }, 40)
        return MatchingFixture(
            name: "scalars",
            states: (0..<5).map { step in
                if step > 0 {
                    values.remove(at: random.below(values.count))
                    values.insert((next, random.below(4)), at: random.below(values.count + 1))
                    next += 1
                }
                return values.map { ("value \($0.number)", "\($0.value)") }
            }, mostWrong: 40)
    }()
}
