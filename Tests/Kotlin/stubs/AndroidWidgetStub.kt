package android.widget

import android.content.Context
import android.view.View

class TextView(context: Context) : View(context) {
    var text: CharSequence? = null
}
