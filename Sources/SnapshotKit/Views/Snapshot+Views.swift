extension Snapshot {
    /// What a view shows of the state, as a separate state.
    ///
    /// It shares ids and kinds with this state, and contents that the view does not cut. O(n), O(n log n) if the view
    /// orders items, O(1) if it shows everything.
    public func applying(_ view: StateView) -> Snapshot { view.isAll ? self : ViewedState(view, of: self).snapshot }
}
