import LockstepJSON
import LockstepModel

/// The record types of one zone, in the form that the device's engine takes.
package struct RecordsApp: App {
  package let zone: Name
  private let models: [(type: Name, model: any SyncedRecord.Type)]

  /// The zone in lowercase; only shown.
  package var name: String { zone.text.lowercased() }
  package var types: [Name] { models.map(\.type) }

  /// Returns an app for each zone. Throws if a zone or a type is not a valid name, or if two Swift
  /// types have one record type.
  package static func apps(_ models: [any SyncedRecord.Type]) throws(LockstepError) -> [RecordsApp]
  {
    var zones: [Name] = []
    var byZone: [Name: [(type: Name, model: any SyncedRecord.Type)]] = [:]
    for model in models {
      guard let zone = Name(model.zone), let type = Name(model.recordType) else {
        throw .invalidModel(
          type: "\(model)", reason: "its zone and record type must have 1 to 255 bytes of UTF-8")
      }
      if byZone[zone] == nil { zones.append(zone) }
      if byZone[zone]?.contains(where: { $0.type == type }) == true {
        throw .invalidModel(
          type: "\(model)", reason: "the zone \(zone) has the record type \(type) twice")
      }
      byZone[zone, default: []].append((type: type, model: model))
    }
    return zones.map { RecordsApp(zone: $0, models: byZone[$0] ?? []) }
  }

  package func rules(for type: Name) -> MergeRules? { model(type)?.rules }

  package func resolver(for type: Name) -> (any Resolver)? {
    model(type).map { Self.resolver(of: $0) }
  }

  private func model(_ type: Name) -> (any SyncedRecord.Type)? {
    models.first { $0.type == type }?.model
  }

  private static func resolver<Record: SyncedRecord>(of model: Record.Type) -> any Resolver {
    RecordResolver<Record>()
  }
}

/// Resolver of a record type: its rules, and then its `merge`.
package struct RecordResolver<Record: SyncedRecord>: Resolver {
  package init() {}

  private var table: RuleResolver { RuleResolver(Record.rules) }

  package var isLastWriterWins: Bool { table.isLastWriterWins }

  package func resolve(_ conflict: Conflict) -> Resolution {
    let resolution = table.resolve(conflict)
    guard case .merged(let merged?, let copies) = resolution,
      let newer = conflict.sides.newer.fields, let older = conflict.sides.older.fields
    else { return resolution }
    let id = conflict.local.name
    do {
      let versions = Versions<Record>(
        newer: try Record(fields: newer, id: id), older: try Record(fields: older, id: id),
        base: try conflict.base?.fields.map { try Record(fields: $0, id: id) },
        merged: try Record(fields: merged, id: id))
      let outcome = try Record.merge(versions)
      if outcome == versions.merged { return resolution }
      // The device plays no part: a rule that counts would count twice.
      let fields = try outcome.fields(over: merged, by: "")
      return .merged(
        fields: Record.rules.normalized(fields, of: conflict.sides.newer), copies: copies)
    } catch {
      // A version that does not decode, or a rule that gives up: the table decides.
      return resolution
    }
  }
}
