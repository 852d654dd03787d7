/// What an app brings to an agent: its record types with their rules, and what it does by itself
/// when time passes. The agent takes apps as values and knows none by name.
public protocol App: Sendable {
  /// One lowercase word, as on the command line.
  var name: String { get }
  var zone: Name { get }
  /// The rule for a record type of this app; nil for a type it does not know.
  func resolver(for type: Name) -> (any Resolver)?
  /// The record types for which `dueEdit` may give something. An agent looks through these when it
  /// starts, and through no others.
  var timedTypes: [Name] { get }
  /// An edit that the app makes by itself when relay time reaches `dueAt` (a countdown that ends);
  /// nil where the record waits for nothing. Must follow from the record alone, so that every
  /// device makes the same one.
  func dueEdit(for record: Record) -> DueEdit?
  /// The fields of a local change whose stamp proved wrong (the device's clock was off) and was
  /// moved from `from` to `to` before it was sent. `base` is the version that the change was made
  /// on, nil where there was none. An app whose fields hold instants moves those that the change
  /// brought (they stand in `fields` and not in `base`) by `to - from`; the others stay.
  func restamped(_ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64)
    -> JSONValue
  /// The chunks of files that a record's fields name, each once: the relay keeps them for as long
  /// as a record does. At most `Limits.chunksPerRecord`.
  func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash]
  /// The record types that orders and views are made from.
  var types: [Name] { get }
  /// What a person's order comes to, as a JSON object of the app's own form. Throws a sentence for
  /// the person where it makes no sense now; then nothing is changed.
  func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome
  /// The answer to a question, an object of the app's own form as well.
  func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView
  /// The types of which a device that begins with none, and finds some in the account, asks the
  /// person first whether they shall be here; most apps take what there is.
  var asksToRestore: [Name] { get }
  /// The types of which only so many records stand; most apps have none.
  var boundedTypes: [Name] { get }
  /// Of a bounded type, those that the app lets go of. Asked on a device that is caught up with the
  /// relay, and only there: a stale one would remove what others still want.
  func surplus(of type: Name, among records: [Record]) -> [RecordKey]
}

extension App {
  /// Most apps do nothing by themselves.
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

  /// Most records name no files.
  public func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] { [] }

  /// Fields that hold no instants need no correction.
  public func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue { fields }
}

/// An edit that time makes.
public struct DueEdit: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  public var dueAt: Int64
  /// The device that makes it first; the others wait `graceMilliseconds` while they are connected.
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
