import LockstepModel
import LockstepStorage

/// Requests for tests of the execution, with arbitrary content.
enum TestRequests {
  static let device = DeviceID(rawValue: 1)

  /// Creates an account with one device.
  static func create(_ account: AccountID) -> CommitRequest {
    let description = DeviceDescription(deviceName: "d", platform: "p", appVersion: "1")
    var hash = [UInt8](repeating: 0, count: 32)
    for index in 0..<8 { hash[index] = UInt8(truncatingIfNeeded: account.rawValue >> (8 * index)) }
    return .createAccount(
      account, generation: 1, label: "",
      device: NewDevice(id: device, description: description, tokenHash: hash), pairing: nil)
  }

  /// Saves a batch of records, over any existing versions.
  static func save(
    _ names: String..., in account: AccountID, over baseTag: ChangeTag? = nil, bytes: Int = 20,
    id: UInt64? = nil
  ) -> CommitRequest {
    var random = SystemRandomNumberGenerator()
    let mutations = names.map { name in
      Mutation(
        name: Name(trusted: name), type: Name(trusted: "T"),
        fields: [UInt8](repeating: UInt8(ascii: " "), count: bytes), modifiedAt: 1,
        baseTag: baseTag)
    }
    let request = SaveRequest(
      id: id.map { BatchID(high: 1, low: $0) } ?? BatchID(random: &random),
      zone: Name(trusted: "Z"), atomic: false, mutations: mutations)
    return .save(
      SaveCommit(
        account: account, device: device, request: request,
        digest: [UInt8](repeating: 7, count: 32)))
  }

  /// Times of the one key for which devices subscribe.
  static let wakeKeys = WakeKeyTimes(oldest: 1, newest: 1)

  /// Makes a registration for wakes of the account's device.
  static func putWake(in account: AccountID) -> CommitRequest {
    let registration = WakeRegistration(
      id: Name(trusted: "w"), endpoint: "https://push.example/1", p256dh: [4], auth: [1])
    return .putWake(account, device, registration, keyMadeAt: 1, codeHash: [7])
  }

  /// Returns an account's records, in the order of their tags.
  static func records(_ account: AccountID, in store: some ZoneReader) throws -> [Record] {
    let request = ReadRequest.changes(account, since: nil, zones: .all, limit: Limits.pageRecords)
    guard case .page(let page) = try store.read(request) else { return [] }
    return page.changes
  }

  static func names(_ account: AccountID, in store: some ZoneReader) throws -> [String] {
    try records(account, in: store).map(\.name.text)
  }
}
