import LockstepModel
import LockstepWire

/// Data of the home that an uplink needs.
struct HomeCredentials: Hashable, Sendable {
  var relay: RelayAddress
  var account: AccountID
  var device: DeviceID
  var token: String
}

/// The uplink to the relay that is in use: a WebSocket, or HTTP requests. At most one is open.
struct Uplink {
  private(set) var socket: SocketUplink?
  private(set) var http: HTTPUplink?

  init(_ socket: SocketUplink) { self.socket = socket }
  init(_ http: HTTPUplink) { self.http = http }

  var deadline: Instant? { socket?.deadline ?? http?.deadline }

  func owns(_ id: ConnectionID) -> Bool { socket?.id == id || http?.owns(id) == true }

  // MARK: driver events

  mutating func opened(_ id: ConnectionID, at now: Instant, _ output: inout UplinkOutput) {
    socket?.opened(at: now, &output)
    http?.opened(id, at: now, &output)
  }

  mutating func received(
    _ id: ConnectionID, _ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput
  ) {
    output.countReceived(bytes.byteCount)
    socket?.received(bytes, at: now, &output)
    http?.received(id, bytes, at: now, &output)
  }

  mutating func closed(
    _ id: ConnectionID, _ cause: CloseCause, at now: Instant, _ output: inout UplinkOutput
  ) {
    socket?.closed(cause, &output)
    http?.closed(id, cause, at: now, &output)
  }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) {
    socket?.expired(at: now, &output)
    http?.expired(at: now, &output)
  }

  // MARK: requests of the agent

  mutating func greet(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    socket?.greet(since: since, at: now, &output)
  }

  mutating func save(_ request: SaveRequest, at now: Instant, _ output: inout UplinkOutput) {
    socket?.save(request, at: now, &output)
    http?.save(request, at: now, &output)
  }

  mutating func fetch(since: ChangeToken?, at now: Instant, _ output: inout UplinkOutput) {
    socket?.fetch(since: since, at: now, &output)
    http?.fetch(since: since, at: now, &output)
  }

  /// HTTP only: sends a request that is held until there is something after `since`.
  mutating func wait(
    since: ChangeToken, milliseconds: Int64, at now: Instant, _ output: inout UplinkOutput
  ) {
    http?.wait(since: since, milliseconds: milliseconds, at: now, &output)
  }

  /// HTTP only: opens a stream of events that begins at `since`.
  mutating func listen(since: ChangeToken, at now: Instant, _ output: inout UplinkOutput) {
    http?.listen(since: since, at: now, &output)
  }

  mutating func measureTime(at now: Instant, _ output: inout UplinkOutput) {
    socket?.measureTime(at: now, &output)
    http?.measureTime(at: now, &output)
  }

  mutating func close(_ output: inout UplinkOutput) {
    socket?.close(&output)
    http?.close(&output)
  }
}
