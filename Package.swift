// swift-tools-version: 6.0
import PackageDescription

// A warning of a later compiler must not stop whoever depends on this: warnings are errors in CI alone.
let isStrict = Context.environment["DIFFSERVER_STRICT"] != nil
let strict: [SwiftSetting] = isStrict ? [.unsafeFlags(["-warnings-as-errors"])] : []

let package = Package(
    name: "diffserver",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .executable(name: "diffserver", targets: ["diffserver"]),
        .library(name: "SnapshotKit", targets: ["SnapshotKit"]),
        .library(name: "DiffClient", targets: ["DiffClient"]),
        .library(name: "HTTPCore", targets: ["HTTPCore"]),
    ],
    targets: [
        .systemLibrary(name: "CSystem"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CDiffCURL", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        .target(name: "SnapshotKit", swiftSettings: strict),
        .target(name: "DiffClient", dependencies: ["SnapshotKit"], swiftSettings: strict),
        .target(name: "HTTPCore", dependencies: ["CSystem", "COpenSSL", "CZlib"], swiftSettings: strict),
        .executableTarget(
            name: "diffserver",
            dependencies: ["SnapshotKit", "HTTPCore", "COpenSSL", "CDiffCURL", "CSQLite", "CSystem", "PageFiles"],
            path: "Sources/DiffServer", exclude: ["Page"], swiftSettings: strict),
        .target(name: "PageFiles", path: "Sources/DiffServer/Page"),

        .testTarget(name: "SnapshotKitTests", dependencies: ["SnapshotKit", "DiffClient"], swiftSettings: strict),
        .testTarget(name: "DiffClientTests", dependencies: ["DiffClient"], swiftSettings: strict),
        .testTarget(name: "DiffServerTests", dependencies: ["diffserver", "DiffClient"], swiftSettings: strict),
        .testTarget(name: "HTTPCoreTests", dependencies: ["HTTPCore"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu2x
)
