import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// `GET`, `PUT` and `DELETE` of single records, and the list of a zone's records.
struct RecordCallTests {
  let relay = TestRelay()

  private func path(_ name: String = "r") -> String { "/v1/zones/z/records/\(name)" }

  private func body(_ value: Int, _ members: String = "") -> String {
    #"{"type":"t","fields":{"v":\#(value)}\#(members)}"#
  }

  private func record(of response: HTTPClient.Response) throws -> Record {
    try Record.decoded(body: response.body)
  }

  @Test func aNewRecordIsCreatedOnce() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let made = try client.call(
      "PUT", path(), token: device.token, body(1), headers: [("If-None-Match", "*")])
    #expect(made.status == 201)
    #expect(made.headers["ETag"] == "\"1\"")
    let record = try record(of: made)
    #expect(record.modifiedAt == relay.moment.wall)
    #expect(record.device == device.credentials.device)
    let again = try client.call(
      "PUT", path(), token: device.token, body(2), headers: [("If-None-Match", "*")])
    #expect(again.status == 412)
    #expect(again.code == "preconditionFailed")
    #expect(again.headers["ETag"] == "\"1\"")
    #expect(again.json?["record"]?["fields"]?["v"]?.int64 == 1)
  }

  @Test func aChangeMustBeMadeOnTheCurrentVersion() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    _ = try client.call(
      "PUT", path(), token: device.token, body(1), headers: [("If-None-Match", "*")])
    let changed = try client.call(
      "PUT", path(), token: device.token, body(2), headers: [("If-Match", "\"1\"")])
    #expect(changed.status == 200)
    let record = try record(of: changed)
    #expect(record.tag == 2)
    // The clock stands still, and the change must be newer.
    #expect(record.modifiedAt == relay.moment.wall + 1)
    let late = try client.call(
      "PUT", path(), token: device.token, body(3), headers: [("If-Match", "\"1\"")])
    #expect(late.status == 412)
    #expect(late.json?["record"]?["tag"]?.int64 == 2)
    for (tags, status) in [("W/\"2\"", 200), ("*", 200)] {
      let answer = try client.call(
        "PUT", path(), token: device.token, body(3), headers: [("If-Match", tags)])
      #expect(answer.status == status, "\(tags)")
    }
    let none = try client.call(
      "PUT", path("none"), token: device.token, body(3), headers: [("If-Match", "*")])
    #expect(none.status == 412)
    #expect(none.headers["ETag"] == nil)
    #expect(none.json?["record"]?["deleted"]?.bool == true)
  }

  @Test func theBodyMayNameTheVersion() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let made = try client.call("PUT", path(), token: device.token, body(1, #","baseTag":0"#))
    #expect(made.status == 201)
    // The record is sent back as it was read.
    let read = try client.call("GET", path(), token: device.token)
    let text = String(decoding: read.body, as: UTF8.self)
    #expect(try client.call("PUT", path(), token: device.token, text).status == 200)
    #expect(try client.call("PUT", path(), token: device.token, text).status == 412)
    let blind = try client.call("PUT", path(), token: device.token, body(9, #","baseTag":"any""#))
    #expect(blind.status == 200)
    // A header comes before the body.
    let stale = try client.call(
      "PUT", path(), token: device.token, body(9, #","baseTag":"any""#),
      headers: [("If-Match", "\"1\"")])
    #expect(stale.status == 412)
  }

  @Test func aRequestThatNamesNoVersionIsTaught() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    for (method, content) in [("PUT", body(1)), ("DELETE", nil)] as [(String, String?)] {
      let answer = try client.call(method, path(), token: device.token, content)
      #expect(answer.status == 428)
      #expect(answer.code == "preconditionRequired")
      #expect(answer.json?["detail"]?.string?.contains("If-Match") == true)
    }
    #expect(try client.call("GET", path(), token: device.token).status == 404)
  }

  @Test(
    arguments: [
      [("If-Match", "")], [("If-None-Match", "")], [("If-Match", "1")], [("If-Match", "\"x\"")],
      [("If-Match", "\"1\", \"2\"")],
      [("If-Match", "\"0\"")], [("If-Match", "\"99999999999999999999\"")], [("If-Match", "W/")],
      [("If-Match", "\"")], [("If-Match", "\"\"")], [("If-None-Match", "\"1\"")],
      [("If-Match", "*"), ("If-None-Match", "*")],
      [("If-None-Match", "*"), ("Idempotency-Key", "x")],
    ] as [[(String, String)]])
  func aHeaderThatIsNoConditionIsRefused(_ headers: [(String, String)]) throws {
    let device = try relay.newAccount()
    let answer = try HTTPClient(relay).call(
      "PUT", path(), token: device.token, body(1), headers: headers)
    #expect(answer.status == 400)
    #expect(answer.code == "badRequest")
  }

  @Test func aDeletionNamesItsVersionToo() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    func put() throws {
      _ = try client.call("PUT", path(), token: device.token, body(1, #","baseTag":"any""#))
    }
    try put()
    let stale = try client.call(
      "DELETE", path(), token: device.token, headers: [("If-Match", "\"7\"")])
    #expect(stale.status == 412)
    let gone = try client.call(
      "DELETE", path(), token: device.token, headers: [("If-Match", "\"1\"")])
    #expect(gone.status == 204)
    #expect(gone.body.isEmpty)
    #expect(try client.call("GET", path(), token: device.token).status == 404)
    // A retry finds that the requested state holds.
    let again = try client.call(
      "DELETE", path(), token: device.token, headers: [("If-Match", "\"1\"")])
    #expect(again.status == 204)
    for (query, status) in [("?baseTag=3", 204), ("?baseTag=any", 204)] {
      try put()
      #expect(try client.call("DELETE", path() + query, token: device.token).status == status)
    }
    for query in ["?baseTag=x", "?baseTag=0", "?baseTag="] {
      let refused = try client.call(
        "DELETE", path() + query, token: device.token, headers: [("If-Match", "*")])
      #expect(refused.status == 400)
    }
    #expect(try client.call("DELETE", path(), token: device.token).status == 428)
  }

  /// The same key with the same content changes nothing; with other content it is refused.
  @Test func aRetryWithAKeyIsRecognised() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let key = batch(1).text
    for text in ["\"\(key)\"", key] {
      let made = try client.call(
        "PUT", path(), token: device.token, body(1),
        headers: [("If-None-Match", "*"), ("Idempotency-Key", text)])
      #expect(made.status == (text == key ? 200 : 201))
      #expect(try record(of: made).tag == 1)
    }
    let other = try client.call(
      "PUT", path(), token: device.token, body(2),
      headers: [("If-None-Match", "*"), ("Idempotency-Key", key)])
    #expect(other.status == 422)
    #expect(other.code == "batchMismatch")
    for _ in 0..<2 {
      let gone = try client.call(
        "DELETE", path(), token: device.token,
        headers: [("If-Match", "\"1\""), ("Idempotency-Key", batch(2).text)])
      #expect(gone.status == 204)
    }
    #expect(try client.call("GET", "/v1/changes", token: device.token).json?["token"] != nil)
  }

  @Test func aFaultOfTheRecordIsTheAnswersStatus() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let time = relay.moment.wall + 60_000
    let ahead = try client.call(
      "PUT", path(), token: device.token, body(1, #","modifiedAt":\#(time),"baseTag":0"#))
    #expect(ahead.status == 422)
    #expect(ahead.code == "clockAhead")
    #expect(ahead.json?["time"]?.int64 == relay.moment.wall)
    let large = String(repeating: "x", count: Limits.recordBytes)
    let tooLarge = try client.call(
      "PUT", path(), token: device.token, #"{"type":"t","fields":{"v":"\#(large)"},"baseTag":0}"#)
    #expect(tooLarge.status == 413)
    #expect(tooLarge.code == "recordTooLarge")
  }

  /// An overwrite of a version that was not read is a conflict, unless it is asked for.
  @Test func aBatchOverwritesOnlyOnDemand() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    func save(_ members: String, id: Int) throws -> MutationResult? {
      let answer = try client.call(
        "POST", "/v1/zones/z/records", token: device.token,
        #"{"id":"\#(batch(id).text)","records":[{"name":"r","type":"t","fields":{}\#(members)}]}"#)
      #expect(answer.status == 200)
      return try SaveAnswer.decoded(body: answer.body).results.first
    }
    let name = Name(trusted: "r")
    #expect(try save("", id: 1) == .saved(name: name, tag: 1))
    let conflict = try save("", id: 2)
    guard case .conflict(_, let record) = conflict else {
      Issue.record("\(String(describing: conflict)) is no conflict")
      return
    }
    #expect(record.tag == 1)
    #expect(try save(#","tag":1"#, id: 3) == .saved(name: name, tag: 2))
    #expect(try save(#","baseTag":"any""#, id: 4) == .saved(name: name, tag: 3))
  }

  // MARK: list

  private func fill(_ device: TestDevice, _ count: Int) throws {
    for number in 0..<count {
      let answer = try HTTPClient(relay).call(
        "PUT", path("r\(number)"), token: device.token,
        #"{"type":"\#(number.isMultiple(of: 2) ? "even" : "odd")","fields":{"v":\#(number)}}"#,
        headers: [("If-None-Match", "*")])
      try #require(answer.status == 201)
    }
  }

  private func names(of response: HTTPClient.Response) -> [String] {
    (response.json?["records"]?.array ?? []).compactMap { $0["name"]?.string }
  }

  @Test func theListHasLiveRecordsPageByPage() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    try fill(device, 5)
    _ = try client.call("DELETE", path("r1") + "?baseTag=any", token: device.token)
    var found: [String] = []
    var after = ""
    repeat {
      let page = try client.call(
        "GET", "/v1/zones/z/records?limit=2&after=\(after)", token: device.token)
      #expect(page.status == 200)
      found += names(of: page)
      after = page.json?["token"]?.string ?? ""
      guard page.json?["more"]?.bool == true else { break }
    } while found.count < 100
    #expect(found == ["r0", "r2", "r3", "r4"])
    // The last token is a cursor of the zone's changes, and no page of the list.
    let beyond = try client.call("GET", "/v1/zones/z/records?after=\(after)", token: device.token)
    #expect(beyond.status == 400)
    #expect(beyond.code == "badChangeToken")
    let changes = try client.call(
      "GET", "/v1/changes?zone=z&since=\(after)", token: device.token)
    #expect(changes.status == 200)
    let none = try client.call("GET", "/v1/zones/none/records", token: device.token)
    #expect(none.status == 200)
    #expect(names(of: none).isEmpty)
  }

  @Test func theListMayBeOfOneType() throws {
    let device = try relay.newAccount()
    try fill(device, 4)
    let odd = try HTTPClient(relay).call(
      "GET", "/v1/zones/z/records?type=odd", token: device.token)
    #expect(names(of: odd) == ["r1", "r3"])
    let all = try HTTPClient(relay).call("GET", "/v1/zones/z/records?type=", token: device.token)
    #expect(names(of: all).count == 4)
  }

  @Test func aListThatDidNotChangeIsNotSentAgain() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    try fill(device, 2)
    let list = try client.call("GET", "/v1/zones/z/records", token: device.token)
    let tag = try #require(list.headers["ETag"])
    let held = try client.call(
      "GET", "/v1/zones/z/records", token: device.token, headers: [("If-None-Match", tag)])
    #expect(held.status == 304)
    #expect(held.body.isEmpty)
    _ = try client.call("DELETE", path("r1") + "?baseTag=any", token: device.token)
    let changed = try client.call(
      "GET", "/v1/zones/z/records", token: device.token, headers: [("If-None-Match", tag)])
    #expect(changed.status == 200)
    #expect(names(of: changed) == ["r0"])
  }

  // MARK: what templates produce

  @Test func anEmptyParameterIsNone() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    try fill(device, 1)
    for query in ["?since=", "?limit=", "?wait=", "?since=&limit=&wait="] {
      let page = try client.call("GET", "/v1/changes\(query)", token: device.token)
      #expect(page.status == 200)
      #expect(page.json?["changes"]?.array?.count == 1)
    }
    #expect(try client.call("GET", "/v1/zones?after=&limit=", token: device.token).status == 200)
    // An empty `through` would delete the zone.
    let deletion = try client.call("DELETE", "/v1/zones/z?through=", token: device.token)
    #expect(deletion.status == 400)
  }

  @Test(arguments: ["/v1/zones/a/b/records", "/v1/zones/z/records/a/b"])
  func aSlashThatIsNotQuotedIsExplained(_ path: String) throws {
    let answer = try HTTPClient(relay).call("GET", path)
    #expect(answer.status == 404)
    #expect(answer.json?["detail"]?.string?.contains("%2F") == true)
  }
}
