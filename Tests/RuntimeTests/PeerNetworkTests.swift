import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepRuntime

struct PeerNetworkTests {
  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"),
    ("::ffff:192.0.2.7", "192.0.2.7"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2::", "2001:db8:1:2::/64"),
    ("2001:db8::1", "2001:db8:0:0::/64"),
    ("fe80::1%eth0", "fe80:0:0:0::/64"),
    ("::1", "0:0:0:0::/64"),
    ("1:2:3", "1:2:3"),
    ("1::2::3", "1::2::3"),
    ("2001:db8::12345", "2001:db8::12345"),
    ("relay.example", "relay.example"),
  ])
  func anAddressCountsWithItsNetwork(host: String, network: String) {
    #expect(PeerNetwork(of: .host(host, port: 4000)).text == network)
  }

  @Test func localSocketsCountTogether() {
    #expect(
      PeerNetwork(of: .local(path: "/run/a")) == PeerNetwork(of: .local(path: "/run/b")))
  }

  @Test func aProgramAtAUnixSocketHasNoAddress() throws {
    #expect(IPAddress(of: .local(path: "/run/x")) == nil)
    #expect(IPAddress(of: .host("192.0.2.1", port: 1)) == IPAddress("192.0.2.1"))
    #expect(IPAddress(of: .host("relay.example", port: 1)) == nil)
  }
}
