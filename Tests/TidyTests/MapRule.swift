/// README's code map names every folder below Sources, so that a reader finds the way.
enum MapRule {
  static func faults(readme: String, paths: [String]) -> [Fault] {
    guard let map = section(of: readme) else {
      return [Fault(path: "README.md", line: 1, reason: "no section is headed \"Code map\"")]
    }
    var folders: [String] = []
    // A C library is a module map and a header: the map names their folder as one.
    for path in paths
    where path.hasPrefix("Sources/") && !path.hasPrefix("Sources/SystemLibraries/") {
      let folder = path.split(separator: "/").dropFirst().dropLast().joined(separator: "/")
      if !folder.isEmpty && !folders.contains(folder) { folders.append(folder) }
    }
    return folders.filter { !isNamed($0, in: map) }.map {
      Fault(path: "README.md", line: 1, reason: "the code map does not name Sources/\($0)")
    }
  }

  /// The lines under the heading whose words are "code map", up to the next heading of its rank.
  static func section(of readme: String) -> String? {
    let lines = readme.split(separator: "\n", omittingEmptySubsequences: false)
    guard
      let start = lines.firstIndex(where: {
        $0.hasPrefix("#") && $0.lowercased().contains("code map")
      })
    else { return nil }
    let rank = lines[start].prefix { $0 == "#" }.count
    let rest = lines[(start + 1)...]
    let end = rest.firstIndex { line in
      line.hasPrefix("#") && line.prefix { $0 == "#" }.count <= rank
    }
    return rest[..<(end ?? rest.endIndex)].joined(separator: "\n")
  }

  /// A folder is named as a word of its own, by its path or by its last part.
  private static func isNamed(_ folder: String, in map: String) -> Bool {
    let last = String(folder.split(separator: "/").last ?? "")
    let words = map.split { !($0.isLetter || $0.isNumber || "_-".contains($0)) }.map(String.init)
    return words.contains(last)
  }
}
