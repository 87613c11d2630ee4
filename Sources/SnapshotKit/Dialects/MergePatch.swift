// RFC 7396. A merge patch replaces arrays as a whole, and cannot set a member to null, since null means "remove" there:
// a change that would have to has no lossless patch. Objects are not compared first: two equal ones have an empty
// patch, which is withdrawn. So their members are compared once, not again at each level.
//
// What a reader has at ignored places is not known: changes there alone are not sent. So the patch sets each of them,
// whether it differs or not, and is right for whatever the reader has. Where that takes more than a value or `null`,
// there is no patch: an object would be merged into the reader's, and arrays are not entered.
//
// Of a string that has grown, a reader may be sent the rest alone, beside the patch.

/// What an update says of a content in place of the whole.
struct ContentChange {
    let old: UnsafeRawBufferPointer
    let new: UnsafeRawBufferPointer
    /// Places at which the reader may have any value, or none.
    let ignored: PointerSet
    /// A text that alone has changed: it has grown.
    var grown: GrownText?

    /// Appends `patch` and `append`, as the style allows. Appends nothing and returns false if the reader needs the
    /// whole: nothing less is lossless, or smaller. O(n).
    func append(_ style: ContentStyle, to writer: inout JSONWriter) -> Bool {
        let start = writer.count
        if style == .delta, ignored.isEmpty, let grown, appendRest(of: grown, to: &writer) { return true }
        writer.truncate(to: start)
        // As if they had the content's name.
        let most = new.count + (writer.needsComma ? 9 : 8)
        if let growth = style == .full ? nil : appendPatch(notingGrowth: style == .delta, to: &writer) {
            growth.append(to: &writer)
            let size = writer.count - start
            // Mostly it is plain that the patch alone would be longer.
            if size < most, growth.isEmpty || growth.isWorthIt || size < patchSize { return true }
            writer.truncate(to: start)
            if !growth.isEmpty, appendPatch(to: &writer) != nil, writer.count - start < most { return true }
        }
        writer.truncate(to: start)
        return false
    }

    /// Appends `append` if that is all, and shorter for sure, without reading the text's start. If it returns false,
    /// anything may have been appended.
    private func appendRest(of text: GrownText, to writer: inout JSONWriter) -> Bool {
        let cut = { (content: UnsafeRawBufferPointer) in
            JSONText(accepted: Array(content[..<text.start]) + content[text.oldEnd...])
        }
        var growth = cut(old).withBytes { old in
            cut(new).withBytes {
                ContentChange(old: old, new: $0, ignored: .none).appendPatch(notingGrowth: true, to: &writer)
            }
        }
        growth?.saved += text.oldCount
        // In an array, it has not been noted.
        guard let growth, growth.isWorthIt, !growth.isEmpty else { return false }
        growth.append(to: &writer)
        return true
    }

    private var patchSize: Int {
        var writer = JSONWriter(capacity: new.count)
        writer.append(byte: 0)
        return appendPatch(to: &writer) == nil ? .max : writer.count - 1
    }

    /// Appends `patch`, unless strings have only grown. Returns those; nil if there is no lossless patch, and then
    /// anything may have been appended.
    private func appendPatch(notingGrowth: Bool = false, to writer: inout JSONWriter) -> TextGrowth? {
        guard old.first == UInt8(ascii: "{"), new.first == UInt8(ascii: "{") else {
            guard notingGrowth, ignored.isEmpty else { return nil }
            var growth = TextGrowth()
            return growth.note(old, new) ? growth : nil
        }
        let start = writer.count
        writer.separate()
        writer.append("\"patch\":")
        var patch = MergePatch(
            before: JSONMembers(old), after: JSONMembers(new), growth: notingGrowth ? TextGrowth() : nil)
        let outcome = ignored.withRoot {
            patch.append(from: patch.before.all, to: patch.after.all, at: $0, into: &writer)
        }
        if outcome == .impossible { return nil }
        let growth = patch.growth ?? TextGrowth()
        if outcome == .empty, !growth.isEmpty { writer.truncate(to: start) }
        return growth
    }
}

