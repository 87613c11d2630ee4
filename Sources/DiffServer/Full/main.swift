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
    static let commands: [any AddedCommand.Type] = [CheckLists.self, ShapeCommand.self, WatchCommand.self]

    static func store(_ text: String) -> (any StoreAddress)? {
        let file: (any StoreAddress)? = SQLiteAddress(text)
        return file ?? RedisAddress(text)
    }

    static func lists(in path: String, environment: @escaping Environment) throws(UsageError) -> any Lists {
        try ListsFile(path, environment)
    }
}

extension ListsFile: Lists {
    fileprivate init(_ path: String, _ environment: @escaping Environment) throws(UsageError) {
        let json: [UInt8]
        do throws(Files.Failure) { json = try Files.read(path, atMost: Self.maxBytes) } catch {
            throw UsageError("--lists \(path): \(error.reason)")
        }
        do throws(ListsFileError) { try self.init(json: json, environment: environment) } catch {
            throw UsageError(error.text(of: path), hasPlaces: true)
        }
    }

    package var count: Int { lists.count }
    package var fault: String? { CURLLibrary.fault.map { "needs libcurl: \($0)" } }

    package func start(for service: DiffService, polling: Polling) throws(ListenError) -> RunningLists {
        let upstream = try Upstream(self, for: service, polling: polling)
        service.follow(upstream)
        return (
            upstream.loop,
            { (path) throws(UsageError) in
                let file = try ListsFile(path) { getenv($0).map { String(cString: $0) } }
                upstream.replace(by: file)
                return file.count
            }
        )
    }
}
