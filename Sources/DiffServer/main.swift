import Glibc
import SnapshotKit

func read(_ path: String) -> [UInt8] {
    let f = fopen(path, "r")!
    var out: [UInt8] = []
    var buf = [UInt8](repeating: 0, count: 65536)
    while true { let n = fread(&buf, 1, 65536, f); if n == 0 { break }; out += buf[..<n] }
    return out
}
let a = try Snapshot(json: read(CommandLine.arguments[1])), b = try Snapshot(json: read(CommandLine.arguments[2]))
let c = Changeset(from: a, to: b)
print(c.counts)
for d in Dialect.allCases { print(d.rawValue, String(decoding: c.json(d), as: UTF8.self)) }
print(String(decoding: c.json(.staged, staging: .compact), as: UTF8.self))
