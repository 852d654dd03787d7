/// Asks the system's resolver for addresses, on a thread of its own: an answer can take many
/// seconds. The thread is started with the first question.
final class NameLookup: Sendable {
  typealias Answer = Result<[SocketAddress], SocketAddress.LookupFault>

  struct Question: Sendable {
    var host: String
    var port: UInt16
    /// Called on the lookup's thread.
    var answer: @Sendable (Answer) -> Void
  }

  private let questions: Mailbox<Question>
  private let isStarted = Locked(false)

  init() throws(SystemFault) { questions = try Mailbox(isBlocking: true) }

  deinit { questions.close() }

  func ask(_ question: Question) throws(SystemFault) {
    let mustStart = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    if mustStart {
      let questions = questions
      // Nobody can end a lookup that has begun, so nobody waits for this thread either.
      try LoopThread("lookup") { Self.answer(questions) }.detach()
    }
    questions.post(question)
  }

  /// Those who ask together for the same host and port are answered together.
  private static func answer(_ questions: Mailbox<Question>) {
    var waiting: [Question] = []
    while questions.waitForMessages(into: &waiting) {
      while let first = waiting.first {
        let answer = Answer { () throws(SocketAddress.LookupFault) in
          try SocketAddress.lookUp(first.host, port: first.port, as: .name)
        }
        let split = waiting.partition { $0.host == first.host && $0.port == first.port }
        for question in waiting[split...] { question.answer(answer) }
        waiting.removeSubrange(split...)
      }
    }
  }
}
