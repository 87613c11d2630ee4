package diffserver

import androidx.recyclerview.widget.RecyclerView

/**
 * Shows a list followed in the dialect [Dialect.SEQUENTIAL], with each splice as the notification that animates it. An
 * update that does not start from what is shown is drawn as a whole, so none leaves RecyclerView with mismatched
 * counts.
 */
abstract class RowsAdapter<T, Holder : RecyclerView.ViewHolder> : RecyclerView.Adapter<Holder>() {
    /** What is shown. */
    var list = RowList<T>()
        private set

    /** The headers and rows of [list], by position. */
    var entries: List<Entry<T>> = emptyList()
        private set

    /** The edits that wait for the server, for [bind]: a row is bound again when it begins and ends to be in one. */
    var pending = Pending()
        set(next) {
            val last = field
            field = next
            entries.forEachIndexed { at, entry ->
                val row = (entry as? Entry.Item)?.row ?: return@forEachIndexed
                if (last.has(row) != next.has(row)) notifyItemRangeChanged(at, 1, Redraw.RECONFIGURE)
            }
        }

    private val kinds = ArrayList<String?>()

    /** Fills a holder. Called again, with the same holder, when the entry shows something else. */
    abstract fun bind(holder: Holder, entry: Entry<T>)

    /** Shows an update. */
    fun show(update: ListUpdate<T>) {
        val change = update.change
        if (change !is Change.Sequential || update.before !== list) return show(update.list)
        list = update.list
        entries = list.entries()
        change.splices.forEach(::tell)
    }

    /** Shows a list, without animation. */
    fun show(list: RowList<T>) {
        if (list === this.list) return
        this.list = list
        entries = list.entries()
        notifyDataSetChanged()
    }

    private fun tell(splice: Splice): Unit = when (splice) {
        is Splice.Removed -> notifyItemRangeRemoved(splice.at, splice.count)
        is Splice.Inserted -> notifyItemRangeInserted(splice.at, splice.count)
        is Splice.Moved -> notifyItemMoved(splice.from, splice.to)
        // With a payload the holder is kept and bound again: nothing fades.
        is Splice.Changed ->
            notifyItemRangeChanged(splice.at, splice.count, splice.redraw.takeIf { it == Redraw.RECONFIGURE })
    }

    override fun getItemCount() = entries.size

    /** 0 for headers, and a number for each kind of row: see [kindOf]. */
    override fun getItemViewType(position: Int): Int {
        val row = (entries[position] as? Entry.Item)?.row ?: return 0
        if (row.kind !in kinds) kinds.add(row.kind)
        return kinds.indexOf(row.kind) + 1
    }

    /** The kind of the rows that a view type is for; null if they have none, and for headers. */
    fun kindOf(viewType: Int): String? = kinds.getOrNull(viewType - 1)

    override fun onBindViewHolder(holder: Holder, position: Int) = bind(holder, entries[position])
}
