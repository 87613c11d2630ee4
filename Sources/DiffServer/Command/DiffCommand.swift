import CDiffSystem
import DiffService
import SnapshotKit

/// `diffserver diff OLD.json NEW.json`: the changeset between two files.
struct DiffCommand {
    let old: String
    let new: String
    let dialect: Dialect
    let staging: Staging
    let content: ContentStyle
    let shape: StateShape

    /// - Parameter flags: of `options`, in order. The last one counts, except for the parts of an id.
    init(old: String, new: String, flags: [(flag: String, value: String)]) throws(UsageError) {
        (self.old, self.new) = (old, new)
        dialect = try Self.choice(flags, "--dialect") ?? .keyed
        staging = try Self.choice(flags, "--staging") ?? .safe
        content = try Self.choice(flags, "--content") ?? .full
        let members = flags.compactMap { given in
            StateShape.Member.allCases.first { $0.flag == given.flag }.map { ($0, given.value) }
        }
        do throws(StateShape.Failure) {
            shape = members.isEmpty ? .native : try StateShape(members)
        } catch {
            let flag = error.member.map { "\($0.flag): " } ?? ""
            throw UsageError(flag + error.detail)
        }
    }

    static let options =
        ["--dialect", "--staging", "--content"].map { Option.foreign($0) }
        + StateShape.Member.allCases.map { Option.foreign($0.flag, $0 == .map ? nil : "VALUE") }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ flags: [(flag: String, value: String)], _ flag: String
    ) throws(UsageError) -> Choice? where Choice.RawValue == String {
        guard let text = flags.last(where: { $0.flag == flag })?.value else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        throw UsageError("\(flag) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    /// Prints the changeset, and warnings to standard error.
    func run() -> Never {
        let changeset = Changeset(from: read(old), to: read(new))
        print(String(decoding: changeset.json(dialect, staging: staging, content: content), as: UTF8.self))
        LogOutput.standardError.flush()
        exit(0)
    }

    private func read(_ path: String) -> Snapshot {
        do throws(Files.Failure) {
            let bytes = try Files.read(path)
            do throws(StateError) {
                let reading = try Snapshot.reading(json: bytes, shape: shape, limits: .none, upon: nil)
                for warning in reading.warnings {
                    let line = "diffserver: \(path): \(warning.code) at \(warning.pointer)\n"
                    LogOutput.standardError.append(Array(line.utf8))
                }
                return reading.snapshot
            } catch {
                let problem = Problem(error)
                let places = problem.errors.map { "\n  \($0.pointer): \($0.detail)" }.joined()
                fail("\(path): \(problem.type.rawValue): \(Self.advice(problem.detail + places))")
            }
        } catch { fail("\(error.path): \(error.reason)") }
    }

    /// Translates text about requests: `?idAt=/id` is `--id-at /id` here.
    static func advice(_ text: String) -> String {
        StateShape.Member.allCases.reduce(text) { $0.replacing("?\($1.rawValue)=", with: "\($1.flag) ") }
    }
}

extension StateShape.Member {
    /// On the command line: `--section-id-at` for `sectionIdAt`.
    var flag: String {
        rawValue.reduce("--") { $0 + ($1.isUppercase ? "-" : "") + $1.lowercased() }
    }
}
