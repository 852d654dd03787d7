import LockstepModel
import LockstepRuntime

/// Push that is to be sent.
package struct PushRequest: Hashable, Sendable {
  /// Chosen by the caller, for the outcome.
  package let id: UInt64
  package let endpoint: PushEndpoint
  package let recipient: PushRecipient
  /// At most `PushMessage.contentBytes`.
  package let content: [UInt8]
  /// Name under which a push replaces an earlier one that has not been delivered (RFC 8030 section
  /// 5.4): 1 to `Limits.wakeTopicCharacters` characters of Base64 for URLs.
  package let topic: String
  /// Time for which the push service keeps the push for a device that is not connected.
  package let ttlSeconds: Int64
  package let urgency: PushUrgency
  /// Name of the VAPID key that the subscription was made for: the time at which it was made.
  package let keyMadeAt: Int64

  package init(
    id: UInt64, endpoint: PushEndpoint, recipient: PushRecipient, content: [UInt8],
    topic: String, ttlSeconds: Int64, urgency: PushUrgency, keyMadeAt: Int64
  ) {
    precondition(content.count <= PushMessage.contentBytes, "the content does not fit into a push")
    precondition(PushRequest.isTopic(topic), "not a valid topic")
    precondition(ttlSeconds >= 0, "a push is kept for no negative time")
    self.id = id
    self.endpoint = endpoint
    self.recipient = recipient
    self.content = content
    self.topic = topic
    self.ttlSeconds = ttlSeconds
    self.urgency = urgency
    self.keyMadeAt = keyMadeAt
  }

  private static func isTopic(_ text: String) -> Bool {
    (1...Limits.wakeTopicCharacters).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

/// Condition of a device's battery and network in which it is still woken (RFC 8030 section 5.3).
package enum PushUrgency: String, Hashable, Sendable, CaseIterable {
  case low
  case normal
  case high
}

/// Outcome of a push. There is exactly one for each.
package struct PushOutcome: Hashable, Sendable {
  package enum Result: Hashable, Sendable {
    /// The push service has answered, or its earlier answer still holds (`PushAnswer.paused`).
    case answered(PushAnswer)
    /// No answer came. The push may have arrived all the same.
    case unreachable(PushFault)
    /// Nothing was sent, because no push goes to the host.
    case refused(PushRefusal)
  }

  /// The `id` of the `PushRequest`.
  package let id: UInt64
  package let result: Result
  /// Time at which the push was sent, milliseconds since the Unix epoch; nil if it was not.
  package let sentAt: Int64?

  package init(id: UInt64, result: Result, sentAt: Int64? = nil) {
    self.id = id
    self.result = result
    self.sentAt = sentAt
  }
}

/// Reason for which no answer to a push came; for the owner's log. Who named the endpoint must not
/// learn it: it tells about the relay's network.
package enum PushFault: Hashable, Sendable, CustomStringConvertible {
  /// The connection could not be established, or was lost.
  case connection(CloseCause)
  /// The answer was not complete in time.
  case timedOut
  /// The push has waited for its turn for too long.
  case waited
  /// The answer is not HTTP.
  case malformed
  /// The head of the answer is longer than `Limits.wakeAnswerBytes`.
  case tooLong
  /// The sender does not have the key that the subscription was made for.
  case noKey
  /// The sender was stopped.
  case stopped

  package var description: String {
    switch self {
    case .connection(.endOfStream): "the push service closed the connection without an answer"
    case .connection(.connectFailed(let text)), .connection(.failed(let text)): text
    case .connection(.notTrusted(let fault)): "the certificate cannot be verified (\(fault))"
    case .timedOut: "no answer in time"
    case .waited: "the push has waited too long for other pushes"
    case .malformed: "the answer is not HTTP"
    case .tooLong: "the answer is too long"
    case .noKey: "the relay no longer has the key that the subscription was made for"
    case .stopped: "the relay stops"
    }
  }
}

/// Network action of a `PushSender`.
package enum PushAction: Hashable, Sendable {
  case open(ConnectionID, PeerAddress)
  case send(ConnectionID, [UInt8])
  case close(ConnectionID)

  /// The action of the node that has the sender.
  package func map<Job, Report, News>() -> NodeAction<Job, Report, News> {
    switch self {
    case .open(let id, let address): .open(id, address)
    case .send(let id, let bytes): .send(id, bytes)
    case .close(let id): .close(id, .now)
    }
  }
}
