import LockstepApps
import LockstepModel

/// An app of which the instruments know what people do with it (`AppPlay`, `DayScript`) and what
/// must come of it. Nothing is said of any other: who adds an app to the catalog adds a case here,
/// and the compiler names each place that must know of it.
public enum KnownApp: String, CaseIterable, Sendable {
  case timer
  case vault
  case clipboard
  case memo
  case habits

  var app: any App {
    switch self {
    case .timer: TimerApp()
    case .vault: VaultApp()
    case .clipboard: ClipboardApp()
    case .memo: MemosApp()
    case .habits: HabitsApp()
    }
  }

  /// What `--app` takes: all, and each app of the catalog.
  public static var words: [String] { ["all"] + AppCatalog.all.map(\.name) }

  /// Which apps a word of `words` stands for.
  public struct Choice: Hashable, Sendable {
    public var apps: [KnownApp]
    /// Apps of the catalog that it stands for as well, and of which nothing is known.
    public var unknown: [String]

    /// One sentence, with the next step; nil where all are known.
    public var advice: String? {
      if unknown.isEmpty { return nil }
      return
        "nobody has written down what people do with \(unknown.joined(separator: " and ")), so "
        + "nothing can be said of it; KnownApp.swift is where that begins (docs/apps.md)"
    }
  }

  public static func chosen(by word: String) -> Choice {
    chosen(by: word, among: AppCatalog.all.map(\.name))
  }

  /// `catalog`: the names of all apps there are.
  static func chosen(by word: String, among catalog: [String]) -> Choice {
    let names = word == "all" ? catalog : [word]
    return Choice(
      apps: names.compactMap(KnownApp.init(rawValue:)),
      unknown: names.filter { KnownApp(rawValue: $0) == nil })
  }
}
