/// An HTTP server.
public struct Server {}
