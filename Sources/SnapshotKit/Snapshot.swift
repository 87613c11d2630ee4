/// One list state.
public struct Snapshot {}
