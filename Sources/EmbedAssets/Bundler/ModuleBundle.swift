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
  private let read: (String) -> String?
  private var numbers: [String: Int] = [:]
  private var modules: [ScriptModule] = []
  /// Modules whose imports are being read, from the entry on.
  private var open: [String] = []

  private init(_ read: @escaping (String) -> String?) { self.read = read }

  /// Returns the text of the bundle.
  ///
  /// - Parameters:
  ///   - entry: Path of the module whose exports are those of the bundle.
  ///   - header: Comment at the head of the bundle.
  ///   - read: Returns the text at a path; nil if there is none.
  package static func text(
    entry: String, header: String, read: @escaping (String) -> String?
  ) throws(ModuleFault) -> String {
    var bundle = ModuleBundle(read)
    try bundle.add(entry, from: nil)
    var text = "/*! \(header) */\n"
    for index in bundle.modules.indices { text += try bundle.text(of: index) }
    let names = bundle.modules.last?.exports.sorted() ?? []
    return text + "export const { \(names.joined(separator: ", ")) } "
      + "= $\(bundle.modules.count - 1);\n"
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
    let module = try ScriptModule(source, path: path)
    open.append(path)
    for item in module.imports { try add(item.path, from: (path, item.line)) }
    open.removeLast()
    numbers[path] = modules.count
    modules.append(module)
  }

  private func text(of index: Int) throws(ModuleFault) -> String {
    let module = modules[index]
    var text = "const $\(index) = (() => {\n"
    for item in module.imports {
      guard let number = numbers[item.path] else { continue }
      for name in item.names where !modules[number].exports.contains(name.name) {
        throw ModuleFault(
          module.path, line: item.line, "\(item.path) exports no \(name.name)")
      }
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
}
