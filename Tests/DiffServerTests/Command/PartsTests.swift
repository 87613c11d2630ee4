import Testing

@testable import DiffCommand
@testable import diffserver

/// A server without parts.
@Suite struct PartsTests {
    /// The message that a command line ends with; nil if there is none.
    private func refusal(
        _ arguments: [String], _ variables: [String: String] = [:], _ parts: (any Parts.Type)? = nil
    ) -> String? {
        do throws(UsageError) {
            _ = try Program.command(arguments, parts, variables)
            return nil
        } catch { return error.message }
    }

    private static let reason =
        "needs the full server, diffserver; this one keeps sessions in memory, and fetches no lists"

    private static let refused = [
        ("--store", "sqlite:/s"), ("--store", "redis://:secret@h"), ("--store", "nonsense"),
        ("--store-password-file", "f"), ("--store-ca", "f"), ("--store-replicas", "1"), ("--store-prefix", "a:"),
        ("--store-max-size", "1GiB"), ("--durability", "relaxed"), ("--lists", "f"),
    ]

    @Test(arguments: refused)
    func `an option that needs parts says so`(_ flag: String, _ value: String) {
        #expect(refusal(["serve", flag, value]) == "\(flag) \(Self.reason)")
        #expect(refusal([flag + "=" + value, "--check"]) == "\(flag) \(Self.reason)")
        #expect(refusal(["healthcheck", flag, value]) == "\(flag) \(Self.reason)")
        let variable = Options.variable(for: flag)!
        #expect(refusal([], [variable: value]) == "\(variable) \(Self.reason)")
        #expect(refusal(["serve", flag, value], [:], AllParts.self)?.contains("full server") != true)
    }

    @Test(arguments: [
        ["check-lists", "f"], ["shape", "f"], ["watch", "http://h/"], ["check-lists", "--help"], ["shape", "-h"],
        ["watch", "http://h/", "--help"], ["copy", "--from", "sqlite:a", "--to", "sqlite:b"],
    ])
    func `a command that needs parts says so`(_ arguments: [String]) {
        #expect(refusal(arguments) == "\(arguments[0]) \(Self.reason)")
        #expect(refusal(["help", arguments[0]]) == "\(arguments[0]) \(Self.reason)")
        #expect(refusal(arguments, [:], AllParts.self) == nil)
    }

    @Test func `everything else is as ever`() {
        #expect(refusal(["serve", "--store", "memory", "--digest-key", "a", "--open"]) == nil)
        for arguments in [[], ["help"], ["help", "man"], ["key"], ["diff", "a", "b"]] {
            #expect(refusal(arguments) == nil)
        }
        #expect(refusal(["watches"])?.hasPrefix("unknown command") == true)
        #expect(refusal(["man"])?.hasPrefix("unknown command") == true)
        #expect(refusal(["--stores", "memory"])?.hasPrefix("unknown option") == true)
    }

    @Test func `the help shows what is there`() {
        let (all, few) = (Help(parts: AllParts.self), Help(parts: nil))
        for topic in Help.Topic.allCases where !topic.isAdded {
            let text = few.text(of: topic).replacing("\\-", with: "-")
            for (flag, _) in Self.refused { #expect(!text.contains("\(flag) "), "\(topic): \(flag)") }
            for name in ["watch", "check-lists", "copy", "shape"] {
                #expect(!text.contains("diffserver \(name)"), "\(topic)")
            }
            #expect(!text.contains("sqlite:"), "\(topic)")
        }
        for flag in ["--listen", "--digest-key", "--require-if-match", "--max-body"] {
            #expect(few.text(of: .serve).contains("  \(flag)"))
        }
        #expect(few.text(of: .overview).hasSuffix("This server keeps sessions in memory, and fetches no lists.\n"))
        for (flag, _) in Self.refused { #expect(all.text(of: .serve).contains("  \(flag) "), "\(flag)") }
    }
}
