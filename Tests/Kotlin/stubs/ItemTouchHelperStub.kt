package androidx.recyclerview.widget

class ItemTouchHelper(private val callback: Callback) {
    fun attachToRecyclerView(view: RecyclerView?): Unit = throw NotImplementedError("$callback $view")

    abstract class Callback {
        abstract fun onMove(view: RecyclerView, held: RecyclerView.ViewHolder, over: RecyclerView.ViewHolder): Boolean
        abstract fun onSwiped(held: RecyclerView.ViewHolder, direction: Int)
        open fun clearView(view: RecyclerView, held: RecyclerView.ViewHolder) = Unit
    }

    abstract class SimpleCallback(val dragDirs: Int, val swipeDirs: Int) : Callback()

    companion object {
        const val UP = 1
        const val DOWN = 2
    }
}
