import LockstepRelay
import LockstepWire

// Kinds of values for the options that control access to a relay's public listener.

extension ValueKind where Value == RelayLimits {
  /// `NAME=VALUE`, any number of them, separated by commas.
  static var limits: ValueKind {
    ValueKind("NAME=VALUE,…") { text throws(ValueFault) in
      var limits = RelayLimits()
      var seen: Set<String> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2 else {
          throw ValueFault("\"\(part)\" is no NAME=VALUE, such as connections=10000")
        }
        let name = trimmed(sides[0])
        guard seen.insert(name).inserted else {
          throw ValueFault("\(name) stands there twice")
        }
        try limits.set(name, text: trimmed(sides[1]))
      }
      return limits
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension RelayLimits {
  /// Sets one limit from a person's text. For an unknown name, the fault suggests a similar one.
  mutating func set(_ name: String, text: String) throws(ValueFault) {
    do throws(LimitFault) {
      try set(name, to: text)
    } catch {
      guard case .unknown = error else { throw ValueFault("\(error)") }
      let names = SettableLimit.all.map(\.name)
      let nearest = Suggestion.nearest(to: name, among: names)
      let hint = nearest.map { "; did you mean \($0)?" } ?? "; docs/operations.md names them all"
      throw ValueFault("\(error)\(hint)")
    }
  }
}

extension ValueKind where Value == AllowedOrigins {
  /// Origins separated by commas, `*` for any page, or `own` for the relay's own only.
  static var origins: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "*" { return .any }
      if text == "own" { return .own }
      var origins: Set<String> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let origin = AllowedOrigins.normalized(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is no origin, such as https://app.example without a path; or say * for any"
          )
        }
        origins.insert(origin)
      }
      return .listed(origins)
    }
  }
}

extension ValueKind where Value == AllowedHosts {
  /// Names separated by commas, `*` for any, or `own` for only those that the relay knows itself.
  static var hosts: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "*" { return .any }
      if text == "own" { return AllowedHosts() }
      var names: [String] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let name = AllowedHosts.normalized(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is no host's name, such as relay.example without a port; addresses need none"
          )
        }
        names.append(name)
      }
      return AllowedHosts(names)
    }
  }
}

extension ValueKind where Value == [IPNetwork] {
  /// Networks separated by commas, or `none`.
  static var networks: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "none" { return [] }
      var networks: [IPNetwork] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let network = IPNetwork(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is no address and no network, such as 10.0.0.0/8 or ::1; or say none")
        }
        networks.append(network)
      }
      return networks
    }
  }
}
