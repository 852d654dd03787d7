/// Joins a module and all that it imports into one module.
///
/// Each module becomes a function that is called at once, in the order in which a browser would
/// evaluate the modules; what it exports is in a constant `$0`, `$1`, …:
///
///     const $1 = (() => {
///     const { one } = $0;
///     function two() { return one + one; }
///     return { two };
///     })();
///     export const { two } = $1;
///
/// So each module keeps its own names, and nothing is renamed. It refuses modules for which this
/// would mean something else: those that import each other in a circle, that wait at their top
/// level, or with other forms of import and export than `ScriptModule` reads. Comments and
/// indentation are left out.
package struct ModuleBundle {
  private let isPage: Bool
  private let read: (String) -> String?
  private var numbers: [String: Int] = [:]
  private var modules: [ScriptModule] = []
  /// For each module that is loaded later, the expression that does it.
  private var calls: [String: String] = [:]
  /// Modules whose imports are being read, from the entry on.
  private var open: [String] = []

  private init(isPage: Bool, _ read: @escaping (String) -> String?) {
    self.isPage = isPage
    self.read = read
  }

  /// Returns the text of the bundle.
  ///
  /// - Parameters:
  ///   - entry: Path of the module whose exports are those of the bundle.
  ///   - header: Comment at the head of the bundle.
  ///   - read: Returns the text at a path; nil if there is none.
  package static func text(
    entry: String, header: String, read: @escaping (String) -> String?
  ) throws(ModuleFault) -> String {
    var bundle = ModuleBundle(isPage: false, read)
    try bundle.add(entry, from: nil)
    var text = "/*! \(header) */\n"
    for index in bundle.modules.indices { text += try bundle.text(of: index) }
    let names = bundle.modules.last?.exports.sorted() ?? []
    return text + "export const { \(names.joined(separator: ", ")) } "
      + "= $\(bundle.modules.count - 1);\n"
  }

  /// Scripts of a page.
  package struct Page {
    /// Script that starts the page.
    package var script: String
    /// Scripts that it loads later.
    package var laters: [String]
  }

  /// Returns the scripts of a page, which belong in the folder of the sources.
  ///
  /// The entry comes last, at the top level of its script, so it may wait there. Names that no
  /// other program can see are shortened (`ScriptNames`). What one module loads later, and all
  /// that only this one imports, is a script of its own: a function that gets the modules that the
  /// page has already. So no module is there twice.
  ///
  /// - Parameters:
  ///   - entry: Path of the module that starts the page.
  ///   - name: Returns the path of a script.
  ///   - read: Returns the text at a path; nil if there is none.
  package static func page(
    entry: String, name: (String) -> String, read: @escaping (String) -> String?
  ) throws(ModuleFault) -> Page {
    var first = ModuleBundle(isPage: true, read)
    try first.add(entry, from: nil)
    let laters = try first.laters()
    var counts: [String: Int] = [:]
    var shared: [String] = []
    for later in laters {
      for module in try first.adding(later.path).modules[first.modules.count...] {
        counts[module.path, default: 0] += 1
        if counts[module.path] == 2 { shared.append(module.path) }
      }
    }
    var bundle = ModuleBundle(isPage: true, read)
    for path in first.modules.dropLast().map(\.path) + shared {
      try bundle.add(path, from: (path, 0))
    }
    try bundle.add(entry, from: nil)
    var page = Page(script: "", laters: [])
    for later in laters {
      let (script, call) = try bundle.later(later.path)
      bundle.calls[later.path] = "import(\"./\(name(script))\").then(\(call))"
      page.laters.append(script)
    }
    for index in bundle.modules.indices { page.script += try bundle.text(of: index) }
    return page
  }

  /// Returns the modules that others load later, each once.
  private func laters() throws(ModuleFault) -> [(path: String, line: Int)] {
    var all: [(path: String, line: Int)] = []
    for module in modules {
      for later in module.laters {
        if numbers[later.path] != nil {
          throw ModuleFault(
            module.path, line: later.line, "\(later.path) is loaded later, and imported elsewhere")
        }
        if !all.contains(where: { $0.path == later.path }) { all.append(later) }
      }
    }
    return all
  }

  private func adding(_ path: String) throws(ModuleFault) -> ModuleBundle {
    var bundle = self
    try bundle.add(path, from: (path, 0))
    return bundle
  }

  /// Returns the script of a module that is loaded later, and the function that opens it.
  private func later(_ path: String) throws(ModuleFault) -> (script: String, call: String) {
    let bundle = try adding(path)
    var text = ""
    var used: Set<Int> = []
    for index in bundle.modules.indices.dropFirst(modules.count) {
      let module = bundle.modules[index]
      if let later = module.laters.first {
        throw ModuleFault(
          module.path, line: later.line, "a module that is loaded later loads no other one later")
      }
      used.formUnion(module.imports.compactMap { numbers[$0.path] })
      text += try bundle.text(of: index)
    }
    let last = bundle.modules.count - 1
    let exports = bundle.modules[last].exports.enumerated()
      .map { "\($1):$\(last)[\($0)]" }.joined(separator: ",")
    let list = used.sorted().map { "$\($0)" }.joined(separator: ",")
    let script =
      "let $;export const open=(\(list))=>$??=(()=>{\n\(text)return{\(exports)}})();\n"
    return (script, "({open:$})=>$(\(list))")
  }

  private mutating func add(_ path: String, from importer: (path: String, line: Int)?)
    throws(ModuleFault)
  {
    if numbers[path] != nil { return }
    if let start = open.firstIndex(of: path) {
      let circle = (open[start...] + [path]).joined(separator: " imports ")
      throw ModuleFault(
        importer?.path ?? path, line: importer?.line ?? 0,
        "a circle of modules: \(circle); move what both need into a third module")
    }
    guard let source = read(path) else {
      throw ModuleFault(
        importer?.path ?? path, line: importer?.line ?? 0, "there is no module \(path)")
    }
    let role: ScriptModule.Role = !isPage ? .package : importer == nil ? .entry : .page
    let module = try ScriptModule(source, path: path, role: role)
    open.append(path)
    for item in module.imports { try add(item.path, from: (path, item.line)) }
    open.removeLast()
    numbers[path] = modules.count
    modules.append(module)
  }

  private func text(of index: Int) throws(ModuleFault) -> String {
    let module = modules[index]
    for item in module.imports {
      guard let number = numbers[item.path] else { continue }
      for name in item.names where !modules[number].exports.contains(name.name) {
        throw ModuleFault(
          module.path, line: item.line, "\(item.path) exports no \(name.name)")
      }
    }
    return module.role == .package ? readableText(of: index) : try shortText(of: index)
  }

  private func readableText(of index: Int) -> String {
    let module = modules[index]
    var text = "const $\(index) = (() => {\n"
    for item in module.imports {
      guard let number = numbers[item.path] else { continue }
      let names = item.names.map { $0.name == $0.local ? $0.name : "\($0.name): \($0.local)" }
      text += "const { \(names.joined(separator: ", ")) } = $\(number);\n"
    }
    for (index, token) in module.body.enumerated() {
      switch token.gap {
      case .none: break
      case .space: text += index == 0 ? "" : " "
      case .newLine: text += index == 0 ? "" : "\n"
      }
      text += token.text
    }
    // Without this line break a last line would go on with the next statement.
    return text + "\nreturn { \(module.exports.joined(separator: ", ")) };\n})();\n"
  }

  /// Returns a module of a page. What it exports is in an array, in the order of its exports.
  private func shortText(of index: Int) throws(ModuleFault) -> String {
    let module = modules[index]
    let names = try ScriptNames(
      module.body, imported: module.imports.flatMap { $0.names.map(\.local) }, path: module.path)
    var text = ""
    for item in module.imports {
      guard let number = numbers[item.path] else { continue }
      let locals = modules[number].exports.map { name in
        item.names.first { $0.name == name }.map { names.text(of: $0.local) } ?? ""
      }
      text += "const[\(locals.joined(separator: ","))]=$\(number);"
    }
    text += ScriptToken.text(
      of: names.tokens().map { token in
        var token = token
        if token.kind == .later { token.text = calls[token.text] ?? "" }
        return token
      })
    if module.role == .entry { return text + "\n" }
    // Without this line break a last line would go on with the next statement.
    let exports = module.exports.map { names.text(of: $0) }.joined(separator: ",")
    return "const $\(index)=(()=>{\(text)\nreturn[\(exports)]})();\n"
  }
}
