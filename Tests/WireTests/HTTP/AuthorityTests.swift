import Testing

@testable import LockstepWire

struct AuthorityTests {
  @Test(arguments: [
    ("relay.example", "relay.example"), ("Relay.EXAMPLE:443", "relay.example"), ("", ""),
    (":80", ""), ("a:", "a"), ("a_b", "a_b"), ("%41", "%41"), ("127.1", "127.1"),
    ("::1", nil), ("a:xx", nil), ("a:1:2", nil), ("a:-1", nil), ("a]", nil), ("a[", nil),
    ("a%4", nil), ("a%zz", nil), ("a/b", nil), ("me@a", nil), ("a b", nil), ("\u{E9}", nil),
  ])
  func aNameIsOfItsLettersAndAPortOfDigits(text: String, name: String?) {
    #expect(Authority(text)?.host == name.map { .name($0) })
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("192.0.2.1:80", "192.0.2.1"), ("[::1]", "0:0:0:0:0:0:0:1"),
    ("[::1]:5625", "0:0:0:0:0:0:0:1"), ("[FE80::1%25eth0]", "fe80:0:0:0:0:0:0:1"),
  ])
  func aLiteralAddressIsNoName(text: String, address: String) {
    guard case .address(let found) = Authority(text)?.host else {
      Issue.record("\(text) is no address")
      return
    }
    #expect(found.text == address)
  }

  @Test(arguments: [
    "[::1", "[]", "[::1]x", "[::1]:x", "[127.0.0.1]", "[relay]", "[::g]", "[v1]", "[v.x]", "[v1./]",
    "[[::1]]",
  ])
  func bracketsHoldAnIPv6AddressAlone(text: String) {
    #expect(Authority(text) == nil)
  }

  @Test func anAddressOfALaterKindIsWellFormed() {
    #expect(Authority("[v1.a:b]:80")?.host == .futureAddress)
  }
}
