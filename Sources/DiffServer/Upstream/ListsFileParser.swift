import DiffSessions
import SnapshotKit

/// Parses a file of lists. It continues after each fault, so that all are reported at once.
struct ListsFileParser {
    private let secret: (SecretSource) -> String?
    private(set) var secretFiles: [String] = []
    private var faults: [(offset: Int, message: String)] = []
    /// The names so far, by the form of their patterns.
    private var names: [String: String] = [:]

    init(secret: @escaping (SecretSource) -> String?) { self.secret = secret }

    mutating func read(_ json: [UInt8]) throws(ListsFileError) -> [ListDefinition] {
        guard json.count <= ListsFile.maxBytes else {
            throw ListsFileError([(0, "a file of lists may have at most \(ListsFile.maxBytes) bytes")], in: json)
        }
        let json = StateDocument.withoutMark(json)
        let document: JSONSlice
        do throws(JSONError) { document = try JSONSlice(document: json, maxDepth: 64) } catch {
            throw ListsFileError([(error.offset, "not valid JSON: \(error.sentence)")], in: json)
        }
        let lists = (members(of: document, "a file of lists") ?? []).compactMap { readList($0) }
        guard faults.isEmpty else { throw ListsFileError(faults, in: json) }
        return lists
    }

    // MARK: Lists

    private static let membersOfList = Set(["source", "sections", "hook"] + Session.Settings.members)

    private mutating func readList(_ list: JSONSlice.Member) -> ListDefinition? {
        let name = readName(list)
        guard let found = members(of: list.value, "a list", among: Self.membersOfList) else { return nil }
        let (source, sections, guess) = (found["source"], found["sections"], found["shape"]?.value.string == "guess")
        if source == nil, sections == nil, found["hook"] == nil {
            note(list.offset, "a list needs a source or sections, a hook, or both")
        }
        if source != nil, let sections {
            note(sections.offset, "a list has a source, or sections that have one each, not both")
        }
        if sections != nil, let shape = found["shape"] {
            note(shape.offset, "in a list of sections, each section has its own shape")
        } else if source == nil, guess, let shape = found["shape"] {
            note(shape.value.offset, "a shape can only be guessed of what a source answers")
        }
        var settings = Session.SettingsChange()
        for setting in Session.Settings.Member.allCases where setting != .shape || sections == nil && !guess {
            guard let value = found[setting.rawValue]?.value else { continue }
            do throws(StateError) { try settings.take(setting, value) } catch { note(error, in: list.value) }
        }
        var feeds: [ListDefinition.Feed] = []
        if let source {
            feeds = readSource(source.value, of: name).map { [ListDefinition.Feed(section: nil, source: $0)] } ?? []
        } else if let sections {
            feeds = readSections(sections.value, of: name)
        }
        let hook = found["hook"].flatMap { readHook($0.value, of: name) }
        return name.map {
            ListDefinition(name: $0, settings: settings, feeds: feeds, guessesShape: guess, hook: hook)
        }
    }

    // MARK: Sections

    private mutating func readSections(_ value: JSONSlice, of name: NamePattern?) -> [ListDefinition.Feed] {
        guard let members = members(of: value, "the value of sections") else { return [] }
        if !(1...ListDefinition.maxSections).contains(members.count) {
            note(value.offset, "a list must have 1 to \(ListDefinition.maxSections) sections")
        }
        return members.compactMap { readSection($0, of: name) }
    }

    private mutating func readSection(_ section: JSONSlice.Member, of name: NamePattern?) -> ListDefinition.Feed? {
        if !Array(section.name.utf8).withUnsafeBytes({ $0.canBeID }) {
            note(section.offset, "a section's id must be 1 to 2,048 bytes without control characters")
        }
        let names: Set = ["source", "shape", "content"]
        guard let found = members(of: section.value, "a section", among: names, with: ["source"]) else { return nil }
        let source = found["source"].flatMap { readSource($0.value, of: name) }
        let (shape, scopesIDs) = found["shape"].map { readShape($0.value) } ?? (nil, true)
        let outline = SectionOutline(
            id: section.name, content: found["content"].map { JSONText(accepted: $0.value.text) })
        return source.map { ListDefinition.Feed(section: outline, source: $0, shape: shape, scopesIDs: scopesIDs) }
    }

