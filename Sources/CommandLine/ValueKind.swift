import Glibc
import LockstepClient
import LockstepLanguage
import LockstepModel
import LockstepRuntime

/// A kind of option value: its placeholder, its parser, and its known values.
package struct ValueKind<Value: Sendable>: Sendable {
  package let placeholder: String
  package let known: KnownValues
  package let parse: @Sendable (String) throws(ValueFault) -> Value

  package init(
    _ placeholder: String, known: KnownValues = .none,
    parse: @escaping @Sendable (String) throws(ValueFault) -> Value
  ) {
    self.placeholder = placeholder
    self.known = known
    self.parse = parse
  }
}

private func outOfRange(_ text: String, _ least: String, _ greatest: String) -> ValueFault {
  ValueFault(
    localized(
      "{text} is not between {least} and {greatest}",
      ["text": text, "least": least, "greatest": greatest]))
}

/// Values of an option or operand that a shell can complete.
package enum KnownValues: Hashable, Sendable {
  /// The values are not known before they are typed.
  case none
  case words([String])
  /// Words separated by commas.
  case list([String])
  case files
  case folders
  /// Words that lead to a command of the program, one operand each.
  case commands
}

extension ValueKind where Value == String {
  /// Any text that is not empty.
  package static func text(_ placeholder: String, known: KnownValues = .none) -> ValueKind {
    ValueKind(placeholder, known: known) { text throws(ValueFault) in
      guard !text.isEmpty else { throw ValueFault(localized("it is empty")) }
      return text
    }
  }

  /// One of several words that are known at run time.
  package static func word(of words: [String]) -> ValueKind {
    ValueKind(words.joined(separator: "|"), known: .words(words)) { text throws(ValueFault) in
      guard words.contains(text) else {
        throw ValueFault(
          localized(
            "\"{text}\" is none of {words}",
            ["text": text, "words": words.joined(separator: ", ")]))
      }
      return text
    }
  }

  /// Path of a folder. The parser does not check that it exists.
  package static var folder: ValueKind { .text("DIR", known: .folders) }

  /// Path of a file. The parser does not check that it exists.
  package static var file: ValueKind { .text("FILE", known: .files) }
}

extension ValueKind where Value == Int {
  package static func integer(_ range: ClosedRange<Int>, _ placeholder: String = "N") -> ValueKind {
    ValueKind(placeholder) { text throws(ValueFault) in
      guard let value = Int(text) else {
        throw ValueFault(localized("\"{text}\" is no whole number", ["text": text]))
      }
      guard range.contains(value) else {
        throw outOfRange(text, "\(range.lowerBound)", "\(range.upperBound)")
      }
      return value
    }
  }
}

extension ValueKind where Value == UInt64 {
  /// Seed that repeats a simulation or a test.
  package static var seed: ValueKind {
    ValueKind("N") { text throws(ValueFault) in
      guard let value = UInt64(text) else {
        throw ValueFault(
          localized(
            "\"{text}\" is no whole number from 0 to {max}", ["text": text, "max": "\(UInt64.max)"])
        )
      }
      return value
    }
  }
}

extension ValueKind where Value == Double {
  /// A number that need not be whole.
  package static func decimal(_ range: ClosedRange<Double>, _ placeholder: String) -> ValueKind {
    ValueKind(placeholder) { text throws(ValueFault) in
      // `Double` also reads "nan", "inf" and "0x1p3", which are typing errors here.
      guard let value = Double(text), text.utf8.allSatisfy({ $0 < UInt8(ascii: "a") }) else {
        throw ValueFault(localized("\"{text}\" is no number", ["text": text]))
      }
      guard range.contains(value) else {
        throw outOfRange(text, "\(range.lowerBound)", "\(range.upperBound)")
      }
      return value
    }
  }
}

extension ValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the raw values of an enumeration.
  package static var choice: ValueKind {
    let word = ValueKind<String>.word(of: Value.allCases.map(\.rawValue))
    return ValueKind(word.placeholder, known: word.known) { text throws(ValueFault) in
      guard let value = Value(rawValue: try word.parse(text)) else {
        throw ValueFault(
          localized("\"{text}\" is none of {words}", ["text": text, "words": word.placeholder]))
      }
      return value
    }
  }
}

