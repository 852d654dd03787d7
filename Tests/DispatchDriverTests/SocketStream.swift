import Dispatch
import Foundation
import LockstepDispatchDriver
import LockstepRuntime

/// Stream over a blocking socket, in place of `NetworkStream`: for peers on this machine, without
/// TLS. One queue reads, another one writes.
final class SocketStream: ByteStream, @unchecked Sendable {
  private let peer: PeerAddress
  private let queue: DispatchQueue
  private let reading = DispatchQueue(label: "test.read")
  private let writing = DispatchQueue(label: "test.write")
  // The rest belongs to the driver's queue.
  private var descriptor: Int32 = -1
  private var handle: (@Sendable (ByteStreamEvent) -> Void)?
  private var isPaused = false
  private var isReading = false
  private var held: ByteStreamEvent?

  init(_ peer: PeerAddress, on queue: DispatchQueue) {
    self.peer = peer
    self.queue = queue
  }

  func open(_ handle: @escaping @Sendable (ByteStreamEvent) -> Void) {
    self.handle = handle
    reading.async {
      let descriptor = LocalSocket.connect(to: self.peer)
      let reason = errno
      self.queue.async { self.connected(descriptor, reason) }
    }
  }

  private func connected(_ descriptor: Int32, _ reason: Int32) {
    guard descriptor >= 0 else {
      return end(.connectFailed(String(cString: strerror(reason))))
    }
    guard let handle else { return LocalSocket.close(descriptor) }
    self.descriptor = descriptor
    handle(.opened(isSecure: false))
    read()
  }

  private func read() {
    guard !isPaused, !isReading, descriptor >= 0, handle != nil else { return }
    isReading = true
    let descriptor = descriptor
    reading.async {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      let event: ByteStreamEvent =
        count > 0
        ? .received(Array(buffer.prefix(count)))
        : .closed(count == 0 ? .endOfStream : .failed(String(cString: strerror(errno))))
      self.queue.async {
        self.isReading = false
        if self.isPaused { self.held = event } else { self.pass(event) }
      }
    }
  }

  private func pass(_ event: ByteStreamEvent) {
    if case .closed(let cause) = event { return end(cause) }
    handle?(event)
    read()
  }

  func send(_ bytes: [UInt8]) {
    let descriptor = descriptor
    writing.async {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
      self.queue.async { self.handle?(.sent(bytes.count)) }
    }
  }

  func setReading(isPaused: Bool) {
    self.isPaused = isPaused
    guard !isPaused, let event = held else { return read() }
    held = nil
    pass(event)
  }

  func close(_ manner: CloseManner) {
    handle = nil
    guard descriptor >= 0 else { return }
    let descriptor = descriptor
    self.descriptor = -1
    if manner == .now { shutdown(descriptor, Int32(SHUT_RDWR)) }
    // After what was sent, and after the pending read, which the shutdown ends.
    writing.async {
      shutdown(descriptor, Int32(SHUT_RDWR))
      self.reading.async { LocalSocket.close(descriptor) }
    }
  }

  private func end(_ cause: CloseCause) {
    let handle = self.handle
    close(.now)
    handle?(.closed(cause))
  }
}

/// Sockets on the loopback address.
enum LocalSocket {
  static func connect(to peer: PeerAddress) -> Int32 {
    guard case .host("127.0.0.1", let port) = peer else {
      errno = EADDRNOTAVAIL
      return -1
    }
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let code = withAddress(port) { Foundation.connect(descriptor, $0, $1) }
    if code == 0 { return descriptor }
    let reason = errno
    close(descriptor)
    errno = reason
    return -1
  }

  /// Returns a listening socket and its port.
  static func listen() -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let code = withAddress(0) { bind(descriptor, $0, $1) }
    precondition(code == 0 && Foundation.listen(descriptor, 16) == 0, "no socket to listen on")
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress else { return }
      _ = getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  static func close(_ descriptor: Int32) { Foundation.close(descriptor) }

  private static func withAddress(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
