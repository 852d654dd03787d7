import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

struct AllowedOriginsTests {
  @Test(arguments: [
    ("https://App.Example", "https://app.example"), ("https://a.example:443", "https://a.example"),
    ("http://a.example:80", "http://a.example"), ("http://a.example:443", "http://a.example:443"),
    ("http://[::1]:5625", "http://[::1]:5625"), ("http://[::1]:80", "http://[::1]"),
    ("capacitor://localhost", "capacitor://localhost"), ("null", "null"),
    ("chrome-extension://abcdef", "chrome-extension://abcdef"),
  ])
  func anOriginHasOneSpelling(text: String, normal: String) {
    #expect(AllowedOrigins.normalized(text) == normal)
  }

  @Test(arguments: [
    "", "*", "https://", "app.example", "https://a.example/", "https://a.example/x", "://a",
    "https:a.example", "https://a.example:", "https://a.example:99999", "https://a b",
    "https://user@a.example", "https://a.example?x", "h ttp://a",
  ])
  func anyOtherTextIsNone(text: String) {
    #expect(AllowedOrigins.normalized(text) == nil)
  }

  @Test func theOwnOriginIsAlwaysAllowed() {
    let own = "https://relay.example"
    let listed = AllowedOrigins.listed(["https://app.example"])
    #expect(AllowedOrigins.own.allow("https://RELAY.example:443", own: own))
    #expect(!AllowedOrigins.own.allow("http://relay.example", own: own))
    #expect(!AllowedOrigins.own.allow("https://app.example", own: own))
    #expect(!AllowedOrigins.own.allow("null", own: nil))
    #expect(listed.allow(own, own: own))
    #expect(listed.allow("https://app.example", own: own))
    #expect(!listed.allow("https://app.example.evil.example", own: own))
    #expect(AllowedOrigins.any.allow("null", own: nil))
    #expect(AllowedOrigins.any.allow("what is this", own: nil))
  }
}

/// Answers of a node to requests with an origin.
struct CrossOriginTests {
  private func page(_ origin: String) -> [(String, String)] { [("Origin", origin)] }

  @Test func aPageOfTheRelaysOwnOriginIsServed() throws {
    let client = HTTPClient(TestRelay())
    let answer = try client.call("GET", "/v1/time", headers: page("http://relay"))
    #expect(answer.headers["Access-Control-Allow-Origin"] == "http://relay")
    #expect(answer.headers["Access-Control-Expose-Headers"] == "ETag, Retry-After")
    #expect(answer.headers["Vary"] == "Origin")
  }

  @Test func aForeignPageMayReadNothingAndMakeNothing() throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    let foreign = page("https://evil.example")
    let time = try client.call("GET", "/v1/time", headers: foreign)
    #expect(time.status == 200)
    #expect(time.headers["Access-Control-Allow-Origin"] == nil)
    #expect(time.headers["Access-Control-Expose-Headers"] == nil)
    #expect(time.headers["Vary"] == "Origin")
    let preflight = try client.call("OPTIONS", "/v1/changes", headers: foreign)
    #expect(preflight.status == 204)
    #expect(!preflight.headers.contains("Access-Control-Allow-Methods"))
    #expect(!preflight.headers.contains("Access-Control-Allow-Headers"))
    let body = #"{"deviceName":"A","platform":"test","appVersion":"1"}"#
    for path in ["/v1/accounts", "/v1/devices"] {
      let made = try client.call("POST", path, body, headers: foreign)
      #expect(made.status == 403)
      #expect(made.code == "originNotAllowed")
    }
    let upgrade = try client.call(
      "GET", "/v1/socket",
      headers: foreign + [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      ])
    #expect(upgrade.status == 403)
    #expect(upgrade.code == "originNotAllowed")
  }

  @Test func theOwnerMayListPagesOrLetAnyIn() throws {
    let listing = TestRelay { $0.origins = .listed(["https://app.example"]) }
    let preflight = try HTTPClient(listing).call(
      "OPTIONS", "/v1/changes", headers: page("https://app.example"))
    #expect(preflight.headers["Access-Control-Allow-Origin"] == "https://app.example")
    #expect(preflight.headers["Access-Control-Allow-Methods"]?.contains("GET") == true)
    let other = try HTTPClient(listing).call("GET", "/v1/time", headers: page("https://b.example"))
    #expect(other.headers["Access-Control-Allow-Origin"] == nil)
    let open = TestRelay { $0.origins = .any }
    for headers in [page("https://b.example"), []] {
      let any = try HTTPClient(open).call("GET", "/v1/time", headers: headers)
      #expect(any.headers["Access-Control-Allow-Origin"] == "*")
      #expect(any.headers["Vary"] == nil)
    }
  }

  @Test func twoOriginsAtOnceAreForeign() throws {
    let answer = try HTTPClient(TestRelay()).call(
      "GET", "/v1/time", headers: page("http://relay") + page("https://evil.example"))
    #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
  }

  @Test func pollsOfSeveralPagesAreAnsweredEachAsItMayBe() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.origins = .listed(["https://app.example"])
    }
    let device = try relay.newAccount()
    let writer = HTTPClient(relay)
    let start = try ChangePage.decoded(
      body: writer.call("GET", "/v1/changes", token: device.token).body
    ).token
    let origins = [nil, "https://app.example", "https://evil.example", "https://app.example"]
    let polls = origins.map { origin in
      let client = HTTPClient(relay)
      client.send(
        "GET", "/v1/changes?wait=20&since=\(start.text)", token: device.token,
        headers: origin.map(page) ?? [])
      return client
    }
    relay.runUntilIdle()
    _ = try writer.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    let told = try polls.map { try #require(try $0.next()) }
    #expect(told.allSatisfy { $0.status == 200 && $0.code == nil })
    #expect(
      told.map { $0.headers["Access-Control-Allow-Origin"] }
        == [nil, "https://app.example", nil, "https://app.example"])
  }
}
