import Foundation

/// The package on disk, as the rules read it.
struct SourceTree {
  /// Swift files below Sources and Tests, by path.
  let files: [SourceFile]
  /// All text files of the package, including scripts and documents.
  let texts: [TextFile]

  struct TextFile {
    /// Path from the package's folder on.
    var path: String
    var content: String
  }

  /// This package, read once for all tests.
  static let current = SourceTree(root: packageRoot)

  static var packageRoot: String {
    #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/")
  }

  init(root: String) {
    let endings = ["swift", "md", "sh", "py", "c", "h", "modulemap", "json", "yml", ""]
    // Corpora and dictionaries are data, whose lines may have any length.
    let skipped = ["Vectors", "Corpus", "Dictionaries", "__pycache__"]
    var texts: [TextFile] = []
    func visit(_ folder: String) {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)) ?? []
      for name in names.sorted() where !skipped.contains(name) {
        if name.hasPrefix(".") && name != ".ci" { continue }
        let path = folder.isEmpty ? name : folder + "/" + name
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(
          atPath: root + "/" + path, isDirectory: &isFolder)
        if isFolder.boolValue {
          visit(path)
        } else if endings.contains((name as NSString).pathExtension),
          let content = try? String(contentsOfFile: root + "/" + path, encoding: .utf8)
        {
          texts.append(TextFile(path: path, content: content))
        }
      }
    }
    visit("")
    self.texts = texts
    files = texts.filter {
      let path = $0.path
      return path.hasSuffix(".swift")
        && ["Sources/", "Tests/"].contains { path.hasPrefix($0) }
    }.map { SourceFile(path: $0.path, content: $0.content) }
  }

  var sources: [SourceFile] { files.filter { $0.path.hasPrefix("Sources/") } }

  /// Modules that ship, and the libraries of the tests, which follow the same rules. A build plugin
  /// is neither.
  var libraries: [SourceFile] {
    files.filter { file in
      !file.path.hasPrefix("Sources/EmbedAssets/")
        && [
          "Sources/", "Tests/Simulator/", "Tests/StorageContract/", "Tests/WireLaws/",
          "Tests/AppLaws/", "Tests/PushLaws/", "Tests/Fuzzing/",
        ]
        .contains {
          file.path.hasPrefix($0)
        }
    }
  }
}

/// A Swift file with its tokens.
struct SourceFile {
  let path: String
  let content: String
  let text: SwiftText

  init(path: String, content: String) {
    self.path = path
    self.content = content
    text = SwiftText(content)
  }

  /// Target of the file: `Wire` for `Sources/Wire/HTTP/X.swift`.
  var room: String {
    let parts = path.split(separator: "/")
    return String(parts[1])
  }

  /// True if the file is in one of these modules, or folders of modules such as `Wire/HTTP`.
  func stands(in places: [String]) -> Bool {
    let parts = path.split(separator: "/")
    return places.contains { parts.dropFirst().starts(with: $0.split(separator: "/")) }
  }

  /// File name without its ending: `X` for `Sources/Wire/HTTP/X.swift`.
  var stem: String { String(path.split(separator: "/").last?.dropLast(".swift".count) ?? "") }

  /// Names of the types that the file declares.
  var declaredTypes: [(name: String, line: Int)] {
    let words = ["struct", "class", "enum", "protocol", "actor", "typealias"]
    return text.tokens.indices.compactMap { index in
      guard words.contains(text.tokens[index].text), text.tokens[index].kind == .word,
        !text.has(".", at: index - 1), !text.has("import", at: index - 1),
        index + 1 < text.tokens.count, text.tokens[index + 1].kind == .word,
        let first = text.tokens[index + 1].text.first, first.isUppercase
      else { return nil }
      return (text.tokens[index + 1].text, text.tokens[index].line)
    }
  }
}

/// A violation of a rule.
struct Fault: Hashable, CustomStringConvertible {
  var path: String
  var line: Int
  var reason: String

  var description: String { "\(path):\(line): \(reason)" }
}

/// Returns the words of a camel-case name: `sendQueueBytes` gives send, Queue, Bytes.
func camelWords(_ name: String) -> [String] {
  var words: [String] = []
  for character in name {
    if character.isUppercase || words.isEmpty || character == "_" {
      // A run of capitals is one word: `HTTP`, `JSON`.
      let continuesCapitals =
        character.isUppercase && (words.last?.allSatisfy { $0.isUppercase } ?? false)
      if continuesCapitals {
        words[words.count - 1].append(character)
      } else {
        words.append(character == "_" ? "" : String(character))
      }
    } else {
      words[words.count - 1].append(character)
    }
  }
  return words.filter { !$0.isEmpty }
}
