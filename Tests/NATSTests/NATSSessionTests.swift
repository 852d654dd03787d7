import LockstepNATS
import Testing

struct NATSSessionTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func output(_ session: inout NATSSession) -> [String] {
    String(decoding: session.takeOutput(), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: true).map(String.init)
  }

  @Test func aClientIntroducesItselfSubscribesAndWaitsForTheAnswer() throws {
    var session = NATSSession(login: nil, subjects: ["a.all", "a.7"], usesTLS: false)
    #expect(output(&session) == [] && session.stage == .awaitsInfo)
    #expect(try session.receive(bytes("INFO {\"version\":\"2.9.10\"}\r\n")) == [])
    let said = output(&session)
    #expect(said.first?.hasPrefix("CONNECT {") == true)
    #expect(said.first?.contains("\"echo\":true") == true)
    #expect(said.first?.contains("pass") == false && said.first?.contains("auth_token") == false)
    #expect(Array(said.dropFirst()) == ["SUB a.all 1", "SUB a.7 2", "PING"])
    #expect(session.stage == .awaitsPong)
    #expect(try session.receive(bytes("PING\r\nPONG\r\n")) == [])
    #expect(output(&session) == ["PONG"] && session.stage == .open)
    session.publish(bytes("hello"), to: "a.9")
    #expect(output(&session) == ["PUB a.9 5", "hello"])
    let messages = try session.receive(bytes("MSG a.7 2 2\r\nhi\r\nINFO {}\r\nPONG\r\n"))
    #expect(messages == [NATSSession.Message(subject: "a.7", payload: bytes("hi"))])
    #expect(output(&session) == [], "it is introduced once")
  }

  @Test(arguments: [(user: "relay", secret: "se\"cret"), (user: "", secret: "token")])
  func aClientNamesItself(login: (user: String, secret: String)) throws {
    var session = NATSSession(
      login: NATSSession.Login(user: login.user, secret: login.secret), subjects: [],
      usesTLS: false)
    _ = try session.receive(bytes("INFO {\"auth_required\":true}\r\n"))
    let said = output(&session).first ?? ""
    if login.user.isEmpty {
      #expect(said.contains("\"auth_token\":\"token\"") && !said.contains("\"user\""))
    } else {
      #expect(said.contains("\"user\":\"relay\"") && said.contains("\"pass\":\"se\\\"cret\""))
    }
  }

  @Test(arguments: [true, false]) func nothingIsSaidBeforeTLS(isAskedByServer: Bool) throws {
    var session = NATSSession(
      login: NATSSession.Login(user: "relay", secret: "secret"), subjects: ["a"],
      usesTLS: !isAskedByServer)
    _ = try session.receive(bytes("INFO {\"tls_required\":\(isAskedByServer)}\r\n"))
    #expect(session.stage == .awaitsTLS && output(&session) == [])
    session.didSecure()
    #expect(session.stage == .awaitsPong)
    #expect(output(&session).first?.contains("secret") == true)
  }

  @Test func anErrorEndsTheSession() throws {
    var session = NATSSession(login: nil, subjects: [], usesTLS: false)
    #expect(throws: NATSFault.refused("Authorization Violation")) {
      try session.receive(bytes("INFO {}\r\n-ERR 'Authorization Violation'\r\n"))
    }
  }
}
