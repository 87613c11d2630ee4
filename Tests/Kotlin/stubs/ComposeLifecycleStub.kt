package androidx.lifecycle.compose

import androidx.compose.runtime.Composable
import androidx.compose.runtime.CompositionLocal
import androidx.compose.runtime.State
import androidx.lifecycle.LifecycleOwner
import kotlinx.coroutines.flow.StateFlow

val LocalLifecycleOwner = object : CompositionLocal<LifecycleOwner>() {} as CompositionLocal<LifecycleOwner>

@Composable
fun <T> StateFlow<T>.collectAsStateWithLifecycle(): State<T> = throw NotImplementedError()
