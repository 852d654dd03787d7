import LockstepModel

extension Plan {
  /// Stored form, the same in every store: the zones as a JSON array; nil for all zones.
  package var storedText: String? {
    zones.map { JSONValue.array($0.map { .string($0.text) }).text }
  }

  /// Returns nil if the text was not made by `storedText`: the store is damaged.
  package init?(storedText: String?) {
    guard let storedText else {
      self = .everything
      return
    }
    do {
      guard let elements = try JSONValue(parsing: storedText).array else { return nil }
      let zones = elements.compactMap { $0.string.flatMap(Name.init) }
      guard zones.count == elements.count else { return nil }
      self.init(zones: zones)
    } catch {
      return nil
    }
  }
}
