import Changes
import Loop
import TemporaryFolders
import Testing

@testable import lockstep

struct HomeTrustTests {
  /// A certificate of an authority that signs nothing.
  private static let authority = """
    -----BEGIN CERTIFICATE-----
    MIIBZjCCAQygAwIBAgICEAAwCgYIKoZIzj0EAwIwGTEXMBUGA1UEAwwOVGVzdCBh
    dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBkxFzAV
    BgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
    Mc3IzJB2BJ7Nr9Dx1wg4fjEiW56zEKzR/xh3CMb0ddqSy6+4obZM/nJYP9S3ssos
    q1u0czUnQ0sdjqqoX2VyHqNCMEAwDwYDVR0TAQH/BAUwAwEB/zAOBgNVHQ8BAf8E
    BAMCAgQwHQYDVR0OBBYEFF2EpRIxA7Bkzo2nU8drwHOTxxzhMAoGCCqGSM49BAMC
    A0gAMEUCIQCVXT/x4qERzb+FWBFDUwv3x2Fm8lmtM+gRQLsZbZs2IQIgLK/vh4RH
    vNg1Ky6IEyY19af2H708znVF9JhwiQh9rwE=
    -----END CERTIFICATE-----

    """

  @Test func homeKeepsACopyThatOutlivesTheFile() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    try folder.write(Array(Self.authority.utf8), to: "mine.pem")
    try HomeTrust.named(folder.path("mine.pem")).keep(in: home)
    try folder.write([], to: "mine.pem")
    #expect(try folder.bytes("relay-ca.pem") == Array(Self.authority.utf8))
    #expect(try folder.rights("relay-ca.pem") == 0o600)
    _ = try HomeTrust.of(home)
    #expect(try !folder.contents().contains("relay-ca.pem.new"))
  }

  @Test func homeWithoutAuthoritiesTrustsTheSystemAndStaysAsItIs() throws {
    let folder = try TemporaryFolder()
    try HomeTrust.of(HomeFolder(path: folder.path)).keep(in: HomeFolder(path: folder.path))
    #expect(try folder.contents().isEmpty)
  }

  @Test func fileThatHasNoCertificateIsRefusedInWords() throws {
    let folder = try TemporaryFolder()
    try folder.write(Array("hello".utf8), to: "mine.pem")
    func words(_ path: String) -> String? {
      do throws(CommandFailure) {
        _ = try HomeTrust.named(path)
        return nil
      } catch {
        return error.message
      }
    }
    #expect(words(folder.path("mine.pem"))?.contains("holds no certificate") == true)
    #expect(words(folder.path("none.pem"))?.contains("No such file") == true)
  }
}
