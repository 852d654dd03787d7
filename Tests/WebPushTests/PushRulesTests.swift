import LockstepModel
import LockstepWebPush
import Testing

struct PushRulesTests {
  private static let global: [UInt8] = [8, 8, 8, 8]
  private static let loopback: [UInt8] = [127, 0, 0, 1]

  @Test func aGlobalNameAtTheUsualPortIsPermitted() throws {
    let endpoint = try PushEndpoint("https://push.example.net/x")
    #expect(PushRules().refusal(of: endpoint) == nil)
    #expect(PushRules().refusal(of: endpoint, at: Self.global) == nil)
    // The name may resolve to anything, so the address decides.
    #expect(PushRules().refusal(of: endpoint, at: Self.loopback) == .address("loopback"))
    #expect(PushRules().refusal(of: endpoint, at: []) == .address("not an address"))
  }

  @Test(arguments: [
    ("https://push.example.net:8443/", PushRefusal.port(8_443)),
    ("https://push.example.net:80/", .port(80)), ("https://localhost/", .singleLabel),
    ("https://ntfy/", .singleLabel), ("https://127.0.0.1/", .address("loopback")),
    ("https://10.0.0.1/", .address("private")),
    ("https://169.254.169.254/", .address("link-local")),
    ("https://[::1]/", .address("loopback")), ("https://[fd00::1]/", .address("unique local")),
    ("https://0.0.0.0/", .address("this network")), ("https://8.8.8.8:444/", .port(444)),
  ])
  func othersAreRefused(url: String, refusal: PushRefusal) throws {
    let endpoint = try PushEndpoint(url)
    #expect(PushRules().refusal(of: endpoint) == refusal)
    #expect(PushRules().refusal(of: endpoint, at: Self.global) == refusal)
    #expect(!refusal.description.isEmpty)
  }

  @Test func exceptionsAreExactHosts() throws {
    let rules = try PushRules(allowing: [
      "NTFY.lan", "push.example:8443", "10.0.0.1", "[fd00::1]:444",
    ])
    for (url, isAllowed) in [
      ("https://ntfy.lan/", true), ("https://ntfy.lan:8443/", false),
      ("https://a.ntfy.lan/", false), ("https://push.example:8443/", true),
      ("https://push.example/", false), ("https://push.example:8444/", false),
      ("https://xntfy.lan/", false), ("https://ntfy.lan.example/", false),
    ] {
      let endpoint = try PushEndpoint(url)
      #expect((rules.refusal(of: endpoint, at: Self.loopback) == nil) == isAllowed, "\(url)")
    }
    #expect(rules.refusal(of: try PushEndpoint("https://10.0.0.1/")) == nil)
    #expect(rules.refusal(of: try PushEndpoint("https://10.0.0.2/")) == .address("private"))
    #expect(rules.refusal(of: try PushEndpoint("https://[fd00::1]:444/")) == nil)
    #expect(rules.refusal(of: try PushEndpoint("https://[fd00::1]/")) == .address("unique local"))
    // What is no address of a single host stays refused.
    let named = try PushEndpoint("https://ntfy.lan/")
    #expect(rules.refusal(of: named, at: [0, 0, 0, 0]) == .address("this network"))
    #expect(rules.refusal(of: named, at: [224, 0, 0, 1]) == .address("multicast"))
    let single = try PushEndpoint("https://ntfy/")
    #expect(try PushRules(allowing: ["ntfy"]).refusal(of: single, at: Self.loopback) == nil)
  }

  @Test(arguments: [
    "", "*", "*.lan", "ntfy.*", "10.0.0.0/8", "https://ntfy.lan", "ntfy.lan/", "u@ntfy.lan",
    "ntfy.lan#", "ntfy.lan?", "ntfy lan", "fd00::1", "127.1", "ntfy.lan:0", "ntfy.lan.", ".lan",
  ])
  func patternsAreNoExceptions(text: String) {
    #expect(throws: PushRulesFault.invalid(text)) { try PushRules(allowing: ["a.lan", text]) }
  }

  @Test func exceptionsAreBounded() throws {
    let hosts = (0...Limits.wakeExceptions).map { "h\($0).lan" }
    _ = try PushRules(allowing: Array(hosts.dropLast()))
    #expect(throws: PushRulesFault.tooMany) { try PushRules(allowing: hosts) }
  }
}
