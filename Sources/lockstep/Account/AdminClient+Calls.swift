import LockstepClient
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWire

/// What an office is asked: each call once, for relay and store alike.
extension AdminClient {
  /// A new account without a device.
  func make(label: String) throws(CommandFailure) -> AccountOffer {
    let body: JSONValue = ["label": .string(label)]
    return try offer(HTTPCallRequest("POST", path: Self.accounts, body: body.serialized()))
  }

  /// A new pairing code.
  func pair(_ account: AccountID) throws(CommandFailure) -> AccountOffer {
    try offer(HTTPCallRequest("POST", path: Self.path(account, "pairings")))
  }

  func setPlan(_ plan: Plan, of account: AccountID) throws(CommandFailure) {
    _ = try answer(
      to: HTTPCallRequest("PUT", path: Self.path(account, "plan"), body: plan.encodedBody()))
  }

  func remove(_ account: AccountID) throws(CommandFailure) {
    var request = HTTPCallRequest("DELETE", path: Self.path(account))
    // All records of an account go, portion by portion.
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

  /// The bytes of a chunk of a file; nil where the account has no such chunk.
  func chunk(_ hash: ChunkHash, of account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let response = try response(
      to: HTTPCallRequest("GET", path: Self.path(account, "chunks", hash.text)))
    if response.status == RefusalCode.notFound.status { return nil }
    return try RelayCall.body(response.body, status: response.status)
  }

  /// All accounts, a page at a time, in the order of their ids.
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

  /// The account of this id, or else the only one of this label.
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

  /// The body of an answer that says that it went well; otherwise the relay's own words.
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
