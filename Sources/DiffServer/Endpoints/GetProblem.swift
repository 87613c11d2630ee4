import HTTPCore

/// The page of a problem's type: what it means, and what to do.
enum GetProblem {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        guard let type = ProblemType(rawValue: call.place["name"]) else {
            throw Problem(.routeNotFound, "no problem is called \"\(call.place["name"])\"")
        }
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(type.words.title)</title>
            <style>body{font:1rem/1.5 system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}</style>
            <h1>\(type.words.title)</h1>
            <p><code>\(type.rawValue)</code>, status \(type.status)</p>
            <p>\(type.words.advice)</p>
            </html>

            """
        return .now(Response(status: 200, text: page, contentType: "text/html; charset=utf-8"))
    }
}
