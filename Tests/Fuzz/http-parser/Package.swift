// swift-tools-version: 6.2
import PackageDescription

// Coverage-guided fuzzing of the parser; built by Tests/Fuzz/http-parser/run.sh, which knows the flags.
let package = Package(
    name: "http-fuzz",
    dependencies: [.package(name: "diffserver", path: "../../..")],
    targets: [
        .executableTarget(
            name: "http-fuzz", dependencies: [.product(name: "HTTPCore", package: "diffserver")],
            swiftSettings: [.treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
