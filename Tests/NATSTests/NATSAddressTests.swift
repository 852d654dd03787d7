import LockstepNATS
import Testing

struct NATSAddressTests {
  @Test func anAddressNamesServersAndAUser() throws {
    let one = try NATSAddress("nats://bus.example")
    #expect(one.servers == [NATSAddress.Server(host: "bus.example", port: 4_222)])
    #expect(one.user == nil && !one.usesTLS)
    let many = try NATSAddress("tls://relay@a.example:1,[::1]:2,c.example/")
    #expect(
      many.servers == [
        NATSAddress.Server(host: "a.example", port: 1), NATSAddress.Server(host: "[::1]", port: 2),
        NATSAddress.Server(host: "c.example"),
      ])
    #expect(many.user == "relay" && many.usesTLS)
  }

  @Test(arguments: [
    ("postgres://x", NATSAddressFault.scheme), ("nats:/x", .scheme), ("nats://", .host),
    ("nats://@h", .user), ("nats://u:p@h", .password), ("nats://u:p@ss@h", .password),
    ("nats://a,,b", .host), ("nats://a b", .host), ("nats://[::1", .host), ("nats://[]:1", .host),
    ("nats://h:0", .port), ("nats://h:70000", .port), ("nats://h:x", .port),
    ("nats://h/subject", .rest), ("nats://h?x=1", .rest),
    ("nats://" + Array(repeating: "h", count: 33).joined(separator: ","), .servers),
  ]) func anythingElseIsRefused(text: String, fault: NATSAddressFault) {
    #expect(throws: fault) { try NATSAddress(text) }
  }

  @Test func aPasswordIsNotRepeated() {
    #expect(throws: NATSAddressFault.password) { try NATSAddress("nats://u:hush@h") }
    #expect(!"\(NATSAddressFault.password)".contains("hush"))
  }
}
