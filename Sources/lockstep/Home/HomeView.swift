import LockstepModel

/// An app's view as the process that holds the home tells it.
struct HomeView {
  let json: JSONValue
  let lines: [String]

  /// For people: its rows, one below the other.
  var text: String { lines.joined(separator: "\n") }

  init(_ answer: JSONValue) {
    json = answer["view"] ?? answer
    lines = (answer["lines"]?.array ?? []).compactMap(\.string)
  }
}
