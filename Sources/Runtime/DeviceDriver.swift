/// Driver of one node that opens connections itself, with real I/O: on Linux the event loop
/// (`EventLoopDriver`), on Apple's systems Dispatch and Network (`DispatchDriver`).
///
/// The contract, to which `DeviceDriverTests` hold both:
///
/// - The node handles one event at a time, and all its actions are performed before the next one.
/// - Orders of one thread arrive in the order in which they were posted.
/// - `opened` or `closed` follows each `open`. Bytes arrive in order, and none after `pauseReading`
///   until `resumeReading`. Nothing follows `closed`, or the node's own `close`.
/// - After the node sent bytes, `drained` says how many still wait, until none do; it may be left
///   out if none ever waited.
/// - Jobs of one lane are done one at a time in their order. Lanes never wait for one another.
/// - `deadlineReached` comes when the node's next deadline has passed, never before.
/// - Reports are passed on one at a time, in their order.
/// - After the node's last report, or after `stop` when it has no connection and no job left,
///   nothing more is reported. When all jobs are done, the driver says once that it has ended.
package protocol DeviceDriver<Order>: AnyObject, Sendable {
  associatedtype Order: Sendable

  /// Starts the node. Called once, before anything else.
  func start() throws

  /// Passes an order to the node; does nothing after the end. Any thread may call it.
  func post(_ order: Order)

  /// Passes `stopping` to the node. A second call ends it at once. Any thread may call it.
  func stop()
}
