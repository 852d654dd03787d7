import LockstepClient
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepWire
import Synchronization

/// One request to a relay, made by a command that waits for the answer.
package struct RelayCall {
  package let relay: RelayAddress
  /// Trust policy for the relay's certificate, if the address uses TLS.
  package var trust: Trust

  package init(relay: RelayAddress, trust: Trust = .system) {
    self.relay = relay
    self.trust = trust
  }

  /// Returns the body of a response with a status of 200 to 299. Throws the relay's error text for
  /// any other status.
  package func perform(_ request: HTTPCallRequest) throws(CommandFailure) -> [UInt8] {
    let (status, body) = try answer(request)
    return try Self.body(body, status: status)
  }

  /// Returns the response, whatever its status.
  package func answer(_ request: HTTPCallRequest) throws(CommandFailure) -> (
    status: Int, body: [UInt8]
  ) {
    let report = try Self.outcome(
      of: HTTPCall(request, to: relay, at: SystemClock.moment()), trust: trust)
    switch report {
    case .answered(let status, let body, _): return (status, body)
    case .unreachable(let reason):
      throw CommandFailure(
        "the relay at \(relay.url) cannot be reached: \(reason); is it running, and is that its "
          + "address?")
    case .untrusted(let reason):
      throw CommandFailure("\(relay.url) is not trusted, and nothing was sent to it: \(reason)")
    case .unanswered(let reason):
      throw CommandFailure("the relay at \(relay.url) gave no answer: \(reason); try again")
    }
  }

  /// Runs one call on its own event loop until it ends.
  package static func outcome(
    of call: sending HTTPCall, trust: Trust = .system
  ) throws(CommandFailure) -> HTTPCallReport {
    let outcome = Mutex<HTTPCallReport?>(nil)
    do throws(SystemFault) {
      var settings = GroupSettings<HTTPCallReport> { _, report in
        outcome.withLock { $0 = report }
      }
      settings.isLastReport = { _ in true }
      settings.trust = trust
      let group = try NodeGroup<HTTPCall>(count: 1, settings)
      try group.add(call)
      _ = try group.run()
    } catch {
      throw CommandFailure("\(error)")
    }
    return outcome.withLock { $0 } ?? .unanswered(reason: "the call was interrupted")
  }

  /// Returns the body of a response with a status of 200 to 299; otherwise throws the relay's error
  /// text.
  package static func body(_ body: [UInt8], status: Int) throws(CommandFailure) -> [UInt8] {
    if (200..<300).contains(status) { return body }
    throw CommandFailure(Refusal.decoded(problem: body, status: status).detail)
  }
}

/// Calls about devices: join, pairing, list, rename, revoke.
extension RelayCall {
  /// Joins the account that issued `code`, or a new account if `code` is nil.
  package func join(code: String?, deviceName: String) throws(CommandFailure) -> Credentials {
    let path = ["v1", code == nil ? "accounts" : "devices"]
    let body = try perform(
      HTTPCallRequest("POST", path: path, body: joinBody(code, nil, deviceName)))
    return try decoded(body) { body throws(Refusal) in try Credentials.decoded(body: body) }
  }

  /// Joins `account` again, for a home that has its data. Returns nil if the code is of another
  /// account; the code stays valid then.
  package func join(
    again account: AccountID, code: String, deviceName: String
  ) throws(CommandFailure) -> Credentials? {
    let (status, body) = try answer(
      HTTPCallRequest(
        "POST", path: ["v1", "devices"], body: joinBody(code, account, deviceName)))
    if status == RefusalCode.otherAccount.status,
      Refusal.decoded(problem: body, status: status).code == .otherAccount
    {
      return nil
    }
    return try decoded(try Self.body(body, status: status)) { body throws(Refusal) in
      try Credentials.decoded(body: body)
    }
  }

  private func joinBody(_ code: String?, _ account: AccountID?, _ deviceName: String) -> [UInt8] {
    let description = DeviceDescription(
      deviceName: deviceName, platform: "linux", appVersion: LockstepVersion.current)
    return JoinRequest(code: code, account: account, description: description).encodedBody()
  }

  package func pairingOffer(token: String) throws(CommandFailure) -> PairingOffer {
    try decoded(try perform(HTTPCallRequest("POST", path: ["v1", "pairings"], token: token))) {
      body throws(Refusal) in try PairingOffer.decoded(body: body)
    }
  }

  package func revoke(_ device: DeviceID, token: String) throws(CommandFailure) {
    _ = try perform(HTTPCallRequest("DELETE", path: ["v1", "devices", device.text], token: token))
  }

  package func devices(
    token: String, milliseconds: Int64 = Limits.answerMilliseconds
  ) throws(CommandFailure) -> DeviceList {
    var request = HTTPCallRequest("GET", path: ["v1", "devices"], token: token)
    request.deadlineMilliseconds = milliseconds
    return try decoded(try perform(request)) {
      body throws(Refusal) in try DeviceList.decoded(body: body)
    }
  }

  /// Returns the change token of a new account, all of whose changes fit in one page.
  package func newestToken(_ token: String) throws(CommandFailure) -> ChangeToken {
    let request = HTTPCallRequest("GET", path: ["v1", "changes"], token: token)
    return try decoded(try perform(request)) { body throws(Refusal) in
      try ChangePage.decoded(body: body).token
    }
  }

  /// Renames a device. Returns the device as JSON.
  package func rename(_ device: String, to name: String, token: String) throws(CommandFailure)
    -> [UInt8]
  {
    let body: JSONValue = ["deviceName": .string(name)]
    return try perform(
      HTTPCallRequest(
        "PATCH", path: ["v1", "devices", device], token: token, body: body.serialized()))
  }

  /// Creates an account with that many devices, for benches and simulations.
  package func account(devices: Int) throws(CommandFailure) -> [Credentials] {
    var members = [try join(code: nil, deviceName: "device 1")]
    for number in 2..<(devices + 1) {
      let code = try pairingOffer(token: members[0].token).code
      members.append(try join(code: code, deviceName: "device \(number)"))
    }
    return members
  }

  package func decoded<Value>(
    _ body: [UInt8], _ decode: ([UInt8]) throws(Refusal) -> Value
  ) throws(CommandFailure) -> Value {
    do throws(Refusal) {
      return try decode(body)
    } catch {
      throw CommandFailure(
        "what answers at \(relay.url) is not a Lockstep relay (\(error.detail))")
    }
  }
}
