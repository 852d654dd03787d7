import LockstepClient
import LockstepJSON
import LockstepModel
import Synchronization

/// Result of a `SidecarRequest` that was performed on the replica's thread. Valid once the
/// transaction is durable.
final class SidecarResult: Sendable {
  struct Content: Sendable {
    /// Complete lines, each with its line feed.
    var lines: [[UInt8]] = []
    /// Records that were read for a watch, by name; nil: there is no live one.
    var read: [(name: Name, json: JSONValue?)] = []
    var fault: SidecarFault?
  }

  private let content = Mutex(Content())

  var value: Content { content.withLock { $0 } }

  func set(_ value: Content) { content.withLock { $0 = value } }
}

/// Makes the scripts of requests: transactions on the replica that put the answer's lines into a
/// result.
enum SidecarScript {
  /// Bytes of records of one line of a list; a list has as many lines as it needs.
  static let lineBytesMin = 1 << 20

  typealias Work = @Sendable (EditSession) throws(SidecarFault) -> SidecarResult.Content

  private static func script(_ result: SidecarResult, _ work: @escaping Work) -> EditScript {
    { session throws(EditFailure) in
      do throws(SidecarFault) {
        result.set(try work(session))
      } catch {
        result.set(SidecarResult.Content(fault: error))
        throw .refused(EditRefusal(error.message))
      }
    }
  }

  /// - Parameter appZones: Zones in which only an app of the program itself makes edits.
  static func edits(
    _ edits: [SidecarEdit], isTransaction: Bool, _ id: JSONValue, appZones: [Name],
    _ result: SidecarResult
  ) -> EditScript {
    script(result) { session throws(SidecarFault) in
      for (index, edit) in edits.enumerated() {
        do throws(SidecarFault) {
          try edit.perform(in: session, appZones: appZones)
        } catch {
          throw isTransaction ? error.inEdit(index) : error
        }
      }
      var records: [JSONValue] = []
      for edit in edits {
        records.append(
          try SidecarRecord.json(edit.key, in: session) ?? SidecarRecord.gone(edit.key))
      }
      let answer: JSONValue =
        isTransaction
        ? ["id": id, "records": .array(records)] : ["id": id, "record": records[0]]
      return SidecarResult.Content(lines: [line(answer)])
    }
  }

  static func record(_ key: RecordKey, _ id: JSONValue, _ result: SidecarResult) -> EditScript {
    script(result) { session throws(SidecarFault) in
      let record = try SidecarRecord.json(key, in: session)
      return SidecarResult.Content(lines: [line(["id": id, "record": record ?? .null])])
    }
  }

  static func decide(
    _ key: RecordKey, keepLocal: Bool, _ id: JSONValue, _ result: SidecarResult
  ) -> EditScript {
    script(result) { session throws(SidecarFault) in
      do throws(EditFailure) {
        try session.decide(key, keepLocal: keepLocal)
      } catch {
        throw SidecarFault(error)
      }
      let record = try SidecarRecord.json(key, in: session) ?? SidecarRecord.gone(key)
      return SidecarResult.Content(lines: [line(["id": id, "record": record])])
    }
  }

  /// Lists the records of a zone. `namesThem`: for a watch, which has to know what it has shown.
  static func records(
    zone: Name, type: Name?, namesThem: Bool, _ id: JSONValue, _ result: SidecarResult
  ) -> EditScript {
    script(result) { session throws(SidecarFault) in
      let records: [Record]
      do throws(EditFailure) {
        records = try session.records(zone: zone, type: type)
      } catch {
        throw SidecarFault(error)
      }
      let list = records.map { SidecarRecord.json($0, in: session) }
      return SidecarResult.Content(
        lines: lines(list, id), read: namesThem ? records.map { ($0.name, nil) } : [])
    }
  }

  static func conflicts(zone: Name, _ id: JSONValue, _ result: SidecarResult) -> EditScript {
    script(result) { session throws(SidecarFault) in
      var list: [JSONValue] = []
      for key in session.undecided(in: zone) {
        list.append(try SidecarRecord.json(key, in: session) ?? SidecarRecord.gone(key))
      }
      return SidecarResult.Content(lines: lines(list, id))
    }
  }

  /// Reads changed records for a watch. A record of another type counts as gone.
  static func changes(zone: Name, type: Name?, _ names: [Name], _ result: SidecarResult)
    -> EditScript
  {
    script(result) { session throws(SidecarFault) in
      var read: [(name: Name, json: JSONValue?)] = []
      for name in names {
        let record: Record?
        do throws(EditFailure) {
          record = try session.record(RecordKey(zone: zone, name: name))
        } catch {
          throw SidecarFault(error)
        }
        let isWanted = type == nil || record?.type == type
        read.append((name, isWanted ? record.map { SidecarRecord.json($0, in: session) } : nil))
      }
      return SidecarResult.Content(read: read)
    }
  }

  static func line(_ value: JSONValue) -> [UInt8] { value.serialized() + [UInt8(ascii: "\n")] }

  /// Divides a list over lines; all but the last say that more follows.
  private static func lines(_ records: [JSONValue], _ id: JSONValue) -> [[UInt8]] {
    let head = JSONValue.object([JSONMember("id", id)]).serialized().dropLast()
    let start = Array(head) + Array(",\"records\":[".utf8)
    var lines: [[UInt8]] = []
    var current = start
    for record in records {
      if current.count > lineBytesMin {
        lines.append(current + Array("],\"more\":true}\n".utf8))
        current = start
      }
      if current.count > start.count { current.append(UInt8(ascii: ",")) }
      current += record.serialized()
    }
    return lines + [current + Array("]}\n".utf8)]
  }
}

