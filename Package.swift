// swift-tools-version: 6.0
import PackageDescription

// What an app depends on. It needs no system library.
let package = Package(
    name: "diffserver",
    platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .library(name: "SnapshotKit", targets: ["SnapshotKit"]),
        .library(name: "SnapshotViews", targets: ["SnapshotViews"]),
        .library(name: "DiffClient", targets: ["DiffClient"]),
    ],
    targets: [
        .target(name: "SnapshotKit"),
        .target(name: "SnapshotViews", dependencies: ["SnapshotKit"]),
        .target(name: "DiffClient", dependencies: ["SnapshotKit"]),
        .testTarget(
            name: "SnapshotKitTests", dependencies: ["SnapshotKit", "SnapshotViews", "DiffClient"]),
        .testTarget(name: "DiffClientTests", dependencies: ["DiffClient"]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu2x
)

/// A target of the server in a folder of `Sources/DiffServer`.
func room(_ folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(
        name: "Diff\(folder)", dependencies: dependencies, path: "Sources/DiffServer/\(folder)")
}

/// The tests of such a target, in the folder of the same name.
func tests(of folder: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: "Diff\(folder)Tests", dependencies: dependencies, path: "Tests/DiffServerTests/\(folder)")
}

// Xcode builds all targets of a package that it has open, and the server is for Linux. DIFFSERVER_SERVER=0 leaves it
// out there, too.
#if os(Linux)
    let hasServer = Context.environment["DIFFSERVER_SERVER"] != "0"
#else
    let hasServer = Context.environment["DIFFSERVER_SERVER"] == "1"
#endif

// The module maps name the system libraries: with `pkgConfig`, users of the package would be warned about missing ones.
// DiffClock, DiffSessions and DiffStores are public inside, since the compiler does not inline `package` code across
// targets; docs/architecture.md has the figures.
if hasServer {
    package.products += [
        .executable(name: "diffserver", targets: ["diffserver"]),
        .executable(name: "diffserver-small", targets: ["diffserver-small"]),
        .library(name: "HTTPCore", targets: ["HTTPCore"]),
    ]
    package.targets += [
        .systemLibrary(name: "CDiffLinux"),
        .systemLibrary(name: "CDiffOpenSSL"),
        .systemLibrary(name: "CDiffSQLite"),
        .systemLibrary(name: "CDiffCURL"),
        .systemLibrary(name: "CDiffZlib"),
        .target(name: "CDiffSystem", dependencies: ["CDiffLinux"]),
        .target(name: "DiffClock", dependencies: ["CDiffSystem"]),
        .target(
            name: "HTTPCore", dependencies: ["DiffClock", "CDiffSystem", "CDiffOpenSSL", "CDiffZlib"]),
        room("Sessions", ["SnapshotKit", "DiffClock", "CDiffSystem"]),
        room("Stores", ["DiffSessions", "SnapshotKit", "DiffClock"]),
        room("SQLite", ["DiffStores", "DiffSessions", "SnapshotKit", "DiffClock", "CDiffSystem", "CDiffSQLite"]),
        room("Redis", ["DiffStores", "DiffSessions", "SnapshotKit", "HTTPCore"]),
        room(
            "Service",
            ["DiffStores", "DiffSessions", "SnapshotViews", "SnapshotKit", "HTTPCore", "DiffPage", "CDiffSystem"]),
        room(
            "Upstream",
            ["DiffService", "DiffStores", "DiffSessions", "SnapshotKit", "HTTPCore", "CDiffSystem", "CDiffCURL"]),
        room(
            "Command",
            ["DiffService", "DiffStores", "DiffSessions", "SnapshotKit", "HTTPCore", "CDiffSystem", "CDiffOpenSSL"]),
        .executableTarget(
            name: "diffserver",
            dependencies: [
                "DiffCommand", "DiffUpstream", "DiffService", "DiffSQLite", "DiffRedis", "DiffStores", "SnapshotKit",
                "HTTPCore", "CDiffSystem",
            ],
            path: "Sources/DiffServer/Full"),
        .executableTarget(
            name: "diffserver-small", dependencies: ["DiffCommand"], path: "Sources/DiffServer/Small"),
        .target(name: "DiffPage", path: "Sources/DiffServer/Page"),
        tests(of: "Sessions", ["DiffSessions", "SnapshotKit", "DiffClock"]),
        // The conformance suite of stores is run over each, and with what a request asks of one.
        tests(
            of: "Stores",
            [
                "DiffService", "DiffSQLite", "DiffRedis", "DiffStores", "DiffSessions", "SnapshotKit", "HTTPCore",
                "DiffClock", "CDiffSystem",
            ]),
        tests(of: "Redis", ["DiffRedis", "DiffStores", "SnapshotKit", "HTTPCore", "DiffClock", "CDiffSystem"]),
        tests(
            of: "Service",
            [
                "DiffService", "DiffStores", "DiffSessions", "SnapshotViews", "SnapshotKit", "HTTPCore", "DiffClock",
                "CDiffSystem",
            ]),
        tests(
            of: "Upstream",
            ["DiffUpstream", "DiffService", "DiffStores", "DiffSessions", "SnapshotKit", "HTTPCore", "DiffClock"]),
        tests(
            of: "Command",
            [
                "diffserver", "DiffCommand", "DiffUpstream", "DiffService", "DiffRedis", "SnapshotKit", "HTTPCore",
                "DiffClient", "CDiffSystem",
            ]),
        .testTarget(name: "HTTPCoreTests", dependencies: ["HTTPCore", "DiffClock", "CDiffSystem"]),
    ]
}
