import Glibc
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

/// Connections to hosts that others have named.
struct AddressScreenTests {
  /// The judge that a relay uses.
  private static func judge(_ address: [UInt8], _ allowsLocal: Bool) -> String? {
    AddressScope(address).refusal(allowsLocal: allowsLocal)
  }

  // MARK: connections

  /// A secure server on this machine that echoes, and a client with a screen.
  private struct Pair {
    let folder: TemporaryFolder
    let far: RunningGroup
    let near: RunningGroup

    init(
      at host: String = "127.0.0.1", certificate: String = TestCertificates.good,
      trust: Trust? = nil, screen: AddressScreen? = AddressScreen(judge: AddressScreenTests.judge)
    ) throws {
      folder = try TemporaryFolder()
      try TestCertificates.show(certificate, in: folder)
      var echo = ScriptedNode()
      echo.echoes = true
      far = try RunningGroup(
        echo,
        certificate: try ServerCertificate(
          certificate: folder.path("server.pem"), key: folder.path("server.key")), host: host)
      let trust = try trust ?? TestCertificates.trust()
      near = try RunningGroup(change: {
        $0.trust = trust
        $0.screen = screen
      })
    }

    func open(_ id: ConnectionID, _ host: String, allowsLocal: Bool) {
      guard case .host(_, let port) = far.address else { preconditionFailure("not TCP") }
      near.order(.open(id, .screened(host, port: port, allowsLocal: allowsLocal)))
    }

    func end() {
      near.end()
      far.end()
    }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func aHostOnThisMachineIsRefusedUnlessTheOwnerHasNamedIt(host: String) throws {
    let pair = try Pair()
    let (refused, allowed) = (ConnectionID.outgoing(1), ConnectionID.outgoing(2))
    pair.open(refused, host, allowsLocal: false)
    #expect(try pair.near.journal.cause(of: refused) == .addressNotAllowed)
    pair.open(allowed, host, allowsLocal: true)
    pair.near.order(.send(allowed, Array("early".utf8)))
    #expect(pair.near.journal.received(allowed, count: 5) == Array("early".utf8))
    #expect(pair.near.journal.entries().contains(.opened(allowed, .outgoing)))
    pair.end()
    let opened = pair.far.journal.entries().filter {
      if case .opened = $0 { true } else { false }
    }
    #expect(opened.count == 1, "the refused one has not been connected to")
  }

  @Test func aPlaceThatIsAllowedMustStillProveItsName() throws {
    let pair = try Pair(certificate: TestCertificates.otherName)
    pair.open(.outgoing(1), "localhost", allowsLocal: true)
    #expect(try pair.near.journal.cause(of: .outgoing(1)) == .notTrusted(.otherName))
    pair.end()
  }

  @Test func withoutAScreenNothingIsAllowed() throws {
    let pair = try Pair(screen: nil)
    for (number, host) in ["127.0.0.1", "localhost", "8.8.8.8", "[::1]"].enumerated() {
      let id = ConnectionID.outgoing(UInt64(number))
      pair.open(id, host, allowsLocal: true)
      #expect(try pair.near.journal.cause(of: id) == .addressNotAllowed)
    }
    pair.end()
  }

  private static let hasIPv6: Bool = {
    do throws(ListenFault) {
      _ = try Listener.open(.host("::1", port: 0), listenerKind: .public)
      return true
    } catch {
      return false
    }
  }()

  @Test(.enabled(if: AddressScreenTests.hasIPv6), arguments: ["::1", "[::1]"])
  func anIPv6AddressIsVerifiedWithoutItsBrackets(host: String) throws {
    let trust = try Trust(authorities: Array(TestCertificates.ipv6.utf8))
    let pair = try Pair(at: "::1", certificate: TestCertificates.ipv6, trust: trust)
    pair.open(.outgoing(1), host, allowsLocal: false)
    #expect(try pair.near.journal.cause(of: .outgoing(1)) == .addressNotAllowed)
    pair.open(.outgoing(2), host, allowsLocal: true)
    #expect(try pair.near.journal.opened() == .outgoing(2))
    pair.end()
  }

