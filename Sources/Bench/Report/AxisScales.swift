/// Logarithmic axis of latencies, in nanoseconds.
struct LogScale: Hashable {
  let least: Int64
  let greatest: Int64

  /// Lower bound of the axis: shorter latencies are shown as one microsecond.
  private static let floor: Int64 = 1_000
  /// Steps of the axis, up to 5,000 s, longer than any bench waits.
  private static let steps: [Int64] = (3...12).flatMap { power -> [Int64] in
    let unit = repeatElement(Int64(10), count: power).reduce(1, *)
    return [unit, 2 * unit, 5 * unit]
  }
  /// Maximum number of labels; with more, only whole powers of ten are labelled.
  private static let ticksMost = 8

  /// Covers all `values`, from the step below them to the step above.
  init(holding values: [Int64]) {
    let low = max(Self.floor, values.min() ?? Self.floor)
    let high = max(low, values.max() ?? low)
    let below = Self.steps.lastIndex { $0 <= low } ?? 0
    let above = Self.steps.firstIndex { $0 >= high } ?? Self.steps.count - 1
    least = Self.steps[min(below, Self.steps.count - 2)]
    greatest = Self.steps[max(above, min(below, Self.steps.count - 2) + 1)]
  }

  /// Returns 0 at the start of the axis, 1 at its end; values outside are drawn at the edge.
  func position(of nanoseconds: Int64) -> Double {
    let value = min(greatest, max(least, nanoseconds))
    return (Logarithm.decimal(Double(value)) - lower) / (upper - lower)
  }

  /// Ends of the axis as powers of ten.
  var lower: Double { Logarithm.decimal(Double(least)) }
  var upper: Double { Logarithm.decimal(Double(greatest)) }

  var ticks: [Int64] {
    let all = Self.steps.filter { least...greatest ~= $0 }
    return all.count <= Self.ticksMost
      ? all : all.filter { Self.steps.firstIndex(of: $0).map { $0 % 3 == 0 } ?? false }
  }

  var frameTicks: [ChartFrame.Tick] {
    ticks.map { ChartFrame.Tick(position: position(of: $0), label: Self.label($0)) }
  }

  /// Returns the label of a tick: `500 µs`, `20 ms`, `5 s`.
  static func label(_ nanoseconds: Int64) -> String {
    switch nanoseconds {
    case 1_000_000_000...: "\(nanoseconds / 1_000_000_000) s"
    case 1_000_000...: "\(nanoseconds / 1_000_000) ms"
    default: "\(nanoseconds / 1_000) µs"
    }
  }
}

/// Axis of percentiles on which each further nine has the same width: 0 %, 90 %, 99 %, 99.9 % …
struct NinesScale: Hashable {
  /// Number of nines at the end of the axis.
  let nines: Double

  /// Maximum number of nines: a bench cannot resolve more.
  private static let ninesMost = 9.0
  /// Margin after the last value, in nines.
  private static let room = 0.1

  /// `count`: number of all values; the last one ends the axis.
  init(count: UInt64) {
    nines = min(Self.ninesMost, max(1, Logarithm.decimal(Double(max(1, count)))) + Self.room)
  }

  /// Returns the position 0…1 of a share from 0 to 1.
  func position(of share: Double) -> Double {
    guard share < 1 else { return 1 }
    return min(1, max(0, -Logarithm.decimal(1 - share) / nines))
  }

  /// Returns the end of the line for this many values: slightly after the last but one.
  func end(count: UInt64) -> Double {
    min(1, (Logarithm.decimal(Double(max(1, count))) + Self.room) / nines)
  }

  /// Ticks with labels in per cent, without the sign.
  var ticks: [(share: Double, label: String)] {
    var ticks = [(0.0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99")]
    var rest = 0.01
    var label = "99."
    while ticks.count < 2 + Int(nines) {
      rest /= 10
      label += "9"
      ticks.append((1 - rest, label))
    }
    return Array(ticks.prefix(2 + Int(nines)))
  }
}

/// Axis of the seconds of a run, from 0.
struct SecondScale: Hashable {
  let seconds: Int

  private static let ticksMost = 6

  init(seconds: Int) { self.seconds = max(1, seconds) }

  func position(of second: Int) -> Double { Double(second) / Double(seconds) }

  var ticks: [Int] {
    let steps = [1, 2, 5, 10, 20, 30, 60, 120, 180, 300, 600, 1_200]
    let step = steps.first { seconds / $0 < Self.ticksMost } ?? 1_200
    return Array(stride(from: 0, through: seconds, by: step))
  }
}

/// Logarithms: the standard library has none without the system's math library.
enum Logarithm {
  private static let natural2 = 0.693_147_180_559_945_3
  private static let natural10 = 2.302_585_092_994_045_7

  /// Returns the logarithm to base ten of a positive number.
  static func decimal(_ value: Double) -> Double {
    precondition(value > 0, "a logarithm of \(value)")
    // ln m = 2 (z + z³/3 + z⁵/5 …) with z = (m − 1) / (m + 1); m below 2 makes z at most 1/3.
    let z = (value.significand - 1) / (value.significand + 1)
    var (sum, power) = (0.0, z)
    for divisor in stride(from: 1.0, through: 33, by: 2) {
      sum += power / divisor
      power *= z * z
    }
    return (2 * sum + Double(value.exponent) * natural2) / natural10
  }
}
