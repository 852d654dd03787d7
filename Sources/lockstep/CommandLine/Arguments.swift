/// What a command was given, checked: read an option's value by the option.
package struct Arguments: Sendable {
  private var texts: [String: String] = [:]
  /// The names of all options that the command has.
  private var known: Set<String> = []
  /// The words that are no options, in their order.
  package private(set) var operands: [String] = []

  package init() {}

  init(texts: [String: String], known: Set<String>, operands: [String]) {
    self.texts = texts
    self.known = known
    self.operands = operands
  }

  package subscript<Value>(_ option: CommandOption<Value>) -> Value {
    precondition(known.contains(option.entry.name), "--\(option.entry.name) is not in the table")
    return option.value(of: texts[option.entry.name])
  }
}
