import Glibc
import LockstepModel
import LockstepRuntime

/// A connection to a server, over TCP or TLS, for one thread that waits for it. Every wait has an
/// end.
package final class PatientConnection {
  private let descriptor: Descriptor
  private let name: String
  private var secure: Secured?

  /// TLS over the connection; a class, because it cannot be copied.
  private final class Secured {
    let connection: SecureConnection
    init(_ connection: consuming SecureConnection) { self.connection = connection }
  }

  /// Connects to the first address of a host that accepts. Resolving a name may take longer than
  /// until `end`.
  package init(to host: String, port: UInt16, until end: Instant) throws(PatientFault) {
    name = "\(host):\(port)"
    let addresses: [SocketAddress]
    do throws(SocketAddress.LookupFault) {
      addresses = try PatientConnection.addresses(of: host, port: port)
    } catch {
      throw .failed("the name \(host) is not found: \(error.text)")
    }
    var fault = PatientFault.failed("\(host) has no address")
    for (index, address) in addresses.enumerated() {
      // An address that does not answer leaves time for the others.
      let now = SystemClock.instant()
      let left = max(0, end.milliseconds(since: now)) / Int64(addresses.count - index)
      do throws(PatientFault) {
        descriptor = try PatientConnection.connect(
          address, until: now.advanced(milliseconds: left))
        return
      } catch {
        fault = error
      }
    }
    throw fault
  }

  private static func addresses(
    of host: String, port: UInt16
  ) throws(SocketAddress.LookupFault) -> [SocketAddress] {
    do throws(SocketAddress.LookupFault) {
      return try SocketAddress.lookUp(host, port: port, as: .literal)
    } catch {
      guard error.isName else { throw error }
      return try SocketAddress.lookUp(host, port: port, as: .name)
    }
  }

  private static func connect(
    _ address: SocketAddress, until end: Instant
  ) throws(PatientFault) -> Descriptor {
    do throws(SystemFault) {
      let descriptor = try Syscall.makeSocket(address.family)
      try Syscall.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
      if try Syscall.connect(descriptor.rawValue, address) { return descriptor }
      guard Syscall.wait(for: descriptor.rawValue, POLLOUT, until: end) else { throw timedOut }
      if let fault = Syscall.readPendingError(descriptor.rawValue) { throw fault }
      return descriptor
    } catch {
      throw .failed(error.text)
    }
  }

  private static let timedOut = SystemFault(call: "connect", code: ETIMEDOUT)

  /// Begins TLS as the client. `host`: the name or literal address that the server's certificate
  /// must contain.
  package func secure(
    as host: String, trusting trust: Trust, until end: Instant
  ) throws(PatientFault) {
    let context: SecureContext
    do throws(CertificateFault) {
      context = try SecureContext.client(authorities: trust.authorities)
    } catch {
      throw .failed("\(error)")
    }
    let host = SocketAddress.withoutBrackets(host)
    guard let connection = SecureConnection.client(context, host: host),
      connection.attach(descriptor.rawValue)
    else { throw .failed("OpenSSL makes no connection") }
    let secured = Secured(connection)
    while true {
      switch secured.connection.continueHandshake() {
      case .done, .validated:
        secure = secured
        return
      case .wantsRead: try wait(POLLIN, until: end)
      case .wantsWrite: try wait(POLLOUT, until: end)
      case .broken(let text): throw .failed(text)
      case .refused(let fault): throw .insecure(fault)
      }
    }
  }

  /// Sends all bytes.
  package func write(_ bytes: [UInt8], until end: Instant) throws(PatientFault) {
    var sent = 0
    while sent < bytes.count {
      let progress = bytes.withUnsafeBytes {
        writeSome(UnsafeRawBufferPointer(rebasing: $0[sent...]))
      }
      switch progress {
      case .done(let count): sent += count
      case .wantsRead: try wait(POLLIN, until: end)
      case .wantsWrite: try wait(POLLOUT, until: end)
      case .ended: throw .failed("the connection was closed")
      case .failed(let fault): throw .failed(fault.text)
      }
    }
  }

  /// Returns received bytes; none if nothing came until `end`, or if `wakeup` was signalled.
  package func read(until end: Instant, or wakeup: ThreadWakeup?) throws(PatientFault) -> [UInt8] {
    while true {
      var progress = SecureConnection.Progress.wantsRead
      let bytes = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
        progress = readSome(UnsafeMutableRawBufferPointer(buffer))
        if case .done(let read) = progress { count = read }
      }
      switch progress {
      case .done(0), .ended: throw .failed("the server closed the connection")
      case .done: return bytes
      case .wantsWrite: try wait(POLLOUT, until: end)
      case .failed(let fault): throw .failed(fault.text)
      case .wantsRead:
        let ready = Syscall.waitUntilReadable(
          [descriptor.rawValue] + (wakeup.map { [$0.rawValue] } ?? []), until: end)
        if ready.dropFirst().first == true { wakeup?.clear() }
        guard ready[0] else { return [] }
      }
    }
  }

  private func wait(_ event: Int32, until end: Instant) throws(PatientFault) {
    guard Syscall.wait(for: descriptor.rawValue, event, until: end) else {
      throw .failed("it did not answer in time")
    }
  }

  private func writeSome(_ bytes: UnsafeRawBufferPointer) -> SecureConnection.Progress {
    if let secure { return secure.connection.write(bytes) }
    do throws(SystemFault) {
      let vector = iovec(
        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
      switch try Syscall.send(descriptor.rawValue, vector) {
      case .done(let count): return .done(count)
      case .wouldBlock: return .wantsWrite
      }
    } catch {
      return .failed(error)
    }
  }

  private func readSome(_ buffer: UnsafeMutableRawBufferPointer) -> SecureConnection.Progress {
    if let secure { return secure.connection.read(into: buffer) }
    do throws(SystemFault) {
      switch try Syscall.read(descriptor.rawValue, buffer) {
      case .done(let count): return .done(count)
      case .wouldBlock: return .wantsRead
      }
    } catch {
      return .failed(error)
    }
  }
}

/// Reason for which a `PatientConnection` cannot be used, with a text for a person.
package enum PatientFault: Error, Hashable, Sendable {
  case failed(String)
  case insecure(SecurityFault)
}

/// Ends the wait of a thread for a `PatientConnection`, from another thread.
package final class ThreadWakeup: Sendable {
  private let counter: WakeupDescriptor

  package init() throws(SystemFault) { counter = try WakeupDescriptor(isBlocking: false) }

  var rawValue: Int32 { counter.rawValue }

  package func signal() { counter.signal() }

  func clear() { counter.wait() }

  /// Waits for the signal, or until `end`.
  package func wait(until end: Instant) {
    if Syscall.waitUntilReadable([counter.rawValue], until: end)[0] { clear() }
  }
}
