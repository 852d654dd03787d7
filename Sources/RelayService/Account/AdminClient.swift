import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Client for the owner's administrative calls. Sends them to the control socket of the relay that
/// holds the store. If no relay runs, opens the store itself and holds it until done. Both accept
/// the same calls and give the same answers. A database is always opened directly; its relays are
/// notified.
package struct AdminClient {
  let store: StoreLocation
  private let target: Target

  private enum Target {
    case relay(socket: String)
    case store(HeldStore)
  }

  struct Response {
    var status: Int
    var body: [UInt8]
  }

  /// Selects relay or store. `bus`: that of the store's relays. `makesStore`: creates the store if
  /// it does not exist yet. `attempts`: number of tries, 50 ms apart, while a relay is starting or
  /// stopping.
  package init(
    _ store: StoreLocation, _ bus: BusSettings = BusSettings(), makesStore: Bool = false,
    attempts: Int = 40
  ) throws(CommandFailure) {
    self.store = store
    guard case .folder(let folder) = store else {
      guard let held = try HeldStore(store, bus) else {
        throw CommandFailure("the store \(store.text) is in use")
      }
      target = .store(held)
      return
    }
    guard makesStore || SQLiteZoneStore.exists(in: folder) else {
      throw CommandFailure(
        "there is no store of a relay in \(folder); name the relay's folder with --store DIR")
    }
    for _ in 0..<attempts {
      if let held = try HeldStore(store) {
        target = .store(held)
        return
      }
      let socket = RelayService.controlSocket(inStore: folder)
      if try Self.isListening(socket) {
        target = .relay(socket: socket)
        return
      }
      usleep(50_000)
    }
    throw CommandFailure(
      "the store \(folder) is in use, but no relay answers there; find the process that has it "
        + "open (its id is in the file lock in that folder), and start the relay again")
  }

  /// Uses a store that is already open.
  init(_ store: StoreLocation, _ writer: any ZoneStore, _ files: any ChunkStore) {
    self.store = store
    target = .store(HeldStore(writer, files))
  }

  /// True if a running relay performs the calls.
  var asksRelay: Bool { if case .relay = target { true } else { false } }

  /// True if a relay may run on the store.
  var hasRelay: Bool {
    switch (target, store) {
    case (.relay, _), (_, .database): true
    case (.store, .folder): false
    }
  }

  /// Makes one call and returns the response, whatever its status.
  func response(to request: HTTPCallRequest) throws(CommandFailure) -> Response {
    switch target {
    case .relay(let socket): try callRelay(request, socket)
    case .store(let held): try held.perform(request)
    }
  }

  private static func isListening(_ socket: String) throws(CommandFailure) -> Bool {
    let request = HTTPCallRequest("GET", path: ["livez"])
    let call = HTTPCall(request, toSocket: socket, at: SystemClock.moment())
    if case .unreachable = try RelayCall.outcome(of: call) { return false }
    return true
  }

  private func callRelay(
    _ request: HTTPCallRequest, _ socket: String
  ) throws(CommandFailure) -> Response {
    let call = HTTPCall(request, toSocket: socket, at: SystemClock.moment())
    switch try RelayCall.outcome(of: call) {
    case .answered(let status, let body, _): return Response(status: status, body: body)
    case .unreachable(let reason), .untrusted(let reason):
      throw CommandFailure(
        "the connection to the relay on \(store.text) failed: \(reason); try again")
    case .unanswered(let reason):
      throw CommandFailure(
        "the relay on \(store.text) gave no answer (\(reason)); the request may have been "
          + "performed; check with lockstep account list, then try again")
    }
  }
}

/// Administrative calls; relay and store share one implementation of each.
extension AdminClient {
  /// Creates an account without a device, and a code for its first.
  /// `milliseconds`: time for which the code is valid; nil: ten minutes.
  package func createAccount(
    label: String, validFor milliseconds: Int64? = nil
  ) throws(CommandFailure) -> AccountOffer {
    let body: JSONValue = ["label": .string(label)]
    return try offer(
      HTTPCallRequest(
        "POST", path: Self.accounts, body: Self.body(body, milliseconds).serialized()),
      label: label)
  }

