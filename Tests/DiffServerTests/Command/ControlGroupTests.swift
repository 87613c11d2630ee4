import Foundation
import Testing

@testable import DiffCommand

@Suite struct ControlGroupTests {
    /// A machine with these files.
    private func group(_ files: [String: String]) throws -> ControlGroup {
        let root = NSTemporaryDirectory() + "diffserver-" + UUID().uuidString
        for (path, text) in files {
            let file = URL(fileURLWithPath: root + path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return ControlGroup(root: root)
    }

    private static let own = "/proc/self/cgroup"
    private static let two = "/sys/fs/cgroup"
    private static let one = "/sys/fs/cgroup/memory"

    private static let machines: [(files: [String: String], limit: Int?)] = [
        ([:], nil),
        ([own: "0::/\n"], nil),
        ([two + "/memory.max": "1000\n"], 1000),
        ([own: "0::/\n", two + "/memory.max": "1000\n"], 1000),
        ([own: "0::/\n", two + "/memory.max": "max\n"], nil),
        ([own: "0::/a/b.service\n", two + "/a/b.service/memory.max": "1000\n"], 1000),
        ([own: "0::/a/b\n", two + "/a/b/memory.max": "max\n", two + "/a/memory.max": "2000\n"], 2000),
        (
            [
                own: "0::/a/b\n", two + "/a/b/memory.max": "3000\n", two + "/a/memory.max": "2000\n",
                two + "/memory.max": "9000\n",
            ], 2000
        ),
        ([own: "0::/not/seen/here\n", two + "/memory.max": "1000\n"], 1000),
        ([own: "0::/a:b\n", two + "/a:b/memory.max": "1000\n"], 1000),
        ([own: "5:cpu:/x\n4:memory:/x\n", one + "/x/memory.limit_in_bytes": "1000\n"], 1000),
        ([own: "4:memory,pids:/x\n", one + "/memory.limit_in_bytes": "9223372036854771712\n"], nil),
        ([own: "4:memory:/x\n0::/\n", one + "/x/memory.limit_in_bytes": "1000\n"], 1000),
    ]

    @Test(arguments: machines)
    func `the least limit around the process counts`(_ files: [String: String], _ limit: Int?) throws {
        #expect(try group(files).memoryLimit == limit)
    }

    private static let budgets: [(limit: String, arguments: [String], bytes: Int)] = [
        ("max\n", [], 536_870_912), ("1073741824\n", [], 536_870_912), ("1073741822\n", [], 536_870_911),
        ("268435456\n", [], 134_217_728), ("268435456\n", ["--memory", "200MiB"], 209_715_200),
        ("max\n", ["--memory", "1GiB"], 1_073_741_824),
    ]

    @Test(arguments: budgets)
    func `memory is half of the limit, at most 512 MiB, or what is said`(
        _ limit: String, _ arguments: [String], _ bytes: Int
    ) throws {
        let group = try group([Self.two + "/memory.max": limit])
        let options = try Options(nil, in: group).reading(arguments) { _ in nil }
        #expect(options.tableBounds.bytes == bytes)
    }
}
