package androidx.compose.material3

import androidx.compose.runtime.Composable
import androidx.compose.ui.Modifier

@Composable
fun Text(text: String, modifier: Modifier = Modifier): Unit = throw NotImplementedError("$text $modifier")
