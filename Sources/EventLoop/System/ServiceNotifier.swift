import CLinux
import Glibc

/// Notifications to the service manager that started this process (sd_notify(3)): datagrams to a
/// Unix socket. There is no answer and no waiting.
@usableFromInline
package final class ServiceNotifier: Sendable {
  private let descriptor: Descriptor
  private let address: SocketAddress

  /// `socket`: the value of NOTIFY_SOCKET, a path, or `@` and a name in the abstract namespace
  /// (unix(7)). Returns nil if it is neither.
  @usableFromInline
  package init?(socket: String) throws(SystemFault) {
    guard let address = SocketAddress(notifying: socket) else { return nil }
    self.address = address
    descriptor = try Syscall.makeSocket(AF_UNIX, SOCK_DGRAM)
  }

  /// Sends `lines`: assignments such as `READY=1`. Returns false if the manager cannot be reached
  /// now: it is gone, or does not read.
  @discardableResult
  @usableFromInline
  package func send(_ lines: [String]) -> Bool {
    let bytes = Array(lines.joined(separator: "\n").utf8)
    return address.withPointer { pointer, length in
      bytes.withUnsafeBytes {
        sendto(
          descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), pointer,
          length)
      } == bytes.count
    }
  }
}
