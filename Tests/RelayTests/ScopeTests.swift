import Foundation
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Devices that were paired for a part of the account: each call, with each scope.
struct ScopeTests {
  /// Outcome of a call about something in the device's zones, if it may write there or only read,
  /// and about something in another zone.
  private struct Row {
    var method: String
    /// `*` stands for a zone, also in the body; `%` for the id of a batch.
    var path: String
    var body: String?
    var writer: Int
    var reader: Int
    var outside: Int

    init(_ value: JSONValue) throws {
      let call = try #require(value["call"]?.string?.split(separator: " "))
      try #require(call.count == 2)
      (method, path) = (String(call[0]), String(call[1]))
      body = value["body"]?.text
      func status(_ column: String) throws -> Int {
        Int(try #require(value[column]?.int64))
      }
      (writer, reader, outside) = try (status("writer"), status("reader"), status("outside"))
    }
  }

  /// Every call that names a zone. The end-to-end tests have the same table for the stores on disk.
  private static func rows() throws -> [Row] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let file = root.appending(path: "Tests/EndToEndTests/Stories/scope_calls.json")
    let table = try JSONValue(parsing: Array(Data(contentsOf: file)))
    return try #require(table.array).map { try Row($0) }
  }

  private let relay: TestRelay
  private let laptop: TestDevice
  /// The hash of a chunk that a record of the zone names.
  private let chunks: [String: Chunk]
  private let ids = Counter()

  private final class Counter {
    private var last = 1_000
    func next() -> Int {
      last += 1
      return last
    }
  }

  init() throws {
    relay = TestRelay.keepingChunks()
    laptop = try relay.newAccount()
    chunks = try ["Todos": Chunk("chunk of Todos"), "Journal": Chunk("chunk of Journal")]
    for (zone, chunk) in chunks.sorted(by: { $0.key < $1.key }) {
      #expect(try relay.put(chunk, by: laptop) == 201)
      try save("a", in: zone, chunks: [chunk])
    }
  }

  private func save(
    _ name: String, in zone: String, by device: TestDevice? = nil, chunks: [Chunk] = []
  ) throws {
    let list = chunks.map { "\"\($0.hash.text)\"" }.joined(separator: ",")
    let saved = try HTTPClient(relay).call(
      "POST", "/v1/zones/\(zone)/records", token: (device ?? laptop).token,
      """
      {"id":"\(batch(ids.next()).text)","records":[{"name":"\(name)","type":"t","fields":{},\
      "chunks":[\(list)],"modifiedAt":1,"baseTag":"any"}]}
      """)
    try #require(saved.status == 200, "\(saved.json?.text ?? "")")
  }

  private func call(
    _ device: TestDevice, _ method: String, _ path: String, _ body: String? = nil
  ) throws -> HTTPClient.Response {
    try HTTPClient(relay).call(method, path, token: device.token, body)
  }

