import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire

/// A minimal relay of one account: it uses the real wire format, on the in-memory reference store.
/// A test can replace the reaction to any message or request.
final class TestRelay {
  static let account = AccountID(rawValue: 7)

  let store: MemoryZoneStore
  /// Relay clock minus true time, milliseconds.
  var clockError: Int64 = 0
  /// Short texts of all requests, in order.
  private(set) var requests: [String] = []
  private(set) var saves: [SaveRequest] = []
  private(set) var hellos: [ChangeToken?] = []
  /// Reasons of the devices' close frames.
  private(set) var closes: [String] = []
  /// Requests about chunks of files: queries for missing ones, uploads, and ranges of downloads.
  var questions: [[ChunkHash]] = []
  var puts: [ChunkHash] = []
  var ranges: [String?] = []
  let files = MemoryChunkStore()
  /// Reaction to a message or a request; nil: the usual answer.
  var onMessage: ((DeviceMessage) -> TestReaction?)?
  var onRequest: ((HTTPRequestHead) -> TestReaction?)?
  /// Reaction to either, by connection.
  var onReceive: ((TestConnection) -> TestReaction?)?
  /// Refusal of a device's next read with a cursor.
  var expiries: [DeviceID: Refusal] = [:]
  var pushesHints = false
  /// Times of a save, for a device that asks for them; nil: a relay without this feature.
  var timing: SaveTiming?
  /// Maximum time for which an intermediary lets a request be held, and its reaction then.
  var cutsLongPolls: (afterMilliseconds: Int64, how: TestReaction)?
  /// True if the network drops pings.
  var isSilent = false
  var keepAliveMilliseconds: Int64 = 25_000
  fileprivate(set) var connections: [TestConnection] = []
  var now: Int64 = 0
  private var admitted: [DeviceID] = []
  /// True time of the next ping of the sockets.
  private(set) var pingAt: Int64 = 0

  init(_ rules: StoreRules = StoreRules()) throws {
    store = MemoryZoneStore(rules: rules)
    _ = try store.commit(
      [
        .createAccount(
          TestRelay.account, generation: 1, label: "test", device: nil, pairing: nil)
      ], wall: 0)
  }

  /// Pairs a device, once.
  func admit(_ device: DeviceID) throws {
    guard !admitted.contains(device) else { return }
    admitted.append(device)
    let code = Array(device.text.utf8)
    _ = try store.commit(
      [
        .issuePairing(TestRelay.account, NewPairing(codeHash: code, expiresAt: wall + 1_000)),
        .redeemPairing(
          codeHash: code,
          device: NewDevice(
            id: device,
            description: DeviceDescription(deviceName: "d", platform: "p", appVersion: "1"),
            tokenHash: code)),
      ], wall: wall)
  }

  var wall: Int64 { now + clockError }

  func connect(_ device: DeviceID) -> TestConnection {
    let connection = TestConnection(device, self)
    connections.append(connection)
    return connection
  }

  func recordRequest(_ text: String) { requests.append(text) }
  func recordHello(_ since: ChangeToken?) { hellos.append(since) }
  func recordClose(_ reason: String) { closes.append(reason) }

  func newestToken() throws -> ChangeToken {
    guard case .token(let token) = try store.read(.newestToken(TestRelay.account)) else {
      throw TestFault("no token")
    }
    return token
  }

  func record(_ name: String, zone: String = TestApp.zone.text) throws -> Record? {
    let key = RecordKey(zone: Name(trusted: zone), name: Name(trusted: name))
    guard case .record(let record) = try store.read(.record(TestRelay.account, key)) else {
      return nil
    }
    return record
  }

  func read(since: ChangeToken?, limit: Int, for device: DeviceID) throws -> ReadResult {
    if since != nil, let refusal = expiries.removeValue(forKey: device) {
      return .refused(refusal)
    }
    return try store.read(.changes(TestRelay.account, since: since, zones: .all, limit: limit))
  }

