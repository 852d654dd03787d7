// How a history is told to who looks for what went wrong.
extension CausalHistory {
  /// An act a line: who took its place, by the numbers of their acts.
  package var description: String {
    acts.indices.map { act in
      let deed = acts[act] == Self.deletion ? "deleted" : "\(deeds[acts[act]])"
      let word = withdrawn.contains(act) ? "back" : isReplaced(act) ? "replaced" : "STANDS"
      let later = acts.indices.filter { takers[act].contains($0) }
      let doer = doers[act].map { "by \($0.text)" } ?? "at first"
      return "  \(act) \(word)\(later.isEmpty ? "" : " by \(later)") \(deed) \(doer)"
    }.joined(separator: "\n")
  }
}
