import HTTPCore

/// A script that runs within Redis. It is named by its SHA-1, and sent whole only if the server does not know it yet.
///
/// In a cluster `SPUBLISH` takes the place of `PUBLISH`, which would pass each message on to every node.
struct RedisScript: Sendable {
    private struct Text {
        let source: RedisArgument
        let name: RedisArgument

        init(_ source: String) {
            self.source = RedisArgument(source)
            name = RedisArgument(Hex.encode(Digests.sha1(Array(source.utf8))))
        }
    }

    private let plain: Text
    private let sharded: Text

    init(_ source: String) {
        plain = Text(source)
        sharded = Text(source.replacing("'PUBLISH'", with: "'SPUBLISH'"))
    }

    /// The first arguments of a command for a server that knows the script, and for one that does not.
    fileprivate func beginnings(inCluster: Bool) -> (known: [RedisArgument], unknown: [RedisArgument]) {
        let text = inCluster ? sharded : plain
        return (["EVALSHA", text.name], ["EVAL", text.source])
    }
}

extension RedisClient {
    /// Runs a script; if the server does not know it, it is sent whole, once.
    ///
    /// - Parameter staging: a command that is executed just before, in the same transaction and round trip. It takes
    ///   large values past the script, where Lua would hash each of their bytes.
    func run(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [],
        staging: [RedisArgument]? = nil,
        _ completion: @escaping Completion
    ) {
        let beginnings = script.beginnings(inCluster: topology.isCluster)
        let command = { @Sendable (beginning: [RedisArgument]) in
            let call = beginning + [RedisArgument(keys.count)] + keys + arguments
            return staging.map { RedisCommand(transaction: [$0, call]) } ?? RedisCommand(call)
        }
        send(command(beginnings.known), about: keys[0]) { [self] result in
            guard case .failure(.refused(let error)) = result, error.code == "NOSCRIPT" else {
                return completion(result)
            }
            send(command(beginnings.unknown), about: keys[0], completion)
        }
    }

    /// Runs a script, and reads its answer.
    func ask<Value>(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [],
        _ done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void,
        _ read: @escaping @Sendable (RedisReply) -> Result<Value, StoreFailure>
    ) {
        run(script, keys: keys, arguments) { done($0.mapError { StoreFailure($0) }.flatMap(read)) }
    }

    /// Runs a script on one key per primary, which is `name` or made of it.
    ///
    /// - Parameter completion: called once, with a failure if there was any.
    func runEverywhere(_ script: RedisScript, _ name: String, _ completion: @escaping Completion) {
        let keys = topology.map.keys(name)
        let answers = Locked<[Result<RedisReply, RedisFailure>]>([])
        for key in keys {
            run(script, keys: [RedisArgument(key)]) { answer in
                let all = answers.withLock { answers in
                    answers.append(answer)
                    return answers
                }
                guard all.count == keys.count else { return }
                completion(all.first { if case .failure = $0 { true } else { false } } ?? answer)
            }
        }
    }
}
