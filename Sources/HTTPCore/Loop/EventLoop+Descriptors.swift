import CDiffSystem
import Glibc

/// Receives the events of a descriptor.
protocol EventReceiver: AnyObject {
    func receive(events: UInt32)
}

/// Watching descriptors, on the loop only.
extension EventLoop {
    /// Registers a descriptor; false if the kernel has no memory for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { return false }
        while confined.watched.count <= Int(descriptor) { confined.watched.append(nil) }
        confined.watched[Int(descriptor)] = receiver
        return true
    }

    /// Changes the events that a registered descriptor is watched for.
    func rewatch(_ descriptor: Int32, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0
    }

    /// The receiver of a descriptor's events.
    func receiver(of descriptor: Int32) -> (any EventReceiver)? {
        descriptor >= 0 && Int(descriptor) < confined.watched.count ? confined.watched[Int(descriptor)] : nil
    }

    /// Edge-triggered: input, and optionally room to write.
    private static func edges(forOutput: Bool) -> UInt32 {
        EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue | (forOutput ? EPOLLOUT.rawValue : 0)
    }

    /// Registers a descriptor, edge-triggered; false if the kernel has no memory for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, forOutput: Bool) -> Bool {
        watch(descriptor, receiver, events: Self.edges(forOutput: forOutput))
    }

    /// Starts or stops watching for room to write. Room that is there already counts as an edge.
    func watch(_ descriptor: Int32, forOutput: Bool) {
        _ = rewatch(descriptor, events: Self.edges(forOutput: forOutput))
    }

    /// Forgets a descriptor that is about to be closed, with which the kernel forgets it too.
    func forget(_ descriptor: Int32) {
        if descriptor >= 0, Int(descriptor) < confined.watched.count { confined.watched[Int(descriptor)] = nil }
    }

    /// Stops watching a descriptor that stays open.
    func unwatch(_ descriptor: Int32) {
        forget(descriptor)
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }
}
