// What leads from ids to places and back: in the head, or in a remembered revision, of which no contents are kept.

import HTTPCore
import SnapshotKit

/// The state that a look-up asks.
struct LookupSubject {
    private enum State {
        case head(Snapshot)
        case past(Skeleton)
    }

    let revision: Revision
    /// Whether kinds and contents are told: only of the head, and only where no revision was named, so that an answer
    /// about a revision does not depend on whether it is the head still.
    let showsContent: Bool
    private let state: State

    /// Answers from the head, or from what `?revision=` names.
    static func ask(_ call: Call, _ answer: @escaping @Sendable (LookupSubject) throws(Problem) -> Reply)
        throws(Problem) -> Reply
    {
        var revision: Revision?
        if let text = call.parameters["revision"] {
            revision = Revision(text)
            if revision == nil { throw Problem(.malformedRevision, "\"\(text)\" is no revision") }
        }
        return try call.reading(from: revision.map(Since.revision) ?? .absent) { [revision] (reading) throws(Problem) in
            try answer(LookupSubject(call, reading, revision))
        }
    }

    private init(_ call: Call, _ reading: Reading, _ revision: Revision?) throws(Problem) {
        let head = reading.session.head
        showsContent = revision == nil
        guard let revision else {
            (self.revision, state) = (head.revision, .head(head.snapshot))
            return
        }
        self.revision = revision
        switch reading.base(revision) {
        case .head: state = .head(head.snapshot)
        case .past(let skeleton, _):
            // A table of ids pays from a handful of questions on.
            state = .past(call.parameters.all(["id"]).count > 4 ? skeleton.indexed() : skeleton)
        case .stored, .none: throw Problem(.revisionGone, "the revision \(revision.text) is no longer kept")
        }
    }

    func item(_ id: String) -> StateItem? {
        switch state {
        case .head(let snapshot): snapshot.item(withID: id)
        case .past(let skeleton): skeleton.item(withID: id)
        }
    }

    func item(at path: RowPath) -> StateItem? {
        switch state {
        case .head(let snapshot): snapshot.item(at: path)
        case .past(let skeleton): skeleton.item(at: path)
        }
    }

    func section(_ id: String) -> StateSection? {
        switch state {
        case .head(let snapshot): snapshot.section(withID: id)
        case .past(let skeleton): skeleton.section(withID: id)
        }
    }

    var sections: StateSections {
        switch state {
        case .head(let snapshot): snapshot.sections
        case .past(let skeleton): skeleton.sections
        }
    }
}

/// Answers of look-ups.
enum Lookup {
    static func response(_ writer: consuming JSONWriter) -> Reply {
        .now(
            Response(
                status: 200, fields: [Field("Content-Type", "application/json"), Field("Cache-Control", "no-store")],
                body: .bytes(writer.bytes()), isCompressible: true))
    }

    /// `{"revision":…,` and what `members` writes.
    static func one(_ subject: LookupSubject, _ members: (inout JSONWriter) -> Void) -> Reply {
        var writer = JSONWriter()
        writer.append("{\"revision\":")
        writer.append(string: subject.revision.text)
        writer.append(byte: UInt8(ascii: ","))
        members(&writer)
        writer.append(byte: UInt8(ascii: "}"))
        return response(writer)
    }

    /// What was asked for in one place of a query, and what stands there.
    struct Finding {
        /// Writes the members of what was found; nil if nothing was.
        var found: ((inout JSONWriter) -> Void)?
        /// Writes the question, for what is missing.
        var question: (inout JSONWriter) -> Void
    }

    /// `{"revision","items":[…],"missing":[…]}` in the query's order.
    static func many(
        _ call: Call, _ name: StaticString,
        find: @escaping @Sendable (LookupSubject, QueryItem) throws(Problem) -> Finding
    ) throws(Problem) -> Reply {
        let questions = call.parameters.all(["at", "id"])
        guard !questions.isEmpty else { throw .malformed("ask by at or id, or both, each as often as needed") }
        return try LookupSubject.ask(call) { (subject) throws(Problem) in
            try answer(subject, questions, name, find: find)
        }
    }

    private static func answer(
        _ subject: LookupSubject, _ questions: [QueryItem], _ name: StaticString,
        find: (LookupSubject, QueryItem) throws(Problem) -> Finding
    ) throws(Problem) -> Reply {
        var found = JSONWriter()
        var missing = JSONWriter()
        for question in questions {
            let finding = try find(subject, question)
            if let write = finding.found {
                found.append(found.count == 0 ? "{" : ",{")
                write(&found)
                found.append(byte: UInt8(ascii: "}"))
            } else {
                missing.append(missing.count == 0 ? "{" : ",{")
                finding.question(&missing)
                missing.append(byte: UInt8(ascii: "}"))
            }
        }
        return one(subject) { writer in
            writer.append(byte: UInt8(ascii: "\""))
            writer.append(name)
            writer.append("\":[")
            writer.append(found.bytes())
            writer.append("],\"missing\":[")
            writer.append(missing.bytes())
            writer.append(byte: UInt8(ascii: "]"))
        }
    }
}
