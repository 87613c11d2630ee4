import HTTPCore

/// The page of a problem's type: what it means, and what to do.
enum GetProblem {
    private static let style = """
        <style>
        body{font:1rem/1.5 system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
        </style>
        """
    /// The same for all, since nothing else in a page is inline.
    private static let policy = PagePolicy(of: Array(style.utf8))

    @Sendable
    static func answer(_ call: OpenCall) throws(Problem) -> Response {
        guard let type = ProblemType(rawValue: call.place["name"]) else {
            throw Problem(.routeNotFound, "no problem is called \"\(call.place["name"])\"")
        }
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(type.title)</title>
            \(style)
            <h1>\(type.title)</h1>
            <p><code>\(type.rawValue)</code>, status \(type.status)</p>
            <p>\(type.advice)</p>
            </html>

            """
        let fields = [Field("Content-Type", "text/html; charset=utf-8")] + policy.fields
        return Response(status: 200, fields: fields, body: .bytes(Array(page.utf8)))
    }
}
