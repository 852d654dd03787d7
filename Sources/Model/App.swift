import LockstepJSON

/// App that an agent runs: its record types with their rules, and the edits that it makes by itself
/// when time passes. The agent gets apps as values and depends on no particular one.
@usableFromInline
package protocol App: Sendable {
  /// One lowercase word, as on the command line.
  var name: String { get }
  var zone: Name { get }
  /// Returns the rule for a record type of this app; nil for an unknown type. If not implemented,
  /// the rule is the table of `rules(for:)`.
  func resolver(for type: Name) -> (any Resolver)?
  /// Returns the merge rules of a record type as data; nil if its rule needs no stamps. The agent
  /// keeps the stamps of the fields of such records, in the reserved member `"~"` (`Stamps`).
  func rules(for type: Name) -> MergeRules?
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
  /// from`; the others stay. The stamps of `rules(for:)` are moved by the agent.
  func restamped(_ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64)
    -> JSONValue
  /// Returns the chunks of files that a record's fields name, each once. The relay keeps them as
  /// long as the record. At most `Limits.chunksPerRecord`.
  func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash]
  /// Returns those of these chunks that must not leave a device in records of a sealed zone,
  /// because they are not sealed.
  func unsealedChunks(in fields: JSONValue, of type: Name, zone: Name) -> [ChunkHash]
  /// Record types that orders and views are made from.
  var types: [Name] { get }
  /// Returns the record types from which the answer to a question is made; `types` if not
  /// implemented.
  func types(for question: JSONValue) -> [Name]
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
  @usableFromInline package func rules(for type: Name) -> MergeRules? { nil }

  @usableFromInline
  package func resolver(for type: Name) -> (any Resolver)? {
    rules(for: type).map { RuleResolver($0) }
  }

  /// Empty: most apps do nothing by themselves.
  @usableFromInline package var timedTypes: [Name] { [] }

  @usableFromInline package func dueEdit(for record: Record) -> DueEdit? { nil }

  @usableFromInline package var types: [Name] { [] }

  @usableFromInline package func types(for question: JSONValue) -> [Name] { types }

  @usableFromInline package var asksToRestore: [Name] { [] }

  @usableFromInline package var boundedTypes: [Name] { [] }

  @usableFromInline
  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    throw EditRefusal("\(name) takes no orders")
  }

  @usableFromInline
  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    throw EditRefusal("\(name) has nothing to show")
  }

  @usableFromInline
  package func surplus(of type: Name, among records: [Record]) -> [RecordKey] { [] }

  /// Returns the chunks of the `FileReference`s in the fields.
  @usableFromInline
  package func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    FileReference.chunks(in: fields)
  }

  /// Returns the chunks that no `FileReference` in the fields says to be sealed with the zone's
  /// keys.
  @usableFromInline
  package func unsealedChunks(
    in fields: JSONValue, of type: Name, zone: Name
  ) -> [ChunkHash] {
    FileReference.chunks(chunks(in: fields, of: type), in: fields, notSealedIn: zone)
  }

  /// Returns the fields unchanged: fields without instants need no correction.
  @usableFromInline
  package func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue { fields }
}

/// Edit that is made when a time is reached.
@usableFromInline
package struct DueEdit: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var dueAt: Int64
  /// Device that makes the edit first; the others wait `graceMilliseconds` while they are
  /// connected.
  @usableFromInline package var owner: String
  @usableFromInline package var graceMilliseconds: Int64
  @usableFromInline package var fields: JSONValue
  /// Written to another record of the same zone, in the same transaction; nil for most edits.
  @usableFromInline package var addition: DueAddition?

  @usableFromInline
  package init(
    dueAt: Int64, owner: String, graceMilliseconds: Int64, fields: JSONValue,
    addition: DueAddition? = nil
  ) {
    self.dueAt = dueAt
    self.owner = owner
    self.graceMilliseconds = graceMilliseconds
    self.fields = fields
    self.addition = addition
  }
}

/// Member of an object in a record's field, which a due edit adds if the object lacks it. Every
/// device that makes the edit adds the same member, so that it exists once.
@usableFromInline
package struct DueAddition: Hashable, Sendable {
  @usableFromInline package var name: Name
  @usableFromInline package var type: Name
  /// Name of the field that holds the object.
  @usableFromInline package var field: String
  @usableFromInline package var member: JSONMember

  @usableFromInline
  package init(name: Name, type: Name, field: String, member: JSONMember) {
    self.name = name
    self.type = type
    self.field = field
    self.member = member
  }
}

