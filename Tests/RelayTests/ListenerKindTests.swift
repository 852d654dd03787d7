import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// The calls that each listener serves.
struct DoorTests {
  @Test func theOwnerMakesAccountsByTheControlDoor() throws {
    let relay = TestRelay { $0.isOpen = false }
    let control = HTTPClient(relay, listenerKind: .control)
    let made = try control.call("POST", "/v1/admin/accounts", #"{"label":"home"}"#)
    #expect(made.status == 201)
    let code = try #require(made.json?["code"]?.string)
    #expect(made.json?["accountID"]?.string?.count == 16)
    #expect(made.json?["expiresAt"]?.int64 == relay.moment.wall + Limits.pairingMilliseconds)
    let joined = try HTTPClient(relay).call(
      "POST", "/v1/devices",
      #"{"code":"\#(code)","deviceName":"A","platform":"p","appVersion":"1"}"#)
    #expect(joined.status == 201)
    let credentials = try JoinAnswer.decoded(body: joined.body).credentials
    #expect(credentials.account.text == made.json?["accountID"]?.string)
    #expect(try control.call("POST", "/v1/admin/accounts", "[").code == "badJSON")
    for (listenerKind, status) in [(Opening.ListenerKind.public, 404), (.admin, 401)] {
      let other = HTTPClient(relay, listenerKind: listenerKind)
      #expect(try other.call("POST", "/v1/admin/accounts", "{}").status == status)
    }
  }

  @Test func theAdminDoorShowsNumbersAndNothingElse() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let admin = HTTPClient(relay, listenerKind: .admin)
    #expect(try admin.call("GET", "/v1/changes", token: device.token).status == 404)
    #expect(try admin.call("GET", "/v1/time").status == 404)
    for path in ["/livez", "/readyz", "/healthz"] {
      #expect(try admin.call("GET", path).status == 200)
    }
    let metrics = try admin.call("GET", "/metrics")
    let text = String(decoding: metrics.body, as: UTF8.self)
    #expect(metrics.headers["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
    #expect(text.contains("\nlockstep_commits_total 1\n"))
    #expect(text.contains("lockstep_rejected_total{reason=\"notFound\"} 2\n"))
    let status = try admin.call("GET", "/status")
    #expect(status.json?["commits_total"]?.int64 == 1)
    #expect(status.json?["refusals"]?["notFound"]?.int64 == 2)
  }

  @Test func numbersAreThoseOfAllNodes() throws {
    let relay = TestRelay(nodes: 3)
    for node in 0..<3 {
      for _ in 0...node {
        #expect(try HTTPClient(relay, node: node).call("GET", "/v1/time").status == 200)
      }
    }
    relay.advance(Limits.statusMilliseconds)
    let admin = HTTPClient(relay, node: 2, listenerKind: .admin)
    let status = try admin.call("GET", "/status")
    #expect(status.json?["nodes"]?.int64 == 3)
    #expect(status.json?["requests_total"]?.int64 == 7)
    #expect(status.json?["connections"]?.int64 == 7)
  }

  @Test func anOrderReportsTheCounters() throws {
    let relay = TestRelay()
    _ = try HTTPClient(relay).call("GET", "/v1/time")
    relay.deliver(0, .ordered(.reportStatus))
    guard case .status(let status)? = relay.reports.last else {
      Issue.record("no status was reported")
      return
    }
    #expect(status.requests == 1)
    #expect(status.connections == 1)
  }

  @Test func whoAsksIsLookedAtBeforeWhatIsAsked() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    for path in ["/v1/changes?limit=0", "/v1/changes?since=x", "/v1/changes?zone=a&zone=a"] {
      #expect(try client.call("GET", path).code == "badToken")
      #expect(try client.call("GET", path, token: "unknown").code == "badToken")
      #expect(try client.call("GET", path, token: device.token).status == 400)
    }
    let large = String(repeating: " ", count: Limits.smallBodyBytes + 1)
    let save = "/v1/zones/%01/records"
    #expect(try client.call("POST", save, token: device.token, large).code == "badName")
    #expect(try client.call("DELETE", "/v1/devices/x").code == "badToken")
    #expect(try client.call("DELETE", "/v1/devices/x", token: device.token).code == "notFound")
  }

  @Test func pagesOfAnyOriginMayReadTheFrontDoorAlone() throws {
    let relay = TestRelay { $0.origins = .any }
    for (listenerKind, origin) in [
      (Opening.ListenerKind.public, "*"), (.admin, nil), (.control, nil),
    ] {
      let client = HTTPClient(relay, listenerKind: listenerKind)
      let response = try client.call("GET", "/livez")
      #expect(response.headers["Access-Control-Allow-Origin"] == origin)
      client.sendRaw("nonsense\r\n\r\n")
      #expect(try client.next()?.headers["Access-Control-Allow-Origin"] == origin)
    }
  }
}
