import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// The calls of the owner's page: who may make them, and where.
struct OwnerPageTests {
  /// A way of a request to the relay.
  private enum Way: CaseIterable {
    case control
    case admin, adminWithSession
    /// The public listener, without and with the owner's page there.
    case closedFront, front, frontWithSession

    var listenerKind: Opening.ListenerKind {
      switch self {
      case .control: .control
      case .admin, .adminWithSession: .admin
      case .closedFront, .front, .frontWithSession: .public
      }
    }

    var hasSession: Bool { self == .adminWithSession || self == .frontWithSession }
  }

  private struct Row {
    var method: String
    /// `A`: the account, `D`: its device, `C`: its chunk.
    var path: String
    var body: String?
    /// One status for each way.
    var statuses: [Int]

    init(_ method: String, _ path: String, body: String? = nil, _ statuses: [Int]) {
      self.method = method
      self.path = path
      self.body = body
      self.statuses = statuses
    }

    /// A call of the owner's that succeeds with `status`.
    init(owner method: String, _ path: String, body: String? = nil, _ status: Int) {
      self.init(
        method, "/v1/admin/" + path, body: body, [status, 401, status, 404, 401, status])
    }
  }

  private static let rows = [
    Row("GET", "/admin", [200, 200, 200, 404, 200, 200]),
    Row("GET", "/admin/", [200, 200, 200, 404, 200, 200]),
    Row("GET", "/admin/admin.js", [200, 200, 200, 404, 200, 200]),
    Row("GET", "/admin/none.js", [404, 404, 404, 404, 404, 404]),
    Row("GET", "/page/qr/code.js", [200, 200, 200, 200, 200, 200]),
    Row("GET", "/client/limits.js", [404, 404, 404, 200, 200, 200]),
    Row("GET", "/status/status.js", [200, 200, 200, 404, 200, 200]),
    Row("GET", "/status", [200, 200, 200, 404, 404, 404]),
    Row("GET", "/metrics", [200, 200, 200, 404, 404, 404]),
    Row(owner: "GET", "accounts", 200),
    Row(owner: "POST", "accounts", body: #"{"label":"dad"}"#, 201),
    Row(owner: "GET", "accounts/A", 200),
    Row(owner: "PUT", "accounts/A/plan", body: #"{"zones":null}"#, 200),
    Row(owner: "POST", "accounts/A/pairings", body: "{}", 201),
    Row(owner: "GET", "accounts/A/devices", 200),
    Row(owner: "GET", "accounts/A/changes", 200),
    Row(owner: "GET", "accounts/A/chunks/C", 200),
    Row(owner: "GET", "accounts/x", 404),
    Row(owner: "GET", "accounts?limit=0", 400),
    Row(owner: "DELETE", "accounts/A/devices/x", 404),
    Row(owner: "DELETE", "accounts/A/devices/0000000000000001", 404),
    Row(owner: "DELETE", "accounts/A/devices/D", 204),
    Row(owner: "GET", "wake-keys", 200),
    Row(owner: "POST", "wake-keys", 201),
    Row(owner: "GET", "store", 200),
    Row(owner: "GET", "metrics", 200),
    Row(owner: "DELETE", "accounts/A", 204),
    Row("POST", "/v1/admin/codes", [201, 404, 404, 404, 404, 404]),
    Row("POST", "/v1/admin/sessions", body: #"{"code":"x"}"#, [404, 401, 401, 404, 401, 401]),
    Row("PUT", "/v1/admin/store", [405, 405, 405, 404, 405, 405]),
    Row("DELETE", "/v1/admin/sessions", [404, 401, 204, 404, 401, 204]),
  ]

  private static let pages = WebAssetCache(
    [
      "index.html", "client/limits.js", "admin/index.html", "admin/admin.js", "status/index.html",
      "status/status.js", "page/qr/code.js",
    ].map { PageFile(path: $0, bytes: Array($0.utf8)) })

  private func relay(
    nodes: Int = 1, isFront: Bool = true, _ configure: (inout RelayConfiguration) -> Void = { _ in }
  ) -> TestRelay {
    TestRelay(nodes: nodes) {
      $0.isOpen = true
      $0.hasPublicOwnerPage = isFront
      $0.ownerURL = "http://relay"
      $0.pages = Self.pages
      configure(&$0)
    }
  }

  /// Returns a code for a session.
  private func code(_ relay: TestRelay) throws -> String {
    let made = try HTTPClient(relay, listenerKind: .control).call("POST", "/v1/admin/codes")
    return try #require(made.json?["code"]?.string)
  }

  /// Signs in, and returns the session's token.
  private func signIn(
    _ relay: TestRelay, node: Int = 0, _ listenerKind: Opening.ListenerKind = .admin
  ) throws -> String {
    let response = try redeem(try code(relay), relay, node: node, listenerKind)
    return try #require(response.json?["token"]?.string)
  }

  private func redeem(
    _ code: String, _ relay: TestRelay, node: Int = 0,
    _ listenerKind: Opening.ListenerKind = .admin, from host: String = "192.0.2.1",
    headers: [(String, String)] = []
  ) throws -> HTTPClient.Response {
    try HTTPClient(relay, node: node, listenerKind: listenerKind, from: host).call(
      "POST", "/v1/admin/sessions", #"{"code":"\#(code)"}"#, headers: headers)
  }

  @Test func eachCallHasItsAnswerOnEachWay() throws {
    for (index, way) in Way.allCases.enumerated() {
      let relay = relay(isFront: way != .closedFront)
      let device = try relay.newAccount()
      let chunk = HexText.text(of: SHA256.hash(Array("bytes".utf8)))
      let uploaded = try HTTPClient(relay).call(
        "PUT", "/v1/chunks/\(chunk)", token: device.token, "bytes")
      #expect(uploaded.status == 201)
      let token = way.hasSession ? try signIn(relay, way.listenerKind) : nil
      let client = HTTPClient(relay, listenerKind: way.listenerKind)
      for row in Self.rows {
        let names = [
          "A": device.credentials.account.text, "D": device.credentials.device.text, "C": chunk,
        ]
        let path = row.path.split(separator: "/", omittingEmptySubsequences: false)
          .map { names[String($0)] ?? String($0) }.joined(separator: "/")
        let response = try client.call(row.method, path, token: token, row.body)
        #expect(response.status == row.statuses[index], "\(row.method) \(row.path) by \(way)")
      }
    }
  }

  @Test func noTokenOfADeviceIsASession() throws {
    let relay = relay()
    let device = try relay.newAccount()
    let session = try signIn(relay)
    let code = try code(relay)
    for listenerKind in [Opening.ListenerKind.admin, .public] {
      let client = HTTPClient(relay, listenerKind: listenerKind)
      // Not even on a connection on which the device, or the owner, was signed in just before.
      if listenerKind == .public {
        #expect(try client.call("GET", "/v1/devices", token: device.token).status == 200)
      }
      for token in [device.token, code, "", session + "x"] {
        let response = try client.call("GET", "/v1/admin/accounts", token: token)
        #expect(response.status == 401 && response.code == "badToken")
      }
      #expect(try client.call("GET", "/v1/admin/accounts", token: session).status == 200)
      #expect(try client.call("GET", "/v1/admin/accounts").status == 401)
    }
    #expect(try HTTPClient(relay).call("GET", "/v1/devices", token: session).status == 401)
  }

  @Test func aLinkWorksOnceOnWhateverNode() throws {
    let sessions = SharedTestSessions()
    let relay = TestRelay(nodes: 2, adminSessions: sessions) {
      $0.isOpen = true
      $0.hasPublicOwnerPage = true
      $0.ownerURL = "http://relay"
    }
    let made = try HTTPClient(relay, listenerKind: .control).call("POST", "/v1/admin/codes")
    let code = try #require(made.json?["code"]?.string)
    #expect(made.json?["url"]?.string == "http://relay/admin#code=\(code)")
    #expect(made.json?["expiresAt"]?.int64 == relay.moment.wall + Limits.adminCodeMilliseconds)
    let begun = try redeem(code, relay, node: 1, .public)
    #expect(begun.status == 201 && begun.headers["Cache-Control"] == "no-store")
    #expect(
      begun.json?["expiresAt"]?.int64 == relay.moment.wall + Limits.adminSessionMilliseconds)
    let token = try #require(begun.json?["token"]?.string)
    for node in [0, 1] {
      #expect(try redeem(code, relay, node: node, .public).status == 401)
      let client = HTTPClient(relay, node: node)
      #expect(try client.call("GET", "/v1/admin/store", token: token).status == 200)
    }
    let ended = try HTTPClient(relay, node: 0).call("DELETE", "/v1/admin/sessions", token: token)
    #expect(ended.status == 204)
    let after = try HTTPClient(relay, node: 1).call("GET", "/v1/admin/store", token: token)
    #expect(after.status == 401)
  }

  @Test func linksAndSessionsEnd() throws {
    let relay = relay()
    let late = try code(relay)
    relay.advance(Limits.adminCodeMilliseconds)
    #expect(try redeem(late, relay).status == 401)
    let token = try signIn(relay)
    relay.advance(Limits.adminSessionMilliseconds - 1)
    let client = HTTPClient(relay, listenerKind: .admin)
    #expect(try client.call("GET", "/v1/admin/store", token: token).status == 200)
    relay.advance(1)
    let ended = try HTTPClient(relay, listenerKind: .admin).call(
      "GET", "/v1/admin/store", token: token)
    #expect(ended.status == 401 && ended.headers["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
  }

  @Test func guessesHaveALimitAndARightCodeIsNone() throws {
    let relay = relay()
    for _ in 0..<Limits.pairingGuessesPerAddress + 1 {
      #expect(try redeem(try code(relay), relay, .public).status == 201)
    }
    let right = try code(relay)
    for body in ["", "{}", #"{"code":7}"#] {
      let response = try HTTPClient(relay).call("POST", "/v1/admin/sessions", body)
      #expect(response.status == 400)
    }
    for _ in 0..<Limits.pairingGuessesPerAddress {
      #expect(try redeem("wrong", relay, .public).status == 401)
    }
    let refused = try redeem("wrong", relay, .public)
    #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
    // Nobody keeps the owner out by sending wrong codes from the same network.
    #expect(try redeem(right, relay, .public).status == 201)
    #expect(try HTTPClient(relay).call("POST", "/v1/devices", "{}").status == 400)
  }

  @Test func aRequestThatIsCompleteAfterTheSignOutDoesNothing() throws {
    let relay = relay()
    let token = try signIn(relay)
    let slow = HTTPClient(relay, listenerKind: .admin)
    let head =
      "POST /v1/admin/accounts HTTP/1.1\r\nHost: relay\r\nAuthorization: Bearer \(token)\r\n"
      + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    slow.sendRaw(head, answers: 0)
    relay.runUntilIdle()
    let other = HTTPClient(relay, listenerKind: .admin)
    #expect(try other.call("DELETE", "/v1/admin/sessions", token: token).status == 204)
    slow.sendRaw("{}", to: "POST")
    relay.runUntilIdle()
    #expect(try slow.next()?.status == 401)
    let listed = try HTTPClient(relay, listenerKind: .control).call("GET", "/v1/admin/accounts")
    #expect(listed.json?["accounts"]?.array?.isEmpty == true)
  }

  @Test func otherPagesMayNotUseIt() throws {
    let relay = relay { $0.origins = .any }
    let token = try signIn(relay)
    for listenerKind in [Opening.ListenerKind.admin, .public] {
      for origin in ["https://evil.example", "null", "http://relay:81", "http://relay, http://x"] {
        let headers = [("Origin", origin)]
        let client = HTTPClient(relay, listenerKind: listenerKind)
        let read = try client.call("GET", "/v1/admin/accounts", token: token, headers: headers)
        #expect(read.status == 403 && read.code == "originNotAllowed", "\(origin)")
        let begun = try redeem(try code(relay), relay, listenerKind, headers: headers)
        #expect(begun.status == 403, "\(origin)")
        let options = try client.call("OPTIONS", "/v1/admin/accounts", headers: headers)
        #expect(options.headers["Access-Control-Allow-Methods"] == nil)
        for response in [read, begun, options] {
          #expect(response.headers["Access-Control-Allow-Origin"] == nil)
        }
      }
      let own = [("Origin", "http://relay")]
      #expect(try redeem(try code(relay), relay, listenerKind, headers: own).status == 201)
      let client = HTTPClient(relay, listenerKind: listenerKind)
      let made = try client.call("POST", "/v1/admin/accounts", token: token, "{}", headers: own)
      #expect(made.status == 201 && made.headers["Access-Control-Allow-Origin"] == nil)
    }
    // Where the page is not served, its paths are as unknown as any other.
    let closed = self.relay(isFront: false) { $0.origins = .any }
    let foreign = [("Origin", "https://evil.example")]
    let client = HTTPClient(closed)
    let response = try client.call("GET", "/v1/admin/accounts", headers: foreign)
    let unknown = try client.call("GET", "/v1/nothing", headers: foreign)
    #expect(response.status == 404 && response.body == unknown.body)
    #expect(response.headers["Access-Control-Allow-Origin"] == "*")
  }

  @Test func aRevokedDeviceIsOutAtOnce() throws {
    let relay = relay()
    let device = try relay.newAccount()
    let (account, id) = (device.credentials.account, device.credentials.device)
    let socket = HTTPClient(relay)
    #expect(try socket.call("GET", "/v1/devices", token: device.token).status == 200)
    let token = try signIn(relay)
    let client = HTTPClient(relay, listenerKind: .admin)
    let path = "/v1/admin/accounts/\(account.text)/devices/\(id.text)"
    #expect(try client.call("DELETE", path, token: token).status == 204)
    #expect(relay.reports.contains(.accountEvent(account, .deviceRevoked(id), label: "")))
    #expect(try HTTPClient(relay).call("GET", "/v1/devices", token: device.token).status == 401)
    #expect(socket.isClosed)
    let other = try relay.newAccount()
    let foreign =
      "/v1/admin/accounts/\(account.text)/devices/\(other.credentials.device.text)"
    #expect(try client.call("DELETE", foreign, token: token).status == 404)
    #expect(try HTTPClient(relay).call("GET", "/v1/devices", token: other.token).status == 200)
  }

  @Test func aSignInIsReportedWithoutItsSecrets() throws {
    let relay = relay { $0.reportsRequests = true }
    let code = try code(relay)
    let token = try #require(try redeem(code, relay).json?["token"]?.string)
    _ = try HTTPClient(relay, listenerKind: .admin).call("GET", "/v1/admin/store", token: token)
    let texts = relay.reports.map { "\($0)" }
    #expect(relay.reports.contains { if case .ownerSignedIn = $0 { true } else { false } })
    #expect(texts.contains { $0.contains("/v1/admin/store") })
    for text in texts { #expect(!text.contains(code) && !text.contains(token)) }
  }

  @Test func answersHoldTheLinkOfANewDevice() throws {
    let relay = relay { $0.publicURL = "https://sync.example" }
    let control = HTTPClient(relay, listenerKind: .control)
    let made = try control.call("POST", "/v1/admin/accounts", "{}")
    let id = try #require(made.json?["accountID"]?.string)
    let paired = try control.call("POST", "/v1/admin/accounts/\(id)/pairings")
    for response in [made, paired] {
      let code = try #require(response.json?["code"]?.string)
      #expect(response.json?["link"]?.string == "https://sync.example/#code=\(code)")
    }
  }
}

/// Sign-ins for several nodes of a test, which all run on its thread.
final class SharedTestSessions: AdminSessionStore, @unchecked Sendable {
  private var table = AdminSessionTable()

  func withTable<Result: Sendable>(_ body: (inout AdminSessionTable) -> Result) -> Result {
    body(&table)
  }
}
