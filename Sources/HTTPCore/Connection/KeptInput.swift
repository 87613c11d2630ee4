/// Input that was read and is not consumed yet.
///
/// It stays where it lies until all of it is consumed. To keep the rest anew behind each message that is pipelined
/// would copy all that follows each time, and leave holes of every size between the sessions that are made meanwhile:
/// 200 connections that pipelined small sessions brought a process with 64 MiB and a store to 140 MiB.
struct KeptInput {
    private var bytes: [UInt8] = []
    private var start = 0

    init() {}

    /// - Parameter array: an empty one, in whose place the input is copied.
    init(_ input: UnsafeRawBufferPointer, in array: consuming [UInt8]) {
        bytes = consume array
        bytes.append(contentsOf: input)
    }

    var isEmpty: Bool { bytes.isEmpty }
    /// Octets that are not consumed.
    var count: Int { bytes.count - start }
    /// Memory that it holds, in bytes.
    var footprint: Int { bytes.count }

    /// What is not consumed.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body($0.slice(start, $0.count)) }
    }

    mutating func drop(_ consumed: Int) {
        start += consumed
        assert(start <= bytes.count, "more was consumed than there was")
    }

    /// The array, to be used again.
    consuming func released() -> [UInt8] { bytes }
}
