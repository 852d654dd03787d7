import LockstepClient
import LockstepJSON
import LockstepModel
import Synchronization

/// Concurrent changes of one record of a type that asks (`MergeRules.asks`): a person decides.
public struct UndecidedConflict: Hashable, Sendable, Identifiable {
  /// Name of the record.
  public let id: String
  public let zone: String
  public let recordType: String
  /// Relay time of the two changes, milliseconds since the Unix epoch.
  public let localTime: Int64
  public let relayTime: Int64
  package let key: RecordKey
  private let localFields: [UInt8]?
  private let relayFields: [UInt8]?

  package init(_ key: RecordKey, local: LockstepModel.Record?, relay: LockstepModel.Record) {
    self.key = key
    id = key.name.text
    zone = key.zone.text
    recordType = relay.type.text
    localTime = local?.modifiedAt ?? 0
    relayTime = relay.modifiedAt
    localFields = local?.fields
    relayFields = relay.fields
  }

  /// Returns this device's version; nil if it deleted the record.
  public func local<Record: SyncedRecord>(_ type: Record.Type) throws -> Record? {
    try decoded(type, localFields)
  }

  /// Returns the other devices' version; nil if they deleted the record.
  public func relay<Record: SyncedRecord>(_ type: Record.Type) throws -> Record? {
    try decoded(type, relayFields)
  }

  private func decoded<Record: SyncedRecord>(_ type: Record.Type, _ fields: [UInt8]?) throws
    -> Record?
  {
    guard let fields else { return nil }
    do {
      return try Record(fields: try JSONValue(parsing: fields), id: id)
    } catch {
      throw LockstepError.undecodable(
        type: type.recordType, id: id, reason: FieldsFault.reason(error))
    }
  }
}

/// Version that remains after a decision.
public enum ConflictSide: Hashable, Sendable {
  /// This device's version.
  case local
  /// The other devices' version.
  case relay
}

/// Conflicts that wait for a decision: those that there are, and then each new one. A conflict is
/// given again if its other version changes.
public struct UndecidedConflicts: AsyncSequence, Sendable {
  public typealias Element = UndecidedConflict
  public typealias Failure = Never

  private let engine: DeviceEngine

  init(_ engine: DeviceEngine) { self.engine = engine }

  public func makeAsyncIterator() -> Iterator { Iterator(engine) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = Never

    private let engine: DeviceEngine
    private let subscription: StatusSubscription
    private var given: [RecordKey: UndecidedConflict] = [:]

    fileprivate init(_ engine: DeviceEngine) {
      self.engine = engine
      subscription = StatusSubscription(engine)
    }

    /// Returns the next conflict; nil once the `Lockstep` is closed or the task is cancelled.
    public mutating func next() async -> UndecidedConflict? {
      while !Task.isCancelled {
        let known = subscription.signal.count
        let status = engine.engineStatus
        if status.state == .stopped { return nil }
        given = given.filter { status.asking.contains($0.key) }
        for key in status.asking {
          guard let conflict = await engine.conflict(key), given[key] != conflict else { continue }
          given[key] = conflict
          return conflict
        }
        await subscription.signal.wait(after: known)
      }
      return nil
    }
  }
}

extension DeviceEngine {
  /// Returns the two versions of a record that a person must decide about; nil for other records.
  func conflict(_ key: RecordKey) async -> UndecidedConflict? {
    do throws(LockstepError) {
      guard
        case .stateRead(_, .success(.asking(let relay))) = try await perform({
          .readState($0, key)
        }), case .read(_, .success(let records)) = try await perform({ .readRecord($0, key) })
      else { return nil }
      return UndecidedConflict(key, local: records.first, relay: relay)
    } catch {
      return nil
    }
  }
}

extension Lockstep {
  /// Returns the conflicts of records whose rules ask a person, one by one.
  public var undecidedConflicts: UndecidedConflicts { UndecidedConflicts(engine) }

  /// Decides a conflict. The chosen version is saved for all devices.
  ///
  /// - Throws: `LockstepError.nothingToDecide` if another device has decided meanwhile.
  public func decide(_ conflict: UndecidedConflict, keep side: ConflictSide) async throws {
    let report = try await engine.perform({
      .decide($0, conflict.key, keepLocal: side == .local)
    })
    guard case .edited(_, let result) = report else { throw LockstepError.closed }
    switch result {
    case .success: return
    case .failure(.nothingToDecide): throw LockstepError.nothingToDecide(id: conflict.id)
    case .failure(let failure): throw LockstepError(failure)
    }
  }
}
