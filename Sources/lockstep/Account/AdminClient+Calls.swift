import LockstepClient
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWire

/// Administrative calls; relay and store share one implementation of each.
extension AdminClient {
  /// Creates an account without a device.
  func make(label: String) throws(CommandFailure) -> AccountOffer {
    let body: JSONValue = ["label": .string(label)]
    return try offer(HTTPCallRequest("POST", path: Self.accounts, body: body.serialized()))
  }

  /// Issues a new pairing code.
  func pair(_ account: AccountID) throws(CommandFailure) -> AccountOffer {
    try offer(HTTPCallRequest("POST", path: Self.path(account, "pairings")))
  }

  func setPlan(_ plan: Plan, of account: AccountID) throws(CommandFailure) {
    _ = try answer(
      to: HTTPCallRequest("PUT", path: Self.path(account, "plan"), body: plan.encodedBody()))
  }

  func remove(_ account: AccountID) throws(CommandFailure) {
    var request = HTTPCallRequest("DELETE", path: Self.path(account))
    // The relay removes the account's records in portions, which takes longer than other calls.
    request.deadlineMilliseconds = Limits.removalMilliseconds
    _ = try answer(to: request)
  }

  func devices(of account: AccountID) throws(CommandFailure) -> [Device] {
    try decoded(try answer(to: HTTPCallRequest("GET", path: Self.path(account, "devices")))) {
      body throws(Refusal) in try DeviceList.decoded(body: body).devices
    }
  }

  func changes(
    of account: AccountID, since: ChangeToken?
  ) throws(CommandFailure) -> ChangePage {
    var request = HTTPCallRequest("GET", path: Self.path(account, "changes"))
    if let since { request.query = [RequestTarget.QueryItem(name: "since", value: since.text)] }
    return try decoded(try answer(to: request)) { body throws(Refusal) in
      try ChangePage.decoded(body: body)
    }
  }

  /// Returns the bytes of a file's chunk, or nil if the account has no such chunk.
  func chunk(_ hash: ChunkHash, of account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let response = try response(
      to: HTTPCallRequest("GET", path: Self.path(account, "chunks", hash.text)))
    if response.status == RefusalCode.notFound.status { return nil }
    return try RelayCall.body(response.body, status: response.status)
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

  /// Returns the account with this id, otherwise the only one with this label.
  func account(named name: String) throws(CommandFailure) -> AccountSummary {
    if let id = AccountID(text: name) {
      let response = try response(to: HTTPCallRequest("GET", path: Self.path(id)))
      if response.status != RefusalCode.notFound.status {
        return try decoded(try RelayCall.body(response.body, status: response.status)) {
          body throws(Refusal) in try AccountSummary.decoded(body: body)
        }
      }
    }
    var found: [AccountSummary] = []
    try eachAccount { account in
      if !name.isEmpty, account.label.utf8.elementsEqual(name.utf8) { found.append(account) }
    }
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
      "\(accounts.count) accounts are called \"\(Log.oneLine(name))\": "
        + shown.joined(separator: ", ") + rest + "; name one by its id")
  }

  private static let accounts = ["v1", "admin", "accounts"]

  private static func path(_ account: AccountID, _ rest: String...) -> [String] {
    accounts + [account.text] + rest
  }

  private func offer(_ request: HTTPCallRequest) throws(CommandFailure) -> AccountOffer {
    try decoded(try answer(to: request)) { body throws(Refusal) in
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
        "the relay on \(store.text) is of another version (\(error.detail)); start it again")
    }
  }
}
