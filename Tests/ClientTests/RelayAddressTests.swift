import Testing

@testable import LockstepClient

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
    "", "relay:5625", "wss://relay", "https://",
    "http://", "http://:80", "http://relay:", "http://relay:0",
    "http://relay:65536", "http://relay:+80", "http://relay:8 0", "http://user@relay",
    "http://relay/path", "http://relay?x", "http://[::1", "http://[::1]x", "http://a:b:c",
    "https://a\nopen=true", "https://a\r", "https://a\u{1B}[2J", "https://a\u{7F}", "https://a\tb",
    "https://a\u{202E}b", "https://a\u{A0}b", "https://a\"b", "https://a'b", "https://a\\b",
    "https://[x\"y]", "https://<a>", "https://a|b", "https://a`b`", "https://a\u{2028}b",
  ])
  func otherTextsAreNoAddress(_ url: String) {
    #expect(RelayAddress(url: url) == nil)
  }

  @Test(arguments: [
    ("https://relay.example", "relay.example", 443), ("HTTPS://Relay:5625/", "Relay", 5625),
    ("https://[::1]:9", "::1", 9),
  ])
  func secureUrlsHaveAPortOfTheirOwn(_ url: String, _ host: String, _ port: UInt16) throws {
    let address = try #require(RelayAddress(url: url))
    #expect(address == RelayAddress(host: host, port: port, isSecure: true))
    #expect(address.peer == .secure(host, port: port))
    #expect(RelayAddress(url: address.url) == address)
    #expect(RelayAddress(host: host, port: port) != address)
  }

  @Test func addressesAreWrittenAsTheyAreRead() {
    #expect(RelayAddress(host: "::1", port: 9).url == "http://[::1]:9")
    #expect(RelayAddress(host: "relay", port: 80).authority == "relay:80")
  }
}
