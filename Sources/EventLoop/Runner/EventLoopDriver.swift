import LockstepRuntime

/// Driver of a group's one node on an event loop, with a thread of its own, and of the group's
/// workers.
package final class EventLoopDriver<N: Node & SendableMetatype & ~Copyable>: DeviceDriver {
  package typealias Order = N.Order

  private let group: NodeGroup<N>
  private let ended: @Sendable () -> Void

  /// `ended` is called once, on the driver's thread, when all jobs are done and all sockets closed.
  package init(_ group: NodeGroup<N>, ended: @escaping @Sendable () -> Void) {
    self.group = group
    self.ended = ended
  }

  package func start() throws(SystemFault) {
    let (group, ended) = (group, ended)
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
