/// A value behind one reference, for what is copied often: a copy retains that alone.
package final class Boxed<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