  /// Issues a new pairing code. `milliseconds`: time for which it is valid; nil: ten minutes.
  package func issuePairing(
    for account: AccountID, validFor milliseconds: Int64? = nil
  ) throws(CommandFailure) -> AccountOffer {
    let body = Self.body([:], milliseconds)
    return try offer(
      HTTPCallRequest("POST", path: Self.path(account, "pairings"), body: body.serialized()))
  }

  private static func body(_ body: JSONValue, _ milliseconds: Int64?) -> JSONValue {
    body.setting("expiresIn", to: milliseconds.map { JSONValue(integerLiteral: $0 / 1_000) })
  }

  package func setPlan(_ plan: Plan, of account: AccountID) throws(CommandFailure) {
    _ = try answer(
      to: HTTPCallRequest("PUT", path: Self.path(account, "plan"), body: plan.encodedBody()))
  }

  /// Returns the address of the relay to which the account has moved, or nil if it has not.
  package func relay(ofDeparted account: AccountID) throws(CommandFailure) -> String? {
    let response = try response(to: HTTPCallRequest("GET", path: Self.path(account)))
    return Refusal.problem(response.body, status: response.status)?.relay
  }

  package func removeAccount(_ account: AccountID) throws(CommandFailure) {
    var request = HTTPCallRequest("DELETE", path: Self.path(account))
    // The relay removes the account's records in portions, which takes longer than other calls.
    request.deadlineMilliseconds = Limits.removalMilliseconds
    _ = try answer(to: request)
  }

  package func devices(of account: AccountID) throws(CommandFailure) -> [Device] {
    try decoded(try answer(to: HTTPCallRequest("GET", path: Self.path(account, "devices")))) {
      body throws(Refusal) in try DeviceList.decoded(body: body).devices
    }
  }

  package func changes(
    of account: AccountID, since: ChangeToken?
  ) throws(CommandFailure) -> ChangePage {
    var request = HTTPCallRequest("GET", path: Self.path(account, "changes"))
    if let since { request.query = [RequestTarget.QueryItem(name: "since", value: since.text)] }
    return try decoded(try answer(to: request)) { body throws(Refusal) in
      try ChangePage.decoded(body: body)
    }
  }

  /// Returns the bytes of a file's chunk, or nil if the account has no such chunk.
  package func chunk(_ hash: ChunkHash, of account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let response = try response(
      to: HTTPCallRequest("GET", path: Self.path(account, "chunks", hash.text)))
    if response.status == RefusalCode.notFound.status { return nil }
    return try RelayCall.body(response.body, status: response.status)
  }

  /// Returns the relay's keys for push services.
  func wakeKeys() throws(CommandFailure) -> WakeKeyList { try wakeKeys(by: "GET") }

  /// Makes a new key for push services. Returns all that are in force.
  func addWakeKey() throws(CommandFailure) -> WakeKeyList { try wakeKeys(by: "POST") }

  private func wakeKeys(by method: String) throws(CommandFailure) -> WakeKeyList {
    let request = HTTPCallRequest(method, path: ["v1", "admin", "wake-keys"])
    return try decoded(try answer(to: request)) { body throws(Refusal) in
      try WakeKeyList.decoded(body: body)
    }
  }

  /// Makes a one-time code for the owner's page.
  func issueAdminCode() throws(CommandFailure) -> AdminCodeAnswer {
    let request = HTTPCallRequest("POST", path: ["v1", "admin", "codes"])
    return try decoded(try answer(to: request)) { body throws(Refusal) in
      try AdminCodeAnswer.decoded(body: body)
    }
  }

  /// Visits all accounts in the order of their ids, one page at a time.
  func eachAccount(
    _ visit: (AccountSummary) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    var after: AccountID?
    while true {
      var request = HTTPCallRequest("GET", path: Self.accounts)
      if let after { request.query = [RequestTarget.QueryItem(name: "after", value: after.text)] }
      let list = try decoded(try answer(to: request)) { body throws(Refusal) in
        try AccountList.decoded(body: body)
      }
      for account in list.accounts { try visit(account) }
      guard list.more, let last = list.accounts.last else { return }
      after = last.id
    }
  }

