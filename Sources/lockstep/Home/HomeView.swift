import LockstepModel

/// An app's view as the process that holds the home sends it.
struct HomeView {
  let json: JSONValue
  let lines: [String]

  /// Rows for a person, one per line.
  var text: String { lines.joined(separator: "\n") }

  init(_ answer: JSONValue) {
    json = answer["view"] ?? answer
    lines = (answer["lines"]?.array ?? []).compactMap(\.string)
  }
}