/// Input of an app for a person's order or question: all records of the app that the device holds.
/// No network access is involved.
@usableFromInline
package struct AppState: Sendable {
  /// Live records of the app's `types`, by type and name.
  @usableFromInline package var records: [Record]
  /// Undecided conflicts, which no rule resolves and the person has not resolved yet: the relay's
  /// versions, deleted ones without fields. The local versions, if there are any, are in `records`.
  @usableFromInline package var asking: [Record]
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var now: Int64
  @usableFromInline package var device: DeviceID
  /// Names that the person gave to the account's devices, as far as this device knows them.
  @usableFromInline package var deviceNames: [DeviceID: String]

  @usableFromInline
  package init(
    records: [Record] = [], asking: [Record] = [], now: Int64, device: DeviceID,
    deviceNames: [DeviceID: String] = [:]
  ) {
    self.records = records
    self.asking = asking
    self.now = now
    self.device = device
    self.deviceNames = deviceNames
  }

  /// Returns the person's name for a device, or its id if the name is unknown.
  @usableFromInline
  package func name(of device: DeviceID) -> String { deviceNames[device] ?? device.text }
}

/// Result of a person's order: edits of records and an answer.
@usableFromInline
package struct AppOutcome: Sendable {
  /// Applied all together or not at all.
  @usableFromInline package var steps: [Step]
  @usableFromInline package var answer: Answer

  @usableFromInline
  package enum Step: Sendable {
    case edit(EditRequest)
    /// The person's answer to a conflict that no rule decides.
    case decide(RecordKey, keepLocal: Bool)
  }

  /// Answer that is given once all steps are durable.
  @usableFromInline
  package enum Answer: Sendable {
    case view(AppView)
    /// The view that answers this question after the steps are applied.
    case question(JSONValue)
  }

  @usableFromInline
  package init(_ steps: [Step], view: AppView) {
    self.steps = steps
    answer = .view(view)
  }

  @usableFromInline
  package init(_ steps: [Step], answering question: JSONValue) {
    self.steps = steps
    answer = .question(question)
  }
}

/// View of an app, with the same content for programs and for people.
@usableFromInline
package struct AppView: Hashable, Sendable {
  @usableFromInline package var json: JSONValue
  /// Rows of text without control characters; the terminal cuts them to its width.
  @usableFromInline package var lines: [String]
  /// Part of the view that does not change with time alone. A program need not receive two views
  /// with an equal stableJSON.
  @usableFromInline package var stableJSON: JSONValue
  /// Relay time at which the view changes without any edit; nil if it never does.
  @usableFromInline package var changesAt: Int64?

  /// `stableJSON`: `json` if it is not given.
  @usableFromInline
  package init(
    json: JSONValue, lines: [String], stableJSON: JSONValue? = nil, changesAt: Int64? = nil
  ) {
    self.json = json
    self.lines = lines
    self.stableJSON = stableJSON ?? json
    self.changesAt = changesAt
  }
}

/// Change of one record, as a function of the record's state when the edit is applied.
@usableFromInline
package struct EditRequest: Sendable {
  @usableFromInline package var key: RecordKey
  @usableFromInline package var type: Name
  /// Returns the record's new fields, a JSON object; nil deletes the record. A pure function: it
  /// may run again.
  @usableFromInline package var make: @Sendable (EditContext) throws(EditRefusal) -> JSONValue?

  @usableFromInline
  package init(
    key: RecordKey, type: Name,
    make: @escaping @Sendable (EditContext) throws(EditRefusal) -> JSONValue?
  ) {
    self.key = key
    self.type = type
    self.make = make
  }
}

/// Input of an edit.
@usableFromInline
package struct EditContext: Hashable, Sendable {
  /// The record as the screen shows it; nil if there is none or it is deleted.
  @usableFromInline package var current: Record?
  /// The edit's own stamp: relay time, milliseconds, newer than all known versions of this record.
  /// If it proves wrong, `App.restamped` corrects the fields that were made with it.
  @usableFromInline package var stamp: Int64
  @usableFromInline package var device: DeviceID

  @usableFromInline
  package init(current: Record?, stamp: Int64, device: DeviceID) {
    self.current = current
    self.stamp = stamp
    self.device = device
  }
}

/// Refusal of an app: an edit makes no sense now.
@usableFromInline
package struct EditRefusal: Error, Hashable, Sendable {
  /// One sentence for a person.
  @usableFromInline package var reason: String
  @usableFromInline package init(_ reason: String) { self.reason = reason }
}
