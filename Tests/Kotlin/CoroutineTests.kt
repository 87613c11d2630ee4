// The Flow and the ViewModel, with kotlinx.coroutines itself; Flow and androidx.lifecycle are stand-ins.

import androidx.lifecycle.OwnerStub
import diffserver.Change
import diffserver.Dialect
import diffserver.DiffClient
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.ListViewModel
import diffserver.ProblemException
import diffserver.Status
import diffserver.awaitEdit
import diffserver.awaitPost
import diffserver.updates
import java.util.Collections
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executors
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.flow.*
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

fun Suite.coroutineTests() {
    test("a flow follows, writes suspend, and cancelling ends all at once") {
        eventually("earlier threads end") { clientThreads().isEmpty() }
        val client = DiffClient(serverURL, newSession(), transport = HttpClientTransport())
        val updates = CopyOnWriteArrayList<ListUpdate<JsonValue>>()
        val main = Executors.newSingleThreadExecutor { Thread(it, "the main thread").also { it.isDaemon = true } }
        val threads = Collections.synchronizedSet(HashSet<String>())
        runBlocking {
            val revision = client.awaitPost(JsonValue.of(listOf("a")))
            val following = CoroutineScope(main.asCoroutineDispatcher()).launch {
                client.updates(onStatus = { threads.add(Thread.currentThread().name.substringBefore(" @")) }).collect {
                    updates.add(it)
                    threads.add(Thread.currentThread().name.substringBefore(" @"))
                }
            }
            eventually("it shows a") { updates.lastOrNull()?.list?.rows?.size == 1 }
            client.awaitEdit(insert("b"), ifMatch = revision)
            eventually("it shows b") { updates.lastOrNull()?.list?.rows?.size == 2 }
            val begin = System.nanoTime()
            following.cancel()
            eventually("all threads end") { clientThreads().isEmpty() }
            holds(millisSince(begin) < 5_000, "it took ${millisSince(begin)} ms")
        }
        same(threads.toSet(), setOf("the main thread"))
        main.shutdown()
    }
    test("a flow ends with the problem that asking again cannot help") {
        val fake = Fake({ it.refuse(403) })
        val client = DiffClient(fake.url, "s")
        val problem = throws<ProblemException>("403") { runBlocking { client.updates().collect { } } }
        same(problem.problem.status, 403)
        fake.close()
    }
    test("a write that is cancelled ends at once") {
        val fake = Fake({ it.hold() })
        runBlocking {
            val client = DiffClient(fake.url, "s", transport = HttpClientTransport())
            val writing = CoroutineScope(Dispatchers.Default).launch { client.awaitPost(JsonValue.of(listOf("a"))) }
            eventually("it is asked") { fake.asked.size == 1 }
            writing.cancel()
            writing.join()
            eventually("all threads end", 10) { clientThreads().isEmpty() }
        }
        fake.close()
    }
    test("a ViewModel goes on where it was: behind a return there is no reset, and nothing is asked before it") {
        val (session, transport) = newSession() to HttpClientTransport()
        val client = DiffClient(serverURL, session, dialect = Dialect.SEQUENTIAL, transport = transport)
        client.post(JsonValue.of(listOf("a", "b", "c")))
        val model = ListViewModel(client)
        val main = Executors.newSingleThreadExecutor { Thread(it).also { it.isDaemon = true } }
        var moves = 0
        fun shown(ids: String, adapter: PlainAdapter, change: () -> Unit): Job {
            val screen = Screen(adapter)
            val statuses = CopyOnWriteArrayList<Status>()
            val job = model.show(adapter, OwnerStub(CoroutineScope(main.asCoroutineDispatcher()))) { statuses.add(it) }
            eventually("it is live") { statuses.isNotEmpty() }
            change()
            eventually("it shows $ids") { adapter.list.rows.joinToString("") { it.id } == ids }
            main.submit { screen.layOut() }.get()
            job.cancel()
            eventually("all threads end") { clientThreads().isEmpty() }
            moves += screen.moves
            return job
        }
        val adapter = PlainAdapter()
        shown("cab", adapter) {
            eventually("the first rows") { adapter.list.rows.size == 3 }
            client.post(JsonValue.of(listOf("c", "a", "b")))
        }
        same(moves, 1, "moves")
        val revision = model.followed.revision
        client.post(JsonValue.of(listOf("b", "c", "a")))
        same(model.followed.revision, revision)
        // The same adapter gets a move, not a reset.
        shown("bca", adapter) { }
        same(moves, 2, "moves")
        // Another one, as after a rotation, shows the existing rows, and continues.
        shown("bcad", PlainAdapter()) { client.post(JsonValue.of(listOf("b", "c", "a", "d"))) }
        runBlocking {
            val first = CompletableDeferred<ListUpdate<JsonValue>>()
            val job = launch { model.follow { first.complete(it) } }
            client.awaitEdit(insert("e"))
            val change = first.await().change
            holds(change is Change.Sequential, change)
            job.cancel()
        }
        main.shutdown()
    }
}
