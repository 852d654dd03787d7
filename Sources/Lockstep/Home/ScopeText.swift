import LockstepJSON
import LockstepModel

/// Texts about the part of an account that a device may use.
extension DeviceScope {
  /// Returns a clause that follows "it may", such as `read and change Todos, and nothing else of
  /// the account`.
  package var abilities: String {
    let verb = isReadOnly ? "read" : "read and change"
    guard let zones else {
      return "\(verb) everything" + (isReadOnly ? ", and change nothing" : "")
    }
    return "\(verb) \(Self.list(zones)), and nothing else of the account"
      + (isReadOnly ? "; it can change nothing" : "")
  }

  /// Returns a short form for tables, such as `Todos (read only)`.
  package var summary: String {
    (zones.map { $0.map(\.text).joined(separator: ", ") } ?? "everything")
      + (isReadOnly ? " (read only)" : "")
  }

  /// Returns one sentence about an edit in `zone` that this scope does not allow, with the next
  /// step.
  package func explanation(ofEditIn zone: Name) -> String {
    guard includes(zone) else {
      let wanted = (zones ?? []).map(\.text) + [zone.text]
      return "this device was paired for \(summary), without the zone \(zone); pair this device "
        + "again with a code of lockstep agent pair --zones \(wanted.joined(separator: ","))"
    }
    return "this device was paired to read the zone \(zone), and to change nothing; pair this "
      + "device again with a code of lockstep agent pair "
      + (zones.map { "--zones \($0.map(\.text).joined(separator: ",")), " } ?? "")
      + "without --read-only"
  }

  private static func list(_ zones: [Name]) -> String {
    let names = zones.map(\.text)
    guard let last = names.last, names.count > 1 else { return names.joined() }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  /// Form in JSON for programs, as the relay gives it.
  package var json: JSONValue {
    var members: [JSONMember] = []
    if let zones { members.append(JSONMember("zones", JSONValue(zones))) }
    members.append(JSONMember("access", .string(isReadOnly ? "read" : "write")))
    return .object(members)
  }

  /// Reads `json`; no value is the whole account.
  ///
  /// - Returns: nil for another form, which may limit something that this program does not know.
  package init?(json: JSONValue?) {
    guard let json else {
      self = .everything
      return
    }
    let access = json["access"]?.string ?? "write"
    guard json.members != nil, ["read", "write"].contains(access) else { return nil }
    var zones: [Name]?
    if let listed = json["zones"] {
      guard let names = listed.names, !names.isEmpty else { return nil }
      zones = names
    }
    self.init(zones: zones, isReadOnly: access == "read")
  }
}
