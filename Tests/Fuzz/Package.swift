// swift-tools-version: 6.2
import PackageDescription

// Built by `run`, which adds `-sanitize=fuzzer,address` for every module: so it is no part of the product's package.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

func fuzzer(_ name: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: [
            "CFuzzer", "FuzzSupport", .product(name: "SnapshotKit", package: "diffserver"),
            .product(name: "DiffClient", package: "diffserver"),
        ],
        swiftSettings: strict)
}

// The tests' appliers are in it by a link, and as internal as there.
let support = strict + [.unsafeFlags(["-enable-testing"])]

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "diffserver", path: "../..")],
    targets: [
        .target(name: "CFuzzer"),
        .target(
            name: "FuzzSupport", dependencies: [.product(name: "SnapshotKit", package: "diffserver")],
            swiftSettings: support),
        fuzzer("fuzz-states"), fuzzer("fuzz-changes"), fuzzer("fuzz-edits"),
    ],
    swiftLanguageModes: [.v6]
)
