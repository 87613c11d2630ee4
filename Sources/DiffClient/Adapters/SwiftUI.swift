// The list for SwiftUI is `LiveList`, which needs only Observation; this animates it.

#if canImport(SwiftUI) && canImport(Observation)
    import Foundation
    import SwiftUI

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    extension LiveList {
        /// An empty list whose changes are animated, except for resets.
        public convenience init(decoder: JSONDecoder = JSONDecoder(), animation: Animation) {
            self.init(decoder: decoder) { update, change in
                if case .reset = update.change { change() } else { withAnimation(animation) { change() } }
            }
        }
    }
#endif
