// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of Network: the declarations that the client uses, without any behaviour.

@_exported import Dispatch

public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public var status: Status { .satisfied }
}

public final class NWPathMonitor: @unchecked Sendable {
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public init() {}
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
