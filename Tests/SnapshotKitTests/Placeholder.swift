import Testing

@testable import SnapshotKit
