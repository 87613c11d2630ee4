// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "diffserver", path: "..")],
    targets: [
        // Counts allocations by standing in for malloc: in a package of its own, so that the product never does.
        .target(name: "CAllocations"),
        .executableTarget(
            name: "snapshot-bench",
            dependencies: [
                "CAllocations", .product(name: "SnapshotKit", package: "diffserver"),
                .product(name: "SnapshotViews", package: "diffserver"),
            ],
            path: "Sources/SnapshotBench", swiftSettings: [.treatAllWarnings(as: .error)]),
    ],
    swiftLanguageModes: [.v6]
)
