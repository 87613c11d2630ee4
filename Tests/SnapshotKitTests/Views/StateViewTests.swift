import SnapshotKit
import Testing

@testable import SnapshotViews

@Suite("Views as they are written")
struct StateViewTests {
    @Test(
        "in canonical form",
        arguments: [
            (" { } ", "{}"), (#"{"where":[],"order":[]}"#, "{}"), (#"{"fields":["/content","/id"]}"#, "{}"),
            (#"{"fields":["/id","/kind","/expanded"]}"#, #"{"fields":[]}"#),
            (#"{"limit":5,"sections":["b",1,"1","a"]}"#, #"{"sections":["1","a","b"],"limit":5}"#),
            (#"{"sections":[]}"#, #"{"sections":[]}"#),
            (
                #"{"limit":1,"collapsed":{"items":[2,"1"],"sections":["b","a"]},"emptySections":false,"#
                    + #""sectionOrder":[{"at":"/id"}],"group":{"prefix":2,"at":"/content/day"}}"#,
                #"{"group":{"at":"/content/day","prefix":2},"sectionOrder":[{"at":"/id"}],"emptySections":false,"#
                    + #""collapsed":{"sections":["a","b"],"items":["1","2"]},"limit":1}"#
            ),
            (#"{"sectionOrder":[],"emptySections":true,"collapsed":{"items":[],"sections":[]}}"#, "{}"),
            (#"{"collapsed":{}}"#, "{}"),
            (
                #"{"where":[{"any":[{"fold":true,"has":"X","at":"/id"},{"any":[]}]},"#
                    + #"{"at":"/id","is":1,"fold":false}]}"#,
                #"{"where":[{"any":[{"any":[]},{"at":"/id","has":"x","fold":true}]},{"at":"/id","is":1}]}"#
            ),
            (
                #"{"order":[{"descending":false,"at":"/content/a~1b"},{"at":"/id","descending":true}]}"#,
                #"{"order":[{"at":"/content/a~1b"},{"at":"/id","descending":true}]}"#
            ),
            (
                #"{"where":[{"is": { "\u0061" : [1.0, "\u00e9"] },"at":"/content"}]}"#,
                #"{"where":[{"at":"/content","is":{"a":[1,"é"]}}]}"#
            ),
            (
                #"{"where":[{"at":"/content/n","in":[1.0,10e-1,"b","a"]},{"at":"/content/b","is":{"y":1,"x":-0.50e1}},"#
                    + #"{"at":"/content/a","has":"ÄB","fold":true},{"at":"/content/a","has":"äb","fold":true}]}"#,
                #"{"where":[{"at":"/content/a","has":"äb","fold":true},{"at":"/content/b","is":{"x":-5,"y":1}},"#
                    + #"{"at":"/content/n","in":["a","b",1]}]}"#
            ),
            (
                #"{"where":[{"at":"/content","above":1e400},{"any":[{"at":"/id","is":1},{"at":"/id","is":1.0}]}]}"#,
                #"{"where":[{"any":[{"at":"/id","is":1.0},{"at":"/id","is":1}]},{"at":"/content","above":1e400}]}"#
            ),
            (
                #"{"fields":["/content/b","/content/a","/content/b"],"sectionFields":["/content"],"#
                    + #""listFields":["/content/t"]}"#,
                #"{"fields":["/content/a","/content/b"],"listFields":["/content/t"]}"#
            ),
        ])
    func canonical(text: String, form: String) throws {
        let view = try StateView(json: text)
        #expect(String(decoding: view.json, as: UTF8.self) == form)
        #expect(try StateView(json: view.json) == view)
        #expect(view.isAll == (form == "{}"))
    }

    @Test("a token's shows contents of sections and of the list only where it says so")
    func hidden() throws {
        let view = try StateView(json: #"{"sectionFields":["/content/t"]}"#, hidesContents: true)
        #expect(String(decoding: view.json, as: UTF8.self) == #"{"sectionFields":["/content/t"],"listFields":[]}"#)
        #expect(try StateView(json: view.json) == view)
    }

    @Test(
        "what is not understood is refused with its place",
        arguments: [
            ("[]", "", "wrong-type"), ("1", "", "wrong-type"), (#"{"limits":1}"#, "/limits", "unknown-member"),
            (#"{"a/b":1}"#, "/a~1b", "unknown-member"), (#"{"sections":"a"}"#, "/sections", "wrong-type"),
            (#"{"sections":["a",true]}"#, "/sections/1", "wrong-type"),
            (#"{"sections":[1.5]}"#, "/sections/0", "wrong-type"),
            (#"{"where":{}}"#, "/where", "wrong-type"), (#"{"where":[1]}"#, "/where/0", "wrong-type"),
            (#"{"where":[{"is":1}]}"#, "/where/0/at", "wrong-type"),
            (#"{"where":[{"at":"/id"}]}"#, "/where/0", "wrong-shape"),
            (#"{"where":[{"at":"/id","is":1,"not":2}]}"#, "/where/0", "wrong-shape"),
            (#"{"where":[{"at":"/id","like":1}]}"#, "/where/0/like", "unknown-member"),
            (#"{"where":[{"at":"id","is":1}]}"#, "/where/0/at", "wrong-pointer"),
            (#"{"where":[{"at":"","is":1}]}"#, "/where/0/at", "wrong-pointer"),
            (#"{"where":[{"at":"/title","is":1}]}"#, "/where/0/at", "wrong-pointer"),
            (#"{"where":[{"at":"/id/x","is":1}]}"#, "/where/0/at", "wrong-pointer"),
            (#"{"where":[{"at":"/content/~2","is":1}]}"#, "/where/0/at", "wrong-pointer"),
            (#"{"where":[{"at":"/id","in":1}]}"#, "/where/0/in", "wrong-type"),
            (#"{"where":[{"at":"/id","below":null}]}"#, "/where/0/below", "wrong-type"),
            (#"{"where":[{"at":"/id","atLeast":[1]}]}"#, "/where/0/atLeast", "wrong-type"),
            (#"{"where":[{"at":"/id","has":1}]}"#, "/where/0/has", "wrong-type"),
            (#"{"where":[{"at":"/id","exists":1}]}"#, "/where/0/exists", "wrong-type"),
            (#"{"order":[{"at":"/id","descending":1}]}"#, "/order/0/descending", "wrong-type"),
            (#"{"order":[{}]}"#, "/order/0/at", "wrong-type"), (#"{"order":["/id"]}"#, "/order/0", "wrong-type"),
            (#"{"order":[{"at":"/id","by":1}]}"#, "/order/0/by", "unknown-member"),
            (#"{"limit":-1}"#, "/limit", "wrong-type"), (#"{"limit":1.0}"#, "/limit", "wrong-type"),
            (#"{"limit":"1"}"#, "/limit", "wrong-type"), (#"{"fields":"/id"}"#, "/fields", "wrong-type"),
            (#"{"fields":[1]}"#, "/fields/0", "wrong-type"),
            (#"{"fields":["/content","x"]}"#, "/fields/1", "wrong-pointer"),
            (#"{"sectionFields":["/kind"]}"#, "/sectionFields/0", "wrong-pointer"),
            (#"{"listFields":["/id"]}"#, "/listFields/0", "wrong-pointer"),
            (#"{"group":"/id"}"#, "/group", "wrong-type"), (#"{"group":{}}"#, "/group/at", "wrong-type"),
            (#"{"group":{"at":"/id","prefix":0}}"#, "/group/prefix", "wrong-type"),
            (#"{"group":{"at":"/id","descending":true}}"#, "/group/descending", "unknown-member"),
            (#"{"group":{"at":"/title"}}"#, "/group/at", "wrong-pointer"),
            (#"{"sectionOrder":[{"at":"/kind"}]}"#, "/sectionOrder/0/at", "wrong-pointer"),
            (#"{"sectionOrder":{"at":"/id"}}"#, "/sectionOrder", "wrong-type"),
            (#"{"emptySections":0}"#, "/emptySections", "wrong-type"),
            (#"{"collapsed":["a"]}"#, "/collapsed", "wrong-type"),
            (#"{"collapsed":{"rows":[]}}"#, "/collapsed/rows", "unknown-member"),
            (#"{"collapsed":{"items":[true]}}"#, "/collapsed/items/0", "wrong-type"),
            (#"{"where":[{"any":1}]}"#, "/where/0/any", "wrong-type"),
            (#"{"where":[{"any":[],"at":"/id"}]}"#, "/where/0/at", "unknown-member"),
            (#"{"where":[{"any":[{"at":"/id"}]}]}"#, "/where/0/any/0", "wrong-shape"),
            (#"{"where":[{"at":"/id","is":1,"fold":"yes"}]}"#, "/where/0/fold", "wrong-type"),
        ])
    func refused(text: String, pointer: String, code: String) {
        do throws(StateViewError) {
            let view = try StateView(json: text)
            Issue.record("\(text) is \(view)")
        } catch {
            guard case .invalid(let violation) = error else {
                Issue.record("\(text): \(error)")
                return
            }
            #expect(violation.pointer == pointer)
            #expect(violation.code == code)
        }
    }

    @Test("a text that is no JSON is told as such", arguments: ["", "{", #"{"limit":1,"limit":1}"#])
    func noJSON(text: String) {
        #expect(throws: StateViewError.self) { try StateView(json: text) }
        if case .json = #expect(throws: StateViewError.self, performing: { try StateView(json: text) }) {
        } else {
            Issue.record("\(text) is JSON")
        }
    }

    @Test(
        "there are limits, which can be told from all else",
        arguments: [
            ("where", #"{"at":"/id","is":1}"#, 16), ("order", #"{"at":"/id"}"#, 4), ("fields", #""/content/a""#, 64),
            ("sectionFields", #""/content/a""#, 64), ("listFields", #""/content/a""#, 64),
            ("sectionOrder", #"{"at":"/id"}"#, 4),
        ])
    func limits(name: String, element: String, limit: Int) throws {
        let text = { (count: Int) in
            #"{"\#(name)":[\#(repeatElement(element, count: count).joined(separator: ","))]}"#
        }
        _ = try StateView(json: text(limit))
        do throws(StateViewError) {
            _ = try StateView(json: text(limit + 1))
            Issue.record("\(name) has no limit")
        } catch {
            guard case .limitExceeded(_, limit, limit + 1, "/\(name)") = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(
        "what is nested counts, too",
        arguments: [
            (#"{"where":[{"any":[\#(tests(15))]}]}"#, nil),
            (#"{"where":[{"any":[\#(tests(8))]},{"any":[\#(tests(7))]}]}"#, "/where"),
            (
                #"{"where":[\#(String(repeating: #"{"any":["#, count: 17))\#(String(repeating: "]}", count: 17))]}"#,
                "/where"
            ),
            (#"{"collapsed":{"items":[\#(ids(600))],"sections":[\#(ids(400))]}}"#, nil),
            (#"{"collapsed":{"items":[\#(ids(600))],"sections":[\#(ids(401))]}}"#, "/collapsed"),
        ])
    func nestedLimits(text: String, pointer: String?) throws {
        do throws(StateViewError) {
            _ = try StateView(json: text)
            #expect(pointer == nil)
        } catch {
            guard case .limitExceeded(_, _, _, let place) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(place == pointer)
        }
    }

    private static func tests(_ count: Int) -> String {
        repeatElement(#"{"at":"/id","is":1}"#, count: count).joined(separator: ",")
    }

    private static func ids(_ count: Int) -> String { (0..<count).map { "\($0)" }.joined(separator: ",") }

    @Test("any bytes are a view or refused, and a view can be applied to any state")
    func mangled() throws {
        var (random, views, refused) = (SplitMix64(seed: 11), 0, 0)
        for seed in Effort.seeds(600) {
            var (generator, texts) = (StateGenerator(seed: seed, shape: ViewTests.outline), ViewGenerator(seed: seed))
            let state = try Snapshot(json: generator.state().json)
            var bytes = Array(texts.view().json.utf8)
            for _ in 0..<1 + random.below(3) where !bytes.isEmpty {
                let at = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[at] = Array(#"{}[],:"0-9e.\u/~a"#.utf8)[random.below(17)]
                case 1: bytes.remove(at: at)
                default: bytes.insert(bytes[random.below(bytes.count)], at: at)
                }
            }
            do throws(StateViewError) {
                let view = try StateView(json: bytes)
                views += 1
                #expect(try StateView(json: view.json) == view)
                #expect(state.applying(view).itemCount <= state.itemCount)
            } catch {
                refused += 1
            }
        }
        #expect(views > Effort.runs(10) && refused > Effort.runs(100), "\(views) views, \(refused) refused")
    }
}
