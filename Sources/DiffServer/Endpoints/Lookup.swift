// What leads from ids to places and back: in the head, or in a remembered revision, of which no contents are told.

import HTTPCore
import SnapshotKit

/// The state that a look-up asks.
struct LookupSubject {
    let revision: Revision
    /// Whether kinds and contents are told: only of the head, and only where no revision was named, so that an answer
    /// about a revision does not depend on whether it is the head still.
    let showsContent: Bool
    let state: Snapshot

    /// - Parameters:
    ///   - revision: the one that `?revision=` names; nil for the head.
    ///   - sight: what of the session is told.
    ///   - isAskedOften: so that a table of ids pays, which it does from a handful of questions on.
    init(_ view: SessionView, at revision: Revision?, _ sight: Sight, isAskedOften: Bool) throws(Problem) {
        let head = view.session.head
        showsContent = revision == nil
        let caches = view.table.answers
        guard let revision else {
            self.revision = view.name(of: ReaderBase(revision: head.revision), sight)
            state = sight.showsAll ? head.snapshot : view.seen(through: sight.views).head.shown(keptIn: caches)
            return
        }
        self.revision = revision
        let found: Snapshot? =
            switch view.resumePoint(revision, sight) {
            case .none: nil
            case _ where !sight.showsAll:
                view.seen(at: revision, sight)?.shown(keptIn: caches)
            case .head: head.snapshot
            case .past(let place, _): view.session.state(at: place, isIndexed: isAskedOften)?.snapshot
            }
        guard let found else { throw Problem(.revisionGone, "the revision \(revision.text) is no longer kept") }
        state = found
    }
}

/// What look-ups find.
protocol LookupElement {
    /// The name of an id in a path.
    static var name: String { get }
    /// The member of an answer that lists what was found.
    static var list: StaticString { get }

    static func element(_ id: String, of subject: LookupSubject) -> Self?
    static func missing(_ id: String, at revision: Revision) -> Problem

    /// The element at a place as a query names it, and that place as an answer does, in JSON.
    static func element(at place: String, of subject: LookupSubject) throws(Problem) -> (Self?, place: String)

    func writeLookup(into writer: inout JSONWriter, showsContent: Bool)
}

/// One element, by the id that the path ends with.
struct GetElement<Element: LookupElement>: ReadingEndpoint {
    let call: Call
    private let revision: Revision?
    private let sight: Sight

    init(_ call: Call) throws(Problem) {
        self.call = call
        revision = try call.parameters.revision()
        sight = try Sight(viewOf: call)
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let subject = try LookupSubject(view, at: revision, sight, isAskedOften: false)
        let id = call.place[Element.name]
        guard let element = Element.element(id, of: subject) else {
            throw Element.missing(id, at: subject.revision)
        }
        return subject.reply {
            $0.writer.append(byte: UInt8(ascii: ","))
            element.writeLookup(into: &$0.writer, showsContent: subject.showsContent)
        }
    }
}

/// Elements by their ids and at their places, in the query's order.
struct GetElements<Element: LookupElement>: ReadingEndpoint {
    let call: Call
    private let revision: Revision?
    private let sight: Sight
    private let questions: [QueryItem]

    init(_ call: Call) throws(Problem) {
        self.call = call
        revision = try call.parameters.revision()
        sight = try Sight(viewOf: call)
        questions = call.parameters.all(["at", "id"])
        guard !questions.isEmpty else { throw .malformed("use at or id, or both; each may be repeated") }
    }

    /// `{"revision","items":[…],"missing":[…]}`.
    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let isAskedOften = questions.count { $0.name == "id" } > 4
        let subject = try LookupSubject(view, at: revision, sight, isAskedOften: isAskedOften)
        var found = JSONWriter()
        var missing = JSONWriter()
        for question in questions {
            let isPlace = question.name == "at"
            let (element, place) =
                isPlace
                ? try Element.element(at: question.value, of: subject)
                : (Element.element(question.value, of: subject), "")
            if let element {
                found.append(found.count == 0 ? "[{" : ",{")
                element.writeLookup(into: &found, showsContent: subject.showsContent)
                found.append(byte: UInt8(ascii: "}"))
            } else {
                missing.append(missing.count == 0 ? "[{" : ",{")
                missing.append(isPlace ? "\"at\":" : "\"id\":")
                if isPlace { missing.append(verbatim: place) } else { missing.append(string: question.value) }
                missing.append(byte: UInt8(ascii: "}"))
            }
        }
        found.append(found.count == 0 ? "[]" : "]")
        missing.append(missing.count == 0 ? "[]" : "]")
        return subject.reply {
            $0.json(Element.list, found.bytes())
            $0.json("missing", missing.bytes())
        }
    }
}

extension LookupSubject {
    /// `{"revision":…,` and what `members` writes.
    fileprivate func reply(_ members: (inout JSONObject) -> Void) -> Reply {
        var object = JSONObject()
        object.text("revision", revision.text)
        members(&object)
        return .now(Response(json: object.bytes()))
    }
}

extension Parameters {
    /// The revision that is asked for; nil for the head.
    fileprivate func revision() throws(Problem) -> Revision? {
        guard let text = self["revision"] else { return nil }
        guard let revision = Revision(text) else { throw Problem(.malformedRevision, "\"\(text)\" is not a revision") }
        return revision
    }
}
