// Reading changes. The text is validated once as JSON; then members and elements are read on demand. Unknown members
// are refused: a client must not show what it has not understood.

import SnapshotKit

/// The members of an object in a changeset.
struct Members {
    let owner: JSONSlice
    fileprivate let values: [String: JSONSlice]

    subscript(name: String) -> JSONSlice? { values[name] }

    /// A member that must be there.
    func required(_ name: String) throws(ApplyError) -> JSONSlice {
        guard let value = values[name] else { throw owner.wrong("\(name) is missing") }
        return value
    }

    /// The elements of an optional array.
    func list(_ name: String) throws(ApplyError) -> [JSONSlice] { try values[name]?.asArray() ?? [] }
}

extension JSONSlice {
    /// Validates a text.
    init(checking json: consuming [UInt8]) throws(ApplyError) {
        do throws(JSONError) {
            self = try JSONText(json).slice
        } catch {
            throw ApplyError(.notJSON, error.reason.rawValue, at: error.offset)
        }
    }

    /// The members of an object that has no others than those named.
    func object(_ names: [String]) throws(ApplyError) -> Members {
        guard let values = members else { throw wrong("an object is expected") }
        for (name, value) in values where !names.contains(name) {
            throw value.wrong("no member \"\(name)\" is known here")
        }
        return Members(owner: self, values: values)
    }

    func asArray() throws(ApplyError) -> [JSONSlice] { try expect(elements, "an array") }
    func asString() throws(ApplyError) -> String { try expect(string, "a string") }
    func asInteger() throws(ApplyError) -> Int { try expect(integer, "a whole number") }
    func asBoolean() throws(ApplyError) -> Bool { try expect(flag, "true or false") }

    func asID() throws(ApplyError) -> ElementID {
        if let string { return ElementID(string) }
        let token = String(decoding: text, as: UTF8.self)
        guard token.utf8.allSatisfy({ "-0123456789".utf8.contains($0) }) else { throw wrong("an id is expected") }
        return ElementID(verbatimInteger: token)
    }

    func asIDs() throws(ApplyError) -> [ElementID] {
        var ids: [ElementID] = []
        for element in try asArray() { ids.append(try element.asID()) }
        return ids
    }

    /// `reload` or `reconfigure`.
    func asRedraw() throws(ApplyError) -> Marks.Redraw {
        switch try asString() {
        case "reload": .reload
        case "reconfigure": .reconfigure
        default: throw wrong("as is reload or reconfigure")
        }
    }

    private func expect<Value>(_ value: Value?, _ what: String) throws(ApplyError) -> Value {
        guard let value else { throw wrong("\(what) is expected") }
        return value
    }

    /// The error for a value that is not of the dialect.
    func wrong(_ detail: String) -> ApplyError { error(.wrongShape, detail) }

    func error(_ reason: ApplyError.Reason, _ detail: String) -> ApplyError { ApplyError(reason, detail, at: offset) }
}
