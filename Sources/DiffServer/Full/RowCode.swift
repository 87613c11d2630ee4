// A row's type as source code. Names are the document's own where the language takes them, so that the code reads like
// the document; others are mended, and mapped. A document may have any names: each is checked scalar by scalar, and
// what goes into a literal is escaped, so that no document can write code of its own.

import DiffCommand

/// A language in which a row's type is written.
enum RowLanguage: String, CaseIterable {
    case ts, swift, kotlin

    /// Names that must be quoted to be a member's.
    fileprivate var keywords: Set<String> {
        switch self {
        case .ts: []
        case .swift:
            words(
                """
                associatedtype class deinit enum extension fileprivate func import inout internal let open operator \
                precedencegroup private protocol public rethrows static struct subscript typealias var break case \
                catch continue default defer do else fallthrough for guard if in repeat return switch throw where \
                while Any as await false is nil super throws true try
                """)
        case .kotlin:
            words(
                """
                as break class continue do else false for fun if in interface is null object package return super \
                this throw true try typealias typeof val var when while
                """)
        }
    }

    /// Types that the code names, and names that no type can have.
    fileprivate var typeNames: Set<String> {
        switch self {
        case .ts: []
        case .swift:
            words("Row String Bool Int Double Codable Hashable Sendable CodingKey CodingKeys Any Type Protocol Self")
        case .kotlin: words("Row String Boolean Long Double List Serializable SerialName JsonElement Companion")
        }
    }

    private func words(_ text: String) -> Set<String> { Set(text.split(separator: " ").map(String.init)) }

    fileprivate func name(of kind: RowType.Kind) -> String {
        switch (kind, self) {
        case (.text, .ts): "string"
        case (.text, _): "String"
        case (.flag, .swift): "Bool"
        case (.flag, .kotlin): "Boolean"
        case (.flag, .ts): "boolean"
        case (.integer, .swift): "Int"
        case (.integer, .kotlin): "Long"
        case (.integer, .ts), (.decimal, .ts): "number"
        case (.decimal, _): "Double"
        case (.object, _), (.array, _): preconditionFailure("named by what is in them")
        }
    }

    /// A file with these declarations.
    fileprivate func file(_ code: String) -> String {
        guard self == .kotlin else { return code }
        let imports = [
            ("@SerialName", "SerialName"), ("@Serializable", "Serializable"), ("JsonElement", "json.JsonElement"),
        ]
        let lines = imports.filter { code.contains($0.0) }.map { "import kotlinx.serialization.\($0.1)\n" }
        return (lines + [lines.isEmpty ? "" : "\n", code]).joined()
    }

    fileprivate func literal(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"", "\\": return "\\\(scalar)"
            case "$" where self == .kotlin: return "\\$"
            case " "..."~": return String(scalar)
            case _ where scalar.isOfNames: return String(scalar)
            case _ where self == .swift: return "\\u{\(String(scalar.value, radix: 16))}"
            default:
                return String(scalar).utf16.map { unit in
                    let digits = String(unit, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined()
            }
        }
        return "\"\(scalars.joined())\""
    }
}

extension RowType {
    /// The declaration of `Row`; nil if the language has no type for it.
    func code(in language: RowLanguage) -> String? {
        if language == .ts { return "export type Row = \(typeScript("").joined(separator: " | "));" }
        let taken = language.typeNames
        guard kinds != [.object] else {
            return language.file(Nested(name: "Row", type: self).code(in: language, taken))
        }
        var nested: [Nested] = []
        let type = declaredType(in: language, named: "RowElement", isOptional: false, taken, &nested)
        guard let type else { return nil }
        let blocks = ["typealias Row = \(type)"] + nested.map { $0.code(in: language, taken.union([$0.name])) }
        return language.file(blocks.joined(separator: "\n\n"))
    }

    // MARK: TypeScript

    private func typeScript(_ indent: String) -> [String] {
        var parts = Set(kinds.subtracting([.object, .array]).map(RowLanguage.ts.name)).sorted()
        if kinds.contains(.object) { parts.append(typeScriptObject(indent)) }
        if let element = elements.first?.typeScript(indent) {
            parts.append(element.count == 1 ? "\(element[0])[]" : "(\(element.joined(separator: " | ")))[]")
        }
        return parts.isEmpty ? ["unknown"] : parts + (isNull ? ["null"] : [])
    }

    private func typeScriptObject(_ indent: String) -> String {
        if members.isEmpty { return "Record<string, unknown>" }
        let lines = members.map { member in
            let name = member.name.isName ? member.name : RowLanguage.ts.literal(member.name)
            let type = member.type.typeScript(indent + "  ").joined(separator: " | ")
            return "\(indent)  \(name)\(lacks(member) ? "?" : ""): \(type);\n"
        }
        return "{\n\(lines.joined())\(indent)}"
    }

    // MARK: Swift and Kotlin

    /// An object's type, which is declared inside of the one that names it.
    private struct Nested {
        let name: String
        let type: RowType