  @Test func aConnectionThatIsClosedWhileItsNameIsLookedUpIsNoLongerScreened() throws {
    let pair = try Pair()
    for number: UInt64 in 0..<20 {
      pair.open(.outgoing(number), "localhost", allowsLocal: false)
      pair.near.order(.close(.outgoing(number), .now))
    }
    // It takes over the slot of one of them.
    guard case .host(_, let port) = pair.far.address else { return }
    pair.near.order(.open(.outgoing(100), .secure("127.0.0.1", port: port)))
    #expect(try pair.near.journal.opened() == .outgoing(100))
    pair.end()
  }

  // MARK: choice of an address

  /// A loop whose lookups the test answers.
  private final class LoopInHand {
    final class Lookups {
      var registrations: [Poller.Registration] = []
    }

    var value: EventLoop
    let lookups = Lookups()

    init(_ screen: AddressScreen) throws {
      let lookups = lookups
      value = try EventLoop(
        wakeup: try WakeupDescriptor(isBlocking: false), screen: screen,
        lookup: { _, _, registration in
          lookups.registrations.append(registration)
          return nil
        }, notice: { _ in })
    }

    var isEmpty: Bool { value.isEmpty }

    func open(_ address: PeerAddress) { value.open(.outgoing(1), address) }

    func answer(_ addresses: [String], port: UInt16) throws {
      let answer = try addresses.flatMap { try SocketAddress.lookUp($0, port: port, as: .literal) }
      value.connect(
        LookupAnswer(
          registration: try #require(lookups.registrations.first), answer: .success(answer)))
    }

    /// Returns the cause if the connection is closed in this turn.
    func cause() -> CloseCause? {
      guard case .closed(_, let cause) = value.next() else { return nil }
      return cause
    }
  }

  /// Addresses that were judged.
  private final class Judged: Sendable {
    private let addresses = Locked<[[UInt8]]>([])

    /// Allows nothing but the loopback addresses.
    var screen: AddressScreen {
      AddressScreen { address, _ in
        self.addresses.withLock { $0.append(address) }
        return address.first == 127 ? nil : "another"
      }
    }

    var all: [[UInt8]] { addresses.withLock { $0 } }
  }

  @Test func theFirstAllowedAddressIsConnectedTo() throws {
    let far = try RunningGroup()
    guard case .host(_, let port) = far.address else { return }
    let judged = Judged()
    let loop = try LoopInHand(judged.screen)
    loop.open(.screened("a.example", port: port, allowsLocal: true))
    try loop.answer(["192.0.2.1", "::1", "::ffff:10.0.0.1", "127.0.0.1"], port: port)
    _ = try far.journal.opened()
    #expect(
      judged.all == [
        [192, 0, 2, 1], [UInt8](repeating: 0, count: 15) + [1], [10, 0, 0, 1], [127, 0, 0, 1],
      ])
    far.end()
    withExtendedLifetime(loop) {}
  }

  @Test func theNextAllowedAddressIsTriedAndNoOther() throws {
    let far = try RunningGroup()
    guard case .host(_, let port) = far.address else { return }
    let loop = try LoopInHand(Judged().screen)
    loop.open(.screened("a.example", port: port, allowsLocal: true))
    // Nobody listens on the first one.
    try loop.answer(["127.77.7.7", "192.0.2.1", "127.0.0.1"], port: port)
    waitUntil {
      _ = loop.value.wait(until: SystemClock.instant(), mayWait: false)
      return loop.cause() == nil && !far.journal.entries().isEmpty
    }
    _ = try far.journal.opened()
    far.end()
  }

  @Test func aHostWithoutAnAllowedAddressIsRefusedWithoutTheirNames() throws {
    let loop = try LoopInHand(Judged().screen)
    loop.open(.screened("a.example", port: 443, allowsLocal: true))
    try loop.answer(["10.0.0.1", "::1"], port: 443)
    #expect(loop.cause() == .connectFailed("the address is not allowed"))
    #expect(loop.isEmpty)
  }

  // MARK: judgement

