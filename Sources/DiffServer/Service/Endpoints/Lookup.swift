// Looks up index paths by id, and ids by index path: in the head, or in a remembered revision, without its contents.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The state to look elements up in.
struct LookupSubject {
    let revision: Revision
    /// Whether the answer has contents: only if no revision was named. An answer about a named revision must not depend
    /// on whether it is still the head.
    let showsContent: Bool
    let state: Snapshot

    /// - Parameter isAskedOften: whether a table of ids pays off, as it does from a handful of look-ups on.
    init(_ view: SessionView, at revision: Revision?, _ projection: Projection, isAskedOften: Bool) throws(Problem) {
        let head = view.session.head
        showsContent = revision == nil
        let caches = view.table.answers
        guard let revision else {
            self.revision = view.name(of: ReaderState(revision: head.revision), projection)
            state =
                projection.showsAll ? head.snapshot : view.seen(through: projection.views).head.shown(keptIn: caches)
            return
        }
        self.revision = revision
        let found: Snapshot? =
            switch view.resumePoint(revision, projection) {
            case .none: nil
            case _ where !projection.showsAll: view.seen(at: revision, projection)?.shown(keptIn: caches)
            case .head: head.snapshot
            case .past(let index, _): view.session.state(at: index, isIndexed: isAskedOften)?.snapshot
            }
        guard let found else { throw Problem(.revisionGone, "the revision \(revision.text) is no longer kept") }
        state = found
    }
}

/// An element that can be looked up.
protocol LookupElement {
    /// The name of the path's parameter for an id.
    static var name: String { get }
    /// The member of an answer that lists the elements found.
    static var list: StaticString { get }

    /// The type of the problem that there is none.
    static var missing: ProblemType { get }

    associatedtype Position: Sendable

    static func position(_ text: String) throws(Problem) -> Position
    static func write(_ position: Position, into writer: inout JSONWriter)

    static func element(_ id: String, of state: Snapshot) -> Self?
    static func element(at position: Position, of state: Snapshot) -> Self?
    func writeLookup(into writer: inout JSONWriter, showsContent: Bool)
}

extension LookupElement {
    /// - Parameter revision: nil for the head.
    static func missing(_ id: String, at revision: Revision?) -> Problem {
        Problem(missing, "no \(name) \"\(id)\"\(revision.map { " at \($0.text)" } ?? "")")
    }
}

/// Looks up one element, by the id in the path.
struct GetElement<Element: LookupElement>: ReadingEndpoint {
    let call: Call
    private let revision: Revision?
    private let projection: Projection

    init(_ call: Call) throws(Problem) {
        self.call = call
        revision = try call.parameters.revision()
        projection = try call.viewedProjection()
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let subject = try LookupSubject(view, at: revision, projection, isAskedOften: false)
        let id = call.captures[Element.name]
        guard let element = Element.element(id, of: subject.state) else {
            throw Element.missing(id, at: subject.revision)
        }
        return subject.reply {
            $0.writer.append(byte: UInt8(ascii: ","))
            element.writeLookup(into: &$0.writer, showsContent: subject.showsContent)
        }
    }
}

/// Looks up elements by id and by position, in the query's order.
struct GetElements<Element: LookupElement>: ReadingEndpoint {
    let call: Call
    private let revision: Revision?
    private let projection: Projection
    private let questions: [Question]

    private enum Question {
        case id(String)
        case position(Element.Position)
    }

    init(_ call: Call) throws(Problem) {
        self.call = call
        revision = try call.parameters.revision()
        projection = try call.viewedProjection()
        questions = try call.parameters.all(["at", "id"]).map { (item) throws(Problem) in
            item.name == "at" ? .position(try Element.position(item.value)) : .id(item.value)
        }
        guard !questions.isEmpty else { throw .malformed("use at or id, or both; each may be repeated") }
    }

    /// `{"revision","items":[…],"missing":[…]}`.
    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let isAskedOften = questions.count { if case .id = $0 { true } else { false } } > 4
        let subject = try LookupSubject(view, at: revision, projection, isAskedOften: isAskedOften)
        var found: [Element] = []
        var missing: [Question] = []
        for question in questions {
            let element =
                switch question {
                case .id(let id): Element.element(id, of: subject.state)
                case .position(let position): Element.element(at: position, of: subject.state)
                }
            if let element { found.append(element) } else { missing.append(question) }
        }
        return subject.reply {
            $0.list(Element.list, found) { list, element in
                list.object { element.writeLookup(into: &$0.writer, showsContent: subject.showsContent) }
            }
            $0.list("missing", missing) { list, question in
                list.object {
                    switch question {
                    case .id(let id): $0.text("id", id)
                    case .position(let position):
                        $0.name("at")
                        Element.write(position, into: &$0.writer)
                    }
                }
            }
        }
    }
}

extension LookupSubject {
    /// Replies with `{"revision":…,` and the output of `members`.
    fileprivate func reply(_ members: (inout JSONObject) -> Void) -> Reply {
        var object = JSONObject()
        object.text("revision", revision.text)
        members(&object)
        return .now(Response(json: object.body()))
    }
}

extension Parameters {
    /// The revision requested; nil for the head.
    fileprivate func revision() throws(Problem) -> Revision? { try self["revision"].map(Revision.init(named:)) }
}

/// Items, by index path.
extension StateItem: LookupElement {
    static var name: String { "item" }
    static var list: StaticString { "items" }
    static var missing: ProblemType { .itemNotFound }

    /// - Parameter text: `section,row`.
    static func position(_ text: String) throws(Problem) -> ItemPath {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.wholeNumber }
        guard numbers.count == 2, let section = numbers[0], let row = numbers[1], max(section, row) < .max else {
            throw .malformed("at must be an index path such as \"0,3\", not \"\(text)\"")
        }
        return ItemPath(section: section, row: row)
    }

    static func write(_ path: ItemPath, into writer: inout JSONWriter) {
        writer.append(verbatim: "[\(path.section),\(path.row)]")
    }

    static func element(_ id: String, of state: Snapshot) -> StateItem? { state.item(withID: id) }

    static func element(at path: ItemPath, of state: Snapshot) -> StateItem? { state.item(at: path) }
}

/// Sections, by index.
extension StateSection: LookupElement {
    static var name: String { "section" }
    static var list: StaticString { "sections" }
    static var missing: ProblemType { .sectionNotFound }

    static func position(_ text: String) throws(Problem) -> Int {
        if let index = text.wholeNumber, index < .max { return index }
        throw .malformed("at must be a section's index, not \"\(text)\"")
    }

    static func write(_ index: Int, into writer: inout JSONWriter) { writer.append(index) }

    static func element(_ id: String, of state: Snapshot) -> StateSection? { state.section(withID: id) }

    static func element(at index: Int, of state: Snapshot) -> StateSection? {
        state.sections.indices.contains(index) ? state.sections[index] : nil
    }
}
