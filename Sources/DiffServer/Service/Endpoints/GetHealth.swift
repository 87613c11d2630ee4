import HTTPCore

/// Whether the process is alive, and whether it is ready for work.
enum GetHealth {
    /// Made once: making it was a tenth of the request.
    private static let alive = Response(status: 200, text: "ok\n", fields: [Field("Cache-Control", "no-store")])

    @Sendable
    static func live(_ call: OpenCall) -> Response { alive }

    @Sendable
    static func ready(_ call: OpenCall) throws(Problem) -> Response {
        try call.service.checkDraining()
        guard call.service.store.isReady else {
            throw Problem(.storeUnavailable, "the store cannot be reached or refuses writes")
        }
        guard !call.service.isFull else { throw Problem(.capacity, "the connection limit is reached") }
        return Response(status: 200, text: "ready\n", fields: [Field("Cache-Control", "no-store")])
    }
}
