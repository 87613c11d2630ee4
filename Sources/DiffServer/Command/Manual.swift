import DiffService

/// `diffserver help man`: the help of all commands as one page in man(7)'s notation.
///
/// It is made from the help's own paragraphs, so it says everything they say. The first line of a paragraph tells its
/// kind: an option begins with two dashes, other indented lines stay as they are, and a heading ends with a colon.
enum Manual {
    private typealias Paragraph = ArraySlice<Substring>

    static func page(of help: Help) -> String {
        let paragraphs = { (topic: Help.Topic) -> [Paragraph] in
            help.text(of: topic).split(separator: "\n", omittingEmptySubsequences: false).split(separator: "")
        }
        let overview = paragraphs(.overview)
        let summary = overview[0][0].split(separator: ":", maxSplits: 1)[1]
        let commands = Help.Topic.allCases.filter { $0 != .overview && $0 != .manual && help.has($0) }
        let sections = commands.flatMap { [".SH \(escaped($0.rawValue.uppercased()))"] + paragraphs($0).map(set) }
        return """
            .TH DIFFSERVER 1 "" "diffserver \(Version.text)" ""
            .SH NAME
            diffserver \\-\(escaped(summary))
            .SH SYNOPSIS
            \(literal(overview[1]))
            \(sections.joined(separator: "\n"))

            """
    }

    private static func set(_ paragraph: Paragraph) -> String {
        guard let first = paragraph.first else { return "" }
        if first.hasPrefix("  --") { return paragraph.map(optionLine).joined(separator: "\n") }
        if first.hasPrefix(" ") { return literal(paragraph) }
        if first.hasSuffix(":") { return ".SS \(escaped(first.dropLast()))" }
        return ".PP\n" + text(paragraph)
    }

    /// A flag and its value, or a line of its description.
    private static func optionLine(_ line: Substring) -> String {
        guard line.hasPrefix("  --") else { return escaped(line.trimmed) }
        let words = line.trimmed.split(separator: " ", maxSplits: 1).map(escaped)
        return ".TP\n\\fB\(words[0])\\fR" + words.dropFirst().map { " \\fI\($0)\\fR" }.joined()
    }

    private static func literal(_ paragraph: Paragraph) -> String { ".PP\n.nf\n\(text(paragraph))\n.fi" }

    private static func text(_ paragraph: Paragraph) -> String { paragraph.map(escaped).joined(separator: "\n") }

    /// A line without requests, in which each character is printed as it is.
    private static func escaped(_ line: some StringProtocol) -> String {
        line.reduce(into: line.hasPrefix(".") ? "\\&" : "") { $0 += escapes[$1] ?? String($1) }
    }

    private static let escapes: [Character: String] = [
        "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
    ]
}
