import Changes
import Link
import Storage
import Testing

@testable import Relay

struct OwnerDeskTests {
  private let store = MemoryZoneStore()

  private func ask(
    _ method: String, _ path: String..., body: String = "", wall: Int64 = 1_000
  ) throws -> (status: Int, json: JSONValue) {
    let response = try OwnerDesk(
      secrets: SecretSource { Array(repeating: 0x5A, count: $0) }
    ).answer(
      method, RequestTarget(path: ["v1", "admin"] + path), body: Array(body.utf8), on: store,
      wall: wall)
    let json = response.body.isEmpty ? JSONValue.null : try JSONValue(parsing: response.body)
    return (response.status, json)
  }

  @Test func anAccountIsMadeAsByARelay() throws {
    let made = try ask("POST", "accounts", body: #"{"label":"home"}"#)
    #expect(made.status == 201)
    #expect(made.json["expiresAt"]?.int64 == 1_000 + Limits.pairingMilliseconds)
    let account = try #require(made.json["accountID"]?.string)
    let devices = try ask("GET", "accounts", account, "devices")
    #expect(devices.status == 200 && devices.json["devices"]?.array == [])
    // The same secret again is taken for as long as the first code stands.
    let path = ["accounts", account, "pairings"]
    #expect(try ask("POST", path[0], path[1], path[2]).status == 500)
    let paired = try ask("POST", path[0], path[1], path[2], wall: 1_000_000)
    #expect(paired.status == 201 && paired.json["accountID"]?.string == account)
  }

  @Test func whatIsWrongIsToldAsByARelay() throws {
    #expect(try ask("POST", "accounts", body: "[").json["code"]?.string == "badJSON")
    #expect(try ask("GET", "accounts", "0000000000000001", "devices").status == 404)
    #expect(try ask("PATCH", "accounts").status == 405)
    #expect(try ask("GET", "elsewhere").status == 404)
  }

  @Test func whatIsNotTheOwnersIsNotThere() throws {
    let response = try OwnerDesk(secrets: SecretSource { Array(repeating: 1, count: $0) }).answer(
      "GET", RequestTarget(path: ["v1", "time"]), body: [], on: store, wall: 1_000)
    #expect(response.status == 404)
  }
}
