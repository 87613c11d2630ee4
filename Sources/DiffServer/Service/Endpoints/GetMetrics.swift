import HTTPCore

/// Figures for Prometheus.
enum GetMetrics {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        .now(
            Response(
                status: 200,
                fields: [
                    Field("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                    Field("Cache-Control", "no-store"),
                ],
                body: .bytes(Array(call.service.metrics.text(of: call.service).utf8)), isCompressible: true))
    }
}
