import Testing

@testable import SnapshotKit

/// Pointers, a value, and what is there: the first value at any of them, and the members that are kept.
struct FollowedPointers: Sendable, CustomTestStringConvertible {
    let pointers: [String]
    let value: String
    /// With arrays entered, and without.
    let first: (entering: String?, notEntering: String?)
    /// Nil if the value is not an object.
    let members: String?

    init(_ pointers: [String], _ value: String, first: String?, inMembers: String?? = nil, members: String?) {
        (self.pointers, self.value, self.members) = (pointers, value, members)
        self.first = (first, inMembers ?? first)
    }

    var testDescription: String { "\(pointers) in \(value)" }

    static let table: [FollowedPointers] = [
        .init([], #"{"a":1}"#, first: nil, members: "{}"),
        .init([""], #"{"a":1}"#, first: #"{"a":1}"#, members: "{}"),
        .init(["", "/a"], #"{"a":1,"b":2}"#, first: #"{"a":1,"b":2}"#, members: #"{"a":1}"#),
        .init(["/a"], #"{"b":2,"a":1}"#, first: "1", members: #"{"a":1}"#),
        .init(["/a"], #"{"\u0061" : 1 }"#, first: "1", members: #"{"\u0061":1}"#),
        .init(["/a"], #"[{"a":1}]"#, first: nil, members: nil),
        .init(["/a"], "7", first: nil, members: nil),
        .init(["/a", "/b"], #"{"b":2,"a":1,"c":3}"#, first: "2", members: #"{"b":2,"a":1}"#),
        .init(["/a", "/a/b"], #"{"a":{"b":1,"c":2}}"#, first: #"{"b":1,"c":2}"#, members: #"{"a":{"b":1,"c":2}}"#),
        .init(["/a/b"], #"{"a":{"c":2},"b":1}"#, first: nil, members: "{}"),
        .init(["/a/b", "/c"], #"{"a":{"c":[0],"b":{}},"b":1,"c":3}"#, first: "{}", members: #"{"a":{"b":{}},"c":3}"#),
        .init(["/a/b/c"], #"{"a":{"b":7}}"#, first: nil, members: "{}"),
        .init(["/a/1"], #"{"a":[5,6]}"#, first: "6", inMembers: .some(nil), members: "{}"),
        .init(["/a/1/b"], #"{"a":[{},{"b":[6]}]}"#, first: "[6]", inMembers: .some(nil), members: "{}"),
        .init(["/a/01", "/a/-", "/a/2"], #"{"a":[5,6]}"#, first: nil, members: "{}"),
        .init(["/a/1"], #"{"a":{"1":6}}"#, first: "6", members: #"{"a":{"1":6}}"#),
        .init(["/"], #"{"":1}"#, first: "1", members: #"{"":1}"#),
        .init(["/a", "/bc", "/"], #"{"ab":1,"b":2,"bc":3}"#, first: "3", members: #"{"bc":3}"#),
        .init(
            (0..<100).map { "/k\($0)" }, #"{"k":0,"k100":1,"k99":2,"x":3,"k0":4}"#, first: "2",
            members: #"{"k99":2,"k0":4}"#),
    ]
}

@Suite("Pointers that are followed together")
struct PointerSetTests {
    @Test("What is at them", arguments: FollowedPointers.table)
    func places(_ each: FollowedPointers) throws {
        let pointers = PointerSet(try each.pointers.map { try #require(JSONPointer($0)) })
        let text = try JSONText(each.value)
        text.withBytes { bytes in
            let value = { (entersArrays: Bool) -> String? in
                guard let start = pointers.value(in: bytes.baseAddress!, entersArrays: entersArrays) else { return nil }
                var cursor = JSONCursor(start)
                return String(decoding: cursor.takeValue(), as: UTF8.self)
            }
            #expect(value(true) == each.first.entering)
            #expect(value(false) == each.first.notEntering)
            var writer = JSONWriter()
            let hasMembers = writer.append(membersOf: bytes, at: pointers)
            #expect(hasMembers == (each.members != nil))
            #expect(String(decoding: writer.bytes(), as: UTF8.self) == each.members ?? "")
            // What has a place can have it, unless that is the whole.
            let inside = PointerSet(pointers.pointers.filter { $0 != .root })
            let hasPlace = inside.value(in: bytes.baseAddress!, entersArrays: true) != nil
            #expect(pointers.mayLead(into: bytes) || !hasPlace)
        }
    }

    @Test(
        "Whether a value could have one of them",
        arguments: [
            ("/a", "{}", true), ("/a", "[]", false), ("/a", "1", false), ("/0", "[]", true), ("/2", "[7]", true),
            ("/-", "[7]", false), ("/01", "[7]", false), ("/01", "{}", true), ("", "{}", false), ("/a/b", "{}", false),
            ("/a/b", #"{"b":{},"a":{}}"#, true), ("/a/b", #"{"a":[]}"#, false), ("/a/b", #"{"a":5}"#, false),
            ("/a/0/b", #"{"a":[1,{}]}"#, false), ("/a/1/b", #"{"a":[1,{}]}"#, true), ("/a/0", #"{"a":[[]]}"#, true),
            ("/a/0/0", #"{"a":[[]]}"#, true), ("/a~1b", #"{"x":1}"#, true), ("/é/b", #"{"\u00e9":{}}"#, true),
        ])
    func parents(pointer: String, value: String, isParent: Bool) throws {
        let pointers = PointerSet([try #require(JSONPointer(pointer))])
        #expect(try JSONText(value).withBytes(pointers.mayLead(into:)) == isParent)
        #expect(!PointerSet.none.mayLead(into: UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    @Test("Which of them pass a place, and which end there")
    func numbers() throws {
        let pointers = PointerSet(try ["/a/b", "/a", "/c", "/a/b"].map { try #require(JSONPointer($0)) })
        try JSONText(#"{"a":{"b":1}}"#).withBytes { bytes in
            pointers.withRoot { root in
                var cursor = JSONCursor(bytes.baseAddress!)
                #expect((root.passing, root.ending) == (0b1111, 0))
                _ = cursor.enter()
                let outer = root.below(cursor.takeName())
                #expect((outer.passing, outer.ending) == (0b1011, 0b10))
                _ = cursor.enter()
                let name = cursor.takeName()
                let inner = outer.below(name)
                #expect((inner.passing, inner.ending) == (0b1001, 0b1001))
                #expect(inner.below(name).isAside && inner.below(0).isAside && root.below(name).isAside)
            }
        }
    }

    @Test("A value at a pointer")
    func slice() throws {
        let value = try JSONText(#"{"a":[{"b":"c"}, 2]}"#).slice
        #expect(try value.value(at: #require(JSONPointer("/a/0/b")))?.string == "c")
        #expect(try value.value(at: #require(JSONPointer("/a/1")))?.integer == 2)
        #expect(try value.value(at: #require(JSONPointer("/a/2"))) == nil)
        #expect(value.value(at: .root)?.text == value.text)
    }
}
