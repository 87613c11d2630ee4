// Stand-ins for Compose's lazy lists, for the compiler only.

package androidx.compose.foundation.lazy

import androidx.compose.runtime.Composable
import androidx.compose.ui.Modifier

interface LazyItemScope {
    fun Modifier.animateItem(): Modifier
}

interface LazyListScope {
    fun item(key: Any? = null, contentType: Any? = null, content: @Composable LazyItemScope.() -> Unit)
}

fun <T> LazyListScope.items(
    items: List<T>, key: ((T) -> Any)? = null, contentType: (T) -> Any? = { null },
    itemContent: @Composable LazyItemScope.(T) -> Unit
): Unit = throw NotImplementedError()

@Composable
fun LazyColumn(content: LazyListScope.() -> Unit): Unit = throw NotImplementedError("$content")
