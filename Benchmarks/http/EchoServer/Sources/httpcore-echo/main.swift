import Dispatch
import Glibc
import HTTPCore

/// `httpcore-echo ADDRESS… tls:ADDRESS…`, ended by SIGTERM; SIGHUP reads the certificate again. `LOOPS` sets the number
/// of loops, `CERTIFICATE`, `KEY` and `AUTHORITY` name the files of TLS.
let arguments = CommandLine.arguments.dropFirst()
let secure = arguments.filter { $0.hasPrefix("tls:") }.compactMap { ListenAddress(String($0.dropFirst(4))) }
var options = ServerOptions(listen: secure)
options.listenPlainly = arguments.filter { !$0.hasPrefix("tls:") }.compactMap { ListenAddress($0) }
if let certificate = getenv("CERTIFICATE"), let key = getenv("KEY") {
    options.tls = TLSOptions(certificateFile: String(cString: certificate), keyFile: String(cString: key))
    options.tls?.clientAuthorityFile = getenv("AUTHORITY").map { String(cString: $0) }
}
if let loops = getenv("LOOPS"), let count = Int(String(cString: loops)) { options.loops = count }
let server = Server(options: options, service: EchoService())
// Before the start: a signal that comes early must not be lost.
signal(SIGTERM, SIG_IGN)
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
termination.setEventHandler { server.drain(within: .seconds(5)) { exit(0) } }
termination.resume()
signal(SIGHUP, SIG_IGN)
let hangup = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .main)
hangup.setEventHandler {
    do { try server.reloadCertificates() } catch { write(to: 2, "\(error)\n") }
}
hangup.resume()
do {
    let bound = try server.start()
    write(to: 1, bound.map { "listening on \($0)\n" }.joined())
} catch {
    write(to: 2, "\(error)\n")
    exit(1)
}
dispatchMain()

func write(to descriptor: Int32, _ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
