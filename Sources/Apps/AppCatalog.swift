import LockstepModel

/// All apps: the only list of them.
package enum AppCatalog {
  /// Where there is no vault to open.
  package static let all = all(vaultKey: { nil })

  /// `vaultKey`: asked for the vault's key when something sealed is met.
  package static func all(vaultKey: @escaping @Sendable () -> VaultKey?) -> [any App] {
    [TimerApp(), VaultApp(key: vaultKey), ClipboardApp(), MemosApp(), HabitsApp()]
  }

  /// The rule for a record type, whichever app it belongs to; nil for a type no app knows.
  package static func resolver(forType type: String) -> (any Resolver)? {
    guard let name = Name(type) else { return nil }
    return all.lazy.compactMap { $0.resolver(for: name) }.first
  }
}