  private func pair(_ body: String, by device: TestDevice? = nil) throws -> TestDevice {
    let offer = try call(device ?? laptop, "POST", "/v1/pairings", body)
    try #require(offer.status == 201, "\(offer.json?.text ?? "")")
    let code = try PairingOffer.decoded(body: offer.body).code
    let joined = try HTTPClient(relay).call(
      "POST", "/v1/devices",
      #"{"code":"\#(code)","deviceName":"B","platform":"test","appVersion":"1"}"#)
    try #require(joined.status == 201)
    return TestDevice(credentials: try JoinAnswer.decoded(body: joined.body).credentials)
  }

  private func code(_ response: HTTPClient.Response) -> String? { response.json?["code"]?.string }

  // MARK: calls

  @Test(arguments: [false, true])
  func eachCallAboutAZoneIsLimitedToTheScope(isReadOnly: Bool) throws {
    let access = isReadOnly ? "read" : "write"
    let device = try pair(#"{"zones":["Todos"],"access":"\#(access)"}"#)
    for row in try Self.rows() {
      // Twice in another zone: once in one that exists, once in one that does not.
      var refused: [HTTPClient.Response] = []
      for zone in ["Todos", "Journal", "Missing"] {
        let body = row.body?.replacing("*", with: zone)
          .replacing("%", with: batch(ids.next()).text)
        let answer = try call(device, row.method, row.path.replacing("*", with: zone), body)
        let wanted = zone != "Todos" ? row.outside : isReadOnly ? row.reader : row.writer
        #expect(answer.status == wanted, "\(row.method) \(row.path) in \(zone)")
        if answer.status == 403 { #expect(code(answer) == "outOfScope") }
        if zone != "Todos" { refused.append(answer) }
      }
      #expect(refused[0].body == refused[1].body, "\(row.method) \(row.path) shows what exists")
    }
    // Nothing was changed outside.
    let journal = try call(laptop, "GET", "/v1/zones/Journal/records/a")
    #expect(journal.status == 200)
  }

  /// A call that is added must be in the table, or limited to the device itself.
  @Test func everyCallIsInTheTable() throws {
    let ofZones = Set(
      try Self.rows().map { row in
        let path = row.path.split(separator: "?")[0].split(separator: "/").map(String.init)
        let isRecord = path.count == 5
        let isNamed = path.count == 3 && path[1] == "subscriptions"
        let pattern = isRecord ? path.dropLast() + ["*"] : isNamed ? path.dropLast() + ["*"] : path
        return row.method + " " + pattern.joined(separator: "/")
      })
    let others: Set = [
      "GET v1/changes", "GET v1/events", "GET v1/zones", "GET v1/subscriptions",
      "GET v1/subscriptions/*", "GET v1/wakes", "GET v1/wakes/*", "PUT v1/wakes/*",
      "DELETE v1/wakes/*", "POST v1/wakes/*/verification", "PUT v1/chunks/*", "GET v1/chunks/*",
      "HEAD v1/chunks/*", "POST v1/chunks/missing", "GET v1/socket", "GET v1/time", "GET v1/limits",
      "POST v1/accounts", "GET v1/devices", "POST v1/devices", "PATCH v1/devices/*",
      "DELETE v1/devices/*",
    ]
    let known = Router.entries.filter {
      $0.listenerKinds.contains(.public) && $0.pattern[0] == "v1"
    }
    .map { $0.method + " " + $0.pattern.joined(separator: "/") }
    for call in known { #expect(ofZones.contains(call) || others.contains(call), "\(call)") }
  }

  @Test func aDeviceSeesTheChangesOfItsZonesOnly() throws {
    let device = try pair(#"{"zones":["Todos"]}"#)
    func names(_ path: String, _ list: String = "changes") throws -> [String] {
      let answer = try call(device, "GET", path)
      #expect(answer.status == 200)
      return answer.json?[list]?.array?.compactMap { $0["zone"]?.string ?? $0.string } ?? []
    }
    #expect(try names("/v1/changes") == ["Todos"])
    #expect(try names("/v1/zones", "zones") == ["Todos"])
    // Its token is one of the account, and stays valid after changes that it does not see.
    let token = try #require(try call(device, "GET", "/v1/changes").json?["token"]?.string)
    try save("b", in: "Journal")
    let next = try call(device, "GET", "/v1/changes?since=\(token)")
    #expect(next.json?["changes"]?.array?.isEmpty == true && next.json?["more"]?.bool == false)
    #expect(next.json?["token"]?.string != token)
  }

  @Test func chunksOfOtherZonesAreNotThere() throws {
    let device = try pair(#"{"zones":["Todos"]}"#)
    let reader = try pair(#"{"zones":["Todos"],"access":"read"}"#)
    let own = try #require(chunks["Todos"]).hash
    let there = try #require(chunks["Journal"])
    let other = there.hash
    let unknown = try Chunk("unknown")
    let nobody = unknown.hash
    for (hash, status) in [(own, 200), (other, 404), (nobody, 404)] {
      #expect(try call(device, "GET", "/v1/chunks/\(hash.text)").status == status)
      #expect(try call(device, "HEAD", "/v1/chunks/\(hash.text)").status == status)
    }
    #expect(
      try call(device, "GET", "/v1/chunks/\(other.text)").body
        == call(device, "GET", "/v1/chunks/\(nobody.text)").body)
    let list = [own, other, nobody].map { "\"\($0.text)\"" }.joined(separator: ",")
    let missing = try call(device, "POST", "/v1/chunks/missing", #"{"hashes":[\#(list)]}"#)
    #expect(missing.json?["missing"]?.array?.compactMap(\.string) == [other.text, nobody.text])
    // An upload does not show that the account has the chunk already.
    #expect(try relay.put(there, by: device) == 201)
    #expect(try relay.put(there, by: laptop) == 200)
    #expect(try relay.put(unknown, by: reader) == 403)
    #expect(try call(reader, "GET", "/v1/chunks/\(own.text)").status == 200)
  }

  // MARK: devices

  @Test(arguments: [#"{"zones":["Todos"]}"#, #"{"access":"read"}"#])
  func aDeviceManagesItselfOnly(_ pairing: String) throws {
    let device = try pair(pairing)
    let scope = device.credentials.scope
    #expect(
      scope == (try PairingRequest.decoded(body: Array(pairing.utf8)).scope(within: .everything)))
    let list = try DeviceList.decoded(body: try call(device, "GET", "/v1/devices").body).devices
    #expect(list.map(\.id) == [device.credentials.device] && list.map(\.scope) == [scope])
    let all = try DeviceList.decoded(body: try call(laptop, "GET", "/v1/devices").body).devices
    #expect(all.map(\.scope) == [.everything, scope])
    let rename = #"{"deviceName":"new"}"#
    for other in [laptop.credentials.device.text, DeviceID(rawValue: 77).text] {
      let renamed = try call(device, "PATCH", "/v1/devices/\(other)", rename)
      let revoked = try call(device, "DELETE", "/v1/devices/\(other)")
      for answer in [renamed, revoked] {
        #expect(answer.status == 403 && code(answer) == "outOfScope")
      }
    }
    let own = device.credentials.device.text
    #expect(try call(device, "PATCH", "/v1/devices/\(own)", rename).status == 200)
    #expect(try call(device, "DELETE", "/v1/devices/\(own)").status == 204)
    #expect(try call(device, "GET", "/v1/changes").status == 401)
  }

  @Test func aScopeIsNeverWidened() throws {
    let device = try pair(#"{"zones":["Todos","Notes"]}"#)
    // What is not asked for is inherited.
    let twin = try pair("{}", by: device)
    #expect(twin.credentials.scope == device.credentials.scope)
    let reader = try pair(#"{"zones":["Todos"],"access":"read"}"#, by: twin)
    #expect(
      reader.credentials.scope == DeviceScope(zones: [Name(trusted: "Todos")], isReadOnly: true))
    for body in [
      #"{"zones":["Journal"]}"#, #"{"zones":["Todos","Journal"]}"#, #"{"access":"write"}"#,
    ] {
      #expect(try call(reader, "POST", "/v1/pairings", body).status == 403)
    }
    #expect(try call(reader, "POST", "/v1/pairings").status == 201)
  }

  @Test(arguments: [
    #"{"zones":[]}"#, #"{"zones":"Todos"}"#, #"{"zones":[""]}"#, #"{"access":"all"}"#,
    #"{"expiresIn":5}"#, #"{"expiresIn":601}"#, #"{"expiresIn":"60"}"#, "[]", "{",
    #"{"wrapped":""}"#, #"{"wrapped":"AAA="}"#,
    #"{"zones":["a"],"zones":["b"]}"#,
    #"{"zones":[\#((0...Limits.scopeZones).map { "\"z\($0)\"" }.joined(separator: ","))]}"#,
  ])
  func anInvalidScopeIsRefused(_ body: String) throws {
    #expect(try call(laptop, "POST", "/v1/pairings", body).status == 400)
  }

  @Test func aCodeEndsWhenItsDeviceAskedFor() throws {
    let offer = try call(laptop, "POST", "/v1/pairings", #"{"expiresIn":60}"#)
    let pairing = try PairingOffer.decoded(body: offer.body)
    #expect(pairing.expiresAt == relay.moment.wall + 60_000)
    relay.advance(60_001)
    let late = try HTTPClient(relay).call(
      "POST", "/v1/devices",
      #"{"code":"\#(pairing.code)","deviceName":"B","platform":"test","appVersion":"1"}"#)
    #expect(late.status == 403)
  }
}
