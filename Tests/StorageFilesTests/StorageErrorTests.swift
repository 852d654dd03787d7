import Foundation
import LockstepStorage
import Testing

@testable import LockstepStorageFiles

struct StorageErrorTests {
  @Test func errnoValuesBecomeErrorsWithANextStep() {
    func error(_ number: Int32) -> StorageError {
      StorageError(errno: number, path: "p", operation: "write the file")
    }
    for number in [ENOSPC, EDQUOT] { #expect(error(number) == .diskFull(path: "p")) }
    for number in [EACCES, EPERM, EROFS] { #expect(error(number) == .readOnly(path: "p")) }
    #expect(
      error(EIO)
        == .failed(path: "p", operation: "write the file", detail: "Input/output error"))
  }
}
