import LockstepModel
import LockstepRuntime
import LockstepWire

/// Connection to a push service, for one push after another, and the reading of the answers. The
/// head of an answer decides; its body is read only so that the connection can be used again.
struct PushConnection: Sendable {
  /// Push that is under way.
  struct Attempt: Sendable {
    let request: PushRequest
    /// Time at which the whole answer must be there.
    let deadline: Instant
    /// True if the connection has carried an answer before. The push service may have closed it
    /// just now, while the push was in transit: such a push is sent once more.
    var isReused = false
    /// Time at which it was last sent, milliseconds since the Unix epoch; nil before.
    var sentAt: Int64?
  }

  enum Stage: Sendable {
    /// The connection is not established. → waiting, idle
    case connecting(Attempt)
    /// The head of the answer is not complete. → finishing
    case waiting(Attempt)
    /// The push has its outcome; the body of the answer is not complete. → idle
    case finishing
    /// There is no push. → waiting
    case idle
  }

  /// Result of the bytes that came in.
  struct Progress {
    /// The head of the answer, if it has become complete.
    var head: HTTPResponseHead?
    var ending: Ending?
  }

  enum Ending: Hashable {
    /// The answer is complete, and the connection can carry another push.
    case reusable
    /// The answer is complete.
    case complete
    case failed(PushFault)
  }

  let id: ConnectionID
  /// Of the push service.
  let origin: String
  private(set) var stage: Stage
  /// End of the push or, without one, of the connection.
  private(set) var deadline: Instant
  private var parser = HTTPResponseParser()
  /// Bytes of this answer so far.
  private var answerBytes = 0
  /// True if the answer lets the connection be used again.
  private var keepsAlive = false

  init(_ id: ConnectionID, to origin: String, for attempt: Attempt) {
    self.id = id
    self.origin = origin
    stage = .connecting(attempt)
    deadline = attempt.deadline
    parser.bodyLimit = Limits.wakeAnswerBytes
  }

  var isIdle: Bool { if case .idle = stage { true } else { false } }

  /// Begins to wait for the answer to a push, which is sent now.
  mutating func expectAnswer(to attempt: Attempt) {
    stage = .waiting(attempt)
    deadline = attempt.deadline
    answerBytes = 0
    keepsAlive = false
    parser.expectAnswer(to: "POST")
  }

  mutating func markAnswered() { stage = .finishing }

  mutating func markIdle(until deadline: Instant) {
    stage = .idle
    self.deadline = deadline
  }

  /// Reads bytes of an answer, up to `Limits.wakeAnswerBytes` of it.
  mutating func receive(_ bytes: RawSpan) -> Progress {
    let count = min(bytes.byteCount, Limits.wakeAnswerBytes - answerBytes)
    answerBytes += count
    parser.receive(bytes.extracting(0..<count))
    var progress = read()
    if count < bytes.byteCount, progress.ending == .reusable {
      // Bytes after the end belong to no push.
      progress.ending = .complete
    }
    if answerBytes == Limits.wakeAnswerBytes, progress.ending == nil {
      progress.ending = .failed(.tooLong)
    }
    return progress
  }

  private mutating func read() -> Progress {
    var head: HTTPResponseHead?
    do throws(Refusal) {
      while let event = try parser.next() {
        switch event {
        case .head(let complete):
          head = complete
          keepsAlive = complete.keepsAlive
        case .body: break
        case .end:
          let isReusable = keepsAlive && parser.bufferedBytes == 0
          return Progress(head: head, ending: isReusable ? .reusable : .complete)
        }
      }
      return Progress(head: head)
    } catch {
      return Progress(head: head, ending: .failed(.malformed))
    }
  }

  /// Returns the push to be sent once more, on a new connection, after the peer has closed this
  /// one; nil if it must not be.
  func retried() -> Attempt? {
    guard case .waiting(var attempt) = stage, attempt.isReused, answerBytes == 0 else { return nil }
    attempt.isReused = false
    return attempt
  }
}
