import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepSealing
import LockstepStorage
import LockstepWire

/// Request of a command to the process that holds a home, as a line of JSON on the home's socket.
/// Each request is answered by one line, `watch` by one line per change until the socket closes.
package enum HomeRequest: Equatable {
  /// Order of a person to an app, in the app's own form. Answered with the app's result, once all
  /// resulting changes are durable. With terms, a second line follows, with the sync status; the
  /// first one announces it by `statusFollows`.
  case order(app: String, JSONValue, OrderTerms? = nil)
  /// Query to an app, answered with its view.
  case show(app: String, JSONValue)
  /// View that is sent again after every change; with ticks, also when it changes because time
  /// passes.
  case watch(app: String, JSONValue, isTicking: Bool)
  case status
  /// Names of the devices, as the relay reported them to a command. Answered at once.
  case names([DeviceID: String])
  /// Switches the sync of a zone on or off; answered once that is durable.
  case setSyncing(zone: Name, Bool)
  /// Keys that the home has from now on; answered once that is durable. `taking`: zone whose plain
  /// records at the relay are taken (`PlainRecords.taken`). `deviceSecret`: random bytes for the
  /// device's own key, if it has none.
  case seal(SealingKeys, taking: Name? = nil, deviceSecret: [UInt8])
  /// Accepts the records that other devices have made for an app; `wipes`: deletes them.
  case answerRestore(app: String, wipes: Bool = false)
  /// Syncs now. Answered when all is synced, nothing more can be done, or the time is up.
  case sync(milliseconds: Int64)
  /// Relay, token and cursor of this home, for requests that the command makes itself.
  case credentials
  /// Request to the mirror, which keeps real files the same as the account's; the mirror answers
  /// it.
  case mirror(JSONValue)
  /// State of the mirror. Answered at once, whatever the mirror is doing.
  case mirrorStatus
  /// State of the mirror, sent again after every change, between lines about the sync.
  case watchMirror
  /// Request to the part of the process that is woken by pushes; it answers. Only
  /// `lockstep agent run --wake` has one.
  case wakes(JSONValue)

  /// True if a repeated request has the same effect as a single one.
  package var mayBeRepeated: Bool {
    switch self {
    case .order: false
    case .show, .watch, .status, .names, .setSyncing, .seal, .answerRestore, .sync, .credentials,
      .mirror, .mirrorStatus, .watchMirror, .wakes:
      true
    }
  }

  package init?(_ line: JSONValue) {
    let app = line["app"]?.string
    switch line["verb"]?.string {
    case "order":
      guard let app, let order = line["order"], order.members != nil else { return nil }
      guard let terms = line["terms"] else {
        self = .order(app: app, order)
        return
      }
      guard let terms = OrderTerms(json: terms) else { return nil }
      self = .order(app: app, order, terms)
    case "show":
      guard let app, let question = line["question"], question.members != nil else { return nil }
      self = .show(app: app, question)
    case "watch":
      guard let app, let question = line["question"], question.members != nil else { return nil }
      self = .watch(app: app, question, isTicking: line["ticks"]?.bool ?? false)
    case "status": self = .status
    case "names":
      guard let members = line["names"]?.members, members.count <= Limits.devicesPerAccount
      else { return nil }
      var names: [DeviceID: String] = [:]
      for member in members {
        guard let device = DeviceID(text: member.name), let name = member.value.string
        else { return nil }
        names[device] = name
      }
      self = .names(names)
    case "syncing":
      guard let zone = line["zone"]?.string.flatMap({ Name($0) }), let isOn = line["on"]?.bool
      else { return nil }
      self = .setSyncing(zone: zone, isOn)
    case "seal":
      guard let keys = line["keys"].flatMap({ SealingKeys(stored: $0) }),
        let secret = line["deviceSecret"]?.string.flatMap({ Base64.decodeURL($0) }),
        secret.count == X25519PrivateKey.byteCount
      else { return nil }
      let zone = line["taking"]?.string.flatMap { Name($0) }
      self = .seal(keys, taking: zone, deviceSecret: secret)
    case "restore":
      guard let app else { return nil }
      self = .answerRestore(app: app, wipes: line["wipes"]?.bool ?? false)
    case "sync":
      guard let milliseconds = HomeRequest.wait(line["milliseconds"]) else { return nil }
      self = .sync(milliseconds: milliseconds)
    case "credentials": self = .credentials
    case "mirror":
      guard let request = line["request"], request.members != nil else { return nil }
      self = .mirror(request)
    case "mirrorStatus": self = .mirrorStatus
    case "watchMirror": self = .watchMirror
    case "wakes":
      guard let request = line["request"], request.members != nil else { return nil }
      self = .wakes(request)
    default: return nil
    }
  }

  /// Returns a number of milliseconds to wait for the relay; nil if it is not one.
  fileprivate static func wait(_ json: JSONValue?) -> Int64? {
    json?.int64.flatMap { (0...60_000).contains($0) ? $0 : nil }
  }

  /// The same request, with its answer in this language. The process that holds the home may have
  /// been started in another one. A request without a language is answered in English.
  package func answered(in language: Language) -> HomeRequest {
    guard language != .english else { return self }
    func inLanguage(_ request: JSONValue) -> JSONValue {
      request.setting("language", to: .string(language.rawValue))
    }
    return switch self {
    case .order(let app, let order, let terms): .order(app: app, inLanguage(order), terms)
    case .show(let app, let question): .show(app: app, inLanguage(question))
    case .watch(let app, let question, let isTicking):
      .watch(app: app, inLanguage(question), isTicking: isTicking)
    case .mirror(let request): .mirror(inLanguage(request))
    case .status, .names, .setSyncing, .seal, .answerRestore, .sync, .credentials, .mirrorStatus,
      .watchMirror, .wakes:
      self
    }
  }

  package var line: JSONValue {
    switch self {
    case .order(let app, let order, nil):
      ["verb": "order", "app": .string(app), "order": order]
    case .order(let app, let order, let terms?):
      ["verb": "order", "app": .string(app), "order": order, "terms": terms.json]
    case .show(let app, let question):
      ["verb": "show", "app": .string(app), "question": question]
    case .watch(let app, let question, let isTicking):
      [
        "verb": "watch", "app": .string(app), "question": question, "ticks": .bool(isTicking),
      ]
    case .status: ["verb": "status"]
    case .names(let names):
      [
        "verb": "names",
        "names": .object(
          names.sorted { $0.key < $1.key }.map { JSONMember($0.key.text, .string($0.value)) }),
      ]
    case .setSyncing(let zone, let isOn):
      ["verb": "syncing", "zone": .string(zone.text), "on": .bool(isOn)]
    case .seal(let keys, let zone, let secret):
      JSONValue.object([
        JSONMember("verb", "seal"), JSONMember("keys", keys.storedValue),
        JSONMember("deviceSecret", .string(Base64.encodeURL(secret))),
      ]).setting("taking", to: zone.map { .string($0.text) })
    case .answerRestore(let app, let wipes):
      ["verb": "restore", "app": .string(app), "wipes": .bool(wipes)]
    case .sync(let milliseconds):
      ["verb": "sync", "milliseconds": .number(JSONNumber(milliseconds))]
    case .credentials: ["verb": "credentials"]
    case .mirror(let request): ["verb": "mirror", "request": request]
    case .mirrorStatus: ["verb": "mirrorStatus"]
    case .watchMirror: ["verb": "watchMirror"]
    case .wakes(let request): ["verb": "wakes", "request": request]
    }
  }
}

