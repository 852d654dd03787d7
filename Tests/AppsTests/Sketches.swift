import LockstepApps
import LockstepModel
import Testing

// Short ways to write down versions and edits in tests.

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

func version(_ fields: JSONValue?, at modifiedAt: Int64 = 0, by device: String = "mac") -> Version {
  Version(name: "current", fields: fields, modifiedAt: modifiedAt, device: device)
}

/// An edit as another program might write it: the five members and no more.
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

/// A person's edit as it stands in those that time makes of it.
func act(
  _ timestamp: Int64, _ stateType: String, left remaining: Int64 = 0, paused: Bool = false
) -> JSONValue {
  edit("", timestamp, stateType, left: remaining, paused: paused).setting("deviceID", to: nil)
}

func timer(done: Int64 = 0, _ edits: JSONValue...) -> JSONValue {
  ["completedPomodoros": .number(JSONNumber(done)), "edits": .array(edits)]
}

/// The fields that a conflict ends with; records a failure where a person is asked.
func merged(_ resolution: Resolution) -> JSONValue? {
  guard case .merged(let fields, let copies) = resolution else {
    Issue.record("nothing was chosen")
    return nil
  }
  #expect(copies.isEmpty)
  return fields
}

/// Resolves both ways round, which must give the same bytes.
func resolved(
  _ resolver: any Resolver, base: Version?, _ one: Version, _ other: Version
) -> JSONValue? {
  let there = merged(resolver.resolve(Conflict(base: base, local: one, server: other)))
  let back = merged(resolver.resolve(Conflict(base: base, local: other, server: one)))
  #expect(there?.serialized() == back?.serialized(), "the two sides are not treated alike")
  return there
}
