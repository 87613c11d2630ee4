package diffserver

import androidx.lifecycle.Lifecycle
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ViewModel
import androidx.lifecycle.lifecycleScope
import androidx.lifecycle.repeatOnLifecycle
import kotlinx.coroutines.Job
import kotlinx.coroutines.flow.*
import kotlinx.coroutines.launch

/**
 * Keeps what was shown, and its revision, so that whoever follows next goes on from there: a rotated screen, or a
 * return.
 */
open class ListViewModel(val client: DiffClient, from: Followed = Followed()) : ViewModel() {
    /** What the server told last: what was shown, without edits that were pending. */
    var followed = from
        private set

    /** Follows until it is cancelled. What is shown is [followed] at first. */
    suspend fun follow(window: RowWindow? = null, onStatus: (Status) -> Unit = {}, show: (ListUpdate) -> Unit) {
        client.updates(followed, window, onStatus).collect {
            followed = it.followed
            show(it)
        }
    }

    /**
     * Shows the list in an adapter, and follows while `owner` is started: in the background nothing is asked.
     *
     * @param onStatus told what the connection is doing; [Status.Stopped] is the last.
     */
    fun show(adapter: RowsAdapter<*>, owner: LifecycleOwner, onStatus: (Status) -> Unit = {}): Job =
        owner.lifecycleScope.launch {
            adapter.show(followed.list)
            owner.lifecycle.repeatOnLifecycle(Lifecycle.State.STARTED) {
                adapter.show(followed.list) // edits that were pending may be refused by now
                try {
                    follow(onStatus = onStatus) { adapter.show(it) }
                } catch (problem: ProblemException) {
                    // `onStatus` was told.
                }
            }
        }
}