/// Strings whose start is the string before, and what each has more.
private struct TextGrowth {
    private var members = JSONWriter(capacity: 0)
    /// Bytes that are not sent, less those of the places.
    var saved = 0
    /// The names of the objects' members that lead to where the walk is.
    var path: [JSONString] = []

    var isEmpty: Bool { members.count == 0 }
    /// Whether the same in a patch would be longer for sure.
    var isWorthIt: Bool { saved > ",\"append\":{}".utf8.count }

    /// Records the suffix by which a string extends another; false if it does not.
    mutating func note(_ old: UnsafeRawBufferPointer, _ new: UnsafeRawBufferPointer) -> Bool {
        guard old.first == UInt8(ascii: "\""), new.first == UInt8(ascii: "\"") else { return false }
        let rest = JSONString(token: new).rest(behind: JSONString(token: old))
        guard let rest, rest.count > 0 else { return false }
        if !isEmpty { members.append(",") }
        let start = members.count
        members.append("\"")
        for name in path {
            members.append("/")
            JSONPointer.escape(name.text) { members.append(escaped: $0) }
        }
        members.append("\":\"")
        members.append(rest.start, rest.count)
        members.append("\"")
        saved += new.count - (members.count - start)
        return true
    }

    func append(to writer: inout JSONWriter) {
        if isEmpty { return }
        writer.separate()
        writer.append("\"append\":{")
        writer.append(members, from: 0)
        writer.append("}")
    }
}

private struct MergePatch {
    enum Outcome { case empty, written, impossible }

    var before: JSONMembers
    let after: JSONMembers
    /// Strings that have grown, which are not patched; nil if they are.
    var growth: TextGrowth?

    mutating func append(
        from old: Range<Int>, to new: Range<Int>, at place: PointerPlace, into writer: inout JSONWriter
    ) -> Outcome {
        var search = MemberSearch(old)
        writer.append("{")
        let first = writer.count
        var (index, found) = (new.lowerBound, 0 as PointerPlace.Numbers)
        while index < new.upperBound {
            let previous = search.find(after[index].name, in: before)
            if let previous { before.take(previous) }
            let start = writer.count
            writer.separate()
            writer.append(name: after[index].name)
            let inner = place.below(after[index].name)
            found |= inner.ending
            growth?.path.append(after[index].name)
            defer { growth?.path.removeLast() }
            switch appendValue(from: previous, to: index, at: inner, into: &writer) {
            case .written: break
            case .impossible: return .impossible
            case .empty: writer.truncate(to: start)
            }
            index = after[index].end
        }
        index = before.firstLeft(from: old.lowerBound, in: old)
        while index < old.upperBound {
            if !place.below(before[index].name).isEnd {
                writer.separate()
                writer.append(name: before[index].name)
                writer.append("null")
            }
            index = before.firstLeft(from: before[index].end, in: old)
        }
        place.forEachEnd(except: found) { name in
            writer.separate()
            writer.append(string: name)
            writer.append(":null")
        }
        defer { writer.append("}") }
        return writer.count == first ? .empty : .written
    }

    private mutating func appendValue(
        from previous: Int?, to index: Int, at place: PointerPlace, into writer: inout JSONWriter
    ) -> Outcome {
        let value = after[index].value
        if place.isEnd {
            if after[index].isObject || after[index].isNull { return .impossible }
        } else if after[index].isObject {
            if let previous, before[previous].isObject {
                return append(from: before.inside(previous), to: after.inside(index), at: place, into: &writer)
            }
            if !place.isAside {
                let patch = append(from: 0..<0, to: after.inside(index), at: place, into: &writer)
                return patch == .impossible ? .impossible : .written
            }
        } else {
            var cursor = JSONCursor(value.baseAddress!)
            if !place.isAside, cursor.findsParent(of: place) { return .impossible }
            if let previous {
                let old = before[previous].value
                if old.hasSameBytes(as: value) { return .empty }
                if place.isAside, growth?.note(old, value) == true { return .empty }
                if sameValue(old, value, ignoring: .none) { return .empty }
            }
        }
        var cursor = JSONCursor(value.baseAddress!)
        if takesNull(&cursor) { return .impossible }
        writer.append(value)
        return .written
    }
}

