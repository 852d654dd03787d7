import Lockstep
import LockstepClient
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepWire

/// One request to a relay, made by a command that waits for the answer. Failures are those of
/// `RelayClient`, as failures of the command.
package struct RelayCall {
  package let client: RelayClient

  package init(relay: RelayAddress, trust: Trust = .system) {
    client = RelayClient(relay: relay, trust: trust)
  }

  package var relay: RelayAddress { client.relay }

  /// Returns the body of a response with a status of 200 to 299. Throws the relay's error text for
  /// any other status.
  package func perform(_ request: HTTPCallRequest) throws(CommandFailure) -> [UInt8] {
    try CommandFailure.wrap { () throws(LockstepError) in try client.perform(request) }
  }

  /// Returns the response, whatever its status.
  package func answer(_ request: HTTPCallRequest) throws(CommandFailure) -> (
    status: Int, body: [UInt8]
  ) {
    try CommandFailure.wrap { () throws(LockstepError) in try client.answer(request) }
  }

  /// Runs one call on its own event loop until it ends.
  package static func outcome(
    of call: sending HTTPCall, trust: Trust = .system
  ) throws(CommandFailure) -> HTTPCallReport {
    do throws(SystemFault) {
      return try DevicePlatform.outcome(of: call, trust: trust)
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Returns the body of a response with a status of 200 to 299; otherwise throws the relay's error
  /// text.
  package static func body(_ body: [UInt8], status: Int) throws(CommandFailure) -> [UInt8] {
    try CommandFailure.wrap { () throws(LockstepError) in
      try RelayClient.body(body, status: status)
    }
  }

  package func decoded<Value>(
    _ body: [UInt8], _ decode: ([UInt8]) throws(Refusal) -> Value
  ) throws(CommandFailure) -> Value {
    try CommandFailure.wrap { () throws(LockstepError) in try client.decoded(body, decode) }
  }
}

/// Calls about records, which bypass the outbox of a home.
extension RelayCall {
  /// Returns nil if there is no such record, or it is deleted.
  package func record(_ name: Name, zone: Name, token: String) throws(CommandFailure) -> Record? {
    try CommandFailure.wrap { () throws(LockstepError) in
      try client.record(name, zone: zone, token: token)
    }
  }

  /// Saves mutations. Returns one result per mutation, in order.
  package func save(
    _ mutations: [Mutation], zone: Name, token: String
  ) throws(CommandFailure) -> [MutationResult] {
    try CommandFailure.wrap { () throws(LockstepError) in
      try client.save(mutations, zone: zone, token: token)
    }
  }

  /// Returns the relay time, in milliseconds since the Unix epoch.
  package func time() throws(CommandFailure) -> Int64 {
    try CommandFailure.wrap { () throws(LockstepError) in try client.time() }
  }
}

/// Calls about devices: join, pairing, list, rename, revoke.
extension RelayCall {
  /// Joins the account that issued `code`, or a new account if `code` is nil.
  package func join(code: String?, deviceName: String) throws(CommandFailure) -> JoinAnswer {
    try CommandFailure.wrap { () throws(LockstepError) in
      try client.join(code: code, deviceName: deviceName)
    }
  }

  /// Joins `account` again, for a home that has its data. Returns nil if the code is of another
  /// account.
  package func join(
    again account: AccountID, code: String, deviceName: String
  ) throws(CommandFailure) -> JoinAnswer? {
    try CommandFailure.wrap { () throws(LockstepError) in
      do throws(LockstepError) {
        return try client.join(again: account, code: code, deviceName: deviceName)
      } catch {
        if case .otherAccount = error { return nil }
        throw error
      }
    }
  }

  package func pairingOffer(
    _ request: PairingRequest = PairingRequest(), token: String
  ) throws(CommandFailure) -> PairingOffer {
    try CommandFailure.wrap { () throws(LockstepError) in
      try client.pairingOffer(request, token: token)
    }
  }

  /// Revokes a device that no home will use.
  package func discard(_ credentials: Credentials) { client.discard(credentials) }

  package func revoke(_ device: DeviceID, token: String) throws(CommandFailure) {
    try CommandFailure.wrap { () throws(LockstepError) in try client.revoke(device, token: token) }
  }

  package func devices(
    token: String, milliseconds: Int64 = Limits.answerMilliseconds
  ) throws(CommandFailure) -> DeviceList {
    try CommandFailure.wrap { () throws(LockstepError) in
      try client.devices(token: token, milliseconds: milliseconds)
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
    var members = [try join(code: nil, deviceName: "device 1").credentials]
    for number in 2..<(devices + 1) {
      let code = try pairingOffer(token: members[0].token).code
      members.append(try join(code: code, deviceName: "device \(number)").credentials)
    }
    return members
  }
}
