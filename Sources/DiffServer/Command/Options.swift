import CDiffSystem
import DiffService
import DiffStores
import HTTPCore
import SnapshotKit

/// The configuration of the service. `OptionTable` has each option's name, and says what it does.
package struct Options: Sendable {
    package var parts: (any Parts.Type)?

    var configPath: String?
    /// The contents of that file.
    var configuration: ConfigurationFile?
    /// The flags that the command line or a variable gives, whatever that file says.
    var given: Set<String> = []

    // MARK: Addresses and access

    /// Keys from the command line.
    var keys: [KeyRing.Key] = []
    var keyFile: String?
    var fileKeys: [KeyRing.Key] = []
    var metricsKeyFile: String?
    var metricsKeys: [KeyRing.Key] = []
    var isOpen = false
    var tokenSecrets: [[UInt8]] = []
    var tokenSecretFile: String?
    package var digestKey: String?
    /// Nil for the memory of the process.
    package var store: (any StoreAddress)?
    package var storePasswordFile: String?
    /// The contents of that file at the start.
    package var storePassword: String?
    package var storeReplicas = 0
    package var storePrefix: String?
    package var storeMaxSize: Int?
    package var isDurable = true
    package var storeAuthority: String?
    var origins: [String] = []
    package var pagePath: String?
    var listsPath: String?
    /// The contents of that file.
    package var lists: (any Lists)?
    package var service = ServiceSettings()
    /// As given; `serverOptions` adds what follows from other options.
    package var server = ServerOptions(listen: [])

    // MARK: Encryption

    package var certificate: String?
    var certificateKey: String?
    var clientAuthority: String?

    // MARK: Limits

    var tableBounds = SessionTable.Bounds()
    var drainDelay = Duration.zero
    var drain = Duration.seconds(10)
    var watchdog: Duration? = .seconds(10)

    var checksOnly = false

    // MARK: Observing

    var logFormat = LogFormat.text
    var logsRequests = false
    /// In milliseconds; nil for none.
    var slow: Int?
    /// Lines for the log at the start.
    package var warnings: [String] = []

    package init() {}

    /// The memory that an open connection takes.
    var connectionBytes: Int { certificate == nil ? MemoryAccount.connection : MemoryAccount.secureConnection }

    var serverOptions: ServerOptions {
        var options = server
        // Sessions keep a quarter of the memory, see `MemoryAccount.room`.
        options.maxConnections = min(server.maxConnections, max(1024, tableBounds.bytes / 4 * 3 / connectionBytes))
        // Each loop may have two connections to the store, an old and a new one, and with replicas two more; the rest
        // is for files.
        options.reservedDescriptors = 16 + (storeReplicas > 0 ? 4 : 2) * options.loops
        options.keptMemory = min(options.keptMemory, max(1 << 20, tableBounds.bytes / 32))
        if let certificate, let certificateKey {
            options.tls = TLSOptions(
                certificateFile: certificate, keyFile: certificateKey, clientAuthorityFile: clientAuthority)
        }
        return options
    }
}

// MARK: - Checks
//
// Which options go together, which exclude each other, and the contents of files. These checks run before anything is
// opened, so a mistake costs one line (in a file of lists, one per fault) and exit status 2.

extension Options {
    /// The options with the contents of their files, if they make sense together. A file of lists may name variables.
    package func checked(environment: @escaping Environment) throws(UsageError) -> Options {
        var options = self
        try options.readSecrets()
        try options.checkTogether()
        options.service.ownPage = try ownPage()
        if let listsPath { options.lists = try parts?.lists(in: listsPath, environment: environment) }
        return options
    }

    private func checkTogether() throws(UsageError) {
        if isOpen, !(allKeys + metricsKeys).isEmpty {
            throw UsageError("--open turns authentication off, but a key is given; leave one of them out")
        }
        if (certificate == nil) != (certificateKey == nil) {
            throw UsageError("give --tls-certificate and --tls-key together")
        }
        if clientAuthority != nil, certificate == nil {
            throw UsageError("--tls-client-ca requires --tls-certificate and --tls-key")
        }
        if storeAuthority != nil, store?.usesTLS != true {
            throw UsageError(
                "--store-ca requires a store reached over TLS: rediss://, rediss-sentinel:// or rediss-cluster://")
        }
        if store?.isShared != true, storeReplicas > 0 || storePrefix != nil {
            throw UsageError("\(storeReplicas > 0 ? "--store-replicas" : "--store-prefix") requires a --store in Redis")
        }
        if storeMaxSize != nil, store?.isShared != false {
            throw UsageError("--store-max-size requires --store sqlite:PATH")
        }
        if store?.isShared == true, digestKey == nil {
            throw UsageError(
                "a store in Redis requires --digest-key, the same on all nodes; `openssl rand -hex 32` makes one")
        }
    }

