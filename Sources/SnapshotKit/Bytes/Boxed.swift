/// A value behind one reference, for values copied often: a copy retains only that.
package final class Boxed<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}
