import LockstepModel

/// Why a file is no run that another can stand beside.
public enum RunFault: Error, Hashable, Sendable {
  /// Neither a page of a report nor JSON.
  case unreadable(JSONFault)
  /// A picture alone: it shows a run, but does not hold it.
  case picture
  /// JSON or a page, but not of a bench.
  case noRun
  /// By a newer version of the program, in a format of this number.
  case newer(Int64)
  /// A member is missing or has a value that no bench writes.
  case bad(member: String)
  case otherBench(BenchKind, wanted: BenchKind)
}

extension RunFault: CustomStringConvertible {
  /// Goes on from the file's name and a colon.
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
