import LockstepModel
import LockstepStorage
import Testing

/// Store with helpers for the test cases: short forms of requests and results.
package final class ZoneScene {
  package private(set) var store: any ZoneStore
  private let reopening: (any ZoneStore) throws -> any ZoneStore
  private let copying: (any ZoneStore) throws -> PutBack
  private let runs: Runs?
  private var run: UInt64 = 0
  private var batches: UInt64 = 0
  var wall: Int64 = 1_700_000_000_000

  let account = AccountID(rawValue: 0xA)
  let phone = DeviceID(rawValue: 1)
  let tablet = DeviceID(rawValue: 2)
  let zone = Name(trusted: "Notes")
  static let generation: UInt32 = 0xF00D

  /// Replaces the current store by an earlier copy, and opens it.
  package typealias PutBack = (any ZoneStore) throws -> any ZoneStore

  /// Ways to open a store in another run.
  package struct Runs {
    package typealias Opening = (any ZoneStore, _ run: UInt64) throws -> any ZoneStore

    /// Closes the store and returns the reopened one.
    let opening: Opening
    /// Copies all of the store's storage. Returns a function that puts the copy in its place and
    /// opens it.
    let copying: (any ZoneStore) throws -> Opening

    package init(
      opening: @escaping Opening, copying: @escaping (any ZoneStore) throws -> Opening
    ) {
      self.opening = opening
      self.copying = copying
    }
  }

  /// `reopening` closes a store and returns the reopened one; `copying` keeps a copy of it.
  package init(
    _ store: any ZoneStore, reopening: @escaping (any ZoneStore) throws -> any ZoneStore,
    copying: @escaping (any ZoneStore) throws -> PutBack, runs: Runs? = nil
  ) {
    self.store = store
    self.reopening = reopening
    self.copying = copying
    self.runs = runs
  }

  /// Restarts the relay, some time later.
  func restart() throws {
    store = try #require(runs).opening(store, nextRun())
  }

  /// Returns a copy of all the store's storage as it is now.
  func copyAll() throws -> Runs.Opening { try #require(runs).copying(store) }

  /// Rolls the storage back while no relay runs, without any sign of it in the store.
  func rollBack(to copy: Runs.Opening) throws { store = try copy(store, nextRun()) }

  private func nextRun() -> UInt64 {
    run += 1
    return OpeningNumber.make(wall: wall + Int64(run) * 60_000, random: run)
  }

  func reopen() throws { store = try reopening(store) }

  func backUp() throws -> PutBack { try copying(store) }

  func restore(_ putBack: PutBack) throws { store = try putBack(store) }

  // MARK: Requests

  @discardableResult func commit(_ request: CommitRequest) throws -> CommitResult {
    try #require(try store.commit([request], wall: wall).first)
  }

  /// Makes an account with a phone and a tablet.
  func makeAccount(_ id: AccountID? = nil) throws {
    let id = id ?? account
    let create = CommitRequest.createAccount(
      id, generation: Self.generation, label: id == account ? "Ada" : "Ada \(id.text)",
      device: Self.device(phone, of: id),
      pairing: Self.pairing(UInt8(truncatingIfNeeded: id.rawValue), until: wall + 1_000))
    #expect(try commit(create) == .done)
    let redeem = CommitRequest.redeemPairing(
      codeHash: Self.hash(UInt8(truncatingIfNeeded: id.rawValue)),
      device: Self.device(tablet, of: id))
    #expect(try commit(redeem) == .redeemed(id, .everything))
  }

  func batch(
    _ mutations: [Mutation], by device: DeviceID? = nil, of id: AccountID? = nil,
    atomic: Bool = false, zone: Name? = nil, id batch: BatchID? = nil, digest: UInt8 = 0
  ) -> SaveCommit {
    batches += 1
    let request = SaveRequest(
      id: batch ?? BatchID(high: 7, low: batches), zone: zone ?? self.zone, atomic: atomic,
      mutations: mutations)
    return SaveCommit(
      account: id ?? account, device: device ?? phone, request: request,
      digest: Self.hash(digest))
  }

  @discardableResult func save(_ commit: SaveCommit) throws -> SaveOutcome {
    guard case .saved(let outcome) = try self.commit(.save(commit)) else {
      throw Unexpected(what: "the batch was refused")
    }
    return outcome
  }

  @discardableResult func save(
    _ mutations: Mutation..., by device: DeviceID? = nil, atomic: Bool = false, zone: Name? = nil
  ) throws -> SaveOutcome {
    try save(batch(mutations, by: device, atomic: atomic, zone: zone))
  }

  func page(
    since: ChangeToken? = nil, zone: Name? = nil, limit: Int = 1_000, of id: AccountID? = nil
  ) throws -> ChangePage {
    let result = try store.read(
      .changes(id ?? account, since: since, zones: ZoneSelection(zone), limit: limit))
    guard case .page(let page) = result else { throw Unexpected(what: "\(result)") }
    return page
  }

  func refusal(_ request: ReadRequest) throws -> RefusalCode? {
    guard case .refused(let refusal) = try store.read(request) else { return nil }
    return refusal.code
  }

  func refusal(_ request: CommitRequest) throws -> RefusalCode? {
    guard case .refused(let refusal) = try commit(request) else { return nil }
    return refusal.code
  }

  func devices(_ id: AccountID? = nil) throws -> [Device] {
    guard case .devices(let devices) = try store.read(.devices(id ?? account)) else {
      throw Unexpected(what: "no list of devices")
    }
    return devices
  }

  /// Returns the result of a device's sign-in.
  func principal(_ device: DeviceID, of id: AccountID? = nil) throws -> Principal {
    let hash = Self.device(device, of: id ?? account).tokenHash
    guard case .principal(let principal) = try store.read(.authenticate(tokenHash: hash)) else {
      throw Unexpected(what: "the device is not signed in")
    }
    return principal
  }

  func zones() throws -> [String] {
    let result = try store.read(.zones(account, after: nil, within: nil, limit: 1_000))
    guard case .zones(let names, more: false) = result else {
      throw Unexpected(what: "\(result)")
    }
    return names.map(\.text)
  }

  func current(_ name: String) throws -> Record? {
    let key = RecordKey(zone: zone, name: Name(trusted: name))
    guard case .record(let record) = try store.read(.record(account, key)) else { return nil }
    return record
  }

  // MARK: Values

  static func put(
    _ name: String, _ fields: String = "{}", over baseTag: ChangeTag? = 0, type: String = "Note",
    at modifiedAt: Int64 = 50
  ) -> Mutation {
    Mutation(
      name: Name(trusted: name), type: Name(trusted: type), fields: Array(fields.utf8),
      modifiedAt: modifiedAt, baseTag: baseTag)
  }

  static func delete(_ name: String, over baseTag: ChangeTag?) -> Mutation {
    Mutation(
      name: Name(trusted: name), type: nil, fields: nil, modifiedAt: 60, baseTag: baseTag)
  }

  static func token(
    _ sequence: Int64, zone: Name? = nil, pinned: Int64? = nil, horizon: Int64? = nil
  ) -> ChangeToken {
    ChangeToken(
      generation: generation, sequence: sequence, zoneDigest: zone.map(ChangeToken.digest),
      pinned: pinned, horizon: horizon)
  }

  static func hash(_ seed: UInt8) -> [UInt8] { [UInt8](repeating: seed, count: 32) }

  static func device(_ id: DeviceID, of account: AccountID) -> NewDevice {
    var tokenHash = hash(UInt8(truncatingIfNeeded: account.rawValue))
    tokenHash[0] = UInt8(truncatingIfNeeded: id.rawValue)
    return NewDevice(
      id: id,
      description: DeviceDescription(
        deviceName: "device \(id.rawValue)", platform: "linux", appVersion: "1"),
      tokenHash: tokenHash)
  }

  static func pairing(_ seed: UInt8, until expiresAt: Int64) -> NewPairing {
    NewPairing(codeHash: hash(seed), expiresAt: expiresAt)
  }
}

/// Result that contradicts the claim of a test case.
struct Unexpected: Error {
  var what: String
}

extension SaveOutcome {
  var tags: [ChangeTag] {
    answer.results.compactMap { if case .saved(_, let tag) = $0 { tag } else { nil } }
  }

  var conflicts: [Record] {
    answer.results.compactMap { if case .conflict(_, let record) = $0 { record } else { nil } }
  }

  var codes: [RefusalCode] {
    answer.results.compactMap {
      if case .refused(_, let refusal) = $0 { refusal.code } else { nil }
    }
  }
}

extension ReadResult {
  /// A store used by one relay does not maintain `membershipVersion`; others may begin with any
  /// value.
  var withoutMembershipVersion: ReadResult {
    guard case .principal(var principal) = self else { return self }
    principal.membershipVersion = 0
    return .principal(principal)
  }
}

extension ChangePage {
  var names: [String] { changes.map(\.name.text) }
}
