import Testing

@testable import Devices

struct RelayAddressTests {
  @Test(arguments: [
    ("http://relay:5625", "relay", 5625), ("http://127.0.0.1:80/", "127.0.0.1", 80),
    ("HTTP://Relay", "Relay", 5625), ("http://[::1]:9", "::1", 9), ("http://[::1]", "::1", 5625),
  ])
  func urlsAreRead(_ url: String, _ host: String, _ port: UInt16) throws {
    let address = try #require(RelayAddress(url: url))
    #expect(address == RelayAddress(host: host, port: port))
  }

  @Test(arguments: [
    "", "relay:5625", "https://relay", "http://", "http://:80", "http://relay:", "http://relay:0",
    "http://relay:65536", "http://relay:+80", "http://relay:8 0", "http://user@relay",
    "http://relay/path", "http://relay?x", "http://[::1", "http://[::1]x", "http://a:b:c",
  ])
  func otherTextsAreNoAddress(_ url: String) {
    #expect(RelayAddress(url: url) == nil)
  }

  @Test func addressesAreWrittenAsTheyAreRead() {
    #expect(RelayAddress(host: "::1", port: 9).url == "http://[::1]:9")
    #expect(RelayAddress(host: "relay", port: 80).authority == "relay:80")
  }
}
