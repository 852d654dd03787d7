import LockstepClient
import LockstepWire
import Testing

@testable import LockstepCommandLine

struct PlainAddressTests {
  private func warns(_ url: String) throws -> Bool {
    PlainAddress.warning(ofRelay: try #require(RelayAddress(url: url))) != nil
  }

  @Test(arguments: [
    "http://127.0.0.1:5625", "http://localhost", "http://[::1]:5625", "http://192.168.1.2",
    "http://10.0.0.7", "http://172.31.0.1", "http://100.100.1.1", "http://169.254.1.1",
    "http://[fe80::1]", "http://[fd00::1]", "http://nas", "http://nas.local", "http://nas.lan",
    "https://relay.example", "https://192.0.2.1",
  ])
  func plainHTTPWithinTheNetworkIsNothingToWarnOf(url: String) throws {
    #expect(try !warns(url))
  }

  @Test(arguments: [
    "http://relay.example", "http://192.0.2.1", "http://172.32.0.1", "http://[2001:db8::1]",
    "http://local.example",
  ])
  func plainHTTPBeyondItIs(url: String) throws {
    #expect(try warns(url))
  }

  @Test func aRelayIsWarnedWhereStrangersMayReachIt() {
    func warns(_ host: String) -> Bool {
      PlainAddress.warning(ofListening: .host(host, port: 1)) != nil
    }
    for host in ["0.0.0.0", "::", "192.0.2.1", "relay.example"] { #expect(warns(host), "\(host)") }
    for host in ["127.0.0.1", "::1", "192.168.0.1", "nas"] { #expect(!warns(host), "\(host)") }
  }

  @Test func theOwnersListenerIsForLoopbackAlone() {
    func warns(_ host: String) -> Bool {
      PlainAddress.warning(ofAdmin: .host(host, port: 1)) != nil
    }
    for host in ["0.0.0.0", "192.168.0.1", "relay.example"] { #expect(warns(host), "\(host)") }
    for host in ["127.0.0.1", "127.8.8.8", "::1", "localhost"] { #expect(!warns(host), "\(host)") }
  }
}
