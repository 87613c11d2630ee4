// Stand-ins for androidx.lifecycle, for the compiler, and to start and stop by hand.

package androidx.lifecycle

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.suspendCancellableCoroutine

abstract class ViewModel {
    internal val scope = CoroutineScope(Dispatchers.Default)
}

val ViewModel.viewModelScope: CoroutineScope get() = scope

open class Lifecycle {
    enum class State { CREATED, STARTED }
}

interface LifecycleOwner {
    val lifecycle: Lifecycle
}

val LifecycleOwner.lifecycleScope: CoroutineScope get() = (this as OwnerStub).scope

class OwnerStub(val scope: CoroutineScope) : LifecycleOwner {
    override val lifecycle = Lifecycle()
}

/** The real one starts again at each start; this one is started once. */
suspend fun Lifecycle.repeatOnLifecycle(state: Lifecycle.State, block: suspend CoroutineScope.() -> Unit) {
    coroutineScope(block)
    suspendCancellableCoroutine<Unit> { }
}
