/// App that an agent runs: its record types with their rules, and the edits that it makes by itself
/// when time passes. The agent gets apps as values and depends on no particular one.
public protocol App: Sendable {
  /// One lowercase word, as on the command line.
  var name: String { get }
  var zone: Name { get }
  /// Returns the rule for a record type of this app; nil for an unknown type.
  func resolver(for type: Name) -> (any Resolver)?
  /// Record types for which `dueEdit` may return an edit. On start an agent scans these types and
  /// no others.
  var timedTypes: [Name] { get }
  /// Returns an edit that the app makes by itself when relay time reaches `dueAt` (the end of a
  /// countdown); nil if the record waits for nothing. Must follow from the record alone, so that
  /// every device makes the same edit.
  func dueEdit(for record: Record) -> DueEdit?
  /// Returns the fields of a local change after its stamp is corrected from `from` to `to`. The
  /// stamp was wrong because the device's clock was off; the change has not been sent yet. `base`
  /// is the version that the change was made on, nil if there was none. An app whose fields hold
  /// instants moves those that the change brought (present in `fields` but not in `base`) by `to -
  /// from`; the others stay.
  func restamped(_ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64)
    -> JSONValue
  /// Returns the chunks of files that a record's fields name, each once. The relay keeps them as
  /// long as the record. At most `Limits.chunksPerRecord`.
  func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash]
  /// Record types that orders and views are made from.
  var types: [Name] { get }
  /// Returns the result of a person's order, a JSON object in the app's own format. Throws a
  /// sentence for the person if the order makes no sense now; then nothing is changed.
  func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome
  /// Returns the answer to a question, an object in the app's own format as well.
  func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView
  /// Record types that are restored only with the person's consent: a device that starts without
  /// such records, and finds some in the account, asks first. Empty for most apps, which take all
  /// records.
  var asksToRestore: [Name] { get }
  /// Record types of which only a limited number of records is kept; empty for most apps.
  var boundedTypes: [Name] { get }
  /// Returns the records of a bounded type that the app removes. Called only on a device that is
  /// caught up with the relay: a stale device would remove records that others still want.
  func surplus(of type: Name, among records: [Record]) -> [RecordKey]
}

extension App {
  /// Empty: most apps do nothing by themselves.
  public var timedTypes: [Name] { [] }

  public func dueEdit(for record: Record) -> DueEdit? { nil }

  public var types: [Name] { [] }

  public var asksToRestore: [Name] { [] }

  public var boundedTypes: [Name] { [] }

  public func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    throw EditRefusal("\(name) takes no orders")
  }

  public func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    throw EditRefusal("\(name) has nothing to show")
  }

  public func surplus(of type: Name, among records: [Record]) -> [RecordKey] { [] }

  /// Returns no chunks: most records name no files.
  public func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] { [] }

  /// Returns the fields unchanged: fields without instants need no correction.
  public func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue { fields }
}

/// Edit that is made when a time is reached.
public struct DueEdit: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  public var dueAt: Int64
  /// Device that makes the edit first; the others wait `graceMilliseconds` while they are
  /// connected.
  public var owner: String
  public var graceMilliseconds: Int64
  public var fields: JSONValue

  public init(dueAt: Int64, owner: String, graceMilliseconds: Int64, fields: JSONValue) {
    self.dueAt = dueAt
    self.owner = owner
    self.graceMilliseconds = graceMilliseconds
    self.fields = fields
  }
}
