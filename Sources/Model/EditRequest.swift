/// A change of one record, as a function of what stands there when its turn comes.
public struct EditRequest: Sendable {
  public var key: RecordKey
  public var type: Name
  /// The record's new fields, a JSON object; nil deletes it. A pure function: it may run again.
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

/// What an edit is made from.
public struct EditContext: Hashable, Sendable {
  /// The record as the screen shows it; nil where there is none, or where it is deleted.
  public var current: Record?
  /// The edit's own stamp: relay time, milliseconds, newer than all that was seen of this record.
  /// Where it proves wrong, `App.restamped` is asked to correct what it was used for.
  public var stamp: Int64
  public var device: DeviceID

  public init(current: Record?, stamp: Int64, device: DeviceID) {
    self.current = current
    self.stamp = stamp
    self.device = device
  }
}

/// An app says that an edit makes no sense now.
public struct EditRefusal: Error, Hashable, Sendable {
  /// One sentence for a person.
  public var reason: String
  public init(_ reason: String) { self.reason = reason }
}
