import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

// Short constructors for versions and edits in tests.

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

func version(_ fields: JSONValue?, at modifiedAt: Int64 = 0, by device: String = "mac") -> Version {
  Version(name: "current", fields: fields, modifiedAt: modifiedAt, device: device)
}

/// Returns an edit as another program might write it: only the five members.
func edit(
  _ deviceID: String, _ timestamp: Int64, _ stateType: String, left remaining: Int64 = 0,
  paused: Bool = false
) -> JSONValue {
  [
    "deviceID": .string(deviceID), "timestamp": .number(JSONNumber(timestamp)),
    "stateType": .string(stateType), "isPaused": .bool(paused),
    "remaining": .number(JSONNumber(remaining)),
  ]
}

/// Returns a person's edit in the form of the `act` member.
func act(
  _ timestamp: Int64, _ stateType: String, left remaining: Int64 = 0, paused: Bool = false
) -> JSONValue {
  edit("", timestamp, stateType, left: remaining, paused: paused).setting("deviceID", to: nil)
}

func timer(done: Int64 = 0, _ edits: JSONValue...) -> JSONValue {
  ["completedPomodoros": .number(JSONNumber(done)), "edits": .array(edits)]
}

/// Returns the merged fields of a conflict, without their stamps; records a failure if the resolver
/// asks a person.
func merged(_ resolution: Resolution) -> JSONValue? {
  guard case .merged(let fields, let copies) = resolution else {
    Issue.record("nothing was chosen")
    return nil
  }
  #expect(copies.isEmpty)
  return fields.map { Stamps.removed(from: $0) }
}

/// Resolves with both assignments of the two sides, which must give the same bytes.
func resolved(
  _ resolver: any Resolver, base: Version?, _ one: Version, _ other: Version
) -> JSONValue? {
  let there = merged(resolver.resolve(Conflict(base: base, local: one, server: other)))
  let back = merged(resolver.resolve(Conflict(base: base, local: other, server: one)))
  #expect(there?.serialized() == back?.serialized(), "the two sides are not treated alike")
  return there
}
