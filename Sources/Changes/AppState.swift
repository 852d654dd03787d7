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
  public var steps: [Step]
  /// What is said once all of it is durable.
  public var view: AppView

  public enum Step: Sendable {
    case edit(EditRequest)
    /// The person's answer to a conflict that no rule decides.
    case decide(RecordKey, keepLocal: Bool)
  }

  public init(_ steps: [Step], view: AppView) {
    self.steps = steps
    self.view = view
  }
}

/// What an app shows: the same for programs and for people.
public struct AppView: Hashable, Sendable {
  public var json: JSONValue
  /// Rows of text without control characters; the terminal cuts them to its width.
  public var lines: [String]
  /// The relay time at which it looks otherwise though nobody acts; nil where it stands still.
  public var changesAt: Int64?

  public init(json: JSONValue, lines: [String], changesAt: Int64? = nil) {
    self.json = json
    self.lines = lines
    self.changesAt = changesAt
  }
}
