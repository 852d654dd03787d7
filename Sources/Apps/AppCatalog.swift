import Changes

/// All apps: the only list of them.
package enum AppCatalog {
  package static let all: [any App] = [
    TimerApp(), VaultApp(), ClipboardApp(), MemosApp(), HabitsApp(),
  ]

  /// The rule for a record type, whichever app it belongs to; nil for a type no app knows.
  package static func resolver(forType type: String) -> (any Resolver)? {
    guard let name = Name(type) else { return nil }
    return all.lazy.compactMap { $0.resolver(for: name) }.first
  }
}
