/// How large the parts of a message may be. Sizes are in octets.
public struct MessageLimits: Sendable, Hashable {
    /// The request line without its CR LF; one longer is 414. Default 16 KiB (RFC 9112 §3 asks for 8,000 at least).
    public var maxRequestLineBytes = 16 * 1024
    /// The header section with its line ends; one longer is 431. Default 32 KiB. Holds for a trailer section too.
    public var maxHeaderBytes = 32 * 1024
    /// Field lines of a header or trailer section; one more is 431. Default 100.
    public var maxFields = 100
    /// One line of a chunked body that tells a size; a longer one is 400. Default 1 KiB.
    public var maxChunkLineBytes = 1024
    /// Chunk extensions of one body beyond the first 16 octets of each; more is 400. Default 8 KiB.
    public var maxChunkExtensionBytes = 8 * 1024

    /// The defaults.
    public init() {}
}
