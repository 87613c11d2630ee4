package diffserver

import androidx.lifecycle.Lifecycle
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel
import androidx.lifecycle.lifecycleScope
import androidx.lifecycle.repeatOnLifecycle
import androidx.lifecycle.viewModelScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.*
import kotlinx.coroutines.launch

/**
 * Keeps what was shown, and its revision, so that the next follower continues from there: after a rotation of the
 * screen, or a return.
 */
open class ListViewModel<T>(val client: DiffClient<T>, from: Followed<T> = Followed()) : ViewModel() {
    /** The server's last state: what was shown, without pending edits. */
    var followed = from
        private set

    /** What to show. Follows while somebody collects it, and 5 s longer, which outlasts a rotation. */
    val state: StateFlow<ListState<T>> = flow<ListState<T>> {
        client.states(followed).collect {
            followed = it.followed
            emit(it)
        }
    }.stateIn(viewModelScope, SharingStarted.WhileSubscribed(5_000), ListState(from))

    /** Follows until it is cancelled. [followed] is shown first. */
    suspend fun follow(
        window: RowWindow? = null, onStatus: (Status) -> Unit = {}, onPending: (Pending) -> Unit = {},
        show: (ListUpdate<T>) -> Unit
    ) {
        client.updates(followed, window, onStatus, onPending).collect {
            followed = it.followed
            show(it)
        }
    }

    /**
     * Shows the list in an adapter, and follows while `owner` is started: nothing is requested in the background.
     *
     * @param onStatus called with what the connection is doing; [Status.Stopped] is the last.
     */
    fun show(adapter: RowsAdapter<T, *>, owner: LifecycleOwner, onStatus: (Status) -> Unit = {}): Job =
        owner.lifecycleScope.launch {
            adapter.show(followed.list)
            owner.lifecycle.repeatOnLifecycle(Lifecycle.State.STARTED) {
                adapter.show(followed.list) // edits that were pending may have been refused
                try {
                    follow(onStatus = onStatus, onPending = { adapter.pending = it }) { adapter.show(it) }
                } catch (problem: ProblemException) {
                    // `onStatus` has been called.
                }
            }
        }
}
