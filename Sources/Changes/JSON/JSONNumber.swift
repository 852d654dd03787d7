/// A JSON number as it was written.
public struct JSONNumber: Hashable, Sendable {
  public let text: String
}
