/// Resolver of host names on a thread of its own: the system's resolver can block for many seconds.
/// The thread is started by the first question.
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
      // A lookup in progress cannot be cancelled, so the thread is never joined.
      try LoopThread("lookup") { Self.answer(questions) }.detach()
    }
    questions.post(question)
  }

  /// Answers the questions. Waiting questions for the same host and port share one lookup.
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
