// Rows, ids and windows are SnapshotKit's: with this, `import DiffClient` is all that an app needs.
@_exported import SnapshotKit
