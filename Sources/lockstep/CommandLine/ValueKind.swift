import LockstepClient
import LockstepWire

/// A kind of option value: its placeholder and its parser.
package struct ValueKind<Value: Sendable>: Sendable {
  package let placeholder: String
  package let parse: @Sendable (String) throws(ValueFault) -> Value

  package init(
    _ placeholder: String, parse: @escaping @Sendable (String) throws(ValueFault) -> Value
  ) {
    self.placeholder = placeholder
    self.parse = parse
  }
}

extension ValueKind where Value == String {
  /// Any text that is not empty.
  package static func text(_ placeholder: String) -> ValueKind {
    ValueKind(placeholder) { text throws(ValueFault) in
      guard !text.isEmpty else { throw ValueFault("it is empty") }
      return text
    }
  }

  /// One of several words that are known at run time.
  package static func word(of words: [String]) -> ValueKind {
    ValueKind(words.joined(separator: "|")) { text throws(ValueFault) in
      guard words.contains(text) else {
        throw ValueFault("\"\(text)\" is none of \(words.joined(separator: ", "))")
      }
      return text
    }
  }

  /// Path of a folder. The parser does not check that it exists.
  package static var folder: ValueKind { .text("DIR") }

  /// Path of a file. The parser does not check that it exists.
  package static var file: ValueKind { .text("FILE") }
}

extension ValueKind where Value == Int {
  package static func integer(_ range: ClosedRange<Int>, _ placeholder: String = "N") -> ValueKind {
    ValueKind(placeholder) { text throws(ValueFault) in
      guard let value = Int(text) else { throw ValueFault("\"\(text)\" is no whole number") }
      guard range.contains(value) else {
        throw ValueFault("\(text) is not between \(range.lowerBound) and \(range.upperBound)")
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
        throw ValueFault("\"\(text)\" is no whole number from 0 to \(UInt64.max)")
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
        throw ValueFault("\"\(text)\" is no number")
      }
      guard range.contains(value) else {
        throw ValueFault("\(text) is not between \(range.lowerBound) and \(range.upperBound)")
      }
      return value
    }
  }
}

extension ValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the raw values of an enumeration.
  package static var choice: ValueKind {
    let word = ValueKind<String>.word(of: Value.allCases.map(\.rawValue))
    return ValueKind(word.placeholder) { text throws(ValueFault) in
      guard let value = Value(rawValue: try word.parse(text)) else {
        throw ValueFault("\"\(text)\" is none of \(word.placeholder)")
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
          "\"\(text)\" is no address of a relay, such as http://127.0.0.1:5625 or https://relay.example"
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
        throw ValueFault("\"\(text)\" is no address and port, such as 127.0.0.1:5625 or [::1]:0")
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
