import Glibc
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct RelayCheckTests {
  @Test func storesThatAreThereOrCanBeMadeAreGood() throws {
    let folder = try TemporaryFolder()
    #expect(RelayCheck.fault(ofStore: folder.path) == nil)
    #expect(RelayCheck.fault(ofStore: folder.path + "/a/b/c") == nil)
    #expect(access(folder.path + "/a", F_OK) != 0, "nothing was made")
  }

  @Test func aCertificateThatCannotBeReadIsAFault() {
    #expect(RelayCheck.fault(ofCertificate: nil, key: nil) == nil)
    #expect(RelayCheck.fault(ofCertificate: "c.pem", key: nil)?.contains("--tls-key") == true)
    #expect(RelayCheck.fault(ofCertificate: "/nowhere/c", key: "/nowhere/k") != nil)
  }

  @Test func whatIsInTheWayIsNamed() throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/file"
    close(open(file, O_CREAT | O_WRONLY, 0o600))
    #expect(
      RelayCheck.fault(ofStore: file + "x/y") == nil
        && RelayCheck.fault(ofStore: file)
          == "the store \(file) cannot be created: \(file) is not a folder; "
          + "name another one (--store)"
    )
    let below = RelayCheck.fault(ofStore: file + "/below")
    #expect(below?.contains("Not a directory") == true)
    let proc = RelayCheck.fault(ofStore: "/proc/self/task/none")
    #expect(proc?.hasPrefix("the store /proc/self/task/none cannot be written: ") ?? true)
  }
}
