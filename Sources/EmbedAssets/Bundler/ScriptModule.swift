/// A JavaScript module of the forms that a `ModuleBundle` can join: what it imports, what it
/// exports, and its other tokens.
struct ScriptModule {
  struct Import {
    var path: String
    var line: Int
    var names: [(name: String, local: String)]
  }

  /// Part of a module in a bundle.
  enum Role {
    /// Module of the package: pages import it from wherever they have put it.
    case package
    /// Module of a page: may name files by `new URL("./name", import.meta.url)`, and load other
    /// modules later by `import("./name.js")`.
    case page
    /// Module that starts a page: may also wait at its top level, and exports nothing.
    case entry
  }

  let path: String
  let role: Role
  private(set) var imports: [Import] = []
  private(set) var exports: [String] = []
  /// Modules that are loaded later, each once.
  private(set) var laters: [(path: String, line: Int)] = []
  /// The module without its imports, and without the word `export`.
  private(set) var body: [ScriptToken] = []

  private let tokens: [ScriptToken]
  private var index = 0
  /// For each open bracket, true if it is the brace of a function's body.
  private var brackets: [Bool] = []
  /// For each open round bracket, true if it follows a word such as `if`.
  private var conditions: [Bool] = []
  /// Line of an exported constant whose end has not been read.
  private var constantLine: Int?
  /// Exported functions and classes: a module could give their names other values.
  private var declared: Set<String> = []

  init(_ text: String, path: String, role: Role = .package) throws(ModuleFault) {
    self.path = path
    self.role = role
    tokens = try ScriptReader.tokens(of: text, path: path)
    while index < tokens.count { try readNext() }
    if let constantLine { throw endless(constantLine) }
    if role == .entry, let name = exports.first {
      throw ModuleFault(path, "\(name) is exported; a module that starts a page exports nothing")
    }
    for name in exports where exports.count(where: { $0 == name }) > 1 {
      throw ModuleFault(path, "\(name) is exported twice")
    }
    try checkAssignments()
  }

  private func fault(_ reason: String) -> ModuleFault {
    ModuleFault(path, line: tokens[min(index, tokens.count - 1)].line, reason)
  }

  private func endless(_ line: Int) -> ModuleFault {
    ModuleFault(path, line: line, "an exported constant needs a semicolon at its end")
  }

  private func token(_ offset: Int = 0) -> ScriptToken? {
    index + offset < tokens.count ? tokens[index + offset] : nil
  }

  /// True if the token names a member, as in `.import`.
  private var isMember: Bool {
    index > 0 && (tokens[index - 1].isSign(".") || tokens[index - 1].isSign("?."))
  }

  private mutating func readNext() throws(ModuleFault) {
    let token = tokens[index]
    if token.kind == .word, !isMember {
      switch token.text {
      case "import" where self.token(1)?.isSign(".") == true && role != .package:
        return try readAddress()
      case "import" where self.token(1)?.isSign("(") == true && role != .package:
        return try readLater()
      case "import": return try readImport()
      case "export": return try readExport()
      case "await" where role != .entry && !brackets.contains(true):
        throw fault("\"await\" outside of a function; a bundle has no such module")
      case let word where word.first == "$" && word.dropFirst().allSatisfy(\.isNumber):
        throw fault("\(word) is a name of the bundle itself; choose another one")
      default: break
      }
    }
    try track(token)
    body.append(token)
    index += 1
  }

  /// Follows the brackets, and the end of an exported constant.
  private mutating func track(_ token: ScriptToken) throws(ModuleFault) {
    if token.kind == .string {
      // Parts of a template end and begin with its substitutions.
      if token.text.first == "}" { brackets.removeLast() }
      if token.opensSubstitution { brackets.append(false) }
    }
    guard token.kind == .sign else { return }
    switch token.text {
    case "(":
      let word = index > 0 && tokens[index - 1].kind == .word ? tokens[index - 1].text : ""
      conditions.append(ScriptReader.wordsBeforeCondition.contains(word))
      brackets.append(false)
    case "[": brackets.append(false)
    case "{": brackets.append(beginsFunction)
    case ")":
      lastCondition = conditions.removeLast()
      brackets.removeLast()
    case "]", "}": brackets.removeLast()
    case "," where brackets.isEmpty && constantLine != nil:
      throw fault("several constants in one export; export each by itself")
    case ";" where brackets.isEmpty: constantLine = nil
    default: break
    }
  }

  /// True if the last round bracket that was closed is that of a condition.
  private var lastCondition = false

  private var beginsFunction: Bool {
    guard index > 0 else { return false }
    return tokens[index - 1].isSign("=>") || (tokens[index - 1].isSign(")") && !lastCondition)
  }

  // MARK: imports and exports

  private mutating func expectSign(_ sign: String, _ form: String) throws(ModuleFault) {
    guard token()?.isSign(sign) == true else { throw fault("a bundle supports only \(form)") }
    index += 1
  }

  private mutating func readName(_ form: String) throws(ModuleFault) -> String {
    guard let token = token(), token.kind == .word else {
      throw fault("a bundle supports only \(form)")
    }
    index += 1
    return token.text
  }

