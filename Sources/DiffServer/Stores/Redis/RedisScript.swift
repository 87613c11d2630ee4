/// A script that runs within Redis, named by its SHA-1: all of it goes over the wire only where that server does not know it yet.
struct RedisScript: Sendable {
    private let source: RedisArgument
    private let name: RedisArgument

    init(_ source: String) {
        self.source = RedisArgument(source)
        name = RedisArgument(Hex.encode(Digests.sha1(Array(source.utf8))))
    }

    fileprivate func command(_ verb: RedisArgument, _ keys: [RedisArgument], _ arguments: [RedisArgument]) -> RedisCommand {
        RedisCommand([verb, verb == "EVAL" ? source : name, RedisArgument(keys.count)] + keys + arguments)
    }
}

extension RedisLink {
    /// Runs a script; one that the server does not know is sent whole, once.
    func run(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [], _ completion: @escaping Completion
    ) {
        send(script.command("EVALSHA", keys, arguments)) { [self] result in
            guard case .failure(.refused(let error)) = result, error.code == "NOSCRIPT" else { return completion(result) }
            send(script.command("EVAL", keys, arguments), completion)
        }
    }
}
