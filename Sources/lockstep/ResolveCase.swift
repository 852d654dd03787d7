import LockstepApps
import LockstepModel

/// A conflict as `lockstep resolve` reads it, and the answer as it prints it.
package enum ResolveCase {
  /// Reason why a line is not a valid conflict.
  package struct Fault: Error, Hashable, Sendable {
    package let reason: String
  }

  /// Returns the answer to one line: a JSON object without a line feed.
  package static func answer(to line: [UInt8]) throws(Fault) -> [UInt8] {
    let value = try parsed(line)
    guard value.members != nil else { throw Fault(reason: "a case is a JSON object") }
    guard let type = value["type"] else {
      throw Fault(
        reason: value["case"] == nil
          ? "\"type\" is missing" : "give what stands under \"case\", not the whole vector")
    }
    guard let name = type.string else { throw Fault(reason: "\"type\" is no string") }
    guard let resolver = AppCatalog.resolver(forType: name) else {
      throw Fault(reason: "no app here knows the record type \"\(Log.oneLine(name))\"")
    }
    let conflict = Conflict(
      base: try base(of: value), local: try version("local", of: value),
      server: try version("server", of: value))
    return form(resolver.resolve(conflict)).serialized()
  }

  private static func parsed(_ line: [UInt8]) throws(Fault) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: line)
    } catch {
      throw Fault(reason: "\(error)")
    }
  }

  private static func base(of value: JSONValue) throws(Fault) -> Version? {
    guard let base = value["base"], !base.isNull else { return nil }
    return try version("base", of: value)
  }

  private static func version(_ side: String, of value: JSONValue) throws(Fault) -> Version {
    guard let version = value[side], version.members != nil else {
      throw Fault(reason: "\"\(side)\" is no version of a record")
    }
    guard let name = version["name"]?.string else { throw fault(side, "name", "a string") }
    guard let device = version["device"]?.string else { throw fault(side, "device", "a string") }
    guard let modifiedAt = version["modifiedAt"]?.int64 else {
      throw fault(side, "modifiedAt", "a whole number of milliseconds")
    }
    let fields = try fields(of: version, side)
    return Version(name: name, fields: fields, modifiedAt: modifiedAt, device: device)
  }

  /// Returns nil for a delete: its fields are null, and `deleted`, if given, is true.
  private static func fields(of version: JSONValue, _ side: String) throws(Fault) -> JSONValue? {
    guard let fields = version["fields"], fields.isNull || fields.members != nil else {
      throw fault(side, "fields", "a JSON object, or null for a delete")
    }
    if let deleted = version["deleted"], deleted.bool != fields.isNull {
      throw fault(side, "deleted", "true where \"fields\" is null and false elsewhere")
    }
    return fields.isNull ? nil : fields
  }

  private static func fault(_ side: String, _ member: String, _ wanted: String) -> Fault {
    Fault(reason: "\"\(member)\" of \"\(side)\" must be \(wanted)")
  }

  private static func form(_ resolution: Resolution) -> JSONValue {
    switch resolution {
    case .ask: ["outcome": "ask", "fields": .null, "deleted": false, "copies": []]
    case .merged(let fields, let copies):
      [
        "outcome": "merged", "fields": fields ?? .null, "deleted": .bool(fields == nil),
        "copies": .array(copies.map { ["name": .string($0.name), "fields": $0.fields] }),
      ]
    }
  }
}
