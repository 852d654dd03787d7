import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// Each call of the protocol over HTTP: its answers and its refusals.
struct CallTests {
  let relay = TestRelay()

  private func client(_ listenerKind: Opening.ListenerKind = .public) -> HTTPClient {
    HTTPClient(relay, listenerKind: listenerKind)
  }

  @Test func anOpenRelayMakesAccounts() throws {
    let device = try relay.newAccount()
    #expect(device.token.utf8.count == 43)
    #expect(
      relay.reports.contains(.accountEvent(device.credentials.account, .created, label: "")))
  }

  @Test func aClosedRelayMakesNone() throws {
    let closed = TestRelay { $0.isOpen = false }
    let response = try HTTPClient(closed).call(
      "POST", "/v1/accounts", #"{"deviceName":"A","platform":"p","appVersion":"1"}"#)
    #expect(response.status == 403)
    #expect(response.code == "registrationClosed")
  }

  @Test func relayTimeIsTold() throws {
    let response = try client().call("GET", "/v1/time")
    #expect(response.status == 200)
    #expect(response.json?["time"]?.int64 == relay.moment.wall)
    #expect(response.headers["Date"] == "Tue, 14 Nov 2023 22:13:20 GMT")
  }

  @Test func limitsAreTold() throws {
    let response = try client().call("GET", "/v1/limits")
    #expect(response.json?["batchRecords"]?.int64 == Int64(Limits.batchRecords))
    #expect(response.json?["recordBytes"]?.int64 == Int64(Limits.recordBytes))
  }

  @Test(arguments: [
    ("GET", "/v1/changes"), ("POST", "/v1/pairings"), ("GET", "/v1/devices"),
    ("POST", "/v1/zones/z/records"), ("GET", "/v1/zones/z/records/r"),
    ("DELETE", "/v1/devices/0000000000000001"),
  ])
  func callsNeedAToken(method: String, path: String) throws {
    for token in [nil, "wrong"] {
      let response = try client().call(method, path, token: token)
      #expect(response.status == 401)
      #expect(response.code == "badToken")
      #expect(response.headers["WWW-Authenticate"]?.hasPrefix("Bearer ") == true)
      #expect(response.keepsAlive)
    }
  }

  @Test func anUnknownPathIsNotFound() throws {
    for path in [
      "/", "/v1", "/v1/event", "/v1/zone", "/v1/chunks", "/metrics", "/status",
    ] {
      let response = try client().call("GET", path)
      #expect(response.status == 404)
      #expect(response.code == "notFound")
      #expect(response.headers["Content-Type"] == "application/problem+json")
    }
  }

  /// A person mistypes an address; a program gets a problem as ever.
  @Test func aBrowserGetsAPageForAnUnknownPath() throws {
    let browser = [("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")]
    let page = try client().call("GET", "/v1/chnages", headers: browser)
    #expect(page.status == 404)
    #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
    #expect(page.headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
    #expect(page.headers["X-Content-Type-Options"] == "nosniff")
    #expect(page.headers["Referrer-Policy"] == "no-referrer")
    #expect(page.headers["Cache-Control"] == "no-store")
    let text = String(decoding: page.body, as: UTF8.self)
    #expect(text.contains("<p>Nothing exists at this path; did you mean /v1/changes?</p>"))
    #expect(!text.contains("<script") && !text.contains("<style") && !text.contains("style="))
    for (method, path, accept, status) in [
      ("GET", "/v1/chnages", "*/*", 404), ("GET", "/v1/chnages", "application/json", 404),
      ("POST", "/v1/chnages", "text/html", 404), ("PUT", "/v1/devices", "text/html", 405),
      ("GET", "/v1/changes", "text/html", 401),
    ] {
      let response = try client().call(method, path, headers: [("Accept", accept)])
      #expect(response.status == status)
      #expect(response.headers["Content-Type"] == "application/problem+json")
    }
  }

  @Test func aWrongMethodIsToldTheRightOnes() throws {
    let response = try client().call("PUT", "/v1/devices")
    #expect(response.status == 405)
    #expect(response.headers["Allow"] == "GET, HEAD, POST, OPTIONS")
  }

  @Test func browsersMayAsk() throws {
    let options = try client().call("OPTIONS", "/v1/zones/z/records")
    #expect(options.status == 204)
    #expect(options.headers["Access-Control-Allow-Origin"] == nil)
    #expect(options.headers["Access-Control-Allow-Methods"] == "POST, GET, HEAD, OPTIONS")
    #expect(options.headers["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
    let time = try client().call("GET", "/v1/time")
    #expect(time.headers["Access-Control-Allow-Origin"] == nil)
    #expect(time.headers["Access-Control-Expose-Headers"] == "ETag, Retry-After")
  }

  @Test func headHasNoBody() throws {
    let client = client()
    client.send("HEAD", "/v1/limits")
    client.send("GET", "/v1/time")
    let head = try #require(try client.next())
    #expect(head.status == 200)
    #expect(head.body.isEmpty)
    #expect(head.headers["Content-Length"] != "0")
    #expect(try client.next()?.status == 200)
  }

  @Test func aBodyMustBeJSON() throws {
    let device = try relay.newAccount()
    let client = client()
    let form = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, "a=b",
      headers: [("Content-Type", "application/x-www-form-urlencoded")])
    #expect(form.status == 415)
    #expect(form.code == "unsupportedMediaType")
    let compressed = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, "{}",
      headers: [("Content-Encoding", "gzip")])
    #expect(compressed.status == 415)
    for token in [nil, "nobody"] {
      let stranger = try client.call(
        "POST", "/v1/zones/z/records", token: token, "a=b", headers: [("Content-Type", "a/b")])
      #expect(stranger.status == 401)
    }
    let broken = try client.call("POST", "/v1/zones/z/records", token: device.token, "{")
    #expect(broken.status == 400)
    #expect(broken.code == "badJSON")
    let typed = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)),
      headers: [("Content-Type", "Application/JSON; charset=utf-8")])
    #expect(typed.status == 200)
  }

  @Test func aRecordIsSavedReadAndConflicts() throws {
    let device = try relay.newAccount()
    let client = client()
    let path = "/v1/zones/a%2Fb/records"
    let saved = try client.call("POST", path, token: device.token, saveBody("r/1", id: batch(1)))
    let answer = try SaveAnswer.decoded(body: saved.body)
    #expect(answer.results == [.saved(name: Name(trusted: "r/1"), tag: 1)])

    let read = try client.call("GET", path + "/r%2F1", token: device.token)
    #expect(read.status == 200)
    #expect(read.headers["ETag"] == "\"1\"")
    let record = try Record.decoded(body: read.body)
    #expect(record.zone.text == "a/b")
    #expect(record.device == device.credentials.device)

    for tag in ["\"1\"", "W/\"1\"", "\"7\", \"1\"", "*"] {
      let known = try client.call(
        "GET", path + "/r%2F1", token: device.token, headers: [("If-None-Match", tag)])
      #expect(known.status == 304)
      #expect(known.headers["ETag"] == "\"1\"")
    }
    let other = try client.call(
      "GET", path + "/r%2F1", token: device.token, headers: [("If-None-Match", "\"2\"")])
    #expect(other.status == 200)

    let conflict = try client.call(
      "POST", path, token: device.token, saveBody("r/1", value: 2, base: 0, id: batch(2)))
    #expect(conflict.status == 200)
    #expect(
      try SaveAnswer.decoded(body: conflict.body).results
        == [.conflict(name: Name(trusted: "r/1"), record: record)])
    #expect(try client.call("GET", path + "/none", token: device.token).status == 404)
  }

  @Test func anAtomicBatchThatFailsIsAConflict() throws {
    let device = try relay.newAccount()
    let client = client()
    let body =
      #"{"id":"\#(batch(1).text)","atomic":true,"records":["#
      + #"{"name":"a","type":"t","fields":{},"modifiedAt":1,"baseTag":0},"#
      + #"{"name":"b","type":"t","fields":{},"modifiedAt":1,"baseTag":7}]}"#
    let response = try client.call("POST", "/v1/zones/z/records", token: device.token, body)
    #expect(response.status == 409)
    let results = try SaveAnswer.decoded(body: response.body).results
    guard case .refused(_, let refusal)? = results.first else {
      Issue.record("the innocent record was not refused: \(results)")
      return
    }
    #expect(refusal.code == .batchAborted)
  }

  @Test func aRetryChangesNothing() throws {
    let device = try relay.newAccount()
    let client = client()
    let path = "/v1/zones/z/records"
    let first = try client.call("POST", path, token: device.token, saveBody("r", id: batch(1)))
    let again = try client.call("POST", path, token: device.token, saveBody("r", id: batch(1)))
    #expect(
      try SaveAnswer.decoded(body: first.body).results
        == SaveAnswer.decoded(body: again.body).results)
    let other = try client.call(
      "POST", path, token: device.token, saveBody("r", value: 2, id: batch(1)))
    #expect(other.status == 422)
    #expect(other.code == "batchMismatch")
  }

  @Test func aRetryOfAFutureRecordGetsTheSameCode() throws {
    let device = try relay.newAccount()
    let client = client()
    let ahead = relay.moment.wall + Limits.clockAheadMilliseconds + 1
    let body = saveBody("r", at: ahead, id: batch(1))
    for _ in 0..<2 {
      let response = try client.call("POST", "/v1/zones/z/records", token: device.token, body)
      #expect(response.status == 200)
      guard
        case .refused(_, let refusal)? = try SaveAnswer.decoded(body: response.body).results.first
      else {
        Issue.record("a record from the future was saved")
        return
      }
      #expect(refusal.code == .clockAhead)
      #expect(refusal.relayTime != nil)
      relay.advance(10_000)
    }
    let edge = relay.moment.wall + Limits.clockAheadMilliseconds
    let good = try client.call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("s", at: edge, id: batch(2)))
    #expect(try SaveAnswer.decoded(body: good.body).results.map(\.isSaved) == [true])
  }

  @Test func badQueriesAreRefused() throws {
    let device = try relay.newAccount()
    let refused = [
      ("since=x", "badChangeToken"), ("limit=0", "badRequest"), ("limit=x", "badRequest"),
      ("wait=-1", "badRequest"), ("wait=soon", "badRequest"), ("zone=", "badName"),
      ("since=1.5", "badChangeToken"),
    ]
    for (query, code) in refused {
      let response = try client().call("GET", "/v1/changes?\(query)", token: device.token)
      #expect(response.status == 400)
      #expect(response.code == code, "\(query)")
    }
  }

  @Test func aSnapshotComesPageByPage() throws {
    let device = try relay.newAccount()
    let client = client()
    for number in 1...5 {
      _ = try client.call(
        "POST", "/v1/zones/z/records", token: device.token,
        saveBody("r\(number)", id: batch(number)))
    }
    var page = try ChangePage.decoded(
      body: client.call("GET", "/v1/changes?limit=2", token: device.token).body)
    #expect(page.since == nil)
    var names = page.changes.map(\.name.text)
    while page.more {
      let path = "/v1/changes?limit=2&since=\(page.token.text)"
      page = try ChangePage.decoded(body: client.call("GET", path, token: device.token).body)
      names += page.changes.map(\.name.text)
    }
    #expect(names.sorted() == ["r1", "r2", "r3", "r4", "r5"])
  }

  @Test func otherAccountsAreNotThere() throws {
    let mine = try relay.newAccount()
    let other = try relay.newAccount()
    let client = client()
    _ = try client.call(
      "POST", "/v1/zones/z/records", token: mine.token, saveBody("r", id: batch(1)))
    let page = try ChangePage.decoded(
      body: client.call("GET", "/v1/changes", token: mine.token).body)
    // A record of another account is answered like one that does not exist.
    #expect(try client.call("GET", "/v1/zones/z/records/r", token: other.token).status == 404)
    let foreign = try client.call(
      "GET", "/v1/changes?since=\(page.token.text)", token: other.token)
    #expect(foreign.code == "badChangeToken")
    for method in ["DELETE", "PATCH"] {
      let path = "/v1/devices/\(mine.credentials.device.text)"
      let response = try client.call(method, path, token: other.token, #"{"deviceName":"x"}"#)
      #expect(response.status == 404)
    }
    #expect(try client.call("GET", "/v1/time", token: mine.token).status == 200)
  }
}

extension MutationResult {
  var isSaved: Bool {
    if case .saved = self { return true }
    return false
  }
}
