import Testing

@testable import LockstepEventLoop

struct NameLookupTests {
  @Test func everyQuestionIsAnsweredOnce() throws {
    let lookup = try NameLookup()
    let answers = RunningGroup.Box<[LookupAnswer]>([])
    // Longer than a name may be (RFC 1035, 2.3.4), so that no server is asked for it.
    let impossible = String(repeating: "a", count: 64) + ".invalid"
    for number in 0..<50 {
      let host = number % 2 == 0 ? "127.0.0.1" : impossible
      try lookup.enqueue(
        NameLookup.Request(host: host, port: UInt16(number)) { answer in
          let registration = Poller.Registration(slot: number, generation: 1)
          answers.change {
            $0.append(LookupAnswer(registration: registration, answer: answer))
          }
        })
    }
    waitUntil { answers.contents.count == 50 }
    #expect(Set(answers.contents.map(\.registration.slot)).count == 50)
    for answer in answers.contents {
      switch answer.answer {
      case .success(let addresses):
        #expect(
          addresses.map(\.peer) == [.host("127.0.0.1", port: UInt16(answer.registration.slot))])
      case .failure(let fault):
        #expect(answer.registration.slot % 2 == 1)
        #expect(!fault.text.isEmpty)
      }
    }
  }
}
