import CDiffSystem
import DiffStores
import HTTPCore

/// `diffserver serve --check`: whether a server with these options could start now and write to its store. It does not
/// listen, and a server with the same options may be running.
enum ServeCheck {
    /// Prints a line for each check of options that go together, and ends with 0, or with 1 if something is wrong.
    static func run(_ options: Options) -> Never {
        var faults: [String] = []
        for warning in options.warnings { print("warning: \(warning)") }
        print("options: no faults")
        if let path = options.keyFile { print("\(path): \(Serve.count(options.fileKeys.count, "key"))") }
        if let path = options.metricsKeyFile { print("\(path): \(Serve.count(options.metricsKeys.count, "key"))") }
        if let path = options.tokenSecretFile { print("\(path): \(Serve.count(options.tokenSecrets.count, "secret"))") }
        if let path = options.listsPath, let lists = options.lists {
            print("\(path): \(Serve.count(lists.count, "list"))")
            if let fault = lists.fault { faults.append("--lists \(fault)") }
        }
        if let path = options.certificate, let tls = options.serverOptions.tls {
            do throws(ListenError) {
                try tls.check()
                print("\(path): the certificate and its key can be used")
            } catch { faults.append("\(error)") }
        }
        do throws(StoreError) {
            let remark = try options.store?.check(options)
            print("store: can be used\(remark.map { "; \($0)" } ?? "")")
        } catch { faults.append("\(error)") }
        fflush(nil)
        if faults.isEmpty { end(0) }
        end(1, saying: faults.map { "diffserver: \($0)" })
    }
}
