// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of SwiftUI: the declarations that the adapters use, without any behaviour.

public struct Animation: Sendable {
    public static let `default` = Animation()
}

public func withAnimation<Result>(_ animation: Animation?, _ body: () throws -> Result) rethrows -> Result {
    try body()
}
