// The list for SwiftUI is `LiveList`, which needs Observation alone; here is what moves its rows.

#if canImport(SwiftUI) && canImport(Observation)
    import Foundation
    import SwiftUI

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    extension LiveList {
        /// An empty list whose changes are animated; a reset is not.
        public convenience init(decoder: JSONDecoder = JSONDecoder(), animation: Animation) {
            self.init(decoder: decoder) { update, change in
                if case .reset = update.change { change() } else { withAnimation(animation) { change() } }
            }
        }
    }
#endif
