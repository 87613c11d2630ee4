import Glibc
import SnapshotKit

/// `diffserver diff OLD.json NEW.json`: the same engine on two files.
enum DiffCommand {
    static func run(old: String, new: String, flags: [String: String]) -> Never {
        let dialect: Dialect = choice(flags, "--dialect") ?? .keyed
        let staging: Staging = choice(flags, "--staging") ?? .safe
        let content: ContentStyle = choice(flags, "--content") ?? .full
        let shape = shape(flags)
        let changeset = Changeset(from: read(old, shape), to: read(new, shape))
        print(String(decoding: changeset.json(dialect, staging: staging, content: content), as: UTF8.self))
        exit(0)
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(_ flags: [String: String], _ flag: String)
        -> Choice?
    where Choice.RawValue == String {
        guard let text = flags[flag] else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        fail("\(flag) is one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))", status: 2)
    }

    private static func shape(_ flags: [String: String]) -> StateShape {
        let pointer = { (flag: String) -> JSONPointer? in
            guard let text = flags[flag] else { return nil }
            guard let pointer = JSONPointer(text) else { fail("\(flag) is a JSON Pointer, not \"\(text)\"", status: 2) }
            return pointer
        }
        guard flags.keys.contains(where: { $0.hasSuffix("-at") }) else { return .native }
        return .pointers(
            sectionsAt: pointer("--sections-at"), sectionIDAt: pointer("--section-id-at"),
            itemsAt: pointer("--items-at"),
            idAt: pointer("--id-at"))
    }

    private static func read(_ path: String, _ shape: StateShape) -> Snapshot {
        do throws(Files.Failure) {
            let bytes = try Files.read(path)
            do throws(StateError) {
                return try Snapshot(json: bytes, shape: shape, limits: .none)
            } catch {
                let problem = Problem(error)
                let places = problem.errors.map { "\n  \($0.pointer): \($0.detail)" }.joined()
                fail("\(path): \(problem.type.rawValue): \(problem.detail)\(places)")
            }
        } catch { fail("\(error.path): \(error.reason)") }
    }
}
