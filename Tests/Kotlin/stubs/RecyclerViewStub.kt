// A stand-in for RecyclerView: what it draws from its notifications, and what it throws if they, or the adapter's
// counts, do not fit.

package androidx.recyclerview.widget

import android.content.Context
import android.view.View
import android.view.ViewGroup

class RecyclerView(context: Context) : ViewGroup(context) {
    var adapter: Adapter<*>? = null

    abstract class ViewHolder(val itemView: View) {
        val bindingAdapterPosition: Int get() = throw NotImplementedError()
    }

    abstract class Adapter<VH : ViewHolder> {
        private var observer: Observer? = null

        abstract fun getItemCount(): Int
        abstract fun onCreateViewHolder(parent: ViewGroup, viewType: Int): VH
        abstract fun onBindViewHolder(holder: VH, position: Int)
        open fun onBindViewHolder(holder: VH, position: Int, payloads: MutableList<Any>) =
            onBindViewHolder(holder, position)
        open fun getItemViewType(position: Int): Int = 0

        fun registerAdapterDataObserver(observer: Observer) {
            this.observer = observer
        }

        fun notifyDataSetChanged() = observer?.changed() ?: Unit
        fun notifyItemRangeInserted(positionStart: Int, itemCount: Int) =
            observer?.inserted(positionStart, itemCount) ?: Unit
        fun notifyItemRangeRemoved(positionStart: Int, itemCount: Int) =
            observer?.removed(positionStart, itemCount) ?: Unit
        fun notifyItemMoved(fromPosition: Int, toPosition: Int) = observer?.moved(fromPosition, toPosition) ?: Unit
        fun notifyItemRangeChanged(positionStart: Int, itemCount: Int, payload: Any?) =
            observer?.changed(positionStart, itemCount, payload) ?: Unit
    }

    /** `AdapterDataObserver`, by shorter names. */
    interface Observer {
        fun changed()
        fun changed(at: Int, count: Int, payload: Any?)
        fun inserted(at: Int, count: Int)
        fun removed(at: Int, count: Int)
        fun moved(from: Int, to: Int)
    }
}
