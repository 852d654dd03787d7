import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepRelay

struct AllowedHostsTests {
  @Test func literalAddressesAndLocalhostAreAlwaysAllowed() {
    let hosts = AllowedHosts()
    for host in ["127.0.0.1:5625", "192.0.2.7", "[::1]", "[2001:db8::1]:80", "LocalHost:1", ""] {
      #expect(hosts.allow(host), "\(host)")
    }
    for host in ["evil.example", "127.1", "localhost.evil.example", "0x7f000001", "[::1", "a:x"] {
      #expect(!hosts.allow(host), "\(host)")
    }
  }

  @Test func aNameIsTheSameWhateverItsCasePortAndLastDot() {
    let hosts = AllowedHosts(["Relay.Example."])
    for host in ["relay.example", "RELAY.example:443", "relay.example.:80"] {
      #expect(hosts.allow(host), "\(host)")
    }
    #expect(!hosts.allow("a.relay.example"))
    #expect(!hosts.allow("relay.example.."))
    #expect(AllowedHosts.any.allow("whatever.example"))
  }

  @Test func anAsteriskStandsForOneLabel() {
    let hosts = AllowedHosts(["*.relay.example"])
    #expect(hosts.allow("a.relay.example"))
    for host in ["relay.example", "a.b.relay.example", ".relay.example", "evil.example"] {
      #expect(!hosts.allow(host), "\(host)")
    }
  }

  @Test(arguments: [
    "", "*", ".", "a..b", "a:80", "a/b", "https://a", "127.0.0.1", "::1", "[::1]", "a b", "*a.b",
    "a.*.b", "\u{E9}.example",
  ])
  func anyOtherTextIsNoName(text: String) {
    #expect(AllowedHosts.normalized(text) == nil)
  }
}

/// Answers of a node to requests that name another host.
struct RelayHostsTests {
  private func ask(
    _ relay: TestRelay, _ host: String, _ path: String = "/v1/time",
    listenerKind: Opening.ListenerKind = .public,
    from address: String = "192.0.2.1", fields: String = ""
  ) throws -> HTTPClient.Response {
    let client = HTTPClient(relay, listenerKind: listenerKind, from: address)
    client.sendRaw("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n")
    relay.runUntilIdle()
    return try #require(try client.next())
  }

  @Test func anotherHostIsRefusedAndTheOwnerToldOnce() throws {
    let relay = TestRelay { $0.hosts = AllowedHosts(["relay.example"]) }
    for _ in 0..<2 {
      let refused = try ask(relay, "evil.example:5625")
      #expect(refused.status == 421)
      #expect(refused.code == "hostNotAllowed")
    }
    #expect(try ask(relay, "relay.example").status == 200)
    #expect(try ask(relay, "evil.example", "/readyz").status == 200)
    #expect(try ask(relay, "evil.example", "/metrics", listenerKind: .admin).status == 421)
    #expect(try ask(relay, "anything", "/metrics", listenerKind: .control).status == 200)
    let told = relay.reports.filter { if case .unknownHost = $0 { true } else { false } }
    #expect(told.count == 1)
  }

  @Test func namesChangeWhileTheRelayRuns() throws {
    let relay = TestRelay { $0.hosts = AllowedHosts(["old.example"]) }
    #expect(try ask(relay, "old.example").status == 200)
    relay.deliver(0, .ordered(.allowHosts(AllowedHosts(["new.example"]))))
    #expect(try ask(relay, "new.example").status == 200)
    #expect(try ask(relay, "old.example").status == 421)
  }

  @Test func bothNamesOfAForwardedRequestMustBeTheRelays() throws {
    let proxy = try #require(IPNetwork("10.0.0.1"))
    let relay = TestRelay {
      $0.hosts = AllowedHosts(["relay.example"])
      $0.trustedProxies = [proxy]
    }
    func forwarded(_ host: String, _ name: String) throws -> Int {
      try ask(relay, host, from: "10.0.0.1", fields: "X-Forwarded-Host: \(name)\r\n").status
    }
    #expect(try forwarded("10.0.0.9:5625", "relay.example") == 200)
    #expect(try forwarded("evil.example", "relay.example") == 421)
    #expect(try forwarded("relay.example", "evil.example") == 421)
    #expect(try forwarded("relay.example", "no host") == 421)
    // All that the fields name counts: the proxy may have passed some of it on.
    #expect(try forwarded("relay.example", "evil.example, relay.example") == 421)
    func both(_ forwarded: String) throws -> Int {
      let fields = "X-Forwarded-Host: relay.example\r\nForwarded: \(forwarded)\r\n"
      return try ask(relay, "relay.example", from: "10.0.0.1", fields: fields).status
    }
    #expect(try both("for=192.0.2.7;host=relay.example") == 200)
    #expect(try both("for=192.0.2.7;host=evil.example") == 421)
    #expect(try both("host=evil.example, for=192.0.2.7") == 421)
    #expect(try both("host=evil.example;host=relay.example") == 421)
    #expect(try both("for=192.0.2.7;host=\"relay.example") == 421)
  }

  /// RFC 9112 section 3.2.2.
  @Test func theHostOfAnAbsoluteTargetReplacesTheField() throws {
    let relay = TestRelay { $0.hosts = AllowedHosts(["relay.example"]) }
    func status(_ target: String, _ host: String) throws -> Int {
      try ask(relay, host, target).status
    }
    #expect(try status("http://relay.example/v1/time", "evil.example") == 200)
    #expect(try status("http://relay.example:5625/v1/time", "relay.example") == 200)
    #expect(try status("http://evil.example/v1/time", "relay.example") == 421)
  }
}
