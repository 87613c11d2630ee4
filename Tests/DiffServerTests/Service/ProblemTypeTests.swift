import Testing

@testable import DiffService

@Suite struct ProblemTypeTests {
    @Test(arguments: ProblemType.allCases)
    func `each type has the row of its name`(_ type: ProblemType) {
        let words = "\(type)".replacing("JSON", with: "Json")
        let name = words.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
        #expect(type.name == (type == .internalError ? "internal" : name))
        #expect(ProblemType(name: type.name) == type)
        #expect((400..<600).contains(type.status) && !type.title.isEmpty && type.advice.hasSuffix("."))
    }

    @Test func `the table has no other rows`() {
        #expect(Set(ProblemType.allCases.map(\.name)).count == ProblemType.allCases.count)
        for name in ["", "none", "Internal", "internal "] { #expect(ProblemType(name: name) == nil) }
    }
}
