// A stand-in for kotlinx.coroutines.flow, which Debian's kotlinx.coroutines 1.0.1 does not have yet. It works, and no
// more.

package kotlinx.coroutines.flow

import kotlin.coroutines.resume
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.suspendCancellableCoroutine

interface FlowCollector<in T> {
    suspend fun emit(value: T)
}

interface Flow<out T> {
    suspend fun collect(collector: FlowCollector<T>)
}

fun <T> flow(block: suspend FlowCollector<T>.() -> Unit): Flow<T> = object : Flow<T> {
    override suspend fun collect(collector: FlowCollector<T>) = collector.block()
}

suspend fun <T> Flow<T>.collect(action: suspend (T) -> Unit) = collect(object : FlowCollector<T> {
    override suspend fun emit(value: T) = action(value)
})

interface StateFlow<out T> : Flow<T> {
    val value: T
}

class SharingStarted private constructor() {
    companion object {
        @Suppress("UNUSED_PARAMETER")
        fun WhileSubscribed(stopTimeoutMillis: Long = 0) = SharingStarted()
    }
}

/** Runs while it is collected, and not longer. A collector gets the last value, and may miss those between. */
@Suppress("UNUSED_PARAMETER")
fun <T> Flow<T>.stateIn(scope: CoroutineScope, started: SharingStarted, initialValue: T): StateFlow<T> =
    Sharing(this, scope, initialValue)

private class Sharing<T>(
    private val upstream: Flow<T>, private val scope: CoroutineScope, initialValue: T
) : StateFlow<T> {
    @Volatile override var value = initialValue
    private var collectors = 0
    private var job: Job? = null
    private val waiting = ArrayList<CancellableContinuation<Unit>>()

    override suspend fun collect(collector: FlowCollector<T>) {
        synchronized(this) { if (collectors++ == 0) job = scope.launch { upstream.collect { publish(it) } } }
        try {
            var last = value
            while (true) {
                collector.emit(last)
                suspendCancellableCoroutine<Unit> { reader ->
                    val isLate = synchronized(this) { (value != last).also { if (!it) waiting.add(reader) } }
                    if (isLate) reader.resume(Unit)
                }
                last = value
            }
        } finally {
            synchronized(this) { if (--collectors == 0) job?.cancel() }
        }
    }

    private fun publish(next: T) {
        if (next == value) return
        val readers = synchronized(this) {
            value = next
            waiting.toList().also { waiting.clear() }
        }
        for (reader in readers) reader.resume(Unit)
    }
}
