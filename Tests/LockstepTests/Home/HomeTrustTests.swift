import LockstepEventLoop
import LockstepModel
import TemporaryFolders
import Testing

@testable import Lockstep

struct HomeTrustTests {
  @Test func homeKeepsACopyThatOutlivesTheFile() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    try folder.write(Array(TestAuthority.certificate.utf8), to: "mine.pem")
    try HomeTrust.file(folder.path("mine.pem")).store(in: home)
    try folder.write([], to: "mine.pem")
    #expect(try folder.bytes("relay-ca.pem") == Array(TestAuthority.certificate.utf8))
    #expect(try folder.rights("relay-ca.pem") == 0o600)
    _ = try HomeTrust.kept(in: home)
    #expect(try !folder.contents().contains("relay-ca.pem.new"))
  }

  @Test func homeWithoutAuthoritiesTrustsTheSystemAndStaysAsItIs() throws {
    let folder = try TemporaryFolder()
    try HomeTrust.kept(in: HomeFolder(path: folder.path)).store(in: HomeFolder(path: folder.path))
    #expect(try folder.contents().isEmpty)
  }

  @Test func fileThatHasNoCertificateIsRefusedInWords() throws {
    let folder = try TemporaryFolder()
    try folder.write(Array("hello".utf8), to: "mine.pem")
    func words(_ path: String) -> String? {
      do throws(HomeFault) {
        _ = try HomeTrust.file(path)
        return nil
      } catch {
        return error.reason
      }
    }
    #expect(words(folder.path("mine.pem"))?.contains("holds no certificate") == true)
    #expect(words(folder.path("none.pem"))?.contains("No such file") == true)
  }
}
