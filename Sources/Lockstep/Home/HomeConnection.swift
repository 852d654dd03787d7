#if os(Linux)
  import Glibc
  import LockstepJSON
  import LockstepLanguage
  import LockstepWire

  /// Client of a home's socket: sends requests and waits for lines. Blocking, with a timeout for
  /// every wait, because a command does one thing at a time.
  package final class HomeConnection {
    private let descriptor: Int32
    /// Unlimited, because a list of all that an account has is one line. Each byte is searched
    /// once.
    private var lines = LineReader(bytesMax: .max)

    /// Connects to the process that holds the home; returns nil if there is none.
    package init?(socket path: String) {
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return nil }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let isShort = withUnsafeMutableBytes(of: &address.sun_path) { bytes in
        guard path.utf8.count < bytes.count else { return false }
        bytes.copyBytes(from: path.utf8)
        return true
      }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
      }
      guard isShort, result == 0 else {
        close(descriptor)
        return nil
      }
      self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Returns false if the process that holds the home has ended; it has not received the request
    /// then.
    package func send(_ request: HomeRequest) -> Bool {
      send(request.answered(in: .current).line)
    }

    /// Sends a request of any form; see `send(_:)`.
    package func send(_ line: JSONValue) -> Bool {
      var bytes = line.serialized()[...]
      bytes.append(UInt8(ascii: "\n"))
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return false }
        bytes = bytes.dropFirst(count)
      }
      return true
    }

    package enum Event {
      case line(JSONValue)
      /// Another descriptor is readable.
      case other(Int32)
      case timeout
      /// The process that holds the home has ended.
      case closed
    }

    /// Waits for a line, for one of `others` to be readable (the first one has precedence), or for
    /// the timeout.
    package func next(milliseconds: Int32, others: [Int32] = []) -> Event {
      while true {
        if case .text(let line) = lines.next() {
          do throws(JSONFault) {
            return .line(try JSONValue(parsing: line))
          } catch {
            return .closed
          }
        }
        var polled = (others + [descriptor]).map {
          pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? .timeout : .closed }
        if let ready = polled.dropLast().first(where: { $0.revents != 0 }) {
          return .other(ready.fd)
        }
        guard readMore() else { return .closed }
      }
    }

    private func readMore() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 { return errno == EINTR }
      lines.receive(buffer.prefix(count))
      return count > 0
    }
  }
#else
  import LockstepJSON

  /// Client of a home's socket. A home has none on this system.
  package final class HomeConnection {
    package init?(socket path: String) { return nil }

    func send(_ request: JSONValue) -> Bool { false }

    package enum Event {
      case line(JSONValue)
      case other(Int32)
      case timeout, closed
    }

    package func next(milliseconds: Int32, others: [Int32] = []) -> Event { .closed }
  }
#endif
