// Common to the tests: a list of them, claims, and where they wait, as Tests/EndToEnd/support/clock.py says for all.

import java.util.concurrent.TimeUnit.SECONDS
import kotlin.system.exitProcess

class Suite(private val wanted: List<String>) {
    private var passed = 0
    private var failed = 0

    fun test(name: String, body: () -> Unit) {
        if (wanted.isNotEmpty() && wanted.none { it in name }) return
        val begin = System.nanoTime()
        try {
            body()
            passed += 1
        } catch (error: Throwable) {
            failed += 1
            println("FAILED $name: $error")
            error.stackTrace.take(12).forEach { println("    $it") }
        }
        if (wanted.isNotEmpty()) println("$name: ${(System.nanoTime() - begin) / 1_000_000} ms")
    }

    fun end(): Nothing {
        println("$passed passed, $failed failed")
        System.out.flush()
        exitProcess(if (failed > 0) 1 else 0)
    }
}

fun <Value> same(found: Value, expected: Value, words: Any? = "") {
    if (found != expected) throw AssertionError("$words: expected $expected, found $found")
}

fun holds(claim: Boolean, words: Any?) {
    if (!claim) throw AssertionError("$words")
}

inline fun <reified Problem : Throwable> throws(words: Any?, body: () -> Unit): Problem {
    try {
        body()
    } catch (error: Throwable) {
        return error as? Problem ?: throw AssertionError("$words: $error", error)
    }
    throw AssertionError("$words: nothing was thrown")
}

/** Waits until something holds; the limit only ends a hang. */
fun eventually(words: String, seconds: Long = 30, state: () -> Any? = { "" }, claim: () -> Boolean) {
    val end = System.nanoTime() + SECONDS.toNanos(seconds)
    while (!claim()) {
        if (System.nanoTime() > end) throw AssertionError("not within $seconds s: $words ${state()}")
        Thread.sleep(5)
    }
}

/** Claims that something holds now and for so long: what must not happen gets the time to happen. */
fun stays(words: String, millis: Long, claim: () -> Boolean) {
    val begin = System.nanoTime()
    do {
        val isLast = millisSince(begin) >= millis
        holds(claim(), "did not stay so: $words")
        if (!isLast) Thread.sleep(5)
    } while (!isLast)
}

/** Lets a clock of the product run, of which nothing is to be seen until it has: `clock` names it. */
fun letPass(millis: Long, @Suppress("UNUSED_PARAMETER") clock: String) = Thread.sleep(millis)

/** The pace of somebody in the test: a client between two requests, a server that is slow. */
fun pause(millis: Long, @Suppress("UNUSED_PARAMETER") whose: String) = Thread.sleep(millis)

/** Working threads of the client. */
fun clientThreads(): List<String> =
    Thread.getAllStackTraces().keys.map { it.name }.filter { it.startsWith("diffserver ") }

fun millisSince(begin: Long) = (System.nanoTime() - begin) / 1_000_000

fun main(names: Array<String>) {
    val suite = Suite(names.toList())
    suite.jsonTests()
    suite.eventTests()
    suite.vectorTests()
    suite.randomTests()
    suite.scriptedTests()
    suite.writingTests()
    suite.editingTests()
    suite.typedTests()
    suite.largeIDTests()
    suite.coroutineTests()
    suite.statusTests()
    suite.proxyTests()
    suite.end()
}
