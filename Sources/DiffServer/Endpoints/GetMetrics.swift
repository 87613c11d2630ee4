import HTTPCore

/// Figures for Prometheus.
enum GetMetrics {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let service = call.service
        let text = service.metrics.text(service.store, service.connections, service.journal.output, service.upstream)
        return .now(
            Response(
                status: 200,
                fields: [
                    Field("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                    Field("Cache-Control", "no-store"),
                ],
                body: .bytes(Array(text.utf8)), isCompressible: true))
    }
}
