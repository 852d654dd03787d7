import CLinux
import Glibc
import LockstepRuntime
import Testing

/// Far end in a test: an ordinary blocking socket. Reads time out after ten seconds.
final class PlainSocket {
  let rawValue: Int32

  init(adopting rawValue: Int32) {
    self.rawValue = rawValue
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Connects to a listener's address.
  init(to address: PeerAddress) throws {
    guard case .host(_, let port) = address else {
      throw SocketTrouble.notTCP
    }
    rawValue = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(rawValue, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var target = sockaddr_in()
    target.sin_family = sa_family_t(AF_INET)
    target.sin_port = port.bigEndian
    target.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &target) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(rawValue, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SocketTrouble.connect(errno) }
  }

  enum SocketTrouble: Error {
    case notTCP
    case connect(Int32)
  }

  deinit { close(rawValue) }

  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          rawValue, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      sent += count
    }
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Reads `count` bytes, or fewer if the stream ends or breaks first.
  func receive(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      guard let part = receivePart(atMost: min(count - bytes.count, 1 << 18)), !part.isEmpty else {
        break
      }
      bytes += part
    }
    return bytes
  }

  /// Reads to the end of the stream. Returns the bytes, and true if the stream ended properly.
  func receiveAll() -> (bytes: [UInt8], endedInOrder: Bool) {
    var bytes: [UInt8] = []
    while let part = receivePart(atMost: 1 << 18) {
      if part.isEmpty { return (bytes, true) }
      bytes += part
    }
    return (bytes, false)
  }

  private func receivePart(atMost limit: Int) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = recv(rawValue, &buffer, limit, 0)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  func endWriting() { shutdown(rawValue, Int32(SHUT_WR)) }

  /// Sends the peer a reset instead of an end.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(rawValue, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    var unconnected = sockaddr()
    unconnected.sa_family = sa_family_t(AF_UNSPEC)
    connect(rawValue, &unconnected, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Returns two connected ends.
  static func pair() throws -> (Int32, PlainSocket) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return (ends[0], PlainSocket(adopting: ends[1]))
  }
}
