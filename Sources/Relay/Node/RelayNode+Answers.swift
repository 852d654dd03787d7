import LockstepModel
import LockstepWire

/// Sending of answers, and the connection's state after them.
extension RelayNode {
  /// Answers the request that is being read or answered. `isLast`: the connection closes after it.
  mutating func answer(_ slot: Hub.Slot, _ answer: Answer, isLast: Bool = false) {
    guard connections[slot].http.exchange != nil else { return }
    if !isLast, delays(slot, answer) { return }
    if let code = answer.refused { count(code) }
    let closes = isLast || closesAfterAnswer(slot)
    connections[slot].http.exchange?.value.note(answer)
    send(
      slot,
      response(
        answer, head: connections[slot].http.exchange?.value.head,
        opening: connections[slot].opening, crossOrigin: connections[slot].crossOrigin,
        closes: closes))
    endExchange(slot, closes: closes)
  }

  /// Ends a request that has its answer.
  mutating func endExchange(_ slot: Hub.Slot, closes: Bool) {
    noteRequest(slot)
    if connections[slot].http.exchange?.value.poll != nil, let session = connections[slot].session {
      hub.endPoll(slot, session.account)
      connections[slot].http.expectRepetition()
    }
    if connections[slot].stream != nil, let session = connections[slot].session {
      hub.endStream(slot, session.account)
      connections[slot].stream = nil
    }
    connections[slot].http.exchange = nil
    connections[slot].http.deadline = .none
    if closes { close(slot, .afterSending) }
  }

  /// True if the connection cannot carry another request, for example because the rest of a body
  /// would be parsed as one.
  func closesAfterAnswer(_ slot: Hub.Slot) -> Bool {
    let stage = connections[slot].http.exchange?.value.stage
    return connections[slot].http.exchange?.value.head.keepsAlive != true || stage == .reading
      || stage == .full || self.stage != .running
  }

  /// Returns the bytes of an answer. `head`: of the request; nil if it could not be parsed.
  func response(
    _ answer: Answer, head: HTTPRequestHead?, opening: Opening, crossOrigin: CrossOrigin,
    closes: Bool
  ) -> [UInt8] {
    var headers = answer.headers
    addCommonFields(&headers, opening, crossOrigin)
    if closes {
      headers.append("Connection", answer.status == 426 ? "close, Upgrade" : "close")
    } else if answer.status == 426 {
      headers.append("Connection", "Upgrade")
    } else if head?.minorVersion == 0 {
      headers.append("Connection", "keep-alive")
    }
    return HTTPWriter.response(
      status: answer.status, headers: headers, body: answer.body,
      omitsBody: head?.method == "HEAD", bodyCount: answer.bodyCount)
  }

  /// Adds the header fields of every answer.
  func addCommonFields(
    _ headers: inout HTTPHeaders, _ opening: Opening, _ crossOrigin: CrossOrigin
  ) {
    headers.append("Date", HTTPDate.text(moment.wall))
    // The other listeners trust a request for its source, and no page may use them.
    guard opening.door == .front else { return }
    let lapse = configuration.strictTransportMilliseconds
    if lapse > 0, opening.isSecure {
      headers.append("Strict-Transport-Security", "max-age=\(lapse / 1_000)")
    }
    let ranges = headers.contains("Accept-Ranges") ? ", Accept-Ranges, Content-Range" : ""
    let beat = headers.contains("Lockstep-Keep-Alive") ? ", Lockstep-Keep-Alive" : ""
    let within = headers.contains("Lockstep-Reconnect-Within") ? ", Lockstep-Reconnect-Within" : ""
    crossOrigin.addFields(
      to: &headers, configuration.origins, exposes: "ETag, Retry-After" + ranges + beat + within)
  }

  mutating func count(_ code: RefusalCode) { status.count(code) }

  /// A fault is reported in the store's own words only on the owner's listeners.
  mutating func healthAnswer(_ call: HealthCall, door: Opening.Door) -> Answer {
    switch call {
    case .live: return RelayNode.plain(200, "alive\n")
    case .ready:
      if stage != .running { return Answer(RelayNode.isStopping) }
      if let fault = health.fault {
        return Answer(door == .front ? StoreHealth.unavailable : StoreHealth.refusal(of: fault))
      }
      // Reads, deletions and pushes still work, so a load balancer may keep sending devices here.
      return RelayNode.plain(
        200, isDiskLow() ? "ready, but takes nothing new: the disk is nearly full\n" : "ready\n")
    case .metrics:
      var answer = Answer(status: 200)
      answer.headers.append("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
      answer.body = Array(metricsText.utf8)
      return answer
    case .status:
      return Answer(status: 200, json: sumOfStatuses.encodedBody(nodes: configuration.nodes))
    }
  }

  private static func plain(_ status: Int, _ text: String) -> Answer {
    var answer = Answer(status: status)
    answer.headers.append("Content-Type", "text/plain; charset=utf-8")
    answer.headers.append("Cache-Control", "no-store")
    answer.body = Array(text.utf8)
    return answer
  }
}
