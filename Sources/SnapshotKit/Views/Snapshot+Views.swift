extension Snapshot {
    /// What a view shows of the state, as a state of its own.
    ///
    /// Ids and kinds, and contents where the view does not cut them, are shared with this state. O(n), O(n log n) where
    /// the view orders items, O(1) where it shows all there is.
    public func applying(_ view: StateView) -> Snapshot { view.isAll ? self : ViewedState(view, of: self).snapshot }
}
