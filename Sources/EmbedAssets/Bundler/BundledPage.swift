/// Page of the folder of the sources, with its scripts joined (`ModuleBundle.page`) and all its
/// styles in one file. The names of these files contain a hash of their content, so a browser may
/// keep them for good, and a file of another version never takes their place.
package struct BundledPage {
  package struct File: Hashable {
    /// Path in the folder of the sources.
    package var path: String
    package var text: String
    /// True if the path contains a hash of the text.
    package var isImmutable: Bool
  }

  private static let indexPath = "index.html"
  private static let scriptStart = "<script type=\"module\" src=\""
  private static let sheetStart = "<link rel=\"stylesheet\" href=\""

  /// Returns the entry page, its script, its style sheet, and the scripts that are loaded later.
  ///
  /// - Parameter read: Returns the text at a path; nil if there is none.
  package static func files(read: @escaping (String) -> String?) throws(ModuleFault) -> [File] {
    guard let index = read(indexPath) else { throw ModuleFault(indexPath, "there is no such page") }
    var lines: [String] = []
    var sheets = ""
    var sheetLine: Int?
    var scripts: [File] = []
    var laters: [File] = []
    for line in index.split(separator: "\n", omittingEmptySubsequences: false) {
      if let path = target(of: line, after: sheetStart) {
        guard let text = read(path) else { throw ModuleFault(indexPath, "there is no \(path)") }
        sheets += try compact(sheet: text, path: path)
        if sheetLine == nil {
          sheetLine = lines.count
          lines.append("")
        }
      } else if let path = target(of: line, after: scriptStart) {
        let page = try ModuleBundle.page(
          entry: path, name: { named("js", $0).path }, read: read)
        scripts.append(named("js", page.script))
        laters += page.laters.map { named("js", $0) }
        lines.append("  \(scriptStart)\(named("js", page.script).path)\"></script>")
      } else {
        lines.append(String(line))
      }
    }
    guard let sheetLine, scripts.count == 1 else {
      throw ModuleFault(indexPath, "a bundle supports only a page with one module and its styles")
    }
    let sheet = named("css", sheets)
    lines[sheetLine] = "  \(sheetStart)\(sheet.path)\">"
    let page = File(path: indexPath, text: lines.joined(separator: "\n"), isImmutable: false)
    return [page] + scripts + [sheet] + laters
  }

  private static func target(of line: Substring, after start: String) -> String? {
    let text = line.drop { $0 == " " }
    guard text.hasPrefix(start), let end = text.dropFirst(start.count).firstIndex(of: "\"") else {
      return nil
    }
    return String(text.dropFirst(start.count)[..<end])
  }

  private static func named(_ kind: String, _ text: String) -> File {
    File(path: "page-\(hash(text)).\(kind)", text: text, isImmutable: true)
  }

  /// FNV-1a of 64 bits, in 16 digits. It tells versions of one file apart, and protects nothing.
  private static func hash(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns a style sheet without comments, indentation and empty lines.
  private static func compact(sheet text: String, path: String) throws(ModuleFault) -> String {
    guard !text.contains("url("), !text.contains("@import") else {
      throw ModuleFault(path, "a bundle supports no style sheet that loads another file")
    }
    var rest = text[...]
    var plain = ""
    while let start = rest.firstRange(of: "/*") {
      plain += rest[..<start.lowerBound]
      guard let end = rest[start.upperBound...].firstRange(of: "*/") else {
        throw ModuleFault(path, "a comment is not closed")
      }
      rest = rest[end.upperBound...]
    }
    plain += rest
    return plain.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
      .joined(separator: "\n") + "\n"
  }
}
