// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "http-benchmarks",
    dependencies: [.package(name: "diffserver", path: "../../..")],
    targets: [
        .executableTarget(
            name: "httpcore-echo", dependencies: [.product(name: "HTTPCore", package: "diffserver")],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
