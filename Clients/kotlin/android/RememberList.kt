package diffserver

import androidx.compose.foundation.lazy.LazyItemScope
import androidx.compose.foundation.lazy.LazyListScope
import androidx.compose.foundation.lazy.items
import androidx.compose.runtime.Composable
import androidx.compose.runtime.LaunchedEffect
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.setValue
import androidx.lifecycle.Lifecycle
import androidx.lifecycle.compose.LocalLifecycleOwner
import androidx.lifecycle.repeatOnLifecycle
import kotlinx.coroutines.flow.*

/**
 * A list that is followed while the screen is visible. Back from the background it continues from the existing rows;
 * the `state` of a [ListViewModel] also outlasts the screen.
 */
@Composable
fun <T> rememberList(client: DiffClient<T>, window: RowWindow? = null): ListState<T> {
    val lifecycle = LocalLifecycleOwner.current.lifecycle
    var state by remember(client) { mutableStateOf(ListState<T>()) }
    LaunchedEffect(client, window, lifecycle) {
        lifecycle.repeatOnLifecycle(Lifecycle.State.STARTED) {
            client.states(state.followed, window).collect { state = it }
        }
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
