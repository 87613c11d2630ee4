package androidx.lifecycle.compose

import androidx.compose.runtime.CompositionLocal
import androidx.lifecycle.LifecycleOwner

val LocalLifecycleOwner = object : CompositionLocal<LifecycleOwner>() {} as CompositionLocal<LifecycleOwner>
