import Dispatch
import LockstepRuntime

/// Stream to a host to which the driver does not connect.
final class RefusedStream: ByteStream, @unchecked Sendable {
  private let queue: DispatchQueue
  // Belongs to the queue.
  private var handle: (@Sendable (ByteStreamEvent) -> Void)?

  init(on queue: DispatchQueue) { self.queue = queue }

  func open(_ handle: @escaping @Sendable (ByteStreamEvent) -> Void) {
    self.handle = handle
    queue.async { self.handle?(.closed(.addressNotAllowed)) }
  }

  func send(_ bytes: [UInt8]) {}

  func setReading(isPaused: Bool) {}

  func close(_ manner: CloseManner) { handle = nil }
}