extension ValueKind where Value == RelayAddress {
  /// Address of a relay.
  package static var relay: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in
      guard let address = RelayAddress(url: text) else {
        throw ValueFault(
          localized(
            "\"{text}\" is no address of a relay, such as http://127.0.0.1:5625 "
              + "or https://relay.example", ["text": text])
        )
      }
      return address
    }
  }
}

extension ValueKind where Value == PeerAddress {
  /// Address to listen on. An IPv6 address is in brackets; port 0 means any free port.
  package static var listener: ValueKind {
    ValueKind("ADDRESS:PORT") { text throws(ValueFault) in
      guard let colon = text.lastIndex(of: ":"),
        let port = UInt16(text[text.index(after: colon)...]), let host = host(text[..<colon])
      else {
        throw ValueFault(
          localized(
            "\"{text}\" is no address and port, such as 127.0.0.1:5625 or [::1]:0", ["text": text]))
      }
      return .host(host, port: port)
    }
  }

  private static func host(_ text: Substring) -> String? {
    let isBracketed = text.first == "[" && text.last == "]"
    let host = isBracketed ? text.dropFirst().dropLast() : text
    guard !host.isEmpty, isBracketed == host.contains(":"),
      !host.contains(where: { "[]/@ ".contains($0) })
    else { return nil }
    return String(host)
  }
}

extension ValueKind where Value == Int64 {
  /// A number of bytes, such as `500M`.
  package static func bytes(_ range: ClosedRange<Int64>) -> ValueKind {
    ValueKind("SIZE") { text throws(ValueFault) in
      guard let value = ByteCount.parse(text) else {
        throw ValueFault(
          localized("\"{text}\" is no number of bytes, such as 10G, 500M or 64K", ["text": text]))
      }
      guard range.contains(value) else {
        throw outOfRange(
          text, ByteCount.text(range.lowerBound), ByteCount.text(range.upperBound))
      }
      return value
    }
  }
}

/// Spans of time in the form that people use: `30d`, `12h`, `5m`, `90s`.
package enum DurationArgument {
  private static let units: [(letter: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
  ]

  /// Returns milliseconds, or nil if the text is no such span.
  package static func parse(_ text: String) -> Int64? {
    guard let unit = units.first(where: { text.hasSuffix($0.letter) }) else { return nil }
    let digits = text.dropLast()
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int64(digits)
    else { return nil }
    let (milliseconds, isTooLarge) = count.multipliedReportingOverflow(by: unit.milliseconds)
    return isTooLarge ? nil : milliseconds
  }

  /// Returns the span in the largest unit of which it is a whole number.
  package static func text(_ milliseconds: Int64) -> String {
    let unit = units.first { milliseconds % $0.milliseconds == 0 }
    return unit.map { "\(milliseconds / $0.milliseconds)\($0.letter)" } ?? "\(milliseconds) ms"
  }
}

extension ValueKind where Value == Int64 {
  /// A span of time in milliseconds, such as `30d`.
  package static func duration(_ range: ClosedRange<Int64>) -> ValueKind {
    ValueKind("TIME") { text throws(ValueFault) in
      guard let value = DurationArgument.parse(text) else {
        throw ValueFault(
          localized("\"{text}\" is no span of time, such as 30d, 12h, 5m or 90s", ["text": text]))
      }
      guard range.contains(value) else {
        throw outOfRange(
          text, DurationArgument.text(range.lowerBound), DurationArgument.text(range.upperBound))
      }
      return value
    }
  }
}

/// Points in time as text: in UTC, so that all readers see the same; in local time for output to
/// one person.
package enum CalendarTime {
  /// Returns a text such as `2026-03-01 12:34 UTC`. `milliseconds`: since the Unix epoch.
  package static func text(_ milliseconds: Int64) -> String {
    let time = UniversalTime(milliseconds)
    return time.date + " " + [time.hour, time.minute].map(padded).joined(separator: ":") + " UTC"
  }

  /// Returns the local time, such as `12:34`.
  package static func clock(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "--:--" }
    return [parts.tm_hour, parts.tm_min].map { padded(Int($0)) }.joined(separator: ":")
  }

  /// Returns the local time, such as `12:34:56`.
  package static func clockWithSeconds(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "--:--:--" }
    return clock(milliseconds) + ":" + padded(Int(parts.tm_sec))
  }

  private static func local(_ milliseconds: Int64) -> tm? {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    return localtime_r(&seconds, &parts) == nil ? nil : parts
  }

  private static func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
