/// What an app has before it when a person asks something of it: all that the device holds of its
/// records. The network has no part in it.
public struct AppState: Sendable {
  /// The live records of the app's `types`, by type and name.
  public var records: [Record]
  /// Where no rule decides and the person has not yet: the relay's versions, deleted ones without
  /// fields. The local ones, where there are any, stand in `records`.
  public var asking: [Record]
  /// Relay time, milliseconds since the Unix epoch.
  public var now: Int64
  public var device: DeviceID
  /// What the person calls the account's devices, as far as this one knows.
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

  /// What a person calls a device: its id, where nobody knows its name.
  public func name(of device: DeviceID) -> String { deviceNames[device] ?? device.text }
}

/// What a person's order makes of the records.
public struct AppOutcome: Sendable {
  /// They are made together, or none of them.
  public var steps: [Step]
  public var answer: Answer

  public enum Step: Sendable {
    case edit(EditRequest)
    /// The person's answer to a conflict that no rule decides.
    case decide(RecordKey, keepLocal: Bool)
  }

  /// What is said once all of it is durable.
  public enum Answer: Sendable {
    case view(AppView)
    /// The view that answers this question, once the steps are made.
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

/// What an app shows: the same for programs and for people.
public struct AppView: Hashable, Sendable {
  public var json: JSONValue
  /// Rows of text without control characters; the terminal cuts them to its width.
  public var lines: [String]
  /// What stays the same while nothing but time passes: two views of one face need not both be
  /// told to a program.
  public var face: JSONValue
  /// The relay time at which it looks otherwise though nobody acts; nil where it stands still.
  public var changesAt: Int64?

  /// `face`: `json`, where it is not given.
  public init(json: JSONValue, lines: [String], face: JSONValue? = nil, changesAt: Int64? = nil) {
    self.json = json
    self.lines = lines
    self.face = face ?? json
    self.changesAt = changesAt
  }
}
