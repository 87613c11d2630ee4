// The system's C library under one name. The server's files import this, and none of them names Glibc or Darwin. On
// Linux it includes CDiffLinux, which has what the library's own module leaves out.
//
// This is Swift because a module map can pass on C headers, but not what Swift adds to them: `errno`, `SIG_IGN`, and
// `open` and `fcntl` with their last argument.

#if canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#elseif canImport(Darwin)
    @_exported import Darwin
#endif

#if os(Linux)
    @_exported import CDiffLinux
#endif
