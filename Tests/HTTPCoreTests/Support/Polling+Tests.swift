import CDiffSystem

@testable import HTTPCore

extension Polling {
    /// How the loops of all tests wait: DIFFSERVER_TEST_EVENT_LOOP, or as in production.
    static let ofTests: Polling = {
        guard let named = getenv("DIFFSERVER_TEST_EVENT_LOOP") else { return .preferred }
        guard let polling = Polling(rawValue: String(cString: named)) else {
            fatalError("DIFFSERVER_TEST_EVENT_LOOP is none of \(Polling.allCases.map(\.rawValue))")
        }
        return polling
    }()
}

extension ServerOptions {
    /// Default options, with the loops of all tests.
    static func ofTests(listen: [ListenAddress]) -> ServerOptions {
        var options = ServerOptions(listen: listen)
        options.polling = .ofTests
        return options
    }
}
