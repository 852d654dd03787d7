import CLinux
import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepCommandLine

struct SystemdNotifierTests {
  private let log = Log("test", level: .error, sink: Log.Sink { _ in })

  /// A socket like systemd's, with the messages that it received.
  private final class NotifySocket {
    let descriptor: Int32

    init(path: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(code == 0)
    }

    deinit { close(descriptor) }

    var messages: [String] {
      var all: [String] = []
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { return all }
        all.append(String(decoding: buffer.prefix(count), as: UTF8.self))
      }
    }
  }

  private let start = Instant(nanoseconds: 1)

  private func manager(_ environment: [String: String]) throws -> SystemdNotifier? {
    try SystemdNotifier(environment: { environment[$0] }, process: 7, log: log, at: start)
  }

  @Test func whoWasStartedByNobodyTellsNobody() throws {
    #expect(try manager([:]) == nil)
    #expect(try manager(["NOTIFY_SOCKET": ""]) == nil)
    #expect(try manager(["NOTIFY_SOCKET": "relative"]) == nil)
    #expect(try manager(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]) == nil)
  }

  @Test func theManagerHearsHowItGoes() throws {
    let folder = try TemporaryFolder()
    let socket = try NotifySocket(path: folder.path("notify"))
    let manager = try #require(try manager(["NOTIFY_SOCKET": folder.path("notify")]))
    manager.notifyReady("listening\non a line")
    manager.notifyReload {}
    manager.notifyStopping()
    let messages = socket.messages
    #expect(
      messages.first == "READY=1\nSTATUS=listening\\non a line", "a status cannot forge a line")
    #expect(messages.dropFirst().first?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
    #expect(messages.dropFirst(2) == ["READY=1", "STOPPING=1\nSTATUS=stopping"])
    #expect(
      manager.checkWatchdog(at: start, unresponsive: UnresponsiveThreads()) {} == nil,
      "no watchdog was asked for")
  }

  @Test func theWatchdogHearsNothingWhileAThreadIsStuck() throws {
    let folder = try TemporaryFolder()
    let socket = try NotifySocket(path: folder.path("notify"))
    let manager = try #require(
      try manager([
        "NOTIFY_SOCKET": folder.path("notify"), "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "7",
      ]))
    var pings = 0
    func check(_ milliseconds: Int64, _ threads: UnresponsiveThreads) {
      let now = Instant(nanoseconds: 1 + milliseconds * 1_000_000)
      #expect(manager.checkWatchdog(at: now, unresponsive: threads) { pings += 1 } != nil)
    }
    check(375, UnresponsiveThreads())
    check(400, UnresponsiveThreads(nodes: [1]))
    check(450, UnresponsiveThreads(lanes: [.commits]))
    #expect(pings == 1)
    #expect(socket.messages.isEmpty)
    // Reads and files may take long: no save waits for them.
    check(500, UnresponsiveThreads(lanes: [.files]))
    #expect(socket.messages == ["WATCHDOG=1"])
  }

  @Test func theWatchdogOfAnotherProcessIsNotMine() {
    func microseconds(_ environment: [String: String]) -> Int64? {
      SystemdNotifier.watchdogMicroseconds({ environment[$0] }, process: 7)
    }
    #expect(microseconds(["WATCHDOG_USEC": "30000000"]) == 30_000_000)
    #expect(microseconds(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == 30_000_000)
    #expect(microseconds(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
    #expect(microseconds(["WATCHDOG_USEC": "soon"]) == nil)
    #expect(microseconds(["WATCHDOG_USEC": "0"]) == nil)
    #expect(microseconds([:]) == nil)
  }
}
