/// A script that runs within Redis, named by its SHA-1: all of it goes over the wire only where that server does not
/// know it yet.
struct RedisScript: Sendable {
    private let source: RedisArgument
    private let name: RedisArgument

    init(_ source: String) {
        self.source = RedisArgument(source)
        name = RedisArgument(Hex.encode(Digests.sha1(Array(source.utf8))))
    }

    fileprivate func command(_ verb: RedisArgument, _ keys: [RedisArgument], _ arguments: [RedisArgument])
        -> [RedisArgument]
    {
        [verb, verb == "EVAL" ? source : name, RedisArgument(keys.count)] + keys + arguments
    }
}

extension RedisClient {
    /// Runs a script; one that the server does not know is sent whole, once.
    ///
    /// - Parameter staging: a command that is executed just before it, in one transaction and one round trip: takes
    ///   large values past the script, where each of their bytes would be hashed.
    func run(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [],
        staging: [RedisArgument]? = nil,
        _ completion: @escaping Completion
    ) {
        let command = { @Sendable (verb: RedisArgument) in
            let call = script.command(verb, keys, arguments)
            return staging.map { RedisCommand(transaction: [$0, call]) } ?? RedisCommand(call)
        }
        send(command("EVALSHA")) { [self] result in
            guard case .failure(.refused(let error)) = result, error.code == "NOSCRIPT" else {
                return completion(result)
            }
            send(command("EVAL"), completion)
        }
    }
}