extension SidecarEdit {
  fileprivate func perform(in session: EditSession, appZones: [Name]) throws(SidecarFault) {
    guard !appZones.contains(key.zone) else {
      throw SidecarFault(
        code: "refused",
        message: "the zone \(key.zone) belongs to an app of lockstep itself, which checks its own "
          + "edits; use lockstep agent, or another zone")
    }
    do throws(EditFailure) {
      let context = try session.context(for: key)
      switch change {
      case .save(let type, let fields):
        try SidecarEdit.checkKinds(fields, type, over: context.current, key.zone, session)
        try session.write(key, type: type, fields: fields)
      case .delete:
        guard let current = context.current else { return }
        try session.write(key, type: current.type, fields: nil)
      case .update(let set, let removed, let added):
        guard let current = context.current, let fields = current.fields,
          let known = JSONValue(ifJSON: fields)
        else { throw EditFailure.refused(SidecarEdit.noRecord(key)) }
        let edited = JSONValue.object(
          (Stamps.removed(from: known).setting(set).members ?? []).filter { member in
            !removed.contains { $0.utf8.elementsEqual(member.name.utf8) }
          })
        let rules = session.rules(for: current.type, in: key.zone)
        var counts: [JSONMember] = []
        for count in added {
          guard rules?[count.field] == .counter else {
            throw EditFailure.refused(SidecarEdit.noCounter(count.field, current.type))
          }
          let value = CounterField.adding(
            count.number, to: edited[count.field], by: context.device.text)
          counts.append(JSONMember(count.field, value))
        }
        let changed = edited.setting(counts)
        try SidecarEdit.checkKinds(changed, current.type, over: current, key.zone, session)
        try session.write(key, type: current.type, fields: changed)
      }
    } catch {
      var fault = SidecarFault(error)
      if case .refused(SidecarEdit.noRecord(key)) = error { fault.code = "notFound" }
      throw fault
    }
  }

  /// Checks that each field has a value of its rule's kind: another one would read as nothing.
  private static func checkKinds(
    _ fields: JSONValue, _ type: Name, over current: Record?, _ zone: Name, _ session: EditSession
  ) throws(EditFailure) {
    guard let rules = session.rules(for: type, in: zone) else { return }
    let known = current?.type == type ? current?.fields.flatMap { JSONValue(ifJSON: $0) } : nil
    guard let field = rules.wrongField(in: fields, over: known) else { return }
    let isCounter = rules[field] == .counter
    let advice = isCounter ? "; count with \"add\" of an update" : ""
    throw .refused(EditRefusal(rules.kindFault(field, of: type) + advice))
  }

  private static func noRecord(_ key: RecordKey) -> EditRefusal {
    EditRefusal("there is no record \(key.name) in the zone \(key.zone); save one first")
  }

  private static func noCounter(_ field: String, _ type: Name) -> EditRefusal {
    let name = JSONValue.string(field).text
    return EditRefusal(
      "the rules of \(type) have no counter \(name); name it in the file of --rules, on all devices"
    )
  }
}

/// Records in the form in which a program gets them.
enum SidecarRecord {
  /// Returns the record; nil if there is none that is live, or undecided, or refused.
  static func json(_ key: RecordKey, in session: EditSession) throws(SidecarFault) -> JSONValue? {
    do throws(EditFailure) {
      if let record = try session.record(key) { return json(record, in: session) }
    } catch {
      throw SidecarFault(error)
    }
    switch session.syncState(of: key) {
    case .synced, .waiting: return nil
    case .parked, .asking: return .object(gone(key).members.map { $0 + state(key, session) } ?? [])
    }
  }

  static func gone(_ key: RecordKey) -> JSONValue {
    ["zone": .string(key.zone.text), "name": .string(key.name.text), "deleted": true]
  }

  static func json(_ record: Record, in session: EditSession) -> JSONValue {
    var members = [
      JSONMember("zone", .string(record.zone.text)), JSONMember("name", .string(record.name.text)),
    ]
    members += version(record, session)
    return .object(members + state(record.key, session))
  }

  private static func version(_ record: Record, _ session: EditSession) -> [JSONMember] {
    let fields = Stamps.removed(from: record.fields.flatMap { JSONValue(ifJSON: $0) } ?? [:])
    var members = [
      JSONMember("type", .string(record.type.text)), JSONMember("fields", fields),
      JSONMember("modifiedAt", .number(JSONNumber(record.modifiedAt))),
      JSONMember("device", .string(record.device.text)),
    ]
    if let rules = session.rules(for: record.type, in: record.zone) {
      let counters = (fields.members ?? []).filter { rules[$0.name] == .counter }.map {
        JSONMember($0.name, .number(JSONNumber(CounterField.value(of: $0.value))))
      }
      if !counters.isEmpty { members.append(JSONMember("counters", .object(counters))) }
    }
    return members
  }

  private static func state(_ key: RecordKey, _ session: EditSession) -> [JSONMember] {
    switch session.syncState(of: key) {
    case .synced: [JSONMember("sync", "synced")]
    case .waiting: [JSONMember("sync", "waiting")]
    case .parked(let refusal):
      [
        JSONMember("sync", "refused"),
        JSONMember(
          "refusal",
          ["code": .string(refusal.code.rawValue), "message": .string(refusal.detail)]),
      ]
    case .asking(let relay):
      [
        JSONMember("sync", "needsDecision"),
        JSONMember(
          "relay", relay.isDeleted ? ["deleted": true] : .object(version(relay, session))),
      ]
    }
  }
}