    /// Reads the shape of a section's documents, and whether its items' ids are unique within it only.
    private mutating func readShape(_ value: JSONSlice) -> (StateShape?, Bool) {
        if value.string == "guess" {
            note(value.offset, "the shape of one section is not guessed: `diffserver shape` prints one to write here")
            return (nil, true)
        }
        for member in value.orderedMembers ?? [] {
            if let name = StateShape.Member(rawValue: member.name), StateShape.Member.ofSections.contains(name) {
                note(member.offset, "\(member.name) has no place in the shape of one section")
            }
        }
        do throws(StateError) {
            let shape = try StateShape(value)
            return (shape, value.members?["idScope"] == nil || shape.mapping?.element.scopesIDs == true)
        } catch {
            note(error, in: value)
            return (nil, true)
        }
    }

    private mutating func readName(_ list: JSONSlice.Member) -> NamePattern? {
        do throws(NamePattern.Failure) {
            let name = try NamePattern(list.name)
            if let other = names[name.form] {
                note(list.offset, "no session can belong to this list: \"\(other)\" matches every name that it could")
            } else {
                names[name.form] = name.text
            }
            return name
        } catch {
            return fault(list.offset, "\(error)")
        }
    }

    private mutating func readSource(_ value: JSONSlice, of name: NamePattern?) -> ListDefinition.Source? {
        let names: Set = ["url", "every", "timeout", "headers"]
        guard let found = members(of: value, "a source", among: names, with: ["url"]) else { return nil }
        let url = found["url"].flatMap { readURL($0.value, of: name) }
        let every = found["every"].flatMap { readTime($0, 0.1...3600) }
        let timeout = found["timeout"].flatMap { readTime($0, 0.1...60) }
        let headers = found["headers"].map { readHeaders($0.value) }
        return url.map {
            ListDefinition.Source(
                url: $0, every: every ?? .seconds(5), timeout: timeout ?? .seconds(10), headers: headers ?? [])
        }
    }

    private mutating func readHook(_ value: JSONSlice, of name: NamePattern?) -> ListDefinition.Hook? {
        let names: Set = ["url", "timeout", "secret"]
        guard let found = members(of: value, "a hook", among: names, with: ["url", "secret"]) else { return nil }
        let url = found["url"].flatMap { readURL($0.value, of: name) }
        let timeout = found["timeout"].flatMap { readTime($0, 0.1...60) }
        guard let secret = found["secret"].flatMap({ readSecret($0.value) }), let url else { return nil }
        return ListDefinition.Hook(url: url, timeout: timeout ?? .seconds(2), secret: secret)
    }

    // MARK: Values

    private mutating func members(of value: JSONSlice, _ whole: String) -> [JSONSlice.Member]? {
        value.orderedMembers ?? fault(value.offset, "\(whole) must be an object")
    }

    /// The members of an object by their names, which must be among these, and have all that are needed.
    private mutating func members(
        of value: JSONSlice, _ whole: String, among names: Set<String>, with needed: [String] = []
    ) -> [String: JSONSlice.Member]? {
        guard let all = members(of: value, whole) else { return nil }
        for member in all where !names.contains(member.name) {
            note(member.offset, "\(whole) has no member \"\(member.name)\"")
        }
        for name in needed where !all.contains(where: { $0.name == name }) {
            note(value.offset, "\(whole) needs a member \"\(name)\"")
        }
        // Names of different bytes may be equal as strings.
        return Dictionary(all.map { ($0.name, $0) }) { $1 }
    }

    private mutating func readURL(_ value: JSONSlice, of name: NamePattern?) -> URLTemplate? {
        guard let text = value.string else { return fault(value.offset, "a URL must be a string") }
        do throws(URLTemplate.Failure) {
            let url = try URLTemplate(text)
            guard let name, let other = url.segments.first(where: { !name.segments.contains($0) }) else { return url }
            return fault(value.offset, "the list's name has no segment {\(other)}")
        } catch { return fault(value.offset, error.rawValue) }
    }

    /// Reads a number of seconds, rounded to milliseconds.
    private mutating func readTime(_ member: JSONSlice.Member, _ range: ClosedRange<Double>) -> Duration? {
        guard let seconds = member.value.number, range.contains(seconds) else {
            let bounds = "from \(range.lowerBound) to \(Int(range.upperBound))"
            return fault(member.value.offset, "\(member.name) must be a number of seconds \(bounds)")
        }
        return .milliseconds(Int((seconds * 1000).rounded()))
    }

