import Testing

@testable import HTTPCore
