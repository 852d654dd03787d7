import LockstepModel
import LockstepSealing

@testable import LockstepClient

/// A relay's records: it saves batches as the protocol demands, and may do anything else.
struct KeylessRelay {
  /// The newest version of each record, oldest first.
  private(set) var records: [Record] = []
  /// Number of versions that it has saved for devices.
  private(set) var saves = 0
  private var tag: ChangeTag = 1
  private var read: [DeviceID: ChangeTag] = [:]

  var live: [Record] { records.filter { !$0.isDeleted } }

  func record(of key: RecordKey) -> Record? { records.first { $0.key == key } }

  func record(at index: Int) -> Record { records[index] }

  /// Starts the relay: its tags go on above all that were ever given, and devices read all again.
  mutating func beginRun() {
    tag += 1_000
    read = [:]
  }

  mutating func put(_ record: Record) {
    tag += 1
    var record = record
    record.tag = tag
    records.removeAll { $0.key == record.key }
    records.append(record)
  }

  /// Puts a former version back as it was, with its tag.
  mutating func restore(_ record: Record) {
    forget(record.key)
    records.append(record)
  }

  mutating func delete(_ key: RecordKey) {
    guard var record = record(of: key) else { return }
    record.fields = nil
    put(record)
  }

  mutating func forget(_ key: RecordKey) { records.removeAll { $0.key == key } }

  /// Saves whatever comes, also over a version that the device has not seen.
  mutating func take(_ request: SaveRequest, by device: DeviceID) -> [MutationResult] {
    request.mutations.map { mutation in
      store(mutation, in: request.zone, by: device)
    }
  }

  mutating func save(_ request: SaveRequest, by device: DeviceID) -> [MutationResult] {
    request.mutations.map { mutation in
      let key = RecordKey(zone: request.zone, name: mutation.name)
      let held = record(of: key)
      let isTaken = held.map { !$0.isDeleted || mutation.unlessDeleted } ?? false
      let isBase = mutation.baseTag == 0 ? !isTaken : mutation.baseTag == held?.tag
      guard isBase else {
        return .conflict(name: mutation.name, record: held ?? .nothing(at: key))
      }
      saves += 1
      return store(mutation, in: request.zone, by: device)
    }
  }

  /// Saves all that waits on the device, at most ten batches.
  mutating func saveAll(from device: inout ReplicaHarness) throws {
    for _ in 0..<10 {
      guard let batch = device.freezeBatch() else { return }
      try device.answer(batch, save(batch, by: device.device))
    }
    throw TestFault("the device sends for ever")
  }

  private mutating func store(
    _ mutation: Mutation, in zone: Name, by device: DeviceID
  ) -> MutationResult {
    put(
      Record(
        zone: zone, name: mutation.name, type: mutation.type ?? TestApp.note,
        fields: mutation.fields, modifiedAt: mutation.modifiedAt, device: device, tag: 0,
        chunks: mutation.chunks, includes: mutation.includes))
    return .saved(name: mutation.name, tag: tag)
  }

  /// Returns what the device has not read yet.
  mutating func changes(for device: DeviceID) -> [Record] {
    defer { read[device] = tag }
    return records.filter { $0.tag > read[device] ?? 0 }
  }
}

extension ReplicaHarness {
  /// Returns false if the replica has refused the keys.
  @discardableResult
  mutating func seal(_ keys: ZoneKeys) -> Bool {
    perform(.seal(OrderID(rawValue: 1), .zones([keys])))
    guard case .success(.switched(_, .success, _)) = outcome.result else { return false }
    return true
  }
}

func sealKeys(_ numbers: [UInt8]) -> ZoneKeys { accountKeys(numbers).keys(of: TestApp.zone) }

func accountKeys(_ numbers: [UInt8]) -> AccountKeys {
  let generations = numbers.compactMap {
    KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count))
  }
  guard
    let keys = AccountKeys(
      nameSecret: [UInt8](repeating: 9, count: 32), generations: generations)
  else { preconditionFailure("valid keys") }
  return keys
}
