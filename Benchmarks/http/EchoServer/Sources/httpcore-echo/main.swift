import Dispatch
import Glibc
import HTTPCore

/// `httpcore-echo ADDRESS…`, ended by SIGTERM. `LOOPS=1` sets the number of loops.
let addresses = CommandLine.arguments.dropFirst().compactMap { ListenAddress($0) }
var options = ServerOptions(listen: Array(addresses))
if let loops = getenv("LOOPS"), let count = Int(String(cString: loops)) { options.loops = count }
let server = Server(options: options, service: EchoService())
do {
    let bound = try server.start()
    write(to: 1, bound.map { "listening on \($0)\n" }.joined())
} catch {
    write(to: 2, "\(error)\n")
    exit(1)
}
signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
termination.setEventHandler { server.drain(within: .seconds(5)) { exit(0) } }
termination.resume()
dispatchMain()

func write(to descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
