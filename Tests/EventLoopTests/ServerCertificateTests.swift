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
