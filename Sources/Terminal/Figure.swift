import LockstepJSON

/// Formatting of figures in the tables of the benches.
package enum Figure {
  /// Returns a table line: its label, and one column per figure.
  package static func row(_ label: String, _ columns: [String]) -> String {
    var line = label + String(repeating: " ", count: max(0, 28 - label.count))
    for column in columns {
      line += String(repeating: " ", count: max(1, 14 - column.count)) + column
    }
    return line
  }

  package static func milliseconds(_ nanoseconds: Int64?) -> String {
    nanoseconds.map { decimal(thousandths: $0 / 1_000) + " ms" } ?? "–"
  }

  package static func mebibytes(_ bytes: Int64?) -> String {
    bytes.map { decimal(thousandths: ($0 * 1_000) >> 20) + " MiB" } ?? "unknown"
  }

  /// Formats a ratio; a dash if nothing was measured.
  package static func ratio(thousandths: Int64?) -> String {
    thousandths.map { decimal(thousandths: $0) } ?? "–"
  }

  /// Returns the median; of an even number of values the lower middle one.
  package static func median(_ values: [Int64]) -> Int64? {
    values.isEmpty ? nil : values.sorted()[(values.count - 1) / 2]
  }

  /// Formats with two decimals below ten, one below a hundred, none above.
  package static func decimal(thousandths: Int64) -> String {
    guard thousandths >= 0 else {
      return "-" + decimal(thousandths: Int64(clamping: thousandths.magnitude))
    }
    let places = thousandths < 10_000 ? 2 : thousandths < 100_000 ? 1 : 0
    let unit: Int64 = places == 2 ? 10 : places == 1 ? 100 : 1_000
    let rounded = (thousandths + unit / 2) / unit
    guard places > 0 else { return "\(rounded)" }
    let scale: Int64 = places == 2 ? 100 : 10
    let fraction = String(rounded % scale)
    return "\(rounded / scale)."
      + String(repeating: "0", count: places - fraction.count) + fraction
  }
}

extension JSONValue {
  package static func whole(_ value: Int64?) -> JSONValue {
    value.map { .number(JSONNumber($0)) } ?? .null
  }

  package static func decimal(thousandths: Int64?) -> JSONValue {
    thousandths.map { .number(JSONNumber(thousandths: $0)) } ?? .null
  }

  package static func milliseconds(_ nanoseconds: Int64?) -> JSONValue {
    decimal(thousandths: nanoseconds.map { $0 / 1_000 })
  }
}