  @Test(arguments: [
    "0.0.0.0", "127.0.0.1", "127.1.2.3", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1",
    "169.254.169.254", "192.0.2.1", "198.51.100.7", "203.0.113.7", "198.18.0.1", "224.0.0.1",
    "255.255.255.255", "::", "::1", "fd00::1", "fe80::1", "ff02::1", "2001:db8::1", "2002:7f00:1::",
    "64:ff9b::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "::127.0.0.1",
  ])
  func specialAddressesAreRefused(text: String) throws {
    let address = try SocketAddress.lookUp(text, port: 443, as: .literal)[0]
    let screen = AddressScreen(judge: Self.judge)
    #expect(!screen.allows(address, allowsLocal: false, at: SystemClock.instant()))
  }

  @Test(arguments: ["8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8"])
  func globalAddressesAreAllowed(text: String) throws {
    let address = try SocketAddress.lookUp(text, port: 443, as: .literal)[0]
    let screen = AddressScreen(judge: Self.judge)
    for allowsLocal in [false, true] {
      #expect(screen.allows(address, allowsLocal: allowsLocal, at: SystemClock.instant()))
    }
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("10.1.2.3", true), ("fd00::1", true), ("::1", true), ("fe80::1", true),
    ("::ffff:192.168.1.1", true), ("0.0.0.0", false), ("::", false), ("224.0.0.1", false),
    ("192.0.2.1", false), ("ff02::1", false),
  ])
  func namedHostsMayBeLocalAndNothingElse(text: String, isAllowed: Bool) throws {
    let address = try SocketAddress.lookUp(text, port: 443, as: .literal)[0]
    let screen = AddressScreen(judge: Self.judge)
    #expect(screen.allows(address, allowsLocal: true, at: SystemClock.instant()) == isAllowed)
  }

  @Test func anAddressOfThisMachineIsLocalEvenIfItIsGlobal() throws {
    let own = Locked(["8.8.8.8", "2606:4700::1111"])
    let screen = AddressScreen(
      OwnAddresses { () throws(SystemFault) in
        own.withLock { $0 }.compactMap { SocketAddress(literal: $0) }
      }, judge: Self.judge)
    var now = Instant(nanoseconds: 0)
    func allows(_ text: String, allowsLocal: Bool = false) throws -> Bool {
      let address = try #require(SocketAddress(literal: text))
      return screen.allows(address, allowsLocal: allowsLocal, at: now)
    }
    for text in ["8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111"] {
      #expect(try !allows(text))
      #expect(try allows(text, allowsLocal: true))
    }
    #expect(try allows("1.1.1.1"))
    own.withLock { $0 = ["1.1.1.1"] }
    now = now.advanced(milliseconds: Limits.ownAddressesMilliseconds - 1)
    #expect(try allows("1.1.1.1"), "it is read once in a while")
    now = now.advanced(milliseconds: 1)
    #expect(try !allows("1.1.1.1"))
    #expect(try allows("8.8.8.8"))
  }

  @Test func nothingGlobalIsAllowedUntilTheOwnAddressesAreKnown() throws {
    let fault = Locked<SystemFault?>(SystemFault(call: "getifaddrs", code: ENOMEM))
    let screen = AddressScreen(
      OwnAddresses { () throws(SystemFault) in
        if let fault = fault.withLock({ $0 }) { throw fault }
        return []
      }, judge: Self.judge)
    let address = try #require(SocketAddress(literal: "8.8.8.8"))
    var now = Instant(nanoseconds: 0)
    #expect(!screen.allows(address, allowsLocal: false, at: now))
    fault.withLock { $0 = nil }
    #expect(screen.allows(address, allowsLocal: false, at: now), "it is read again at once")
    fault.withLock { $0 = SystemFault(call: "getifaddrs", code: ENOMEM) }
    now = now.advanced(milliseconds: 3_600_000)
    #expect(screen.allows(address, allowsLocal: false, at: now), "the last reading counts")
  }

  @Test func theMachineHasALoopbackAddress() throws {
    let own = try Syscall.interfaceAddresses().compactMap(\.ip)
    #expect(own.contains(try #require(IPAddress("127.0.0.1"))))
  }
}

extension SocketAddress {
  fileprivate init?(literal text: String) {
    do throws(LookupFault) {
      self = try SocketAddress.lookUp(text, port: 443, as: .literal)[0]
    } catch {
      return nil
    }
  }
}
