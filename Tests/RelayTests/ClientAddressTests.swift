import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// The client of a request, behind proxies and without.
struct ClientAddressTests {
  private let proxy = PeerAddress.host("10.0.0.1", port: 4_000)

  private func client(
    _ fields: [(StaticString, String)], peer: PeerAddress? = nil, exempt: String = "127.0.0.0/8"
  ) throws -> ClientAddress {
    var configuration = RelayConfiguration()
    configuration.trustedProxies = [try #require(IPNetwork("10.0.0.0/8"))]
    configuration.exempt = [try #require(IPNetwork(exempt))]
    return ClientAddress(
      Opening(listenerKind: .public, peer: peer ?? proxy), headers: headers(fields), configuration)
  }

  private func network(
    _ fields: [(StaticString, String)], peer: PeerAddress? = nil
  ) throws -> PeerNetwork {
    try client(fields, peer: peer).network(
      of: Opening(listenerKind: .public, peer: peer ?? proxy))
  }

  private func headers(_ fields: [(StaticString, String)]) -> HTTPHeaders {
    var headers: HTTPHeaders = ["Host": "relay.example"]
    for (name, value) in fields { headers.append(name, value) }
    return headers
  }

  private func ownOrigin(
    _ fields: [(StaticString, String)], peer: PeerAddress? = nil
  ) throws -> String? {
    try client(fields, peer: peer).ownOrigin(host: "relay.example", isSecure: false)
  }

  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"),
    ("203.0.113.9, 192.0.2.7", "192.0.2.7"),
    ("127.0.0.1, 192.0.2.7, 10.9.9.9, 10.0.0.2", "192.0.2.7"),
    ("10.9.9.9, 10.0.0.2", "10.9.9.9"),
    ("192.0.2.7:5544", "192.0.2.7"),
    ("[2001:db8::1]:443", "2001:db8:0:0::/64"),
    ("2001:db8::1", "2001:db8:0:0::/64"),
    ("rubbish, 192.0.2.7", "192.0.2.7"),
    // The last entry is malformed: the client is the proxy itself.
    ("192.0.2.7, rubbish", "10.0.0.1"),
    ("192.0.2.7, unknown", "10.0.0.1"),
    ("192.0.2.7, 10.0.0.2, [::1", "10.0.0.1"),
    ("", "10.0.0.1"),
  ])
  func theLastHopThatIsNoTrustedProxyIsTheClient(list: String, network: String) throws {
    #expect(try self.network([("X-Forwarded-For", list)]).text == network)
  }

  @Test(arguments: [
    ("for=192.0.2.7", "192.0.2.7"),
    ("for=203.0.113.9, for=192.0.2.7;proto=https;by=10.0.0.1", "192.0.2.7"),
    ("For=\"[2001:db8::1]:4711\"", "2001:db8:0:0::/64"),
    ("for=\"192.0.2.7:80\" ; host=\"a,b;c\"", "192.0.2.7"),
    ("for=\"192.0.2.\\7\"", "192.0.2.7"),
    ("for=203.0.113.9,for=192.0.2.7,for=10.0.0.3", "192.0.2.7"),
    ("for=unknown", "10.0.0.1"), ("for=_hidden", "10.0.0.1"), ("proto=https", "10.0.0.1"),
    ("for=\"192.0.2.7", "10.0.0.1"), ("for", "10.0.0.1"), ("=192.0.2.7", "10.0.0.1"),
  ])
  func forwardedIsUnderstoodToo(text: String, network: String) throws {
    #expect(try self.network([("Forwarded", text)]).text == network)
  }

  @Test func fieldsThatStandTwiceAreOneList() throws {
    let network = try network([
      ("X-Forwarded-For", "203.0.113.9"), ("X-Forwarded-For", "192.0.2.7"),
    ])
    #expect(network.text == "192.0.2.7")
  }

  @Test func twoFieldsThatDifferAreNotBelieved() throws {
    let both = try network([("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "for=192.0.2.8")])
    #expect(both.text == "10.0.0.1")
    let same = try network([("X-Forwarded-For", "192.0.2.7"), ("Forwarded", "for=192.0.2.7")])
    #expect(same.text == "192.0.2.7")
  }

  @Test func nobodyElseIsBelieved() throws {
    let stranger = PeerAddress.host("198.51.100.1", port: 1)
    let fields: [(StaticString, String)] = [("X-Forwarded-For", "192.0.2.7")]
    let client = try client(fields, peer: stranger)
    #expect(try network(fields, peer: stranger).text == "198.51.100.1")
    #expect(!client.isUndeclared(headers(fields)))
    // An undeclared proxy on this machine is reported.
    let local = try self.client(fields, peer: .host("127.0.0.1", port: 1))
    #expect(local.isUndeclared(headers(fields)))
    #expect(!local.isUndeclared(headers([])))
    // A trusted proxy is declared.
    #expect(try !self.client(fields, exempt: "0.0.0.0/0").isUndeclared(headers(fields)))
  }

  @Test func whoIsExemptIsDecidedByTheClientAndNotByTheProxy() throws {
    #expect(try client([], exempt: "10.0.0.0/8").isExempt)
    #expect(try !client([("X-Forwarded-For", "192.0.2.7")], exempt: "10.0.0.0/8").isExempt)
    #expect(try client([("X-Forwarded-For", "192.0.2.7")], exempt: "192.0.2.0/24").isExempt)
    // A malformed field does not make a client exempt as the proxy is.
    #expect(try !client([("X-Forwarded-For", "rubbish")], exempt: "10.0.0.0/8").isExempt)
  }

  @Test func theOwnOriginIsTheOneThatTheClientKnows() throws {
    #expect(try ownOrigin([]) == "http://relay.example")
    #expect(try ownOrigin([("X-Forwarded-Proto", "https")]) == "https://relay.example")
    let outer = try ownOrigin([
      ("X-Forwarded-Proto", "HTTPS"), ("X-Forwarded-Host", "sync.example:443"),
    ])
    #expect(outer == "https://sync.example")
    let named = try ownOrigin([
      ("Forwarded", "for=192.0.2.7;proto=https;host=\"sync.example:8443\"")
    ])
    #expect(named == "https://sync.example:8443")
    #expect(try ownOrigin([("X-Forwarded-Proto", "gopher")]) == "http://relay.example")
    let stranger = PeerAddress.host("198.51.100.1", port: 1)
    let direct = try ownOrigin([("X-Forwarded-Host", "evil.example")], peer: stranger)
    #expect(direct == "http://relay.example")
    #expect(
      try client([], peer: stranger).ownOrigin(host: "relay.example", isSecure: true)
        == "https://relay.example")
  }
}
