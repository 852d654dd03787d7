import Glibc

/// Failed system call, for a reason outside this process: the call's name and its errno.
public struct SystemFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// Name of the call, as in its manual page.
  public let call: String
  /// The errno.
  public let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  /// The system's text, such as `Connection refused`.
  public var text: String { SystemFault.text(of: code) }

  public var description: String { "\(call): \(text)" }

  static func text(of code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}

/// Error of a listener that could not be opened. Each case says what a person does next.
public enum ListenFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// Another process, or another listener of this one, uses the address.
  case addressInUse(String)
  /// Ports below 1024 and directories of others need more rights.
  case notPermitted(String)
  /// The address does not belong to this machine, or its name is unknown.
  case addressUnknown(String, detail: String)
  /// The path of a Unix socket may have `limit` bytes.
  case pathTooLong(String, limit: Int)
  /// The path of the socket exists and is not a socket.
  case notASocket(path: String)
  case failed(String, SystemFault)

  public var description: String {
    switch self {
    case .addressInUse(let address):
      "\(address) is in use by another process; stop that one, or choose another address"
    case .notPermitted(let address):
      "\(address) may not be used by this user; choose a port above 1023, or a place of your own"
    case .addressUnknown(let address, let detail):
      "\(address) is no address of this machine (\(detail)); try 127.0.0.1 or 0.0.0.0"
    case .pathTooLong(let path, let limit):
      "the socket path \(path) is longer than the \(limit) bytes that the system takes; "
        + "choose a directory with a shorter name"
    case .notASocket(let path):
      "\(path) exists and is not a socket; move it away, or choose another place"
    case .failed(let address, let fault):
      "\(address) cannot be listened on (\(fault)); choose another address"
    }
  }
}
