/// Input of an app for a person's order or question: all records of the app that the device holds.
/// No network access is involved.
public struct AppState: Sendable {
  /// Live records of the app's `types`, by type and name.
  public var records: [Record]
  /// Undecided conflicts, which no rule resolves and the person has not resolved yet: the relay's
  /// versions, deleted ones without fields. The local versions, if there are any, are in `records`.
  public var asking: [Record]
  /// Relay time, milliseconds since the Unix epoch.
  public var now: Int64
  public var device: DeviceID
  /// Names that the person gave to the account's devices, as far as this device knows them.
  public var deviceNames: [DeviceID: String]

  public init(
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
  public func name(of device: DeviceID) -> String { deviceNames[device] ?? device.text }
}

/// Result of a person's order: edits of records and an answer.
public struct AppOutcome: Sendable {
  /// Applied all together or not at all.
  public var steps: [Step]
  public var answer: Answer

  public enum Step: Sendable {
    case edit(EditRequest)
    /// The person's answer to a conflict that no rule decides.
    case decide(RecordKey, keepLocal: Bool)
  }

  /// Answer that is given once all steps are durable.
  public enum Answer: Sendable {
    case view(AppView)
    /// The view that answers this question after the steps are applied.
    case question(JSONValue)
  }

  public init(_ steps: [Step], view: AppView) {
    self.steps = steps
    answer = .view(view)
  }

  public init(_ steps: [Step], answering question: JSONValue) {
    self.steps = steps
    answer = .question(question)
  }
}

/// View of an app, with the same content for programs and for people.
public struct AppView: Hashable, Sendable {
  public var json: JSONValue
  /// Rows of text without control characters; the terminal cuts them to its width.
  public var lines: [String]
  /// Part of the view that does not change with time alone. A program need not receive two views
  /// with an equal face.
  public var face: JSONValue
  /// Relay time at which the view changes without any edit; nil if it never does.
  public var changesAt: Int64?

  /// `face`: `json` if it is not given.
  public init(json: JSONValue, lines: [String], face: JSONValue? = nil, changesAt: Int64? = nil) {
    self.json = json
    self.lines = lines
    self.face = face ?? json
    self.changesAt = changesAt
  }
}
