// The executable `diffserver`: the command line, with the stores and the lists that DiffCommand does not know.

import CDiffSystem
import DiffCommand
import DiffRedis
import DiffService
import DiffUpstream
import HTTPCore

Program.run(with: AllParts.self)

/// Those of `diffserver`.
enum AllParts: Parts {
    static let commands: [any Subcommand.Type] = [
        CheckLists.self, CopyCommand.self, ShapeCommand.self, WatchCommand.self,
    ]

    static func store(_ text: String) -> (any StoreAddress)? {
        let file: (any StoreAddress)? = SQLiteAddress(text)
        return file ?? RedisAddress(text)
    }

    static func lists(in path: String, environment: @escaping Environment) throws(UsageError) -> any Lists {
        try ListsFile(path, environment, of: "--lists ")
    }
}

extension ListsFile: Lists {
    /// - Parameter option: precedes the path in an error.
    init(_ path: String, _ environment: @escaping Environment, of option: String = "") throws(UsageError) {
        let json = try Files.read(path, atMost: Self.maxBytes, fault: option + path)
        do throws(ListsFileError) { try self.init(json: json, secret: Self.secrets(environment)) } catch {
            throw UsageError(error.text(of: path), isLocated: true)
        }
    }

    /// The secrets that a file may name. Those of files are without their last line break, and at most 64 KiB.
    static func secrets(_ environment: @escaping Environment) -> (SecretSource) -> String? {
        { source in
            switch source {
            case .variable(let name): environment(name)
            case .file(let path):
                (try? Files.read(path, atMost: 1 << 16)).map { String(decoding: $0.withoutLineBreak, as: UTF8.self) }
            }
        }
    }

    package var count: Int { lists.count }
    package var fault: String? { CURLLibrary.fault.map { "needs libcurl: \($0)" } }

    package func start(for service: DiffService, polling: Polling) throws(ListenError) -> RunningLists {
        let upstream = try Upstream(self, for: service, polling: polling)
        service.follow(upstream)
        let files = Locked(secretFiles)
        return (
            upstream.loop, { files.withLock { $0 } },
            { (path) throws(UsageError) in
                let file = try ListsFile(path, { getenv($0).map { String(cString: $0) } }, of: "--lists ")
                upstream.replace(by: file)
                files.withLock { $0 = file.secretFiles }
                return file.count
            }
        )
    }
}
