import Glibc
import Testing

@testable import LockstepEventLoop

struct SyscallTests {
  @Test func faultNamesItsCallAndTheSystemsWords() {
    #expect {
      _ = try Syscall.open("/nowhere/at all", O_RDONLY)
    } throws: { error in
      "\(error)" == "open: No such file or directory"
    }
  }

  @Test func descriptorIsClosedWithItsOwner() throws {
    let number: Int32
    do {
      let descriptor = try Syscall.open("/dev/null", O_RDONLY)
      number = descriptor.rawValue
      #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
    }
    // Another thread may have reused the number by now, but not for the same file.
    var status = stat()
    let isOpen = fstat(number, &status) == 0
    #expect(!isOpen || status.st_rdev != makeDevice(1, 3))
  }

  private func makeDevice(_ major: UInt, _ minor: UInt) -> UInt { major << 8 | minor }

  @Test func nothingToReadIsAValue() throws {
    let counter = try Syscall.makeEventCounter(isBlocking: false)
    var bytes = [UInt8](repeating: 0, count: 8)
    let progress = try bytes.withUnsafeMutableBytes { try Syscall.read(counter.rawValue, $0) }
    guard case .wouldBlock = progress else {
      Issue.record("read something")
      return
    }
  }

  @Test func errorThatWaitsAtASocketIsTakenAway() throws {
    let socket = try Syscall.makeSocket(AF_INET)
    #expect(Syscall.readPendingError(socket.rawValue) == nil)
    #expect(Syscall.remoteAddress(socket.rawValue)?.family == nil)
  }
}
