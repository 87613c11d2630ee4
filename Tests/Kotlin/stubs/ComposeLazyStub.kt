// Stand-ins for Compose's lazy lists, for the compiler only.

package androidx.compose.foundation.lazy

import androidx.compose.runtime.Composable

interface LazyItemScope

interface LazyListScope {
    fun item(key: Any? = null, contentType: Any? = null, content: @Composable LazyItemScope.() -> Unit)
}

fun <T> LazyListScope.items(
    items: List<T>, key: ((T) -> Any)? = null, contentType: (T) -> Any? = { null },
    itemContent: @Composable LazyItemScope.(T) -> Unit
): Unit = throw NotImplementedError()
