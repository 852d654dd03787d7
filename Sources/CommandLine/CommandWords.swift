/// Words that other programs use for the same as a command of this one.
enum CommandWords {
  private static let groups: [(words: [String], meanings: [String])] = [
    (["rm", "delete", "del", "remove", "erase", "drop"], ["remove", "revoke", "clear", "leave"]),
    (["ls", "list", "all"], ["list", "devices", "files", "status"]),
    (["new", "create", "insert", "make", "put"], ["add", "create"]),
    (["cat", "view", "print", "open", "get"], ["show", "copy", "get", "status"]),
    (["done", "tick", "mark"], ["check"]), (["mv", "reorder"], ["move", "rename"]),
    (["find", "grep"], ["search"]), (["change", "modify", "update"], ["edit", "set"]),
    (["info", "state"], ["status"]), (["begin", "run"], ["start"]),
    (["end", "cancel", "quit"], ["stop"]), (["continue", "unpause"], ["resume"]),
  ]

  /// Returns the command that a word means elsewhere; nil if there is none here.
  static func usual(for word: String, among names: [String]) -> String? {
    groups.lazy.filter { $0.words.contains(word) }.flatMap(\.meanings).first(where: names.contains)
  }
}
