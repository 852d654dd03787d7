import LockstepRuntime

/// One outgoing stream of bytes. A driver calls it on its queue, and gets all events there.
package protocol ByteStream: AnyObject {
  /// Connects. `handle` gets `opened` first, unless that fails, and `closed` last. It gets nothing
  /// after `close`.
  func open(_ handle: @escaping @Sendable (ByteStreamEvent) -> Void)

  /// Sends bytes after those of earlier calls.
  func send(_ bytes: [UInt8])

  /// While reading is paused there is no `received`, and no `closed` that follows it.
  func setReading(isPaused: Bool)

  func close(_ manner: CloseManner)
}

package enum ByteStreamEvent: Sendable {
  case opened(isSecure: Bool)
  case received([UInt8])
  /// So many of the sent bytes were passed to the system.
  case sent(Int)
  case closed(CloseCause)
}
