/// Keeps `public` for the libraries for apps: what an app can use must stay as it is. All else has
/// the access level `package`, which every module of the package sees.
enum AccessRule {
  /// Types of lower modules that the libraries' declarations mention, by module; and a class with a
  /// subclass in another module, for which only `open` will do.
  static let shown = [
    "Model": ["FieldRule", "FileReference", "MergeRules"], "Simulation": ["SimulationEnvironment"],
  ]

  /// The libraries for apps, and folders with other packages or stubs of other modules.
  private static let outer = [
    "Lockstep", "LockstepTesting", "AppleStubs", "Consumers", "Snippets", "EmbedAssets/Plugin",
  ]
  private static let types = ["struct", "class", "enum", "protocol", "actor", "extension"]
  private static let values = ["func", "var", "let", "typealias", "import", "subscript"]

  static func faults(in file: SourceFile) -> [Fault] {
    if file.stands(in: outer) { return [] }
    let text = file.text
    let shown = shown[file.room] ?? []
    return text.tokens.indices.compactMap { index in
      guard isAccess(text, index), !shown.contains(outermostType(text, index) ?? "") else {
        return nil
      }
      return Fault(
        path: file.path, line: text.tokens[index].line,
        reason: "`\(text.tokens[index].text)` is for the libraries for apps; write `package`")
    }
  }

  /// True for the modifier; not for a case, such as `.public`, or a call of `open`.
  private static func isAccess(_ text: SwiftText, _ index: Int) -> Bool {
    if text.has("public", at: index) {
      let isMember = index > 0 && text.tokens[index - 1].text.hasSuffix(".")
      return !(isMember && text.touchesPrevious(index))
    }
    return text.has("open", at: index)
      && ["class", "func", "var", "subscript", "override"].contains { text.has($0, at: index + 1) }
      && text.tokens[index].line == text.tokens[index + 1].line
  }

  /// Returns the name of the outermost type that the token is in, or whose declaration it begins;
  /// nil if it is in no type.
  private static func outermostType(_ text: SwiftText, _ index: Int) -> String? {
    var name: String?
    var next = 0
    while next < text.tokens.count {
      if text.has("{", at: next) {
        let end = text.closing(next)
        if index < end { return name }
        name = nil
        next = end
      } else if types.contains(where: { text.has($0, at: next) }), next + 1 < text.tokens.count {
        name = text.tokens[next + 1].text
      } else if next > index, values.contains(where: { text.has($0, at: next) }) {
        return nil
      }
      next += 1
    }
    return nil
  }
}
