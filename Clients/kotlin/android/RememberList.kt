package diffserver

import androidx.compose.foundation.lazy.LazyItemScope
import androidx.compose.foundation.lazy.LazyListScope
import androidx.compose.foundation.lazy.items
import androidx.compose.runtime.Composable
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.Stable
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.setValue
import androidx.lifecycle.Lifecycle
import androidx.lifecycle.compose.LocalLifecycleOwner
import androidx.lifecycle.repeatOnLifecycle
import kotlinx.coroutines.flow.*

/**
 * A followed list, for Compose. Kept in a ViewModel it continues where it was; otherwise it lives as long as its
 * screen.
 */
@Stable
class ListState<T>(from: Followed<T> = Followed()) {
    /** The server's last state, with the revision to continue from. */
    var followed: Followed<T> by mutableStateOf(from)
        private set

    /** What the connection is doing; null before it has begun. */
    var status: Status? by mutableStateOf<Status?>(null)
        private set

    /** The rows to show, with pending edits. */
    var list: RowList<T> by mutableStateOf(from.list)
        private set

    /** Follows until it is cancelled, or asking again cannot help, which [status] reports. */
    suspend fun follow(client: DiffClient<T>, window: RowWindow? = null) {
        try {
            list = followed.list // edits that were pending may have been refused
            client.updates(followed, window, { status = it }).collect {
                followed = it.followed
                list = it.list
            }
        } catch (problem: ProblemException) {
            status = Status.Stopped(problem.problem)
        }
    }
}

/**
 * A list that is followed while the screen is visible. Back from the background it continues from the existing rows.
 */
@Composable
fun <T> rememberList(
    client: DiffClient<T>, window: RowWindow? = null, state: ListState<T> = remember(client) { ListState<T>() }
): ListState<T> {
    val lifecycle = LocalLifecycleOwner.current.lifecycle
    LaunchedEffect(client, window, state, lifecycle) {
        lifecycle.repeatOnLifecycle(Lifecycle.State.STARTED) { state.follow(client, window) }
    }
    return state
}

/** The sections and rows of a list in a LazyColumn: keys are ids, so rows keep their state and can animate moves. */
fun <T> LazyListScope.rows(
    list: RowList<T>, header: (@Composable LazyItemScope.(Section<T>) -> Unit)? = null,
    row: @Composable LazyItemScope.(Row<T>) -> Unit
) {
    for (section in list.sections) {
        if (header != null && section.content != null) item(key = "section ${section.id}") { header(section) }
        items(section.rows, key = { "item ${it.id}" }, contentType = { it.kind }) { row(it) }
    }
}
