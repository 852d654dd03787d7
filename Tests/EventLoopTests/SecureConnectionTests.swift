import Glibc
import LockstepModel
import LockstepRuntime
import LockstepWire
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

/// Two groups of nodes that connect to each other by TLS.
struct SecureConnectionTests {
  /// Server that echoes, and client that trusts its authority.
  private final class Pair {
    let folder: TemporaryFolder
    let certificate: ServerCertificate
    let far: RunningGroup
    let near: RunningGroup
    private var count: UInt64 = 0

    init(
      _ node: sending ScriptedNode, trust: Trust? = nil, sendBufferBytes: Int32? = nil
    ) throws {
      folder = try TemporaryFolder()
      certificate = try TestCertificates.server(in: folder)
      far = try RunningGroup(
        node, certificate: certificate, sendBufferBytes: sendBufferBytes)
      let trust = try trust ?? TestCertificates.trust()
      near = try RunningGroup(change: { $0.trust = trust })
    }

    convenience init() throws {
      var echo = ScriptedNode()
      echo.echoes = true
      try self.init(echo)
    }

    var port: UInt16 {
      guard case .host(_, let port) = far.address else { preconditionFailure("not TCP") }
      return port
    }

    func open(_ host: String = "127.0.0.1") -> ConnectionID {
      count += 1
      let id = ConnectionID.outgoing(count)
      near.order(.open(id, .secure(host, port: port)))
      return id
    }

    func end() {
      near.end()
      far.end()
    }
  }

  private func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  @Test(arguments: ["127.0.0.1", "localhost"])
  func whatIsSentComesBackFromAFarEndThatProvedItsName(_ host: String) throws {
    let pair = try Pair()
    let id = pair.open(host)
    pair.near.order(.send(id, Array("early".utf8)))
    #expect(pair.near.journal.received(id, count: 5) == Array("early".utf8))
    #expect(pair.near.journal.entries().first == .opened(id, .outgoing))
    #expect(pair.far.journal.entries().first == .opened(try pair.far.journal.opened(), .public))
    pair.end()
  }

  @Test(arguments: [nil, 2_048 as Int32])
  func megabytesGoBothWaysAtOnceThroughSmallBuffers(_ sendBufferBytes: Int32?) throws {
    var echo = ScriptedNode()
    echo.echoes = true
    let pair = try Pair(echo, sendBufferBytes: sendBufferBytes)
    let id = pair.open()
    let bytes = pattern(3 << 20)
    for start in stride(from: 0, to: bytes.count, by: 100_000) {
      pair.near.order(.send(id, Array(bytes[start..<min(start + 100_000, bytes.count)])))
    }
    #expect(pair.near.journal.received(id, count: bytes.count) == bytes)
    pair.end()
  }

  @Test func smallFramesOfManyTurnsArriveInOrder() throws {
    let pair = try Pair()
    let id = pair.open()
    var sent: [UInt8] = []
    for number in 0..<2_000 {
      let frame = Array("frame \(number);".utf8)
      sent += frame
      pair.near.order(.send(id, frame))
    }
    #expect(pair.near.journal.received(id, count: sent.count) == sent)
    pair.end()
  }

  @Test func lastAnswerArrivesBeforeAnEndInOrder() throws {
    let pair = try Pair(ScriptedNode())
    let id = pair.open()
    let far = try pair.far.journal.opened()
    _ = try pair.near.journal.opened()
    let answer = pattern(500_000)
    pair.far.order(.send(far, answer))
    pair.far.order(.close(far, .afterSending))
    #expect(try pair.near.journal.cause(of: id) == .endOfStream)
    #expect(pair.near.journal.received(id, count: answer.count) == answer)
    pair.end()
  }

  @Test func pausedConnectionIsReadWhereItWasLeft() throws {
    var node = ScriptedNode()
    node.pausesAtOnce = true
    let pair = try Pair(node)
    let id = pair.open()
    // Longer than one read, so that OpenSSL still holds bytes after it.
    let bytes = pattern(Limits.receiveBytes * 3 + 5)
    pair.near.order(.send(id, bytes))
    pair.near.order(.close(id, .afterSending))
    let far = try pair.far.journal.opened()
    pair.far.order(.resumeReading(far))
    #expect(pair.far.journal.received(far, count: bytes.count) == bytes)
    #expect(try pair.far.journal.cause(of: far) == .endOfStream)
    pair.end()
  }