  /// Saves as a device that is not on the stage. `base` nil: over any version.
  func save(
    _ name: String, _ type: Name, _ fields: JSONValue?, at modifiedAt: Int64? = nil,
    by device: UInt64 = 0xFF, base: ChangeTag? = nil
  ) throws {
    var random = SeededRandom(seed: UInt64(requests.count) &* 77 &+ UInt64(bitPattern: now))
    recordRequest("other saves \(name)")
    let request = SaveRequest(
      id: BatchID(random: &random), zone: TestApp.zone, atomic: false,
      mutations: [
        Mutation(
          name: Name(trusted: name), type: fields == nil ? nil : type,
          fields: fields?.serialized(), modifiedAt: modifiedAt ?? wall, baseTag: base)
      ])
    _ = try commit(request, by: DeviceID(rawValue: device), from: nil)
  }

  func commit(_ request: SaveRequest, by device: DeviceID, from connection: TestConnection?) throws
    -> CommitResult
  {
    try admit(device)
    var checked = request
    for index in checked.mutations.indices {
      let ahead = checked.mutations[index].modifiedAt - wall
      guard ahead > Limits.clockAheadMilliseconds else { continue }
      checked.mutations[index].refusal = Refusal(.clockAhead, "ahead", relayTime: wall)
    }
    if connection != nil { saves.append(request) }
    var digest: [UInt8] = []
    for mutation in request.mutations {
      digest += mutation.name.text.utf8
      digest += mutation.fields ?? [0]
      digest += String(mutation.modifiedAt).utf8
      digest += String(mutation.baseTag ?? -1).utf8
    }
    let commit = SaveCommit(
      account: TestRelay.account, device: device, request: checked, digest: digest)
    let result = try store.commit([.save(commit)], wall: wall)[0]
    if case .saved(let outcome) = result, !outcome.changed.isEmpty {
      for other in connections where other !== connection {
        other.pushPage(
          ChangePage(
            since: outcome.answer.since, token: outcome.answer.token, more: false,
            changes: outcome.changed))
      }
    }
    if request.timed, case .saved(var outcome) = result {
      outcome.answer.timing = timing
      return .saved(outcome)
    }
    return result
  }

  func pingAll() {
    pingAt = now + keepAliveMilliseconds
    for connection in connections where connection.isSocket && !isSilent { connection.ping() }
  }

  func cutAll() {
    for connection in connections { connection.cut() }
    connections = []
  }
}

struct TestFault: Error {
  var words: String
  init(_ words: String) { self.words = words }
}

/// A test's reaction to a message or request.
enum TestReaction {
  case reply([RelayMessage])
  case respond(status: Int, headers: HTTPHeaders, body: [UInt8])
  /// Never answers.
  case ignore
  /// Answers as usual, but the connection is cut before the answer is sent.
  case loseAnswer
  case close(code: UInt16)
  case cut

  static func refuse(_ refusal: Refusal) -> TestReaction {
    .respond(
      status: refusal.code.status, headers: ["Content-Type": "application/problem+json"],
      body: refusal.encodedProblem())
  }
}

/// The saves into a zone that a relay has refused.
final class SaveRefusals {
  var isRefusing = true
  fileprivate(set) var count = 0
}

extension TestRelay {
  /// Refuses the saves into the zone, over either transport, until the test ends that.
  func refuseSaves(into zone: Name, _ refusal: Refusal) -> SaveRefusals {
    let refusals = SaveRefusals()
    onMessage = { message in
      guard case .save(let request) = message, request.zone == zone, refusals.isRefusing else {
        return nil
      }
      refusals.count += 1
      return .reply([.error(id: request.id.text, refusal)])
    }
    onRequest = { head in
      guard head.target.path.contains(zone.text), refusals.isRefusing else { return nil }
      refusals.count += 1
      return .refuse(refusal)
    }
    return refusals
  }
}
