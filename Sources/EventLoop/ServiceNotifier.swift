import CLinux
import Glibc

/// The way to the service manager that started this process (sd_notify(3)): datagrams to a Unix
/// socket. Nothing comes back, and nothing is waited for.
public final class ServiceNotifier: Sendable {
  private let descriptor: Descriptor
  private let address: SocketAddress

  /// `socket`: as NOTIFY_SOCKET has it, a path, or `@` and a name in the abstract namespace
  /// (unix(7)). nil where it is neither.
  public init?(socket: String) throws(SystemFault) {
    guard let address = SocketAddress(notifying: socket) else { return nil }
    self.address = address
    descriptor = try Syscall.makeSocket(AF_UNIX, SOCK_DGRAM)
  }

  /// `lines`: assignments such as `READY=1`. False where the manager cannot be told now: it has
  /// gone, or reads nothing.
  @discardableResult
  public func tell(_ lines: [String]) -> Bool {
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