  @Test func farEndOfAnotherNameIsNotSpokenTo() throws {
    let pair = try Pair()
    try TestCertificates.show(TestCertificates.otherName, in: pair.folder)
    try pair.certificate.reload()
    for host in ["127.0.0.1", "localhost"] {
      let id = pair.open(host)
      pair.near.order(.send(id, Array("a secret".utf8)))
      #expect(try pair.near.journal.cause(of: id) == .notTrusted(.otherName))
    }
    try pair.far.journal.first { $0 == .connectionRejected(.handshakeFailed) ? () : nil }
    #expect(
      !pair.far.journal.entries().contains {
        if case .opened = $0 { true } else { false }
      })
    pair.end()
  }

  /// Its listeners speak HTTP/1.1 alone.
  @Test func farEndOfAnotherProtocolIsNotSpokenTo() throws {
    let pair = try Pair()
    let id = ConnectionID.outgoing(99)
    pair.near.order(.open(id, .http2("127.0.0.1", port: pair.port)))
    pair.near.order(.send(id, Array("a secret".utf8)))
    #expect(try pair.near.journal.cause(of: id) == .notTrusted(.otherProtocol))
    try pair.far.journal.first { $0 == .connectionRejected(.handshakeFailed) ? () : nil }
    pair.end()
  }

  @Test func expiredCertificateIsRefused() throws {
    let pair = try Pair()
    try TestCertificates.show(TestCertificates.expired, in: pair.folder)
    try pair.certificate.reload()
    #expect(pair.certificate.validity == .expired)
    let id = pair.open()
    #expect(try pair.near.journal.cause(of: id) == .notTrusted(.expired))
    pair.end()
  }

  @Test func unknownAuthorityIsRefused() throws {
    let other = try Trust(authorities: Array(TestCertificates.otherAuthority.utf8))
    for trust in [other, .system] {
      let pair = try Pair(ScriptedNode(), trust: trust)
      let id = pair.open()
      #expect(try pair.near.journal.cause(of: id) == .notTrusted(.unknownAuthority))
      pair.end()
    }
  }

  @Test func farEndWithoutTLSIsNotSpokenToInTheClear() throws {
    let pair = try Pair()
    let plain = try RunningGroup()
    guard case .host(_, let port) = plain.address else { return }
    let id = ConnectionID.outgoing(77)
    pair.near.order(.open(id, .secure("127.0.0.1", port: port)))
    pair.near.order(.send(id, Array("a secret".utf8)))
    let far = try plain.journal.opened()
    #expect(!plain.journal.received(far, count: 1).isEmpty, "the first word of TLS")
    plain.order(.send(far, Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)))
    #expect(try pair.near.journal.cause(of: id) == .notTrusted(.notSecure))
    let heard = plain.journal.received(far, count: 1)
    #expect(!String(decoding: heard, as: UTF8.self).contains("secret"))
    plain.end()
    pair.end()
  }

  @Test func plainBytesAtATLSListenerAreRejectedAndItStaysOpen() throws {
    let pair = try Pair()
    let socket = try pair.far.connect()
    socket.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(socket.receiveAll().endedInOrder)
    try pair.far.journal.first { $0 == .connectionRejected(.handshakeFailed) ? () : nil }
    let id = pair.open()
    pair.near.order(.send(id, [1]))
    #expect(pair.near.journal.received(id, count: 1) == [1])
    pair.end()
  }

  @Test func openConnectionsKeepTheirCertificateAfterAReload() throws {
    let pair = try Pair()
    let id = pair.open()
    _ = try pair.near.journal.opened()
    try pair.folder.write(Array("nothing".utf8), to: "server.pem")
    #expect(throws: CertificateFault.noCertificate(pair.folder.path("server.pem"))) {
      try pair.certificate.reload()
    }
    let next = pair.open()
    try TestCertificates.show(TestCertificates.otherName, in: pair.folder)
    pair.near.order(.send(next, [2]))
    #expect(pair.near.journal.received(next, count: 1) == [2], "the old one is still shown")
    try pair.certificate.reload()
    #expect(try pair.near.journal.cause(of: pair.open()) == .notTrusted(.otherName))
    pair.near.order(.send(id, [3]))
    #expect(pair.near.journal.received(id, count: 1) == [3])
    pair.end()
  }

  @Test func streamThatBreaksOffIsNoEndInOrder() throws {
    let pair = try Pair(ScriptedNode())
    let id = pair.open()
    let far = try pair.far.journal.opened()
    _ = try pair.near.journal.opened()
    pair.far.order(.close(far, .now))
    guard case .failed = try pair.near.journal.cause(of: id) else {
      Issue.record("a cut stream passed for a whole one")
      return
    }
    pair.end()
  }

  @Test func stoppingDoesNotWaitForHandshakes() throws {
    let pair = try Pair(ScriptedNode())
    let silent = try (0..<5).map { _ in try pair.far.connect() }
    _ = pair.open()
    _ = try pair.far.journal.opened()
    pair.near.end()
    #expect(pair.far.end() == [.done])
    withExtendedLifetime(silent) {}
  }
}
