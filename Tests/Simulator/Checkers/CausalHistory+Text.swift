// Text of a history, to debug a failure.
extension CausalHistory {
  /// One line per act, with the numbers of the acts that replaced it.
  package var description: String {
    acts.indices.map { act in
      let deed = acts[act] == Self.deletion ? "deleted" : "\(deeds[acts[act]])"
      let word = withdrawn.contains(act) ? "back" : isReplaced(act) ? "replaced" : "STANDS"
      let later = acts.indices.filter { replacers[act].contains($0) }
      let doer = actDevices[act].map { "by \($0.text)" } ?? "at first"
      return "  \(act) \(word)\(later.isEmpty ? "" : " by \(later)") \(deed) \(doer)"
    }.joined(separator: "\n")
  }
}
