import Testing

@testable import DiffCommand
@testable import diffserver

@Suite struct ManualTests {
    private let lines = Help(parts: AllParts.self).text(of: .manual).split(separator: "\n")

    @Test func `each option of each command is an entry`() {
        let flags = [
            Options.all.map(\.flag), DiffCommand.all.map(\.flag), TokenCommand.all.map(\.flag),
            CheckLists.all.map(\.flag), CopyCommand.all.map(\.flag),
            ShapeCommand.all.map(\.flag), WatchCommand.groups[0].options.map(\.flag),
        ].joined()
        let entries = zip(lines, lines.dropFirst()).filter { $0.0 == ".TP" }.map { $0.1.replacing("\\-", with: "-") }
        for flag in flags { #expect(entries.contains { $0.hasPrefix("\\fB\(flag)\\fR") }, "\(flag)") }
        #expect(entries.contains("\\fB--max-body\\fR \\fIBYTES\\fR"))
    }

    @Test func `each command has a section`() {
        let sections = lines.filter { $0.hasPrefix(".SH ") }.map { $0.dropFirst(4) }
        #expect(
            sections == [
                "NAME", "SYNOPSIS", "SERVE", "DIFF", "KEY", "TOKEN", "HEALTHCHECK", "CHECK\\-LISTS", "COPY", "SHAPE",
                "WATCH", "COMPLETION",
            ])
    }

    @Test func `no text is taken for a request, and no character for another`() {
        for line in lines {
            #expect(!line.hasPrefix("'"))
            if line.hasPrefix(".") {
                #expect([".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi"].contains(line.prefix(3)))
            }
            for (before, character) in zip(" " + line, line) where "-'`^~".contains(character) {
                #expect(before == "\\" && character == "-", "\(line)")
            }
        }
    }
}
