import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Texts about the part of an account that a device may use.
extension DeviceScope {
  /// Returns a clause that follows "it may", such as `read and change Todos, and nothing else of
  /// the account`.
  package var abilities: String {
    guard let zones else {
      return isReadOnly
        ? localized("read everything, and change nothing") : localized("read and change everything")
    }
    let values = ["zones": Self.list(zones)]
    return isReadOnly
      ? localized(
        "read {zones}, and nothing else of the account; it can change nothing", values)
      : localized("read and change {zones}, and nothing else of the account", values)
  }

  /// Returns a short form for tables, such as `Todos (read only)`.
  package var summary: String {
    let names =
      zones.map { $0.map(\.text).joined(separator: ", ") } ?? localized("everything")
    return isReadOnly ? localized("{zones} (read only)", ["zones": names]) : names
  }

  /// Returns one sentence about an edit in `zone` that this scope does not allow, with the next
  /// step.
  package func explanation(ofEditIn zone: Name) -> String {
    let named = (zones ?? []).map(\.text)
    guard includes(zone) else {
      return localized(
        "this device was paired for {scope}, without the zone {zone}; pair this device again with "
          + "a code of lockstep agent pair --zones {zones}",
        [
          "scope": summary, "zone": zone.text,
          "zones": (named + [zone.text]).joined(separator: ","),
        ])
    }
    guard zones != nil else {
      return localized(
        "this device was paired to read the zone {zone}, and to change nothing; pair this device "
          + "again with a code of lockstep agent pair without --read-only", ["zone": zone.text])
    }
    return localized(
      "this device was paired to read the zone {zone}, and to change nothing; pair this device "
        + "again with a code of lockstep agent pair --zones {zones}, without --read-only",
      ["zone": zone.text, "zones": named.joined(separator: ",")])
  }

  private static func list(_ zones: [Name]) -> String {
    let names = zones.map(\.text)
    guard let last = names.last, names.count > 1 else { return names.joined() }
    let others = names.dropLast().joined(separator: localized(", "))
    return localized("{others} and {last}", ["others": others, "last": last])
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
