// Stand-ins for Android's views, for the compiler, and to make holders of.

package android.view

import android.content.Context

open class View(val context: Context)

open class ViewGroup(context: Context) : View(context)
