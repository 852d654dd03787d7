import LockstepRuntime

/// Driver of a node on an event loop with a thread of its own, and a thread for each lane.
package final class EventLoopDriver<N: Node & SendableMetatype & ~Copyable>: DeviceDriver {
  package typealias Order = N.Order

  private let group: NodeGroup<N>

  /// Starts the node. `addWorkers` adds the workers of its lanes. `ended` is called once, on the
  /// driver's thread, when all jobs are done and all sockets closed.
  package init(
    _ node: consuming sending N, listeners: [Listener] = [], _ settings: GroupSettings<N.Report>,
    addWorkers: (NodeGroup<N>) throws(SystemFault) -> Void = { _ in },
    ended: @escaping @Sendable () -> Void
  ) throws(SystemFault) {
    let group = try NodeGroup<N>(count: 1, settings)
    self.group = group
    try addWorkers(group)
    try group.add(node, listeners: listeners)
    let thread = try LoopThread("lockstep") {
      do throws(SystemFault) {
        _ = try group.run()
      } catch {
        group.stop()
      }
      ended()
    }
    thread.detach()
  }

  package func post(_ order: N.Order) { group.post(order) }

  package func stop() { group.stop() }
}
