/// Names that a module declares, each with the part of the module that sees it. Knows too little
/// rather than too much: a name that is not found to be declared keeps its text.
struct ScriptScopes {
  private let script: ScriptRoles
  private var declared: [String: [ClosedRange<Int>]] = [:]

  private init(_ script: ScriptRoles) { self.script = script }

  /// Returns the names of variables that the module declares wherever it uses them, with the number
  /// of uses; and those that it does not.
  static func names(of script: ScriptRoles, imported: [String])
    -> (own: [String: Int], others: Set<String>)
  {
    var scopes = ScriptScopes(script)
    let whole = 0...max(0, script.tokens.count)
    for name in imported { scopes.declared[name, default: []].append(whole) }
    for index in script.tokens.indices { scopes.read(index) }
    var own: [String: Int] = [:]
    var others: Set<String> = []
    for (index, role) in script.roles.enumerated() where role == .variable || role == .shorthand {
      let name = script.tokens[index].text
      let isDeclared = scopes.declared[name]?.contains { $0.contains(index) } ?? false
      if isDeclared { own[name, default: 0] += 1 } else { others.insert(name) }
    }
    return (own.filter { !others.contains($0.key) }, others)
  }

  private func sign(_ index: Int) -> String? {
    guard script.tokens.indices.contains(index), script.tokens[index].kind == .sign else {
      return nil
    }
    return script.tokens[index].text
  }

  private func isKeyword(_ index: Int) -> Bool {
    script.roles.indices.contains(index) && script.roles[index] == .keyword
  }

  /// Returns the part inside of a bracket, or the whole module.
  private func inside(_ bracket: Int?) -> ClosedRange<Int> {
    guard let bracket else { return 0...script.tokens.count }
    return bracket...script.ends[bracket]
  }

  private mutating func read(_ index: Int) {
    let token = script.tokens[index]
    switch token.kind {
    case .word where isKeyword(index):
      switch token.text {
      case "const", "let", "var": readVariables(index)
      case "function", "class":
        let name = sign(index + 1) == "*" ? index + 2 : index + 1
        if script.roles.indices.contains(name), script.roles[name] == .variable {
          declare(name, in: inside(script.brackets[index]))
        }
      default: break
      }
    case .word where script.roles[index] == .variable && sign(index + 1) == "=>":
      declare(index, in: index...endOfBody(index + 2))
    case .sign where token.text == "(": readParameters(index)
    default: break
    }
  }

  private mutating func declare(_ index: Int, in scope: ClosedRange<Int>) {
    declared[script.tokens[index].text, default: []].append(scope)
  }

  private mutating func readVariables(_ index: Int) {
    var scope = inside(script.brackets[index])
    if let bracket = script.brackets[index], sign(bracket) == "(" {
      // The head of a loop, whose body sees them, too.
      scope = bracket...endOfBody(script.ends[bracket] + 1)
    }
    readPattern(index + 1, in: scope)
  }

  private mutating func readParameters(_ index: Int) {
    let next = script.ends[index] + 1
    if sign(next) == "=>" {
      readPattern(index + 1, in: index...endOfBody(next + 1))
    } else if sign(next) == "{" {
      let isCondition =
        isKeyword(index - 1)
        && ["if", "for", "while", "switch", "with", "await"].contains(script.tokens[index - 1].text)
      guard index > 0, !isCondition else { return }
      readPattern(index + 1, in: index...script.ends[next])
    }
  }

  /// Returns the end of a body in braces, of an expression or of a statement.
  private func endOfBody(_ start: Int) -> Int {
    if sign(start) == "{" { return script.ends[start] }
    var index = start
    while index < script.tokens.count {
      let token = script.tokens[index]
      if token.kind == .string, token.text.first == "}" { return index }
      if let sign = sign(index) {
        if [")", "]", "}", ",", ";"].contains(sign) { return index }
        if ["(", "[", "{"].contains(sign) { index = script.ends[index] }
      }
      while index < script.tokens.count, script.tokens[index].opensSubstitution {
        index = script.ends[index]
      }
      index += 1
    }
    return script.tokens.count
  }

  /// Declares the names of a list of variables or parameters, up to its end.
  private mutating func readPattern(_ start: Int, in scope: ClosedRange<Int>) {
    // For each open bracket, true inside of a value: `name = value`.
    var isValue = [false]
    for index in start..<max(start, script.tokens.count) {
      let token = script.tokens[index]
      if token.kind == .string {
        if token.text.first == "}" { isValue.removeLast() }
        if token.opensSubstitution { isValue.append(true) }
      } else if let sign = sign(index) {
        if sign == ";", isValue.count == 1 { return }
        if ["(", "[", "{"].contains(sign) {
          isValue.append((isValue.last ?? false) || sign == "(")
        }
        if [")", "]", "}"].contains(sign) { isValue.removeLast() }
        if sign == "=" { isValue[isValue.count - 1] = true }
        if sign == "," {
          isValue[isValue.count - 1] = isValue.count > 1 && isValue[isValue.count - 2]
        }
      } else if isValue.last == false {
        let isEnd = isKeyword(index) && (token.isWord("of") || token.isWord("in"))
        if isEnd, isValue.count == 1 { return }
        if [.variable, .shorthand].contains(script.roles[index]) { declare(index, in: scope) }
      }
      if isValue.isEmpty { return }
    }
  }
}