  /// Returns the failure of a new account whose label is in use.
  private func labelTaken(_ label: String) throws(CommandFailure) -> CommandFailure {
    let accounts = try accounts(labelled: label)
    guard let found = accounts.first else {
      return CommandFailure("an account \"\(Log.oneLine(label))\" was just removed; try again")
    }
    let devices = found.devices == 1 ? "1 device" : "\(found.devices) devices"
    return CommandFailure(
      "there is an account \(AccountCommand.name(of: found, devices)) already: let a device join "
        + "it with lockstep account pair \(found.id.text), or give the new one another name; "
        + "nothing was created")
  }

  /// Returns the accounts with this label. Accounts of older programs may share one.
  package func accounts(labelled label: String) throws(CommandFailure) -> [AccountSummary] {
    var found: [AccountSummary] = []
    try eachAccount { if AccountLabel.areSame($0.label, label) { found.append($0) } }
    return found
  }

  /// Returns the account with this id, otherwise the only one with this label. Of several that
  /// share a label, the one that spells it like this.
  package func account(named name: String) throws(CommandFailure) -> AccountSummary {
    if let id = AccountID(text: name) {
      let response = try response(to: HTTPCallRequest("GET", path: Self.path(id)))
      if response.status != RefusalCode.notFound.status {
        return try decoded(try RelayCall.body(response.body, status: response.status)) {
          body throws(Refusal) in try AccountSummary.decoded(body: body)
        }
      }
    }
    var found = try accounts(labelled: name)
    let exact = found.filter { $0.label.utf8.elementsEqual(name.utf8) }
    if !exact.isEmpty { found = exact }
    if found.count > 1 { throw Self.ambiguous(name, found) }
    guard let account = found.first else {
      throw CommandFailure(
        "there is no account \"\(Log.oneLine(name))\" in \(store.text); lockstep account list shows all"
      )
    }
    return account
  }

  private static func ambiguous(_ name: String, _ accounts: [AccountSummary]) -> CommandFailure {
    let shown = accounts.prefix(10).map { account in
      "\(account.id.text) (made \(CalendarTime.text(account.madeAt)))"
    }
    let rest = accounts.count > shown.count ? ", and \(accounts.count - shown.count) more" : ""
    return CommandFailure(
      "\(accounts.count) accounts have the label \"\(Log.oneLine(name))\": "
        + shown.joined(separator: ", ") + rest + "; name one by its id")
  }

  private static let accounts = ["v1", "admin", "accounts"]

  private static func path(_ account: AccountID, _ rest: String...) -> [String] {
    accounts + [account.text] + rest
  }

  /// `label`: that of the account to create.
  private func offer(
    _ request: HTTPCallRequest, label: String = ""
  ) throws(CommandFailure) -> AccountOffer {
    let response = try response(to: request)
    // A new account is refused with this status for no other reason.
    if !label.isEmpty, response.status == RefusalCode.labelTaken.status {
      throw try labelTaken(label)
    }
    let body = try RelayCall.body(response.body, status: response.status)
    return try decoded(body) { body throws(Refusal) in
      try AccountOffer.decoded(body: body)
    }
  }

  /// Returns the body of a response with a status of 200 to 299; otherwise throws the relay's error
  /// text.
  private func answer(to request: HTTPCallRequest) throws(CommandFailure) -> [UInt8] {
    let response = try response(to: request)
    return try RelayCall.body(response.body, status: response.status)
  }

  private func decoded<Value>(
    _ body: [UInt8], _ decode: ([UInt8]) throws(Refusal) -> Value
  ) throws(CommandFailure) -> Value {
    do throws(Refusal) {
      return try decode(body)
    } catch {
      throw CommandFailure(
        "the relay on \(store.text) has another version (\(error.detail)); restart it")
    }
  }
}