/// Wishes of a command beside the order, so that it needs one request only.
package struct OrderTerms: Hashable, Sendable {
  /// Milliseconds for a sync before the order, which then applies to the newest state; 0: none.
  package var before: Int64
  /// Milliseconds to wait, after the order, until it is synced. There is no such wait if the sync
  /// before did not reach the relay.
  package var after: Int64
  /// True if a person can be asked: if the app needs a decision first, the order is not performed,
  /// and the only answer is the status.
  package var asksFirst: Bool

  package init(before: Int64, after: Int64, asksFirst: Bool) {
    self.before = before
    self.after = after
    self.asksFirst = asksFirst
  }

  fileprivate init?(json: JSONValue) {
    guard let before = HomeRequest.wait(json["before"]),
      let after = HomeRequest.wait(json["after"]),
      let asksFirst = json["asksFirst"]?.bool
    else { return nil }
    self.init(before: before, after: after, asksFirst: asksFirst)
  }

  fileprivate var json: JSONValue {
    [
      "before": .number(JSONNumber(before)), "after": .number(JSONNumber(after)),
      "asksFirst": .bool(asksFirst),
    ]
  }
}

/// Reports of a home's node to its process.
package enum HomeReport: Sendable {
  case failed(StorageError)
  case stopped
  /// Report of the agent for the mirror, which works beside it: results of orders, changes, and the
  /// sync status.
  case agentReport(AgentReport)
  /// Request of a command to the mirror, which answers by `HomeOrder.answer`.
  case mirrorRequest(ConnectionID, JSONValue)
  /// Request of a command about wakes, answered by `HomeOrder.answer`.
  case wakesRequest(ConnectionID, JSONValue)
  /// A command requests a view of an app.
  case viewRequested
}

/// Orders of the mirror to a home's node.
package enum HomeOrder: Sendable {
  /// Order to the agent. The mirror assigns its number: `HomeOrder.firstNumber` or above.
  case agent(AgentOrder)
  case answer(ConnectionID, HomeReply)
  /// State of the mirror, for commands that ask for it and for clients that watch.
  case mirrorState(JSONValue)

  /// First order number of the mirror; the node numbers its own orders from 1.
  package static let firstNumber: UInt64 = 1 << 63
}

/// Answer to a request: a value, or one sentence that explains the failure.
package enum HomeReply: Equatable {
  case success(JSONValue)
  case failure(String)

  package init?(_ line: JSONValue) {
    if let value = line["answer"] {
      self = .success(value)
    } else if let reason = line["error"]?.string ?? line["error"]?["message"]?.string {
      self = .failure(reason)
    } else {
      return nil
    }
  }

  package var line: JSONValue {
    switch self {
    case .success(let value): .object([JSONMember("answer", value)])
    case .failure(let reason): .object([JSONMember("error", .string(reason))])
    }
  }
}

/// An app's view as the process that holds the home sends it.
package struct HomeView {
  package let json: JSONValue
  package let lines: [String]

  /// Rows for a person, one per line.
  package var text: String { lines.joined(separator: "\n") }

  package init(_ answer: JSONValue) {
    json = answer["view"] ?? answer
    lines = (answer["lines"]?.array ?? []).compactMap(\.string)
  }
}
