/// Checked arguments of a command; the subscript returns an option's value.
package struct Arguments: Sendable {
  /// Origin of a value.
  package enum Source: Hashable, Sendable {
    case line
    /// A variable of the environment.
    case environment(String)
    /// A line of the file that --config names.
    case file(String, line: Int)
    case usual

    package var text: String {
      switch self {
      case .line: "flag"
      case .environment(let name): "environment \(name)"
      case .file(let path, let line): "\(path):\(line)"
      case .usual: "default"
      }
    }
  }

  /// An option with the value in force.
  package struct Setting: Hashable, Sendable {
    package let name: String
    /// Text of the value; nil if none was given and there is no default.
    package let text: String?
    package let source: Source
  }

  private var texts: [String: String] = [:]
  private var sources: [String: Source] = [:]
  /// All options of the command.
  private var options: [CommandOptionEntry] = []
  private var known: Set<String> = []
  /// Words that are not options, in their order.
  package private(set) var operands: [String] = []

  package init() {}

  init(
    texts: [String: String], sources: [String: Source], options: [CommandOptionEntry],
    operands: [String]
  ) {
    self.texts = texts
    self.sources = sources
    self.options = options
    known = Set(options.map(\.name))
    self.operands = operands
  }

  package subscript<Value>(_ option: CommandOption<Value>) -> Value {
    precondition(known.contains(option.entry.name), "--\(option.entry.name) is not in the table")
    return option.value(of: texts[option.entry.name])
  }

  /// All settings that a file can set, in the order of the table.
  package var settings: [Setting] {
    options.filter { !ConfigFile.besides.contains($0.name) }.map { option in
      var usual: String?
      if case .default(let text) = option.presence { usual = text }
      if option.isFlag { usual = "false" }
      return Setting(
        name: option.name, text: texts[option.name] ?? usual,
        source: sources[option.name] ?? .usual)
    }
  }

  /// Options given by any source, in the order of the table. A command line made of them does the
  /// same again: a flag has no value, and a repeated option occurs as often as given.
  package var given: [(name: String, value: String?)] {
    options.filter { !ConfigFile.besides.contains($0.name) }.flatMap { option in
      guard let text = texts[option.name] else { return [(name: String, value: String?)]() }
      if option.isFlag { return [(text == "true" ? option.name : "\(option.name)=\(text)", nil)] }
      let values = option.isRepeatable ? CommandOptionEntry.parts(of: text) : [text]
      return values.map { (option.name, $0) }
    }
  }
}
