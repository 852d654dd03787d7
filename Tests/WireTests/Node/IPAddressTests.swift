import LockstepWire
import Testing

struct IPAddressTests {
  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"),
    ("0:0:0:0:0:FFFF:c000:207", "192.0.2.7"), ("255.255.255.255", "255.255.255.255"),
    ("::", "0:0:0:0:0:0:0:0"), ("::1", "0:0:0:0:0:0:0:1"), ("1::", "1:0:0:0:0:0:0:0"),
    ("2001:DB8::7", "2001:db8:0:0:0:0:0:7"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1"), ("64:ff9b::192.0.2.1", "64:ff9b:0:0:0:0:c000:201"),
    ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
    ("1:2:3:4:5:6:7::8", "1:2:3:4:5:6:7:8"), ("1::8", "1:0:0:0:0:0:0:8"), ("0.0.0.0", "0.0.0.0"),
    ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::0001", "0:0:0:0:0:0:0:1"),
  ])
  func aLiteralAddressIsRead(text: String, shown: String) {
    #expect(IPAddress(text)?.text == shown)
  }

  @Test(arguments: [
    "", "relay.example", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "01.2.3.4", "1.2.3.+4",
    "1..2.3", "1.2.3.4%eth0", " 1.2.3.4", "1.2.3.4:80", "[::1]", ":", ":::", "1::2::3", "1:2:3",
    "12345::", "::1:", ":1::", "::+1", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8:9", "::1.2.3",
    "::999.1.1.1", "1.2.3.4::", "unknown", "_hidden", "1:2:3:4:5:6:7:1.2.3.4",
    "::1:2:3:4:5:6:7:8:9", "1.2.3.0004", "::00001", "::1.2.3.4:5", "1:", "1.2.3.",
  ])
  func anyOtherTextIsNone(text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
    ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("10.1.2.3/8", "10.9.9.9", true),
    ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1/32", "192.0.2.2", false),
    ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true),
    ("::/0", "192.0.2.1", true), ("::1", "::1", true), ("::1", "::2", false),
    ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
    ("2001:db8:0:1::/64", "2001:db8:0:1:ffff::", true),
    ("2001:db8::/65", "2001:db8::8000:0:0:1", false), ("::1/128", "::1", true),
  ])
  func aNetworkHasTheAddressesThatBeginAsItDoes(network: String, address: String, isIn: Bool)
    throws
  {
    let network = try #require(IPNetwork(network))
    #expect(network.contains(try #require(IPAddress(address))) == isIn)
  }

  @Test(arguments: [
    "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "::/129",
    "localhost", "10.0.0.0/8 ", "::1/0128",
  ])
  func anyOtherTextIsNoNetwork(text: String) {
    #expect(IPNetwork(text) == nil)
  }

  @Test func aNetworkIsShownAsItIsWritten() {
    let texts = ["10.0.0.0/8", "192.0.2.1", "0.0.0.0/0"]
    #expect(texts.map { IPNetwork($0)?.text } == texts)
    #expect(IPNetwork("2001:db8::/32")?.text == "2001:db8:0:0:0:0:0:0/32")
  }

  @Test func aProgramAtAUnixSocketHasNoAddress() throws {
    #expect(IPAddress(of: .local(path: "/run/x")) == nil)
    #expect(IPAddress(of: .host("192.0.2.1", port: 1)) == IPAddress("192.0.2.1"))
    #expect(IPAddress(of: .host("relay.example", port: 1)) == nil)
  }
}
