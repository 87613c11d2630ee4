// swift-tools-version: 6.2
import PackageDescription

// Built like the product, without sanitizers: the search is for work, and they add their own.
let package = Package(
    name: "fuzz-work",
    dependencies: [.package(name: "diffserver", path: "../../..")],
    targets: [
        .executableTarget(
            name: "fuzz-work",
            dependencies: [
                .product(name: "SnapshotKit", package: "diffserver"), .product(name: "HTTPCore", package: "diffserver"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