    private mutating func readHeaders(_ value: JSONSlice) -> [RequestHeader] {
        var headers: [RequestHeader] = []
        var names: Set<String> = []
        for member in members(of: value, "headers") ?? [] {
            if !names.insert(member.name.lowercased()).inserted {
                note(member.offset, "duplicate header \(member.name)")
            } else if let header = readHeader(member) {
                headers.append(header)
            }
        }
        return headers
    }

    private mutating func readHeader(_ member: JSONSlice.Member) -> RequestHeader? {
        let (name, value) = (member.name, member.value)
        guard RequestHeader.isName(name) else {
            return fault(member.offset, "a header's name may only contain letters, digits and !#$%&'*+-.^_`|~")
        }
        guard !RequestHeader.reserved.contains(name.lowercased()) else {
            return fault(member.offset, "the server sets the header \(name) itself")
        }
        guard let text = value.string else { return fault(value.offset, "a header's value must be a string") }
        let source = SecretSource(text)
        guard source != nil || !RequestHeader.isSecret(name) else {
            return fault(
                value.offset,
                "\(name) is a secret: write \"env:NAME\" or \"file:PATH\", the variable or file with the whole value")
        }
        guard let fieldValue = source.map({ readSecret(from: $0, at: value) }) ?? text else { return nil }
        guard RequestHeader.isValue(fieldValue) else {
            let whose = source.map { "\($0) holds" } ?? "a header has"
            return fault(
                value.offset,
                "\(whose) a value that is empty, contains control characters, or begins or ends with a blank")
        }
        return RequestHeader(name: name, value: fieldValue)
    }

    private mutating func readSecret(_ value: JSONSlice) -> WebhookSecret? {
        guard let source = value.string.flatMap(SecretSource.init) else {
            return fault(
                value.offset, "a secret must be \"env:NAME\" or \"file:PATH\", the variable or file that holds it")
        }
        guard let text = readSecret(from: source, at: value) else { return nil }
        return WebhookSecret(text) ?? fault(value.offset, "\(source) does not hold a secret: \(WebhookSecret.rule)")
    }

    /// Messages never repeat the secret.
    private mutating func readSecret(from source: SecretSource, at value: JSONSlice) -> String? {
        switch source {
        case .variable(let name) where !Self.isVariable(name):
            return fault(value.offset, "a variable's name may only contain letters, digits and _")
        case .variable: break
        case .file(let path): secretFiles.append(path)
        }
        guard let text = secret(source), !text.isEmpty else {
            let fault = if case .variable = source { "unset or empty" } else { "not there, not readable, or empty" }
            return self.fault(value.offset, "\(source) is \(fault)")
        }
        return text
    }

    private static func isVariable(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || SessionName.isOfName($0) && !".~:-".utf8.contains($0) }
    }

    // MARK: Faults

    private mutating func note(_ offset: Int, _ message: String) { faults.append((offset, message)) }

    /// Notes a fault and returns nil as the value.
    private mutating func fault<Value>(_ offset: Int, _ message: String) -> Value? {
        note(offset, message)
        return nil
    }

    /// - Parameter error: in a setting; its pointers start at the list.
    private mutating func note(_ error: StateError, in list: JSONSlice) {
        switch error {
        case .wrongShape(let violations), .invalid(let violations):
            for violation in violations {
                let isName = violation.code == "unknown-member"
                note(list.offset(at: violation.pointer, isName: isName), violation.detail)
            }
        case .limitExceeded(let what, let limit, let actual, let pointer):
            note(list.offset(at: pointer), "there are \(actual) \(what), and at most \(limit) are allowed")
        case .json, .unwanted: preconditionFailure("a setting of a text that was read as JSON")
        }
    }
}

extension JSONSlice {
    /// The offset of the value, or of its name, that a pointer leads to; or of the last value on the way, if nowhere.
    fileprivate func offset(at pointer: String, isName: Bool = false) -> Int {
        let tokens = JSONPointer(pointer)?.tokens ?? []
        let way = (0...tokens.count).reversed().compactMap { value(at: JSONPointer(tokens: Array(tokens.prefix($0)))) }
        let name = isName ? way.dropFirst().first?.orderedMembers?.first { $0.value.offset == way[0].offset } : nil
        return name?.offset ?? way[0].offset
    }
}

extension SecretSource: CustomStringConvertible {
    init?(_ text: String) {
        if text.hasPrefix("env:") {
            self = .variable(String(text.dropFirst(4)))
        } else if text.hasPrefix("file:") {
            self = .file(String(text.dropFirst(5)))
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .variable(let name): "the variable \(name)"
        case .file(let path): "the file \(path)"
        }
    }
}
