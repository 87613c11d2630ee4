// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of Combine: the declarations that the client uses, without any behaviour.

public protocol ObservableObject: AnyObject {}

@propertyWrapper public struct Published<Value> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}
