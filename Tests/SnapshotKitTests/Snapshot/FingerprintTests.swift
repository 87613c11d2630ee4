import Testing

@testable import SnapshotKit

@Suite("Fingerprints")
struct FingerprintTests {
    private static let hash = KeyedHash(key: Array("a key of the tests".utf8))

    private func digest(_ snapshot: Snapshot, salt: String = "feed") -> UInt64 {
        Fingerprints(of: snapshot, by: Self.hash).digest(salt: salt)
    }

    @Test(
        "what is carried over is what is computed anew",
        arguments: [(nestsOnceIn: 0, collapses: false), (2, true), (4, true), (2, false)])
    func carried(nestsOnceIn: Int, collapses: Bool) throws {
        let shape = StateGenerator.Shape(
            items: 14, sections: 4, nestsOnceIn: nestsOnceIn, collapses: collapses, changes: 6)
        for seed in Effort.seeds(12) {
            var generator = StateGenerator(seed: seed, shape: shape)
            var old = try State(generator.state())
            var known = Fingerprints(of: old.snapshot, by: Self.hash)
            for _ in 0..<4 {
                let new = try State(generator.next(after: old.model))
                let change = Changeset(from: old.snapshot, to: new.snapshot)
                known = Fingerprints(of: new.snapshot, from: known, reusing: change.shared)
                let fresh = Fingerprints(of: new.snapshot, by: Self.hash)
                #expect(known.digest(salt: "") == fresh.digest(salt: ""), "seed \(seed)")
                #expect(known.items == fresh.items && known.sections == fresh.sections)
                old = new
            }
        }
    }

    @Test("different states have different digests")
    func digestsDiffer() throws {
        var digests: [UInt64: String] = [:]
        var models = Small.states(sections: ["A", "B", "C"], items: ["a", "b", "c"])
        models += Small.states(sections: ["a"], items: ["A", "b"])
        models += try ["a", "ab", "aa"].flatMap { try Self.variants($0) }
        for model in Set(models.map(\.json)) {
            let digest = digest(try Snapshot(json: model))
            #expect(digests[digest] == nil, "\(model) and \(digests[digest] ?? "")")
            digests[digest] = model
        }
    }

    /// One item with everything that can differ in it, and another after, beside or below it.
    private static func variants(_ id: String) throws -> [Model] {
        let contents: [Tree?] = [
            nil, .null, .token("0"), .token("1"), .string("0"), .json("{}"), .json("[]"), .json("[[]]"),
        ]
        var items = contents.map { Model.Item(id: Text(id), content: $0) }
        items += ["", "k", "0"].map { Model.Item(id: Text(id), kind: Text($0)) }
        items.append(Model.Item(id: Text(id), content: .string("k")))
        items.append(Model.Item(id: Text(id), expanded: false))
        items.append(Model.Item(id: Text(id), items: [.init(id: "x")]))
        items.append(Model.Item(id: Text(id), items: [.init(id: "x", items: [.init(id: "y")])]))
        items.append(Model.Item(id: Text(id), items: [.init(id: "x"), .init(id: "y")]))
        var models = items.map { Model(sections: [.init(id: "s", items: [$0])]) }
        models += items.map { Model(sections: [.init(id: "s", items: [$0]), .init(id: "t")]) }
        models += items.map { Model(sections: [.init(id: "s"), .init(id: "t", items: [$0])]) }
        models += contents.map { Model(sections: [.init(id: "s", content: $0, items: [.init(id: Text(id))])]) }
        models.append(Model(sections: [.init(id: "s", expanded: false, items: [.init(id: Text(id))])]))
        return models
    }

    @Test("equal states have the same digest, however they are written")
    func digestsAgree() throws {
        let forms = [
            #"[{"id":"a","content":{"x":1,"y":"é"}},{"id":"1","items":["b"]}]"#,
            #"{"items":[{"content": {"y" : "\u00e9", "x":1 }, "id":"\u0061"},"#
                + #"{"expanded":true,"id":1,"items":[{"id":"b","items":[]}]}]}"#,
            #"{"sections":[{"items":[{"id":"a","content":{"\u0079":"é","x":1}},"#
                + #"{"id":"\u0031","items":["b"]}],"id":"main"}]}"#,
        ]
        let snapshots = try forms.map { try Snapshot(json: $0) }
        #expect(Set(snapshots.map { digest($0) }).count == 1)
        #expect(digest(snapshots[0], salt: "feed") != digest(snapshots[0], salt: "board"))
    }
}
