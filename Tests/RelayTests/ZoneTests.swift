import LockstepJSON
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// The list of zones, and their deletion.
struct ZoneTests {
  let relay = TestRelay(nodes: 2)

  private func save(_ device: TestDevice, _ name: String, zone: String, _ number: Int) throws {
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/\(zone)/records", token: device.token,
      saveBody(name, id: batch(number)))
    try #require(response.status == 200)
  }

  private func zones(_ device: TestDevice, _ query: String = "") throws -> JSONValue? {
    try HTTPClient(relay).call("GET", "/v1/zones\(query)", token: device.token).json
  }

  private func token(_ device: TestDevice, _ query: String = "") throws -> ChangeToken {
    let answer = try HTTPClient(relay).call("GET", "/v1/changes\(query)", token: device.token)
    return try ChangePage.decoded(body: answer.body).token
  }

  @Test func zonesAreListedPageByPage() throws {
    let device = try relay.newAccount()
    #expect(try zones(device) == ["zones": [], "more": false])
    for (number, zone) in ["c", "a%2Fb", "b"].enumerated() {
      try save(device, "r", zone: zone, number)
    }
    #expect(
      try zones(device) == [
        "zones": [["zone": "a/b"], ["zone": "b"], ["zone": "c"]], "more": false,
      ])
    #expect(try zones(device, "?limit=1") == ["zones": [["zone": "a/b"]], "more": true])
    #expect(
      try zones(device, "?limit=1&after=a%2Fb") == ["zones": [["zone": "b"]], "more": true])
    #expect(try zones(device, "?after=b") == ["zones": [["zone": "c"]], "more": false])
    #expect(try zones(relay.newAccount()) == ["zones": [], "more": false])
    for (query, code) in [
      ("limit=0", "badRequest"), ("limit=x", "badRequest"), ("after=%07", "badName"),
    ] {
      #expect(try zones(device, "?" + query)?["code"]?.string == code)
    }
    #expect(try HTTPClient(relay).call("GET", "/v1/zones").status == 401)
  }

  private func delete(_ device: TestDevice, _ target: String) throws -> HTTPClient.Response {
    try HTTPClient(relay, node: 1).call("DELETE", "/v1/zones/\(target)", token: device.token)
  }

  @Test func aDeletedZoneIsToldAsAnySave() throws {
    let device = try relay.newAccount()
    try save(device, "a", zone: "z", 1)
    try save(device, "b", zone: "z", 2)
    try save(device, "c", zone: "y", 3)
    let start = try token(device)
    let socket = try SocketClient(relay, as: device, since: start)
    #expect(try delete(device, "z").status == 204)
    relay.runUntilIdle()
    guard case .changes(nil, let page)? = try socket.next() else {
      Issue.record("no push came")
      return
    }
    #expect(page.since == start)
    #expect(page.changes.map(\.name.text) == ["a", "b"])
    #expect(page.changes.allSatisfy { $0.isDeleted && $0.device == device.credentials.device })
    #expect(try zones(device) == ["zones": [["zone": "y"]], "more": false])
    #expect(try delete(device, "z").status == 204)
    #expect(try socket.all().isEmpty)
    #expect(try token(device) == page.token)
  }

  @Test func whatATokenDoesNotCoverStays() throws {
    let device = try relay.newAccount()
    try save(device, "a", zone: "z", 1)
    let whole = try token(device)
    let ofZone = try token(device, "?zone=z")
    let ofAnother = try token(device, "?zone=y")
    try save(device, "b", zone: "z", 2)
    for (through, code) in [
      (ofAnother.text, "filterChanged"), ("x", "badChangeToken"),
      (try token(relay.newAccount()).text, "badChangeToken"),
    ] {
      #expect(try delete(device, "z?through=\(through)").code == code)
    }
    #expect(try delete(device, "z?through=\(ofZone.text)").status == 204)
    let client = HTTPClient(relay)
    #expect(try client.call("GET", "/v1/zones/z/records/a", token: device.token).status == 404)
    #expect(try client.call("GET", "/v1/zones/z/records/b", token: device.token).status == 200)
    #expect(try delete(device, "z?through=\(whole.text)").status == 204)
    #expect(try client.call("GET", "/v1/zones/z/records/b", token: device.token).status == 200)
    #expect(try HTTPClient(relay).call("DELETE", "/v1/zones/z").status == 401)
  }
}