  /// Reads `{a, b as c}`.
  private mutating func readNames(_ form: String) throws(ModuleFault)
    -> [(name: String, local: String)]
  {
    try expectSign("{", form)
    var names: [(name: String, local: String)] = []
    while token()?.isSign("}") != true {
      let name = try readName(form)
      var local = name
      if token()?.isWord("as") == true {
        index += 1
        local = try readName(form)
      }
      names.append((name, local))
      if token()?.isSign("}") != true { try expectSign(",", form) }
    }
    index += 1
    return names
  }

  private mutating func checkPlace() throws(ModuleFault) {
    guard brackets.isEmpty else {
      throw fault("\"\(tokens[index].text)\" inside of a bracket; a bundle supports none there")
    }
    if let constantLine { throw endless(constantLine) }
  }

  /// Ends the statement before one that is left out.
  private mutating func separate(line: Int) {
    guard let last = body.last, !last.isSign(";") else { return }
    body.append(ScriptToken(kind: .sign, text: ";", line: line, gap: .none))
  }

  private mutating func readImport() throws(ModuleFault) {
    try checkPlace()
    let form = "import { name } from \"./path.js\";"
    let line = tokens[index].line
    index += 1
    let names = try readNames(form)
    guard try readName(form) == "from", let source = token(), source.kind == .string,
      source.text.first == "\""
    else { throw fault("a bundle supports only \(form)") }
    index += 1
    try expectSign(";", form)
    separate(line: line)
    let target = String(source.text.dropFirst().dropLast())
    imports.append(
      Import(path: try resolved(target, line: line), line: line, names: names))
  }

  /// Returns the path of a module in the folder of the sources.
  private func resolved(_ target: String, line: Int) throws(ModuleFault) -> String {
    var parts = path.split(separator: "/").dropLast()
    guard target.hasPrefix("./") || target.hasPrefix("../"), !target.contains("\\") else {
      throw ModuleFault(path, line: line, "\(target) is no module of the package")
    }
    for part in target.split(separator: "/") where part != "." {
      if part != ".." {
        parts.append(part)
      } else if parts.popLast() == nil {
        throw ModuleFault(path, line: line, "\(target) is outside of the package")
      }
    }
    return parts.joined(separator: "/")
  }

  /// Reads `import.meta.url` in `new URL("./name", import.meta.url)`, and makes the name relative
  /// to the bundle, which is in the folder of the sources.
  private mutating func readAddress() throws(ModuleFault) {
    let form = "new URL(\"./name\", import.meta.url)"
    let before = body.suffix(5).map(\.text)
    let after = tokens[index...].prefix(6).map(\.text)
    guard before.count == 5, before[0] == "new", before[1] == "URL", before[2] == "(",
      before[3].first == "\"", before[4] == ",", after == ["import", ".", "meta", ".", "url", ")"]
    else { throw fault("a bundle supports only \(form)") }
    let target = String(before[3].dropFirst().dropLast())
    let path = try resolved(target, line: tokens[index].line)
    body[body.count - 2].text = "\"./\(path)\""
    body += tokens[index..<index + 5]
    index += 5
  }

  /// Reads `import("./name.js")`, and puts one token in its place.
  private mutating func readLater() throws(ModuleFault) {
    let parts = tokens[index...].prefix(4)
    let line = tokens[index].line
    guard let name = parts.dropFirst(2).first, name.kind == .string, name.text.first == "\"",
      parts.last?.isSign(")") == true
    else { throw fault("a bundle supports only import(\"./name.js\")") }
    let path = try resolved(String(name.text.dropFirst().dropLast()), line: line)
    if !laters.contains(where: { $0.path == path }) { laters.append((path, line)) }
    body.append(ScriptToken(kind: .later, text: path, line: line, gap: tokens[index].gap))
    index += 4
  }

  private mutating func readExport() throws(ModuleFault) {
    try checkPlace()
    let form = "export of a const, a function, a class or { names };"
    let (gap, line) = (tokens[index].gap, tokens[index].line)
    index += 1
    if token()?.isSign("{") == true {
      let names = try readNames(form)
      guard names.allSatisfy({ $0.name == $0.local }) else {
        throw fault("a bundle exports each name as it is")
      }
      try expectSign(";", form)
      separate(line: line)
      exports += names.map(\.name)
      return
    }
    let isAsync = token()?.isWord("async") == true
    let word = token(isAsync ? 1 : 0)
    guard let word, word.kind == .word, isAsync ? word.text == "function" : true,
      ["const", "function", "class"].contains(word.text),
      let name = token(isAsync ? 2 : 1), name.kind == .word
    else { throw fault("a bundle supports only \(form)") }
    if word.text == "const" {
      guard token(2)?.isSign("=") == true else { throw fault("a bundle supports only \(form)") }
      constantLine = name.line
    } else {
      declared.insert(name.text)
    }
    exports.append(name.text)
    var first = tokens[index]
    first.gap = gap
    body.append(first)
    index += 1
  }

  /// Checks that an exported function or class keeps its value: other modules have a copy. A
  /// constant or variable of that name is another one.
  private func checkAssignments() throws(ModuleFault) {
    for index in body.indices.dropFirst().dropLast()
    where body[index].kind == .word && declared.contains(body[index].text) {
      let before = body[index - 1]
      guard body[index + 1].isSign("="), ![".", "const", "let", "var"].contains(before.text)
      else { continue }
      throw ModuleFault(
        path, line: body[index].line, "\(body[index].text) is exported, and assigned to")
    }
  }
}
