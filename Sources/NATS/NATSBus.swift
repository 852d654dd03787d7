import LockstepEventLoop
import LockstepModel
import LockstepStorage

/// The bus over NATS: core NATS, which keeps no message. Its servers pass a message on to the
/// relays that have subscribed to its subject:
///
///     lockstep.<store>.all        to all relays of a store
///     lockstep.<store>.<relay>    to one relay, sixteen hexadecimal digits
///
/// A relay subscribes to both, and so also receives its own beats, each second. A connection on
/// which nothing arrives counts as lost. While there is none, the servers are tried in turn.
package final class NATSBus: RelayBus {
  private struct Link {
    let connection: PatientConnection
    var session: NATSSession
    let openedAt: Instant
    var heardAt: Instant
  }

  package let relay: UInt64
  private let address: NATSAddress
  private let login: NATSSession.Login?
  private let trust: Trust
  private let prefix: String
  private let waker: ThreadWakeup
  private var link: Link?
  /// Index of the server to try next.
  private var server = 0
  private var nextAttempt: Instant
  /// Events that the next `wait` reports.
  private var pending: [BusEvent] = []
  /// Reasons for which there is no connection, as reported since there was one.
  private var reported: Set<String> = []
  private var isClosed = false

  /// The first `wait` connects; if that fails, it reports it, and a later one tries again. `store`:
  /// distinguishes the relays of different stores on the same servers; letters and digits only.
  package init(
    _ address: NATSAddress, login: NATSSession.Login?, trust: Trust = .system, store: String,
    relay: UInt64
  ) throws(SystemFault) {
    self.relay = relay
    self.address = address
    self.login = login
    self.trust = trust
    prefix = "lockstep.\(store)."
    waker = try ThreadWakeup()
    nextAttempt = SystemClock.instant()
  }

  package var wakeup: any BusWakeup { waker }

  package func close() {
    isClosed = true
    link = nil
  }

  package func wait(milliseconds: Int64) -> [BusEvent] {
    let end = SystemClock.instant().advanced(milliseconds: milliseconds)
    if !pending.isEmpty { return takePending() }
    if link == nil, !isClosed, SystemClock.instant() >= nextAttempt { connect() }
    if !pending.isEmpty { return takePending() }
    guard link != nil else {
      waker.wait(until: isClosed ? end : min(end, nextAttempt))
      return []
    }
    do throws(NATSBusFault) {
      return try receive(until: end)
    } catch {
      drop(error.text)
      return takePending()
    }
  }

  package func send(_ messages: [BusMessage]) -> Bool {
    if messages.isEmpty { return link != nil }
    guard link != nil else { return false }
    for message in messages {
      link?.session.publish(Array(message.text.utf8), to: subject(of: message.receiver))
    }
    do throws(NATSBusFault) {
      try flush(until: SystemClock.instant().advanced(milliseconds: NATSLimits.sendMilliseconds))
      return true
    } catch {
      drop(error.text)
      return false
    }
  }

  private func subject(of receiver: BusMessage.Receiver) -> String {
    switch receiver {
    case .all: prefix + "all"
    case .relay(let relay): prefix + HexText.text(relay)
    }
  }

  private func takePending() -> [BusEvent] {
    defer { pending = [] }
    return pending
  }

  // MARK: The connection

  private func receive(until end: Instant) throws(NATSBusFault) -> [BusEvent] {
    guard var link else { return [] }
    let silent = link.heardAt.advanced(milliseconds: NATSLimits.silenceMilliseconds)
    let bytes: [UInt8]
    do throws(PatientFault) {
      bytes = try link.connection.read(until: min(end, silent), or: waker)
    } catch {
      throw NATSBusFault(error)
    }
    let now = SystemClock.instant()
    guard !bytes.isEmpty else {
      if now >= silent { throw NATSBusFault(text: "nothing arrives on it any more") }
      return []
    }
    link.heardAt = now
    let messages: [NATSSession.Message]
    do throws(NATSFault) {
      messages = try link.session.receive(bytes)
    } catch {
      throw NATSBusFault(text: "\(error)")
    }
    self.link = link
    try flush(until: now.advanced(milliseconds: NATSLimits.sendMilliseconds))
    return messages.compactMap { message in
      BusPayload(text: String(decoding: message.payload, as: UTF8.self)).map { .received($0) }
    }
  }

  /// Sends what the session has to say.
  private func flush(until end: Instant) throws(NATSBusFault) {
    guard let bytes = link?.session.takeOutput(), !bytes.isEmpty else { return }
    do throws(PatientFault) {
      try link?.connection.write(bytes, until: end)
    } catch {
      throw NATSBusFault(error)
    }
  }

  private func drop(_ reason: String) {
    let now = SystemClock.instant()
    // A server that ends each connection soon is not asked without a pause.
    let isShort = link.map { now.milliseconds(since: $0.openedAt) < NATSLimits.silenceMilliseconds }
    link = nil
    nextAttempt = now.advanced(milliseconds: isShort == true ? NATSLimits.pauseMilliseconds : 0)
    report(reason)
  }

  /// Reports a reason, once until there is a connection. Servers may differ in theirs.
  private func report(_ reason: String) {
    if reported.insert(reason).inserted { pending.append(.lost(reason)) }
  }

  /// Tries the next server.
  private func connect() {
    let server = address.servers[server % address.servers.count]
    do throws(NATSBusFault) {
      link = try open(server)
      // Before the first connection, there was nothing to be missed.
      if !reported.isEmpty { pending.append(.back) }
      reported = []
    } catch {
      self.server = (self.server + 1) % address.servers.count
      nextAttempt = SystemClock.instant().advanced(milliseconds: NATSLimits.pauseMilliseconds)
      report("\(server.host):\(server.port): \(error.text)")
    }
  }

  private func open(_ server: NATSAddress.Server) throws(NATSBusFault) -> Link {
    let end = SystemClock.instant().advanced(milliseconds: NATSLimits.openMilliseconds)
    var session = NATSSession(
      login: login, subjects: [subject(of: .all), subject(of: .relay(relay))],
      usesTLS: address.usesTLS)
    do throws(PatientFault) {
      let connection = try PatientConnection(to: server.host, port: server.port, until: end)
      while session.stage != .open {
        if session.stage == .awaitsTLS {
          try connection.secure(as: server.host, trusting: trust, until: end)
          session.didSecure()
        }
        let output = session.takeOutput()
        if !output.isEmpty { try connection.write(output, until: end) }
        let bytes = try connection.read(until: end, or: nil)
        guard !bytes.isEmpty, SystemClock.instant() < end else {
          throw .failed("it did not answer in time")
        }
        do throws(NATSFault) {
          _ = try session.receive(bytes)
        } catch {
          throw .failed("\(error)\(nextStep(after: error, session.info))")
        }
      }
      let now = SystemClock.instant()
      return Link(connection: connection, session: session, openedAt: now, heardAt: now)
    } catch {
      throw NATSBusFault(error)
    }
  }

  private func nextStep(after fault: NATSFault, _ info: NATSServerInfo?) -> String {
    guard case .refused(let text) = fault, text.lowercased().contains("authorization") else {
      return ""
    }
    return login == nil
      ? "; name the user in the address, and the file of the password with --bus-password-file"
      : "; check the user in the address, and the file of --bus-password-file"
  }
}

extension ThreadWakeup: BusWakeup {}

/// Reason for which the connection cannot go on, with a text for a person.
private struct NATSBusFault: Error {
  let text: String

  init(text: String) { self.text = text }

  init(_ fault: PatientFault) {
    switch fault {
    case .failed(let text): self.text = text
    case .insecure(let fault):
      text =
        switch fault {
        case .unknownAuthority: "its certificate is signed by no authority that is trusted here"
        case .otherName: "its certificate is for another name"
        case .expired: "its certificate has expired"
        case .notYetValid: "its certificate is not valid yet"
        case .notSecure: "it does not use TLS; the address may begin with nats://"
        case .otherProtocol: "it does not speak the protocol of NATS over TLS"
        case .other(let text): text
        }
    }
  }
}