/// Takes a value: whether it is null, or an object with a null at any depth of objects alone.
private func takesNull(_ cursor: inout JSONCursor) -> Bool {
    switch cursor.byte {
    case UInt8(ascii: "n"): return true
    case UInt8(ascii: "{"):
        guard cursor.enter() else { return false }
        repeat {
            _ = cursor.takeName()
            if takesNull(&cursor) { return true }
        } while cursor.takesComma()
        return false
    default:
        cursor.skipValue()
        return false
    }
}

extension JSONText {
    /// This value after an RFC 7396 merge patch. O(n + patch).
    public func merging(_ patch: JSONText) -> JSONText {
        withBytes { target in patch.withBytes { JSONText(merging: $0, into: target) } }
    }

    /// This value with texts put behind strings in it: the member `append` of an edit, or of an update. A missing
    /// string counts as an empty one. Nil if what is there is no string, or if this is no object of pointers with
    /// strings. O(n · strings).
    public func appending(_ texts: JSONText) -> JSONText? {
        texts.slice.orderedMembers?.reduce(self) { value, member in
            guard let value, let pointer = JSONPointer(member.name), member.value.string != nil else { return nil }
            var path = JSONWriter()
            path.append(array: pointer.tokens) { $0.append(string: $1) }
            var grown: GrownText?
            return JSONText(padding: path).withBytes { path in
                member.value.withCursor { text, _ in
                    value.withBytes {
                        try? JSONText(appending: text.at, at: path.baseAddress!, to: $0, limit: .max, &grown)
                    }
                }
            }
        }
    }

    init(merging patch: UnsafeRawBufferPointer, into target: UnsafeRawBufferPointer) {
        guard patch.first == UInt8(ascii: "{") else {
            self.init(accepted: patch)
            return
        }
        var writer = JSONWriter(capacity: target.count + patch.count + JSONScanner.padding)
        var members = JSONMembers(patch)
        var cursor = target.isEmpty ? .null : JSONCursor(target.baseAddress!)
        writer.append(merging: &members, members.all, into: &cursor)
        self.init(padding: writer)
    }
}

extension JSONCursor {
    fileprivate static var null: JSONCursor { JSONCursor(StaticString("null       ").utf8Start) }
}

extension JSONWriter {
    /// Takes a target and appends it, patched as in RFC 7396 §2 by the object whose members are in `range`.
    fileprivate mutating func append(
        merging patch: inout JSONMembers, _ range: Range<Int>, into target: inout JSONCursor
    ) {
        var search = MemberSearch(range)
        append("{")
        if target.byte != UInt8(ascii: "{") {
            target.skipValue()
        } else if target.enter() {
            repeat {
                let name = target.takeName()
                if let change = search.find(name, in: patch) {
                    patch.take(change)
                    append(name: name, patch: &patch, change, into: &target)
                } else {
                    separate()
                    append(name: name)
                    append(target.takeValue())
                }
            } while target.takesComma()
        }
        var arrival = patch.firstLeft(from: range.lowerBound, in: range)
        while arrival < range.upperBound {
            var nothing = JSONCursor.null
            append(name: patch[arrival].name, patch: &patch, arrival, into: &nothing)
            arrival = patch.firstLeft(from: patch[arrival].end, in: range)
        }
        append("}")
    }

    private mutating func append(
        name: JSONString, patch: inout JSONMembers, _ change: Int, into target: inout JSONCursor
    ) {
        guard !patch[change].isNull else { return target.skipValue() }
        separate()
        append(name: name)
        if patch[change].isObject {
            append(merging: &patch, patch.inside(change), into: &target)
        } else {
            target.skipValue()
            append(patch[change].value)
        }
    }
}
