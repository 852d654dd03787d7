import Testing

@testable import LockstepRelayService

struct OwnHostsTests {
  @Test func machinesNameCountsAsItIsAndAsTheLocalNetworkHasIt() {
    #expect(
      OwnHosts.names(hostname: "nas.home.example", listen: [])
        == ["nas.home.example", "nas", "nas.local"])
    #expect(OwnHosts.names(hostname: "", listen: []) == [])
    #expect(
      OwnHosts.names(
        hostname: "nas",
        listen: [.host("relay.example", port: 80), .local(path: "/run/x")])
        == ["nas", "nas", "nas.local", "relay.example"])
    #expect(!OwnHosts.hostname.isEmpty)
  }
}
