import LockstepModel

/// The only list of all apps.
package enum AppCatalog {
  /// All apps, without a vault key: sealed vault files stay unreadable.
  package static let all = all(vaultKey: { nil })

  /// Returns all apps. `vaultKey` is called when an app meets sealed data.
  package static func all(vaultKey: @escaping @Sendable () -> VaultKey?) -> [any App] {
    [TimerApp(), VaultApp(key: vaultKey), ClipboardApp(), MemosApp(), HabitsApp()]
  }

  /// Returns the rule for a record type of any app; nil if no app knows the type.
  package static func resolver(forType type: String) -> (any Resolver)? {
    guard let name = Name(type) else { return nil }
    return all.lazy.compactMap { $0.resolver(for: name) }.first
  }
}
