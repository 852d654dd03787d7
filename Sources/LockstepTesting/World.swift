import Lockstep
import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepStorage

/// A relay and the devices of one account in virtual time, for tests: the same state machines as in
/// production, on stores in memory. Runs with one seed are the same each time.
///
/// ```swift
/// var world = World(seed: 7, records: [Todo.self])
/// let phone = world.device("phone"), mac = world.device("mac")
/// try world.save(Todo(id: "1", title: "milk"), on: phone)
/// world.settle()
/// #expect(try world.records(Todo.self, on: mac).count == 1)
/// ```
public struct World {
  /// A device of the account.
  public struct Device: Hashable, Sendable {
    let index: Int
    public let name: String
  }

  private let models: [any SyncedRecord.Type]
  private let apps: [RecordsApp]
  private let relay: VirtualRelay
  private var machines: [WorldDevice] = []
  private var random: SeededRandom

  /// Makes a relay with an account that has no device yet.
  ///
  /// - Parameters:
  ///   - seed: Determines all delays, ids and clocks.
  ///   - records: All types that are saved or read.
  public init(seed: UInt64, records: [any SyncedRecord.Type]) {
    random = SeededRandom(seed: seed)
    models = records
    do {
      apps = try RecordsApp.apps(records)
      relay = try VirtualRelay(
        accounts: 0, devices: 0,
        environment: SimulationEnvironment(random: random.branch(), logsTraffic: false))
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// Adds a device, which connects at once.
  public mutating func device(_ name: String) -> Device {
    let device = Device(index: machines.count, name: name)
    do throws(StorageError) {
      machines.append(
        try WorldDevice(
          name, number: machines.count, models: models, apps: apps, relay: relay,
          random: random.branch()))
    } catch {
      preconditionFailure("a store in memory failed: \(error)")
    }
    return device
  }

  // MARK: edits

  /// Saves a record on a device. Throws what `Lockstep.save` throws.
  public func save<Record: SyncedRecord>(_ record: Record, on device: Device) throws {
    try machine(device).edit { try $0.save(record) }
  }

  /// Changes a record as it stands on a device. Throws what `Lockstep.update` throws.
  public func update<Record: SyncedRecord>(
    _ type: Record.Type, id: String, on device: Device,
    _ change: @escaping @Sendable (inout Record) throws -> Void
  ) throws {
    try machine(device).edit { try $0.update(type, id: id, change) }
  }

  /// Deletes a record on a device. Does nothing if it has none.
  public func delete<Record: SyncedRecord>(
    _ type: Record.Type, id: String, on device: Device
  ) throws {
    try machine(device).edit { try $0.delete(type, id: id) }
  }

  /// Returns the records that a device shows, in the order of their ids.
  ///
  /// - Throws: `LockstepError.undecodable`.
  public func records<Record: SyncedRecord>(_ type: Record.Type, on device: Device) throws
    -> [Record]
  {
    try machine(device).records(type)
  }

  // MARK: decisions

  /// Returns the conflicts of a type that asks (`MergeRules.asks`) which wait for a person on a
  /// device, in the order of the changes.
  public func undecidedConflicts<Record: SyncedRecord>(
    _ type: Record.Type, on device: Device
  ) throws -> [UndecidedConflict] {
    try machine(device).undecidedConflicts(type)
  }

  /// Decides a conflict on a device. Throws what `Lockstep.decide` throws.
  public func decide(
    _ conflict: UndecidedConflict, keep side: ConflictSide, on device: Device
  ) throws {
    try machine(device).decide(conflict, keep: side)
  }

  // MARK: faults

  /// Takes a device off the network. Its edits stay on the device.
  public func cut(_ device: Device) { machine(device).cut() }

  /// Puts a device on the network again.
  public func heal(_ device: Device) { machine(device).heal() }

  /// Ends the app on a device as a crash does, and starts it again.
  public func restart(_ device: Device) { machine(device).restart() }

  /// Sets the error of a device's clock.
  public func setClockError(milliseconds: Int64, of device: Device) {
    machine(device).setClockError(milliseconds: milliseconds)
  }

  // MARK: time

  /// Lets virtual time pass.
  public func run(seconds: Int64) { run(nanoseconds: Span.seconds(seconds)) }

  /// Lets virtual time pass until all devices on the network are in sync, and nothing more happens;
  /// at most ten virtual minutes. Returns false if they are not in sync by then.
  @discardableResult
  public func settle() -> Bool {
    for _ in 0..<300 {
      let changes = machines.map(\.changes)
      run(nanoseconds: Span.seconds(2))
      let isSettled = machines.allSatisfy(\.isSettled)
      if isSettled, machines.map(\.changes) == changes { return true }
    }
    return false
  }

  private func run(nanoseconds: Int64) {
    let end = relay.environment.timeline.now + nanoseconds
    while relay.environment.timeline.step(until: end) {}
  }

  private func machine(_ device: Device) -> WorldDevice { machines[device.index] }
}
