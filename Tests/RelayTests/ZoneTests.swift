import Changes
import Link
import Testing

@testable import Relay

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
      ("limit=0", "badRequest"), ("limit=x", "badRequest"), ("after=", "badName"),
      ("after=%07", "badName"),
    ] {
      #expect(try zones(device, "?" + query)?["code"]?.string == code)
    }
    #expect(try HTTPClient(relay).call("GET", "/v1/zones").status == 401)
  }
}
