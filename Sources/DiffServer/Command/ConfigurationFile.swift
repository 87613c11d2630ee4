import SnapshotKit

/// The file of `--config`: options of `serve` in JSON, by their names in camel case, such as
/// `{"listen": [":8080"], "maxBody": "8MiB", "keyFile": "/etc/diffserver/keys"}`.
/// It stands behind the command line and the environment. Secrets do not belong in it, but the names of their files do.
package struct ConfigurationFile: Sendable {
    /// One value of an option.
    struct Value: Sendable {
        /// What the command line would have.
        let text: String
        /// `FILE:LINE:COLUMN: maxBody`, for messages.
        let name: String
    }

    private var values: [String: [Value]] = [:]

    /// - Throws: a line `FILE:LINE:COLUMN: message` for the first fault, or why the file cannot be read.
    init(_ path: String) throws(UsageError) {
        // Far more than all options take.
        let bytes = try Files.read(path, atMost: 1 << 20, fault: "--config \(path)")
        let json = StateDocument.withoutMark(bytes)
        let label = { (offset: Int) -> String in
            var position = TextPosition()
            position.advance(over: json[..<min(offset, json.count)])
            return "\(path):\(position.line):\(position.column): "
        }
        let document: JSONSlice
        do throws(JSONError) { document = try JSONSlice(document: json, maxDepth: 8) } catch {
            throw UsageError(label(error.offset) + "not valid JSON: \(error.sentence)", isLocated: true)
        }
        guard let members = document.orderedMembers else {
            throw UsageError(label(document.offset) + "a configuration must be an object", isLocated: true)
        }
        for member in members {
            do throws(UsageError) {
                let option = try Self.option(named: member.name)
                for value in member.value.elements ?? [member.value] {
                    let text = try Self.text(of: value, named: member.name, for: option)
                    values[option.flag, default: []].append(Value(text: text, name: label(value.offset) + member.name))
                }
            } catch { throw UsageError(label(member.offset) + error.message, isLocated: true) }
        }
    }

    func values(of flag: String) -> [Value] { values[flag] ?? [] }

    /// The members in which it differs from another file, and that need a restart, in the order of the options.
    func differences(from other: ConfigurationFile) -> [String] {
        Options.all.map(\.flag).filter { flag in
            !Options.switchable.contains(flag) && values(of: flag).map(\.text) != other.values(of: flag).map(\.text)
        }.map(Self.member)
    }

    /// The member for a flag: `maxBody` for `--max-body`.
    private static func member(_ flag: String) -> String {
        let words = flag.dropFirst(2).split(separator: "-")
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func option(named name: String) throws(UsageError) -> Option<Options> {
        let known = Options.all.filter { $0.flag != Options.configFlag }
        guard let option = known.first(where: { member($0.flag) == name }) else {
            let meant = Spelling.nearest(to: name, among: known.map { member($0.flag) })
            throw UsageError("there is no option \"\(name)\"" + (meant.map { "; did you mean \"\($0)\"?" } ?? ""))
        }
        return option
    }

    private static func text(
        of value: JSONSlice, named name: String, for option: Option<Options>
    ) throws(UsageError) -> String {
        let isPlain = value.number != nil || value.flag != nil
        guard let text = isPlain ? String(decoding: value.text, as: UTF8.self) : value.string else {
            throw UsageError("\(name) must be a string, a number, true, false, or an array of strings")
        }
        guard option.holdsSecret(text) else { return text }
        let file = option.flag == "--store" ? "--store-password-file" : option.flag + "-file"
        let isFile = Options.all.contains { $0.flag == file }
        let advice = isFile ? "name its file in \(member(file))" : "set \(option.variable ?? "")"
        throw UsageError("\(name) is a secret, which does not belong in this file: \(advice)")
    }
}

extension Option<Options> {
    /// Whether a value is a secret. The store's address is one only with a password.
    fileprivate func holdsSecret(_ text: String) -> Bool {
        guard flag == "--store" else { return isSecret }
        let user = text.prefix { $0 != "@" }
        return user.endIndex < text.endIndex && user.replacing("://", with: "").contains(":")
    }
}
