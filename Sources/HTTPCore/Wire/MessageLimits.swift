/// How large the parts of a message may be, in octets.
public struct MessageLimits: Sendable, Hashable {
    /// The request line without its CR LF; a longer one is 414. Default 16 KiB (RFC 9112 §3 asks for at least 8,000).
    public var maxRequestLineBytes = 16 * 1024
    /// A header or trailer section with its line ends; a longer one is 431. Default 32 KiB.
    public var maxHeaderBytes = 32 * 1024
    /// Field lines of a header or trailer section; more are 431. Default 100.
    public var maxFields = 100
    /// The size line of a chunk; a longer one is 400. Default 1 KiB.
    public var maxChunkLineBytes = 1024
    /// A body's chunk extensions in total, of each those beyond 16 octets; more are 400. Default 8 KiB.
    public var maxChunkExtensionBytes = 8 * 1024

    /// The defaults.
    public init() {}
}
