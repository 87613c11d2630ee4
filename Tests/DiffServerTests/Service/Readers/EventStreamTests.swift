@testable import DiffService
@testable import DiffSessions
import Testing

struct StreamCursorTests {
    private let one = Revision("17-9f86d081884c7d65")!, two = Revision("2-0c4f77d1aa19be02")!

    @Test func `a cursor says where a reader has moved`() {
        #expect(StreamCursor.text([nil, one, nil, two]) == "1=17-9f86d081884c7d65,3=2-0c4f77d1aa19be02")
        #expect(StreamCursor.text([nil, nil]) == "")
        #expect(StreamCursor.revisions("1=17-9f86d081884c7d65,3=2-0c4f77d1aa19be02", count: 4) == [1: one, 3: two])
    }

    @Test(arguments: [
        "", ",", "x", "1", "1=", "=17-9f86d081884c7d65", "4=17-9f86d081884c7d65", "-1=17-9f86d081884c7d65",
        "1=17-9f86d081884c7d65,", "1=17-9f86d081884c7d65,1=17-9f86d081884c7d65", "1=17-9f86d081884c7d65=",
        "99999999999999999999=17-9f86d081884c7d65", "17-9f86d081884c7d65",
    ])
    func `what is no cursor is found out`(text: String) {
        #expect(StreamCursor.revisions(text, count: 4) == nil)
    }
}
