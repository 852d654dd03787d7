import Glibc

/// The project's documents beside the program. Texts name them as they are in the repository, such
/// as `docs/devices.md`; a person who has installed the program has them in another folder.
package struct Documentation: Sendable {
  /// Folders that may contain `docs`, in the order of preference.
  private let folders: [String]

  package init(folders: [String]) { self.folders = folders }

  /// The documents of this program: of an unpacked archive, of its own prefix, or of a package.
  package static let installed = Documentation(folders: aroundProgram + ["/usr/share/doc/lockstep"])

  private static var aroundProgram: [String] {
    guard let path = realpath("/proc/self/exe", nil) else { return [] }
    defer { free(path) }
    let parts = String(cString: path).split(separator: "/", omittingEmptySubsequences: false)
    let folder = parts.dropLast().joined(separator: "/")
    let above = parts.dropLast(2).joined(separator: "/")
    return [folder, above + "/share/doc/lockstep", above]
  }

  /// Returns the text with the paths of documents that are installed.
  package func located(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let range = rest.firstRange(of: "docs/") {
      result += rest[..<range.lowerBound]
      let name = rest[range.lowerBound...].prefix { character in
        character.isASCII && (character.isLetter || character.isNumber || "/.-".contains(character))
      }
      let isWhole = result.last.map { !"/.-".contains($0) && !$0.isLetter } ?? true
      let path = String(name.hasSuffix(".") ? name.dropLast() : name)
      result += isWhole ? installedPath(path) ?? path : path
      rest = rest[rest.index(range.lowerBound, offsetBy: path.count)...]
    }
    return result + rest
  }

  /// Returns nil if no folder has the document. Packages compress long ones.
  private func installedPath(_ path: String) -> String? {
    guard !path.contains(".."), path.hasSuffix(".md") || path.hasSuffix(".conf") else { return nil }
    let paths = folders.flatMap { ["\($0)/\(path)", "\($0)/\(path).gz"] }
    return paths.first { access($0, R_OK) == 0 }
  }
}
