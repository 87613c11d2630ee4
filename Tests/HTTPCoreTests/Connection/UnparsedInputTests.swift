import Testing

@testable import HTTPCore

@Suite struct UnparsedInputTests {
    private func kept(_ text: String) -> UnparsedInput {
        Array(text.utf8).withUnsafeBytes { UnparsedInput($0, in: []) }
    }

    private func text(_ input: UnparsedInput) -> String {
        input.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test func whatIsConsumedIsNotSeenAgainButHeldUntilTheEnd() {
        var input = kept("one two")
        #expect(text(input) == "one two" && input.count == 7 && !input.isEmpty)
        input.drop(4)
        #expect(text(input) == "two" && input.count == 3 && input.footprint == 7)
        input.drop(3)
        #expect(text(input).isEmpty && input.count == 0)
    }
}
