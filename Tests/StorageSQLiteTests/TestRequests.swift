import LockstepModel
import LockstepStorage

/// Requests for tests of the file format, with arbitrary content.
enum TestRequests {
  private static let device = DeviceID(rawValue: 1)

  /// Creates an account with one device and no pairing code.
  static func create(_ account: AccountID) -> CommitRequest {
    let description = DeviceDescription(deviceName: "d", platform: "p", appVersion: "1")
    let hash = [UInt8](repeating: UInt8(truncatingIfNeeded: account.rawValue), count: 32)
    return .createAccount(
      account, generation: 1, label: "",
      device: NewDevice(id: device, description: description, tokenHash: hash), pairing: nil)
  }

  /// Saves a batch of one record, over any existing version.
  static func save(
    _ name: String, in account: AccountID, bytes: Int = 20, id: UInt64? = nil
  ) -> CommitRequest {
    var random = SystemRandomNumberGenerator()
    return request(
      Mutation(
        name: Name(trusted: name), type: Name(trusted: "T"),
        fields: [UInt8](repeating: UInt8(ascii: " "), count: bytes), modifiedAt: 1, baseTag: nil),
      in: account, id: id.map { BatchID(high: 1, low: $0) } ?? BatchID(random: &random))
  }

  /// Deletes a record, whatever its version.
  static func delete(_ name: String, in account: AccountID) -> CommitRequest {
    var random = SystemRandomNumberGenerator()
    return request(
      Mutation(name: Name(trusted: name), type: nil, fields: nil, modifiedAt: 1, baseTag: nil),
      in: account, id: BatchID(random: &random))
  }

  private static func request(
    _ mutation: Mutation, in account: AccountID, id: BatchID
  ) -> CommitRequest {
    let request = SaveRequest(
      id: id, zone: Name(trusted: "Z"), atomic: false, mutations: [mutation])
    return .save(
      SaveCommit(
        account: account, device: device, request: request,
        digest: [UInt8](repeating: 7, count: 32)))
  }

  /// Makes a registration for wakes of the account's device.
  static func putWake(in account: AccountID) -> CommitRequest {
    let registration = WakeRegistration(
      id: Name(trusted: "w"), endpoint: "https://push.example/1", p256dh: [4], auth: [1])
    return .putWake(account, device, registration, keyMadeAt: 1, codeHash: [7])
  }

  /// Returns the names of an account's records, in the order of their tags.
  static func names(_ account: AccountID, in store: some ZoneReader) throws -> [String] {
    let request = ReadRequest.changes(account, since: nil, zones: .all, limit: Limits.pageRecords)
    guard case .page(let page) = try store.read(request) else { return [] }
    return page.changes.map(\.name.text)
  }
}
