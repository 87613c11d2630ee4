import Glibc

// Swift reads the arguments from /proc/self/cmdline. Where that is missing there are none, not even the program's name,
// and a server that was told to want a key would start without one.
if CommandLine.arguments.isEmpty { fail("the arguments cannot be read: /proc is not mounted", status: 2) }

do throws(UsageError) {
    let environment = { (name: String) in getenv(name).map { String(cString: $0) } }
    switch try Command(Array(CommandLine.arguments.dropFirst()), environment: environment) {
    case .serve(let options): Serve.run(options)
    case .diff(let old, let new, let flags): DiffCommand.run(old: old, new: new, flags: flags)
    case .key(let name): KeyCommands.key(name: name)
    case .token(let session, let scopes, let seconds, let secret):
        KeyCommands.token(session: session, scopes: scopes, seconds: seconds, secret: secret)
    case .healthCheck(let options): HealthCheck.run(options)
    case .help: Files.write(Array(Help.text.utf8), to: 1)
    case .version: Files.write(Array("diffserver \(Version.text)\n".utf8), to: 1)
    }
} catch {
    fail(error.message, status: 2)
}
