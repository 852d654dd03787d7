/// Gives the names of a module that nothing else can see short texts: private members, and the
/// variables, functions, classes and parameters that the module declares. Each name gets one text
/// in the whole module, and no two names get the same, so every name still means what it meant.
struct ScriptNames {
  private let script: ScriptRoles
  private var variables: [String: String] = [:]
  private var privates: [String: String] = [:]

  /// - Parameter imported: Names of the module's imports.
  init(_ tokens: [ScriptToken], imported: [String], path: String) throws(ModuleFault) {
    script = try ScriptRoles(tokens, path: path)
    let (own, others) = ScriptScopes.names(of: script, imported: imported)
    // `$0` is a name of the bundle, and so is every other one that begins so.
    let fixed = others.union(own.keys.filter { $0.first == "$" }).union(ScriptRoles.keywords)
    // A word such as `from` may be a name, too; such a name keeps its text.
    let renamed = own.filter { name, _ in name.first != "$" && !ScriptRoles.keywords.contains(name)
    }
    variables = Self.texts(for: renamed, without: fixed)
    var members: [String: Int] = [:]
    for (index, role) in script.roles.enumerated() where role == .privateName {
      members[tokens[index].text, default: 0] += 1
    }
    privates = Self.texts(for: members, without: []).mapValues { "#" + $0 }
  }

  /// Returns the text of a variable in the module.
  func text(of name: String) -> String { variables[name] ?? name }

  /// Returns the module with short names.
  func tokens() -> [ScriptToken] {
    zip(script.tokens, script.roles).map { token, role in
      var token = token
      switch role {
      case .variable: token.text = text(of: token.text)
      case .shorthand:
        if let short = variables[token.text] { token.text += ":" + short }
      case .privateName: token.text = privates[token.text] ?? token.text
      case .fixed, .keyword: break
      }
      return token
    }
  }

  /// Returns a text for each name; those of names with many uses are the shortest.
  private static func texts(for uses: [String: Int], without fixed: Set<String>)
    -> [String: String]
  {
    let names = uses.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
    var number = 0
    var texts: [String: String] = [:]
    for name in names {
      var text = Self.text(number)
      while fixed.contains(text) {
        number += 1
        text = Self.text(number)
      }
      texts[name] = text
      number += 1
    }
    return texts
  }

  private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

  /// Returns a, b, …, Z, aa, ba, ….
  private static func text(_ number: Int) -> String {
    var rest = number
    var text = ""
    repeat {
      text.append(letters[rest % letters.count])
      rest = rest / letters.count - 1
    } while rest >= 0
    return text
  }
}
