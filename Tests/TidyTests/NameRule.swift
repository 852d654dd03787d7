/// Requires names that say what a thing is about, and forbids notes of open work in comments.
enum NameRule {
  static let banned = ["Manager", "Helper", "Helpers", "Util", "Utils", "Base", "Impl", "Data2"]

  static func faults(in file: SourceFile) -> [Fault] {
    var faults: [Fault] = []
    let names = file.declaredTypes + [(name: file.stem, line: 1)]
    for (name, line) in names {
      if let word = camelWords(name).first(where: { banned.contains($0) }) {
        faults.append(
          Fault(
            path: file.path, line: line,
            reason: "`\(name)`: \(word) says nothing of what it is about"))
      }
    }
    // A command's own type is allowed: `lockstep` is the program, `Lockstep` its entry point.
    for (name, line) in file.declaredTypes where name == file.room {
      faults.append(
        Fault(
          path: file.path, line: line,
          reason: "`\(name)` has its module's name, which hides the module's other names"))
    }
    return faults + notes(in: file)
  }

  private static func notes(in file: SourceFile) -> [Fault] {
    file.text.comments.compactMap { comment in
      let words = comment.text.split { !$0.isLetter }
      guard let word = words.first(where: { notes.contains(String($0)) }) else { return nil }
      return Fault(
        path: file.path, line: comment.line,
        reason: "\(word): open ends become issues, not comments")
    }
  }

  private static let notes = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]

  /// Folders of one machine, which no file of the package may name.
  private static let workplaces = ["/wo" + "rk/", "/Us" + "ers/", "/ho" + "me/", "/ro" + "ot/"]

  static func workplacePaths(in text: SourceTree.TextFile) -> [Fault] {
    let lines = text.content.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.enumerated().compactMap { index, line in
      guard let path = workplaces.first(where: { line.contains($0) }) else { return nil }
      return Fault(
        path: text.path, line: index + 1,
        reason: "\(path) is a folder of one machine; the package must stand anywhere")
    }
  }
}
