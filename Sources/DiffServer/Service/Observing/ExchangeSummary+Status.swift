import HTTPCore

extension ExchangeSummary {
    /// The status in the log and in metrics: that of the answer, or 499 where the client went away before there was
    /// one. nginx gave operators that number; no client ever sees it.
    var knownStatus: Int { status == 0 ? 499 : status }
}
