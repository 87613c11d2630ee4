// The list for SwiftUI is `LiveList`, which needs Observation alone; here is what moves its rows.

#if canImport(SwiftUI) && canImport(Observation)
    import SwiftUI

    extension LiveList {
        /// An empty list whose changes are animated; a reset is not.
        public convenience init(animation: Animation) {
            self.init { update, change in
                if case .reset = update.change { change() } else { withAnimation(animation) { change() } }
            }
        }
    }
#endif