    /// Reads the page that is served at `/page`, of at most 1 MiB; nil for the built-in one. It
    /// must be there now.
    private func ownPage() throws(UsageError) -> (@Sendable () throws(Problem) -> [UInt8])? {
        guard let pagePath else { return nil }
        let problem = { @Sendable (reason: String) in
            Problem(.routeNotFound, "the --page cannot be read: \(reason)")
        }
        let read = { @Sendable () throws(Problem) -> [UInt8] in
            // A pipe would keep the loop waiting.
            guard FileStamp(pagePath) != nil else { throw problem("there is no such file") }
            do throws(Files.Failure) { return try Files.read(pagePath, atMost: 1 << 20) } catch {
                throw problem(error.reason)
            }
        }
        do throws(Problem) { _ = try read() } catch { throw UsageError(error.detail) }
        return read
    }

    private mutating func readSecrets() throws(UsageError) {
        if let keyFile { fileKeys = try Self.keys(in: keyFile, warnings: &warnings) }
        if let metricsKeyFile { metricsKeys = try Self.keys(in: metricsKeyFile, forMetrics: true, warnings: &warnings) }
        if let tokenSecretFile {
            tokenSecrets = try Self.tokenSecrets(in: tokenSecretFile, given: tokenSecrets, warnings: &warnings)
        }
        if let storePasswordFile {
            guard store?.takesPassword == true else {
                throw UsageError("--store-password-file requires a Redis --store whose address has no password")
            }
            storePassword = try Self.storePassword(in: storePasswordFile, warnings: &warnings)
        }
    }

    package var allKeys: [KeyRing.Key] { keys + fileKeys }

    /// Reads the keys in a file: those of writers, or those that are only for `/metrics`.
    static func keys(
        in path: String, forMetrics: Bool = false, warnings: inout [String]
    ) throws(UsageError) -> [KeyRing.Key] {
        let metricsFault = "is not NAME:SHA256, with a hash of 64 hexadecimal digits; diffserver key makes one"
        let (flag, fault) = forMetrics ? ("--metrics-key-file", metricsFault) : ("--key-file", KeyRing.Key.fault)
        let text = String(decoding: try secret(flag, path, warnings: &warnings), as: UTF8.self)
        var keys: [KeyRing.Key] = []
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(\.trimmed)
        for (number, line) in zip(1..., lines) where !line.isEmpty {
            let key = KeyRing.Key(line)
            guard let key = forMetrics ? key?.forMetrics : key else {
                throw UsageError("line \(number) of the \(flag) \(fault)")
            }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw UsageError("the \(flag) is empty") }
        return keys
    }

    package static func storePassword(in path: String, warnings: inout [String]) throws(UsageError) -> String {
        String(decoding: try secret("--store-password-file", path, warnings: &warnings), as: UTF8.self)
    }

    /// Reads the secrets of tokens in a file, which excludes those given without one.
    static func tokenSecrets(
        in path: String, given: [[UInt8]] = [], warnings: inout [String]
    ) throws(UsageError) -> [[UInt8]] {
        guard given.isEmpty else { throw UsageError("give --token-secret or --token-secret-file, not both") }
        guard let secrets = TokenSecrets.read(try secret("--token-secret-file", path, warnings: &warnings)) else {
            throw UsageError("the --token-secret-file must hold \(TokenSecrets.rule)")
        }
        return secrets
    }

    /// The contents of a file of secrets, without the last line break. Errors do not name the file: a user who confuses
    /// the option with the one without `-file` has given the secret instead.
    private static func secret(_ flag: String, _ path: String, warnings: inout [String]) throws(UsageError) -> [UInt8] {
        let bytes = try Files.read(path, atMost: 1 << 20, fault: "the \(flag) cannot be read").withoutLineBreak
        guard !bytes.isEmpty else { throw UsageError("the \(flag) is empty") }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o007 != 0 {
            warnings.append(
                "\(flag) \(path): every user of this machine can read or change this file; chmod o= prevents that")
        }
        return bytes
    }

    /// Warnings about variables that nothing reads, and that resemble those of options. Others may begin in the same
    /// way: Kubernetes sets `DIFFSERVER_PORT` and the like for a Service of that name.
    static func misspelt(_ variables: some Sequence<String>) -> [String] {
        let prefix = "DIFFSERVER_"
        let known = Set(all.compactMap(\.variable).map { String($0.dropFirst(prefix.count)) })
        return variables.sorted().filter { $0.hasPrefix(prefix) }.compactMap { variable in
            let name = String(variable.dropFirst(prefix.count))
            guard !known.contains(name), let meant = Spelling.nearest(to: name, among: known) else { return nil }
            return "the variable \(variable) is not read; did you mean \(prefix)\(meant)?"
        }
    }
}
