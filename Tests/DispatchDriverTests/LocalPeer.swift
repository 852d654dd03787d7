import Dispatch
import Foundation
import LockstepRuntime

/// Server on this machine for one test. It serves each connection on a thread of its own.
final class LocalPeer: Sendable {
  enum Kind: Sendable {
    /// Sends back what it receives, until the end of the stream.
    case echo
    /// Reads nothing until `readOn`, then everything.
    case stalled
    /// Sends these bytes, then ends the stream.
    case greeting([UInt8])
  }

  let address: PeerAddress
  private let listener: Int32
  private let gate = DispatchSemaphore(value: 0)
  private let total: AsyncStream<Int>

  init(_ kind: Kind) {
    let (listener, port) = LocalSocket.listen()
    self.listener = listener
    address = .host("127.0.0.1", port: port)
    let gate = gate
    let (total, totals) = AsyncStream.makeStream(of: Int.self)
    self.total = total
    Thread.detachNewThread {
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { break }
        Thread.detachNewThread { totals.yield(Self.serve(descriptor, kind, gate)) }
      }
      LocalSocket.close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    gate.signal()
  }

  /// Lets one stalled connection read.
  func readOn() { gate.signal() }

  /// Waits for the end of a connection, and returns the number of its bytes.
  func received() async -> Int? { await total.first { _ in true } }

  /// An address on which nobody listens.
  static var closedAddress: PeerAddress {
    let (listener, port) = LocalSocket.listen()
    LocalSocket.close(listener)
    return .host("127.0.0.1", port: port)
  }

  private static func serve(_ descriptor: Int32, _ kind: Kind, _ gate: DispatchSemaphore) -> Int {
    var total = 0
    var echoes = false
    switch kind {
    case .echo: echoes = true
    case .stalled: gate.wait()
    case .greeting(let bytes):
      _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      shutdown(descriptor, Int32(SHUT_WR))
    }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      total += count
      if echoes { _ = send(descriptor, buffer, count, Int32(MSG_NOSIGNAL)) }
    }
    LocalSocket.close(descriptor)
    return total
  }
}
