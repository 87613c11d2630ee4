// Missing sessions: an app is told, with as few requests as possible.

import diffserver.DiffClient
import diffserver.Followed
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.Status
import java.util.concurrent.CountDownLatch

private fun words(seen: Seen) = seen.statuses.toList().map {
    when (it) {
        is Status.Live -> "live"
        is Status.Waiting -> "waiting ${it.problem.status ?: it.problem.title}${if (it.delayMillis == 0L) " 0" else ""}"
        is Status.Stopped -> "stopped"
    }
}

private fun watch(
    fake: Fake, poll: Boolean = false, from: Followed<JsonValue> = Followed(), url: String = fake.url,
    session: String = "s", act: (Seen) -> Unit
): Seen {
    val seen = Seen()
    fake.use {
        val following = DiffClient(url, session, transport = HttpClientTransport())
            .follow(from, poll = poll, onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        try {
            act(seen)
        } finally {
            following.cancel()
            following.join()
        }
    }
    return seen
}

private fun event(answer: String) = "event: changes\ndata: $answer\n\n"

fun Suite.missingTests() {
    test("a session that is not there is told at once, by one request, and waited for on the same stream") {
        val isWanted = CountDownLatch(1)
        val fake = Fake({ talk ->
            talk.stream()
            isWanted.await()
            talk.raw(event(reset("1-a", "a")))
            talk.hold()
        }, { it.refuse(404) })
        val seen = watch(fake) { seen ->
            eventually("it is told") { seen.statuses.size == 1 }
            stays("it is told once", 800) { seen.statuses.size == 1 && fake.asked.size == 2 }
            isWanted.countDown()
            eventually("it is shown") { seen.ids == "a" }
        }
        same(words(seen), listOf("waiting 404 0", "live"))
        same(fake.asked.map { it.headers["accept"] }, listOf<String?>("text/event-stream", "application/json"))
        same(fake.asked[1].query["wait"], null)
    }
    val answer = event(reset("1-a", "a"))
    val earlier = Followed<JsonValue>(revision = "1-a")
    for ((name, from, pieces) in listOf(
        Triple("with a reset", Followed<JsonValue>(), listOf(answer)),
        Triple("with the revision that one has", earlier, listOf("id: 1-a\n\n")),
        Triple("with a reset that is long", Followed(), listOf(answer.take(30), answer.drop(30))))) {
        test("a stream that answers $name is the only request") {
            val fake = Fake({ talk ->
                talk.stream()
                for (piece in pieces) {
                    talk.raw(piece)
                    pause(700, "a slow server")
                }
                talk.hold()
            }, { it.refuse(404) })
            val seen = watch(fake, from = from) { seen ->
                eventually("it is live") { seen.statuses.size == 1 }
                stays("it is the only request", 900) { fake.asked.size == 1 }
            }
            same(words(seen), listOf("live"))
            same(fake.asked.size, 1)
        }
    }
    for (status in listOf(200, 401, 403, 429, 503)) {
        test("beside a stream that is late $status says nothing") {
            val fake = Fake({ talk ->
                talk.stream()
                pause(900, "a slow server")
                talk.raw(answer)
                talk.hold()
            }, { it.refuse(status, reset("1-a", "a"), "application/json") })
            val seen = watch(fake) { seen -> eventually("it is shown") { seen.ids == "a" } }
            same(words(seen), listOf("live"))
            same(listOf(fake.asked.size, seen.updates.size), listOf(2, 1))
        }
    }
    test("polls tell it at once, and wait for it then") {
        val fake = Fake({ it.refuse(404) }, { it.json(reset("1-a", "a")) }, { it.hold() })
        val seen = watch(fake, poll = true) { seen -> eventually("it is shown") { seen.ids == "a" } }
        same(words(seen), listOf("waiting 404", "live"))
        same(fake.asked.take(2).map { it.query["wait"] }, listOf(null, "25"))
    }
    for (poll in listOf(false, true)) {
        test("the real server: a session that appears, goes and comes again, poll $poll") {
            val session = newSession()
            watch(Fake(), poll, url = serverURL, session = session) { seen ->
                eventually("it is told") { seen.statuses.size == 1 }
                same((seen.statuses[0] as Status.Waiting).problem.type, "/problems/session-not-found")
                post(session, listOf("a"))
                eventually("it is shown") { seen.ids == "a" && words(seen).last() == "live" }
                pause(300, "a writer who comes while a request is held, which ends with the session")
                request("DELETE", "sessions/$session")
                eventually("its end is told") { words(seen).last().startsWith("waiting 404") }
                same(seen.ids, "a", "what is shown stays")
                post(session, listOf("b"))
                eventually("it is shown again") { seen.ids == "b" && words(seen).last() == "live" }
            }
        }
    }
}
