/// Change of one record, as a function of the record's state when the edit is applied.
public struct EditRequest: Sendable {
  public var key: RecordKey
  public var type: Name
  /// Returns the record's new fields, a JSON object; nil deletes the record. A pure function: it
  /// may run again.
  public var make: @Sendable (EditContext) throws(EditRefusal) -> JSONValue?

  public init(
    key: RecordKey, type: Name,
    make: @escaping @Sendable (EditContext) throws(EditRefusal) -> JSONValue?
  ) {
    self.key = key
    self.type = type
    self.make = make
  }
}

/// Input of an edit.
public struct EditContext: Hashable, Sendable {
  /// The record as the screen shows it; nil if there is none or it is deleted.
  public var current: Record?
  /// The edit's own stamp: relay time, milliseconds, newer than all known versions of this record.
  /// If it proves wrong, `App.restamped` corrects the fields that were made with it.
  public var stamp: Int64
  public var device: DeviceID

  public init(current: Record?, stamp: Int64, device: DeviceID) {
    self.current = current
    self.stamp = stamp
    self.device = device
  }
}

/// Refusal of an app: an edit makes no sense now.
public struct EditRefusal: Error, Hashable, Sendable {
  /// One sentence for a person.
  public var reason: String
  public init(_ reason: String) { self.reason = reason }
}
