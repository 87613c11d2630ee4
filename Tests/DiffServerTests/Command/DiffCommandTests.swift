import SnapshotKit
import Testing

@testable import DiffCommand

struct DiffCommandTests {
    private func command(_ flags: String...) throws -> DiffCommand {
        var command = DiffCommand()
        try command.take(["a", "b"] + flags, environment: { _ in nil })
        return command
    }

    @Test func `each member of a shape has a flag`() throws {
        #expect(
            StateShape.Member.allCases.map(\.flag) == [
                "--sections-at", "--section-id-at", "--items-at", "--id-at", "--id-by", "--kind-at", "--children-at",
                "--expanded-at", "--section-expanded-at", "--group-at", "--group-prefix", "--id-scope", "--map",
                "--rest",
                "--duplicates", "--missing", "--invalid",
            ])
        for member in StateShape.Member.allCases {
            #expect(Help(parts: nil).text(of: .diff).contains("  \(member.flag)"), "\(member)")
        }
        #expect(try command().shape == .native)
        let all = try command(
            "--sections-at=/s", "--section-id-at", "/n", "--items-at", "/i", "--id-at=/t", "--id-at=/k", "--kind-at=/t",
            "--children-at=/c", "--expanded-at=/e", "--rest=/p", "--rest=/q", "--duplicates", "first")
        let shape = try StateShape([
            (.sectionsAt, "/s"), (.sectionIDAt, "/n"), (.itemsAt, "/i"), (.idAt, "/t"), (.idAt, "/k"), (.kindAt, "/t"),
            (.childrenAt, "/c"), (.expandedAt, "/e"), (.rest, "/p"), (.rest, "/q"), (.duplicates, "first"),
        ])
        #expect(all.shape == shape)
        #expect(try command("--items-at=/i", "--map").shape == StateShape([(.itemsAt, "/i"), (.map, "true")]))
    }

    @Test(arguments: [
        ("--id-at=k", "--id-at"), ("--map", "at least one"), ("--duplicates=last", "at least one"),
        ("--dialect=none", "is not keyed, indexed"), ("--idAt=/k", "unknown option"),
    ])
    func `what makes no sense is told by its flag`(_ flag: String, _ reason: String) {
        do {
            _ = try command(flag)
            Issue.record("\(flag) is taken")
        } catch { #expect((error as? UsageError)?.message.contains(reason) == true, "\(error)") }
    }

    @Test func `the last one counts`() throws {
        let diff = try command("--dialect=counts", "--dialect", "staged", "--staging=compact", "--content", "patch")
        #expect(diff.dialect == .staged && diff.staging == .compact && diff.content == .patch)
        #expect(diff.old == "a" && diff.new == "b")
    }
}
