import LockstepJSON
import LockstepModel
import LockstepStorage

/// The answer to `GET /v1/admin/accounts`: `{"accounts":[…],"more"}`.
package struct AccountList: Hashable, Sendable {
  package var accounts: [AccountSummary]
  /// True if more accounts follow the last one.
  package var more: Bool

  package init(_ accounts: [AccountSummary], more: Bool) {
    self.accounts = accounts
    self.more = more
  }

  package func encodedBody() -> [UInt8] {
    let body: JSONValue = ["accounts": .array(accounts.map(\.json)), "more": .bool(more)]
    return body.serialized()
  }

  package static func decoded(body: [UInt8]) throws(Refusal) -> AccountList {
    let value = try AdminBody.parsed(body)
    guard let elements = value["accounts"]?.array, let more = value["more"]?.bool else {
      throw Refusal(.badMessage, "`accounts` must be a list of accounts, and `more` true or false.")
    }
    var accounts: [AccountSummary] = []
    for element in elements { accounts.append(try AccountSummary(json: element)) }
    return AccountList(accounts, more: more)
  }
}

extension AccountSummary {
  /// `{"accountID","label","plan","madeAt","devices","newestTag","chunkBytes",
  /// "recordBytes","records","lastSeen","arriving"?}`; `lastSeen` is null if the account has no
  /// device.
  package var json: JSONValue {
    let json: JSONValue = [
      "accountID": .string(id.text), "label": .string(label), "plan": plan.json,
      "madeAt": JSONValue(integerLiteral: madeAt),
      "devices": JSONValue(integerLiteral: Int64(devices)),
      "newestTag": JSONValue(integerLiteral: newestTag),
      "chunkBytes": JSONValue(integerLiteral: chunkBytes),
      "recordBytes": JSONValue(integerLiteral: recordBytes),
      "records": JSONValue(integerLiteral: records),
      "lastSeen": lastSeen.map { JSONValue(integerLiteral: $0) } ?? .null,
    ]
    return isArriving ? json.setting("arriving", to: .bool(true)) : json
  }

  package static func decoded(body: [UInt8]) throws(Refusal) -> AccountSummary {
    try AccountSummary(json: try AdminBody.parsed(body))
  }

  fileprivate init(json: JSONValue) throws(Refusal) {
    guard let id = json["accountID"]?.string.flatMap(AccountID.init(text:)),
      let label = json["label"]?.string, let madeAt = json["madeAt"]?.int64,
      let devices = json["devices"]?.int64.flatMap(Int.init(exactly:)),
      let newestTag = json["newestTag"]?.int64, let chunkBytes = json["chunkBytes"]?.int64,
      let plan = json["plan"]
    else {
      throw Refusal(.badMessage, "An account must have an id, a label, a plan and its figures.")
    }
    self.init(
      id: id, label: label, plan: try Plan(json: plan), madeAt: madeAt, devices: devices,
      newestTag: newestTag, chunkBytes: chunkBytes,
      recordBytes: json["recordBytes"]?.int64 ?? 0, records: json["records"]?.int64 ?? 0,
      lastSeen: json["lastSeen"]?.int64, isArriving: json["arriving"]?.bool ?? false)
  }
}

extension Plan {
  /// `{"zones":["timer",…]}`, or `{"zones":null}` for all zones; with `recordBytes` and `records`
  /// if the account has limits of its own.
  package var json: JSONValue {
    var json: JSONValue = ["zones": zones.map { JSONValue($0) } ?? .null]
    if let bytes { json = json.setting("recordBytes", to: JSONValue(integerLiteral: bytes)) }
    if let records { json = json.setting("records", to: JSONValue(integerLiteral: records)) }
    return json
  }

  package func encodedBody() -> [UInt8] { json.serialized() }

  package static func decoded(body: [UInt8]) throws(Refusal) -> Plan {
    try Plan(json: try AdminBody.parsed(body))
  }

  /// Decodes a plan. Its zones are sorted and without duplicates.
  fileprivate init(json: JSONValue) throws(Refusal) {
    guard let zones = json["zones"] else {
      throw Refusal(.badRequest, "`zones` is required: a list of zones, or null for all.")
    }
    let bytes = try Plan.limit("recordBytes", in: json)
    let records = try Plan.limit("records", in: json)
    if zones.isNull {
      self.init(zones: nil, bytes: bytes, records: records)
      return
    }
    guard let elements = zones.array, elements.count <= Limits.planZones else {
      throw Refusal(
        .badRequest, "`zones` must be a list of at most \(Limits.planZones) zones, or null for all."
      )
    }
    var names: Set<Name> = []
    for element in elements {
      guard let name = element.string.flatMap(Name.init) else {
        throw Refusal(
          .badName,
          "A zone's name must be 1 to \(Limits.nameBytes) bytes of UTF-8 without control characters."
        )
      }
      names.insert(name)
    }
    self.init(zones: names.sorted(), bytes: bytes, records: records)
  }

  /// Returns nil if the limit is left out: the relay's limit for every account applies.
  private static func limit(_ name: String, in json: JSONValue) throws(Refusal) -> Int64? {
    guard let value = json[name], !value.isNull else { return nil }
    guard let number = value.int64, (0...1 << 50).contains(number) else {
      throw Refusal(.badRequest, "`\(name)` must be a whole number from 0, or left out.")
    }
    return number
  }
}

/// Parses the bodies of the owner's calls as generic JSON, because these calls are few and rare.
enum AdminBody {
  static func parsed(_ body: [UInt8]) throws(Refusal) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: body)
    } catch {
      throw Refusal(.badJSON, "The body is not valid JSON: \(error).")
    }
  }
}
