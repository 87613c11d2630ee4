// A stand-in for kotlinx.coroutines.flow, which Debian's kotlinx.coroutines 1.0.1 does not have yet. It works, and no
// more.

package kotlinx.coroutines.flow

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
