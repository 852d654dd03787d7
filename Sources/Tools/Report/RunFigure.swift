/// One figure of a run, with its unit and target.
public struct RunFigure: Hashable, Sendable {
  public enum Unit: String, Hashable, Sendable {
    case milliseconds = "ms"
    case microseconds = "µs"
    case mebibytes = "MiB"
    case instructions = "instr."
    /// Ratio.
    case times = "×"
    /// Whole number without a unit.
    case pieces = ""
  }

  public var label: String
  /// Value in thousandths of the unit; nil if unknown.
  public var thousandths: Int64?
  public var unit: Unit
  /// Target as shown: "< 5 s"; nil if there is none.
  public var target: String?
  /// nil if the figure has no verdict.
  public var isMet: Bool?

  init(
    _ label: String, thousandths: Int64?, _ unit: Unit, target: String? = nil, isMet: Bool? = nil
  ) {
    self.label = label
    self.thousandths = thousandths
    self.unit = unit
    self.target = target
    self.isMet = isMet
  }

  init(_ label: String, count: Int64?, target: String? = nil, isMet: Bool? = nil) {
    self.init(
      label, thousandths: count.map { $0 * 1_000 }, .pieces, target: target, isMet: isMet)
  }

  init(_ label: String, nanoseconds: Int64?, target: String? = nil, isMet: Bool? = nil) {
    self.init(
      label, thousandths: nanoseconds.map { $0 / 1_000 }, .milliseconds, target: target,
      isMet: isMet)
  }

  init(_ label: String, bytes: Int64?) {
    self.init(label, thousandths: bytes.map { ($0 * 1_000) >> 20 }, .mebibytes)
  }

  /// Figure that counts faults; its target is 0.
  init(_ label: String, faults: Int) {
    self.init(label, count: Int64(faults), target: "0", isMet: faults == 0)
  }

  /// Value with its unit.
  var text: String {
    guard let thousandths else { return unit == .milliseconds ? "–" : "unknown" }
    switch unit {
    case .pieces: return "\(thousandths / 1_000)"
    case .instructions: return "\(thousandths / 1_000) \(unit.rawValue)"
    case .milliseconds, .microseconds, .mebibytes, .times:
      return Figure.decimal(thousandths: thousandths) + " " + unit.rawValue
    }
  }

  /// The target and the verdict; empty if there is no target.
  var judgement: String {
    let verdict = isMet.map { $0 ? " met" : " MISSED" } ?? ""
    return target.map { $0 + verdict } ?? ""
  }
}
