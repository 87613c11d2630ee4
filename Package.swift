// swift-tools-version: 6.0
import PackageDescription

// A warning of a later compiler must not stop whoever depends on this: warnings are errors in CI alone.
let isStrict = Context.environment["DIFFSERVER_STRICT"] != nil
let strict: [SwiftSetting] = isStrict ? [.unsafeFlags(["-warnings-as-errors"])] : []

// What an app depends on. It needs no system library.
let package = Package(
    name: "diffserver",
    platforms: [.macOS(.v12), .iOS(.v15), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .library(name: "SnapshotKit", targets: ["SnapshotKit"]),
        .library(name: "DiffClient", targets: ["DiffClient"]),
    ],
    targets: [
        .target(name: "SnapshotKit", swiftSettings: strict),
        .target(name: "DiffClient", dependencies: ["SnapshotKit"], swiftSettings: strict),
        .testTarget(name: "SnapshotKitTests", dependencies: ["SnapshotKit", "DiffClient"], swiftSettings: strict),
        .testTarget(name: "DiffClientTests", dependencies: ["DiffClient"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu2x
)

// The server runs on Linux alone (epoll), and Xcode builds all targets of a package that it has open. The module maps
// name the system libraries: with `pkgConfig`, whoever depends on the package is warned of those that are missing.
#if os(Linux)
    package.products += [
        .executable(name: "diffserver", targets: ["diffserver"]),
        .library(name: "HTTPCore", targets: ["HTTPCore"]),
    ]
    package.targets += [
        .systemLibrary(name: "CDiffSystem"),
        .systemLibrary(name: "CDiffOpenSSL"),
        .systemLibrary(name: "CDiffSQLite"),
        .systemLibrary(name: "CDiffCURL"),
        .systemLibrary(name: "CDiffZlib"),
        .target(
            name: "HTTPCore", dependencies: ["CDiffSystem", "CDiffOpenSSL", "CDiffZlib"], swiftSettings: strict),
        .executableTarget(
            name: "diffserver",
            dependencies: [
                "SnapshotKit", "HTTPCore", "CDiffOpenSSL", "CDiffCURL", "CDiffSQLite", "CDiffSystem", "PageFiles",
            ],
            path: "Sources/DiffServer", exclude: ["Page"], swiftSettings: strict),
        .target(name: "PageFiles", path: "Sources/DiffServer/Page"),
        .testTarget(name: "DiffServerTests", dependencies: ["diffserver", "DiffClient"], swiftSettings: strict),
        .testTarget(name: "HTTPCoreTests", dependencies: ["HTTPCore"], swiftSettings: strict),
    ]
#endif
