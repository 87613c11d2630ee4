import SnapshotKit
import Testing

@testable import SnapshotViews

@Suite("Windows as they are asked for")
struct StateWindowTests {
    private func window(_ query: String) throws(StateWindow.Failure) -> StateWindow? {
        let values = Dictionary(
            uniqueKeysWithValues: query.split(separator: "&").map { part in
                let halves = part.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
                return (halves[0], halves[1])
            })
        return try StateWindow { (parameter: StateWindow.Parameter) in values[parameter.rawValue] }
    }

    @Test("by parameters")
    func parameters() throws {
        #expect(try window("") == nil)
        #expect(try window("at=start") == StateWindow(.start, before: 0, after: 50))
        #expect(try window("at=end") == StateWindow(.end, before: 50, after: 0))
        #expect(try window("at=end&before=3&after=7") == StateWindow(.end, before: 3, after: 7))
        #expect(try window("at=12&after=1000") == StateWindow(.row(12), before: 0, after: 1_000))
        #expect(try window("at=99999999999999999999") == StateWindow(.row(.max)))
        #expect(try window("around=x&before=2") == StateWindow(.around("x"), before: 2, after: 50))
    }

    @Test(
        "what is wrong is told by its parameter",
        arguments: [
            ("before=1", "before"), ("after=1", "after"), ("at=start&around=x", "around"), ("at=", "at"),
            ("at=-1", "at"),
            ("at=+1", "at"), ("at=middle", "at"), ("at=1&before=1001", "before"), ("at=1&after=x", "after"),
            ("at=1&after=99999999999999999999", "after"),
        ])
    func refused(query: String, parameter: String) {
        do throws(StateWindow.Failure) {
            let window = try window(query)
            Issue.record("\(query) is \(window as Any)")
        } catch {
            #expect(error.parameter.rawValue == parameter)
        }
    }

    @Test("places are read as they are written, and no others")
    func positions() {
        let position = WindowPosition(above: 7, rows: 3, anchor: 9)
        #expect(position?.description == "7.3.9")
        #expect(WindowPosition("7.3.9") == position)
        #expect(WindowPosition("0.0.0") != nil)
        for text in [
            "", "7", "7.3", "7.3.9.1", "7.3.10", "7.3.6", "7.0.7", "0.2002.0", "a.3.9", "-7.3.9", "7..9", "7.3.+9",
            "99999999999999999999.1.99999999999999999999", "2147483648.1.2147483648",
        ] {
            #expect(WindowPosition(text) == nil, "\(text)")
        }
    }

    @Test("a place that a state does not have is none")
    func elsewhere() throws {
        let seen = ViewedState(.all, of: try Snapshot(json: #"["a","b"]"#))
        #expect(seen.window(at: try #require(WindowPosition("0.2.1")))?.anchor == "b")
        for text in ["0.3.0", "2.1.2", "0.0.0"] { #expect(try seen.window(at: #require(WindowPosition(text))) == nil) }
    }
}
