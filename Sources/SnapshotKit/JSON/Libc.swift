// The one place that names the C library: comparing long runs of bytes is its business.
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// `memcmp`: below, at or above zero as the first run sorts before, with or after the second.
@inline(__always)
func compareBytes(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
    Int(memcmp(one, other, count))
}
