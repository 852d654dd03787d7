import LockstepModel

/// Reason why a file cannot be used for a comparison.
public enum RunFault: Error, Hashable, Sendable {
  /// Neither a report's page nor JSON.
  case unreadable(JSONFault)
  /// A picture only: it shows a run but does not contain its data.
  case picture
  /// JSON or a page, but not of a bench.
  case noRun
  /// Written by a newer version of the program, with this format number.
  case newer(Int64)
  /// A member is missing or has an invalid value.
  case bad(member: String)
  case otherBench(BenchKind, wanted: BenchKind)
}

extension RunFault: CustomStringConvertible {
  /// Continues a sentence that begins with the file's name and a colon.
  public var description: String {
    switch self {
    case .unreadable(let fault): "it is neither a report nor JSON: \(fault)"
    case .picture:
      "a picture does not hold the figures it was drawn from; name the report (.html) or the "
        + "--json output of that run"
    case .noRun:
      "it holds no run of a bench; name a report (.html) or what `lockstep bench … --json` printed"
    case .newer(let format):
      "it was written in format \(format), by a newer lockstep; compare with that version"
    case .bad(let member): "it is damaged: \"\(member)\" is not what a bench writes"
    case .otherBench(let kind, let wanted):
      "it is a run of `bench \(kind.rawValue)`; name one of `bench \(wanted.rawValue)`"
    }
  }
}
