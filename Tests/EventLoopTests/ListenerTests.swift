import Glibc
import LockstepModel
import LockstepWire
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

struct ListenerTests {
  @Test func takenPortIsAClearFault() throws {
    let holder = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)
    #expect {
      _ = try Listener.open(holder[0].address, listenerKind: .public)
    } throws: { error in
      guard case .addressInUse(let name) = error as? ListenFault else { return false }
      return name.hasPrefix("127.0.0.1:") && "\(error)".contains("in use")
    }
  }

  @Test func portSharedByLoopsIsTakenForOthers() throws {
    let holders = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public, count: 3)
    #expect(holders.count == 3)
    for count in [1, 2] {
      #expect(throws: ListenFault.self) {
        _ = try Listener.open(holders[0].address, listenerKind: .public, count: count)
      }
    }
  }

  @Test func freePortIsTheSameForAllLoops() throws {
    let listeners = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public, count: 4)
    guard case .host("127.0.0.1", let port) = listeners[0].address else {
      Issue.record("another address")
      return
    }
    #expect(port != 0)
    #expect(Set(listeners.map(\.address)).count == 1)
  }

  @Test func portIsFreeAgainAfterwards() throws {
    let address = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public, count: 2)[0]
      .address
    #expect(throws: Never.self) { _ = try Listener.open(address, listenerKind: .public) }
  }

  @Test func acceptedConnectionsSendWithoutDelay() throws {
    let listener = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
    let client = try PlainSocket(to: listener.address)
    var peer = SocketAddress()
    var accepted: Int32?
    var noDelay: Int32 = 0
    waitUntil {
      guard let descriptor = try? Syscall.accept(listener.rawValue, &peer) else { return false }
      accepted = descriptor.rawValue
      noDelay = Syscall.option(descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY)
      return true
    }
    #expect(accepted != nil)
    #expect(noDelay == 1)
    withExtendedLifetime(client) {}
  }

  @Test func theKernelBuffersLittleForAPeerThatReadsNothing() throws {
    let listener = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
    let client = try PlainSocket(to: listener.address)
    var peer = SocketAddress()
    var taken = 0
    waitUntil {
      guard let descriptor = try? Syscall.accept(listener.rawValue, &peer) else { return false }
      let bytes = [UInt8](repeating: 7, count: 1 << 20)
      while taken < 64 << 20 {
        let count = bytes.withUnsafeBytes {
          send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
        }
        if count < 0 { break }
        taken += count
      }
      #expect(
        Syscall.option(descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT)
          == Int32(Limits.kernelUnsentBytes))
      return true
    }
    #expect(taken > 0)
    // This includes the bytes in the peer's receive buffer.
    #expect(taken < 8 << 20)
    withExtendedLifetime(client) {}
  }

  @Test func addressOfAnotherMachineIsAFault() {
    #expect {
      _ = try Listener.open(.host("192.0.2.1", port: 0), listenerKind: .public)
    } throws: { error in
      if case .addressUnknown("192.0.2.1:0", _) = error as? ListenFault { true } else { false }
    }
  }

  @Test func wordThatIsNoAddressIsAFault() {
    #expect {
      _ = try Listener.open(.host("not an address", port: 0), listenerKind: .public)
    } throws: { error in
      if case .addressUnknown = error as? ListenFault { true } else { false }
    }
  }

  @Test func localSocketIsItsOwnersAlone() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/control"
    let listener = try Listener.open(.local(path: path), listenerKind: .control)[0]
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    withExtendedLifetime(listener) {}
  }

  @Test func localSocketIsGoneWithItsListener() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/control"
    _ = try Listener.open(.local(path: path), listenerKind: .control)
    #expect(access(path, F_OK) != 0)
  }

  @Test func localSocketInUseIsRefusedAndStays() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/control"
    let listener = try Listener.open(.local(path: path), listenerKind: .control)[0]
    #expect(throws: ListenFault.addressInUse(path)) {
      _ = try Listener.open(.local(path: path), listenerKind: .control)
    }
    #expect(access(path, F_OK) == 0)
    withExtendedLifetime(listener) {}
  }

  @Test func localSocketOfADeadProcessIsReplaced() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/control"
    do {
      // Bound, and closed without removing the file, as after a killed process.
      let abandoned = try Syscall.makeSocket(AF_UNIX)
      try Syscall.bind(abandoned.rawValue, try SocketAddress(path: path))
    }
    #expect(access(path, F_OK) == 0)
    #expect(throws: Never.self) {
      _ = try Listener.open(.local(path: path), listenerKind: .control)
    }
  }

  @Test func ordinaryFileIsNotTouched() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/plain"
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: ListenFault.notASocket(path: path)) {
      _ = try Listener.open(.local(path: path), listenerKind: .control)
    }
    #expect(access(path, F_OK) == 0)
  }

  @Test func tooLongAPathIsAFaultWithItsLimit() {
    let path = "/tmp/" + String(repeating: "x", count: 200)
    #expect(throws: ListenFault.pathTooLong(path, limit: 107)) {
      _ = try Listener.open(.local(path: path), listenerKind: .control)
    }
  }
}
