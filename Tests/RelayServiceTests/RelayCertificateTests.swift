import LockstepCommandLine
import LockstepEventLoop
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct RelayCertificateTests {
  private func failure(_ certificate: String?, key: String?) -> CommandFailure? {
    do throws(CommandFailure) {
      _ = try RelayCertificate.named(certificate, key: key)
      return nil
    } catch {
      return error
    }
  }

  @Test func oneFileAloneIsAMistakeOfTheCommandLine() {
    #expect(failure(nil, key: nil) == nil)
    #expect(failure("a.pem", key: nil)?.exitCode == .usage)
    #expect(failure(nil, key: "a.key")?.exitCode == .usage)
  }

  @Test func fileThatIsNotThereIsNamed() throws {
    let folder = try TemporaryFolder()
    let refusal = try #require(failure(folder.path("a.pem"), key: folder.path("a.key")))
    #expect(refusal.exitCode == .failure)
    #expect(refusal.message?.contains(folder.path("a.pem") + " cannot be read") == true)
  }
}