        /// - Parameter taken: names of types that mean something else inside, such as its own.
        func code(in language: RowLanguage, _ taken: Set<String>) -> String {
            var (nested, lines, keys): ([Nested], [String], [String]) = ([], [], [])
            var memberNames = language == .swift ? language.typeNames.union(["self", "init"]) : []
            let names = type.members.map { member in
                (member.name.isName ? member.name : member.name.words.camelCased).inserted(into: &memberNames) {
                    // On the JVM, `a` and `A` have one getter.
                    language == .kotlin ? $0.capitalizedFirst : $0
                }
            }
            // In Swift a member and a type cannot have one name.
            var typeNames = taken.union(names)
            for (member, name) in zip(type.members, names) {
                let isOptional = type.lacks(member)
                let key = language.literal(member.name)
                guard
                    let type = member.type.declaredType(
                        in: language, named: member.type.typeName(for: member.name), isOptional: isOptional, typeNames,
                        &nested)
                else {
                    lines.append("// Left out, since its values do not tell one type: \(key)")
                    continue
                }
                typeNames.formUnion(nested.map(\.name))
                let isMended = name != member.name
                let quoted = language.keywords.contains(name) ? "`\(name)`" : name
                if language == .swift {
                    lines.append("var \(quoted): \(type)")
                    keys.append(isMended ? "case \(quoted) = \(key)" : "case \(quoted)")
                } else {
                    let serial = isMended ? "@SerialName(\(key)) " : ""
                    lines.append("\(serial)val \(quoted): \(type)\(type.hasSuffix("?") ? " = null" : "")")
                }
            }
            let parts = nested.map { $0.code(in: language, taken.union([$0.name])) }
            return language == .kotlin ? kotlin(lines, parts) : swift(lines, parts, keys)
        }

        private func swift(_ lines: [String], _ parts: [String], _ keys: [String]) -> String {
            let isMapped = keys.contains { $0.contains("=") }
            let coding = isMapped ? ["enum CodingKeys: String, CodingKey {\n\(keys.indented)\n}"] : []
            let body = (lines.isEmpty ? [] : [lines.joined(separator: "\n")]) + parts + coding
            let inner = body.isEmpty ? "" : "\n\([body.joined(separator: "\n\n")].indented)\n"
            return "struct \(name): Codable, Hashable, Sendable {\(inner)}"
        }

        private func kotlin(_ lines: [String], _ parts: [String]) -> String {
            let members = [lines.joined(separator: ",\n")].indented
            let head = lines.isEmpty ? "class \(name)" : "data class \(name)(\n\(members)\n)"
            let body = parts.isEmpty ? "" : " {\n\([parts.joined(separator: "\n\n")].indented)\n}"
            return "@Serializable\n\(head)\(body)"
        }
    }

    /// A name for the type of what a member has, in the singular where that is in an array.
    private func typeName(for member: String) -> String {
        var name = member.words.map(\.capitalizedFirst).joined()
        let endings = [("ies", "y"), ("sses", "ss"), ("ss", "ss"), ("us", "us"), ("s", "")]
        if kinds == [.array], let (plural, singular) = endings.first(where: { name.hasSuffix($0.0) }) {
            name = String(name.dropLast(plural.count)) + singular
        }
        return name.isName ? name : "_\(name)"
    }

    /// The type of a member; nil if the language has none. What it declares goes into `nested`.
    private func declaredType(
        in language: RowLanguage, named name: String, isOptional: Bool, _ taken: Set<String>, _ nested: inout [Nested]
    ) -> String? {
        var type = language == .kotlin ? "JsonElement" : nil
        switch kinds == [.integer, .decimal] ? .decimal : kinds.count == 1 ? kinds.first : nil {
        case nil: break
        case .object?:
            var taken = taken
            nested.append(Nested(name: name.inserted(into: &taken), type: self))
            type = nested.last?.name
        case .array?:
            let inner = elements[0].declaredType(in: language, named: name, isOptional: false, taken, &nested)
            type = inner.map { language == .swift ? "[\($0)]" : "List<\($0)>" }
        case let kind?: type = language.name(of: kind)
        }
        return type.map { isOptional || isNull ? "\($0)?" : $0 }
    }
}

// MARK: - Names

extension Unicode.Scalar {
    /// Whether it may stand in a name in each of the languages.
    fileprivate var isOfNames: Bool {
        if isASCII { return properties.isAlphabetic || ("0"..."9").contains(self) || self == "_" }
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter:
            return value <= 0xFFFF && !properties.isDefaultIgnorableCodePoint
        default: return false
        }
    }
}

extension String {
    /// Whether it is a name in each of the languages, apart from their keywords.
    fileprivate var isName: Bool {
        guard let first = unicodeScalars.first, !("0"..."9").contains(first) else { return false }
        return unicodeScalars.allSatisfy(\.isOfNames) && contains { $0 != "_" }
    }

    /// What is between the characters that no name has.
    fileprivate var words: [String] {
        let words = unicodeScalars.split { !$0.isOfNames || $0 == "_" }.map { String(String.UnicodeScalarView($0)) }
        return words.isEmpty ? ["member"] : words
    }

    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }

    /// The name, or one like it whose key is not taken; it is from now on.
    fileprivate func inserted(into taken: inout Set<String>, key: (String) -> String = { $0 }) -> String {
        var (name, number) = (self, 1)
        while !taken.insert(key(name)).inserted {
            name = number == 1 ? "\(self)Value" : "\(self)\(number)"
            number += 1
        }
        return name
    }
}

extension [String] {
    fileprivate var indented: String {
        joined(separator: "\n").lines.map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    }

    fileprivate var camelCased: String {
        let name = self[0].prefix(1).lowercased() + self[0].dropFirst() + dropFirst().map(\.capitalizedFirst).joined()
        return name.isName ? name : "_\(name)"
    }
}
