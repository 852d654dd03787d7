import LockstepRuntime
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

struct ServerCertificateTests {
  @Test func everyFaultNamesTheFileAndTheNextStep() throws {
    let folder = try TemporaryFolder()
    let (pem, key) = (folder.path("server.pem"), folder.path("server.key"))
    func fault() -> CertificateFault? {
      do throws(CertificateFault) {
        _ = try ServerCertificate(certificate: pem, key: key)
        return nil
      } catch {
        return error
      }
    }
    #expect(fault()?.description.contains("\(pem) cannot be read (No such file") == true)
    try folder.write(Array("no certificate".utf8), to: "server.pem")
    try folder.write([], to: "server.key")
    #expect(fault() == .noCertificate(pem))
    try folder.write(Array(TestCertificates.good.utf8), to: "server.pem")
    #expect(fault() == .noKey(key))
    // The key of another certificate.
    try folder.write(Array(TestCertificates.otherKey.utf8), to: "server.key")
    #expect(fault() == .otherKey(certificate: pem, key: key))
    try TestCertificates.show(TestCertificates.good, in: folder)
    #expect(fault() == nil)
  }

  @Test func validityIsThatOfTheCertificateThatIsShown() throws {
    let folder = try TemporaryFolder()
    let certificate = try TestCertificates.server(in: folder)
    #expect(certificate.validity == .valid)
    try TestCertificates.show(TestCertificates.expired, in: folder)
    try certificate.reload()
    #expect(certificate.validity == .expired)
  }

  @Test func namesAreThoseThatTheCertificateLists() throws {
    let folder = try TemporaryFolder()
    let certificate = try TestCertificates.server(in: folder)
    #expect(certificate.names == ["localhost"])
    try TestCertificates.show(TestCertificates.otherName, in: folder)
    try certificate.reload()
    #expect(certificate.names == ["other.example"])
  }

  @Test func managedCertificateMayComeAfterTheStart() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("certificate.pem")
    let certificate = try ServerCertificate(managed: path, isMissing: true)
    var echo = ScriptedNode()
    echo.echoes = true
    let far = try RunningGroup(echo, certificate: certificate)
    let trust = try TestCertificates.trust()
    let near = try RunningGroup(change: { $0.trust = trust })
    guard case .host(_, let port) = far.address else { preconditionFailure("not TCP") }
    #expect(certificate.names.isEmpty)
    let early = ConnectionID.outgoing(1)
    near.order(.open(early, .secure("localhost", port: port)))
    guard case .notTrusted = try near.journal.cause(of: early) else {
      Issue.record("a handshake without a certificate did not fail")
      return
    }
    try folder.write(
      Array((TestCertificates.key + TestCertificates.good).utf8), to: "certificate.pem")
    try ServerCertificate.check(managed: path)
    try certificate.reload()
    #expect(certificate.names == ["localhost"])
    let late = ConnectionID.outgoing(2)
    near.order(.open(late, .secure("localhost", port: port)))
    near.order(.send(late, Array("hello".utf8)))
    #expect(near.journal.received(late, count: 5) == Array("hello".utf8))
    near.end()
    far.end()
  }

  @Test func certificatesForValidationsAreChecked() throws {
    let folder = try TemporaryFolder()
    let certificate = try ServerCertificate(
      managed: folder.path("certificate.pem"), isMissing: true)
    let text = Array((TestCertificates.key + TestCertificates.good).utf8)
    try certificate.validate(with: [("localhost", text), ("other.example", text)])
    try certificate.validate(with: [])
    for text in ["", "hello", TestCertificates.key] {
      #expect(throws: CertificateFault.self) {
        try certificate.validate(with: [("localhost", Array(text.utf8))])
      }
    }
  }

  @Test func systemsAuthoritiesAreTakenAsTheyAre() {
    #expect(throws: Never.self) { try SecureContext.client(authorities: nil) }
  }

  @Test func authoritiesAreCertificatesAtLeastOne() throws {
    #expect(throws: CertificateFault.noAuthority) { try Trust(authorities: []) }
    #expect(throws: CertificateFault.noAuthority) {
      try Trust(authorities: Array(TestCertificates.key.utf8))
    }
    let both = TestCertificates.otherAuthority + TestAuthority.certificate
    #expect(throws: Never.self) { try Trust(authorities: Array(both.utf8)) }
  }
}
