/// Reason that modules cannot be joined: one sentence, with the place and the next step.
package struct ModuleFault: Error, Hashable, CustomStringConvertible {
  package var path: String
  /// Line of the fault, from 1; 0 if it concerns the whole module.
  package var line: Int
  package var reason: String

  init(_ path: String, line: Int = 0, _ reason: String) {
    self.path = path
    self.line = line
    self.reason = reason
  }

  package var description: String { path + (line > 0 ? ":\(line)" : "") + ": " + reason }
}
