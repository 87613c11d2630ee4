// Edits without their envelope, and in other words than ours: `{"action":"delete","items":["tea"]}`,
// `{"remove":["tea"]}`. A list is in them, too, and whoever followed a guess of its shape would replace all rows by
// those that the edit names.

extension StateDocument {
    /// Whether the document, which must be JSON, seems to say what to do with rows, rather than which there are: it has
    /// an edit or an operation of a patch, an object with `op`, or the same in other words. O(bytes).
    package var holdsCommand: Bool {
        withStart { start in
            var cursor = JSONCursor(start)
            cursor.skipSpace()
            var other = cursor
            return cursor.takesOperation(levels: 3) || other.takesCommand(levels: 2)
        }
    }
}

private enum CommandWords {
    /// Names of a member that says what to do, besides `op`.
    static let kinds: Set<String> = ["operation", "action", "command", "cmd", "edit", "mutation", "method", "verb"]
    /// What it says, and names of members with the rows to do it with.
    static let verbs: Set<String> = [
        "insert", "add", "append", "create", "upsert", "delete", "del", "remove", "clear", "update", "patch", "replace",
        "reload", "move", "reorder", "expand", "collapse",
    ]
    /// Names of lists of such objects.
    static let batches: Set<String> = [
        "ops", "operations", "actions", "commands", "edits", "mutations", "patches", "deltas",
    ]
    static let longest = 16
    /// The elements of a list that are looked at.
    static let sample = 8
}

extension JSONCursor {
    /// Takes the next value. Whether it is an object that says what to do, or such objects in at most `levels` lists.
    fileprivate mutating func takesCommand(levels: Int) -> Bool {
        switch byte {
        case UInt8(ascii: "[") where levels > 0:
            guard enter() else { return false }
            var (found, count) = (false, 0)
            repeat {
                count += 1
                if count > CommandWords.sample { skipValue() } else if takesCommand(levels: 0) { found = true }
            } while takesComma()
            return found
        case UInt8(ascii: "{"):
            guard enter() else { return false }
            var found = false
            repeat {
                if takesCommandMember(levels: levels) { found = true }
            } while takesComma()
            return found
        default:
            skipValue()
            return false
        }
    }

    private mutating func takesCommandMember(levels: Int) -> Bool {
        let name = takeName().word
        switch byte {
        case UInt8(ascii: "\""):
            let text = takeString().word
            if name == "op" { return true }
            // Elements of a list may well have a type that is called so.
            let mayBeKind = CommandWords.kinds.contains(name) || levels > 0 && name == "type"
            return mayBeKind && CommandWords.verbs.contains(text)
        case UInt8(ascii: "[") where levels > 0 && CommandWords.batches.contains(name): return takesCommand(levels: 1)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            let isOfRows = levels > 0 || byte == UInt8(ascii: "[")
            skipValue()
            return isOfRows && CommandWords.verbs.contains(name)
        default:
            skipValue()
            return false
        }
    }
}

extension JSONString {
    /// The text as a word of `CommandWords`: without blanks, in lower case; empty if it is too long.
    fileprivate var word: String {
        guard count <= CommandWords.longest else { return "" }
        return String(decoding: text.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self).lowercased()
    }
}
