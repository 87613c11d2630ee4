// Writing, with answers lost on the way: everything is done once.

import diffserver.DiffClient
import diffserver.Edit
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.Problem
import diffserver.ProblemException
import diffserver.RowShape
import diffserver.Transport
import diffserver.Violation
import java.io.IOException
import kotlin.concurrent.thread

/** Sends requests, and loses the answers of the first ones. */
class Losing(private val transport: Transport, @Volatile var losses: Int) : Transport {
    override fun call(request: diffserver.Request): diffserver.Call {
        val call = transport.call(request)
        return object : diffserver.Call {
            override fun execute(): diffserver.Response {
                val response = call.execute()
                if (losses == 0) return response
                losses -= 1
                response.body.use { it.readBytes() }
                throw IOException("the answer was lost")
            }

            override fun cancel() = call.cancel()
        }
    }
}

fun insert(id: Any) = Edit.insert(id)

fun Suite.writingTests() {
    for ((name, newTransport) in transports) {
        val transport = newTransport()
        test("a write whose answer is lost is done once: $name") {
            val losing = Losing(transport, 1)
            val client = DiffClient(serverURL, newSession(), transport = losing)
            val first = client.post(JsonValue.of(listOf("a")))
            holds(first.startsWith("1-"), first)
            losing.losses = 2
            // Done twice, it would be refused: the id exists already. With If-Match the server would know without a
            // key.
            val second = client.edit(insert("b"))
            holds(second.startsWith("2-"), second)
            same(losing.losses, 0)
            same(rowsOf(client.session).rows.map { it.id }, listOf("a", "b"))
        }
    }
    test("a document of your own is posted with its shape") {
        val client = DiffClient(serverURL, newSession())
        val document = """{"boards":[{"no":7,"cards":[{"type":"bug","no":1,"open":true},{"type":"bug","no":2}]}],"of":"us"}"""
        val shape = RowShape(
            sectionsAt = "/boards", sectionIdAt = "/no", itemsAt = "/cards", idAt = listOf("/type", "/no"),
            kindAt = "/type", rest = listOf("/of"))
        client.post(JsonValue.parse(document), shape = shape)
        val shown = rowsOf(client.session)
        same(shown.rows.map { it.id }, listOf("bug/1", "bug/2"))
        same(shown.rows.map { it.kind }, listOf("bug", "bug"))
        client.post(JsonValue.parse("""["x",["y"]]"""), shape = RowShape(idBy = "match"))
        same(rowsOf(client.session).rows.map { it.content.toString() }, listOf("\"x\"", "[\"y\"]"))
    }
    test("a like that is sent again counts once") {
        val losing = Losing(HttpClientTransport(), 1)
        val client = DiffClient(serverURL, newSession(), transport = losing)
        client.post(JsonValue.of(listOf(mapOf("id" to "a", "content" to mapOf("likes" to 1)))))
        losing.losses = 2
        client.edit(Edit.add("a", mapOf("/likes" to 1), patch = mapOf("by" to "ann")))
        client.edit(Edit.insert("b", before = listOf("gone", "a")), Edit.insert("c", after = null))
        val rows = rowsOf(client.session).rows
        same(rows.map { it.id }, listOf("c", "b", "a"))
        same(rows.last().content.toString(), """{"likes":2,"by":"ann"}""")
    }
    test("a refusal says why") {
        val client = DiffClient(serverURL, newSession())
        client.post(JsonValue.of(listOf("a")))
        val (state, old) = JsonValue.of(listOf("b")) to "7-0000000000000000"
        val problem = throws<ProblemException>("412") { client.post(state, ifMatch = old) }.problem
        same(problem.status, 412)
        holds(problem.current?.startsWith("1-") == true, problem)
        same(throws<ProblemException>("422") { client.edit(insert("a")) }.problem.type, "/problems/invalid-edit")
        val refused = throws<ProblemException>("422") { client.edit(Edit.insert("a", after = "nobody")) }
        val errors = refused.problem.errors
        same(errors.map { it.pointer }, listOf("/edits/0/after", "/edits/0/items/0"))
        same(errors.map { it.code }, listOf("anchor-not-found", "duplicate-id"))
        same(refused.problem.detail, "${errors[0].detail}; and 1 more")
        same(refused.message, "422: An edit cannot be applied: /edits/0/after: ${errors[0].detail}; and 1 more")
        same(problem.errors, emptyList<Violation>())
        val missing = DiffClient(serverURL, newSession())
        same(throws<ProblemException>("404") { missing.edit(insert("a")) }.problem.status, 404)
    }
    val violation = """{"pointer":"/edits/0/before","code":"anchor-not-found","detail":"there is no \"é\""}"""
    val read = Violation("/edits/0/before", "anchor-not-found", "there is no \"é\"")
    for ((text, errors) in listOf(
        "[]" to emptyList(), "[$violation]" to listOf(read), "[$violation,$violation]" to listOf(read, read),
        """[{"pointer":"","code":"wrong-shape"}]""" to listOf(Violation("", "wrong-shape", "")),
        """[{"pointer":"/a","code":"c","detail":"d","more":[1]},{"code":"c"},{"pointer":"/a","code":1},7,null]""" to
            listOf(Violation("/a", "c", "d")),
        """{"pointer":"/a","code":"c"}""" to emptyList(), "null" to emptyList(), "422" to emptyList())) {
        test("errors of a problem are read as far as they say where and what: $text") {
            val fake = Fake({ it.refuse(422, """{"title":"T","status":422,"detail":"D","errors":$text}""") })
            val problem = throws<ProblemException>("422") { DiffClient(fake.url, "s").edit(insert("a")) }.problem
            same(problem, Problem(422, "T", "D", errors = errors))
            fake.close()
        }
    }
    for ((name, transport) in transports) {
        for (token in listOf("wrong", null)) test("a write with a wrong token, or none, is refused at once: $token, $name") {
            val fake = Fake({ it.refuse(401, headers = mapOf("WWW-Authenticate" to "Bearer")) })
            val client = DiffClient(fake.url, "s", token, transport = transport())
            same(throws<ProblemException>("401") { client.edit(insert("a")) }.problem.title, "Refused")
            same(fake.asked.map { it.headers["authorization"] }, listOf(token?.let { "Bearer $it" }))
            fake.close()
        }
    }
    test("a server that is not ready is waited for, as long as patience lasts") {
        val done = """{"session":"s","from":null,"to":"1-a"}"""
        val fake = Fake({ it.refuse(503, headers = mapOf("Retry-After" to "0")) }, { it.json(done) })
        same(DiffClient(fake.url, "s").post(JsonValue.of(emptyList<Any>())), "1-a")
        same(fake.asked[0].headers["idempotency-key"], fake.asked[1].headers["idempotency-key"])
        fake.close()
        val never = Fake({ it.refuse(503) })
        val client = DiffClient(never.url, "s", patienceMillis = 300)
        same(throws<ProblemException>("503") { client.post(JsonValue.of(emptyList<Any>())) }.problem.status, 503)
        never.close()
    }
    test("an interrupt ends a write") {
        val fake = Fake({ it.hold() })
        var error: Throwable? = null
        val writer = thread {
            val client = DiffClient(fake.url, "s", transport = HttpClientTransport())
            error = throws("interrupted") { client.post(JsonValue.of("x")) }
        }
        eventually("it is asked") { fake.asked.size == 1 }
        writer.interrupt()
        writer.join(10_000)
        holds(error is InterruptedException, error)
        fake.close()
    }
}
