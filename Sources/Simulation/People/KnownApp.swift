import LockstepApps
import LockstepModel

/// App for which the tools have a model of its use (`AppPlay`, `DayScript`) and of the required
/// result. For a new app in the catalog, add a case here; the compiler then reports every place
/// that needs it.
package enum KnownApp: String, CaseIterable, Sendable {
  case timer
  case vault
  case clipboard
  case memo
  case habits

  package var app: any App {
    switch self {
    case .timer: TimerApp()
    case .vault: VaultApp()
    case .clipboard: ClipboardApp()
    case .memo: MemosApp()
    case .habits: HabitsApp()
    }
  }

  /// Values of `--app`: all, and each app of the catalog.
  package static var words: [String] { ["all"] + AppCatalog.all.map(\.name) }

  /// Apps selected by one of `words`.
  package struct Choice: Hashable, Sendable {
    package var apps: [KnownApp]
    /// Selected apps of the catalog without a model.
    package var unknown: [String]

    /// One sentence, with the next step; nil if all apps are known.
    package var advice: String? {
      if unknown.isEmpty { return nil }
      return
        "there is no usage model for \(unknown.joined(separator: " and ")), so it cannot be "
        + "simulated; add a case to KnownApp.swift (docs/apps.md)"
    }
  }

  package static func chosen(by word: String) -> Choice {
    chosen(by: word, among: AppCatalog.all.map(\.name))
  }

  /// `catalog`: names of all apps.
  package static func chosen(by word: String, among catalog: [String]) -> Choice {
    let names = word == "all" ? catalog : [word]
    return Choice(
      apps: names.compactMap(KnownApp.init(rawValue:)),
      unknown: names.filter { KnownApp(rawValue: $0) == nil })
  }
}
