import CSQLite
import Foundation
import LockstepStorage
import Testing

@testable import LockstepStorageSQLite

struct StorageErrorTests {
  @Test func codesOfSQLiteBecomeErrorsWithANextStep() {
    let cases: [(Int32, StorageError)] = [
      (SQLITE_FULL, .diskFull(path: "p")), (SQLITE_READONLY, .readOnly(path: "p")),
      (SQLITE_READONLY | 4 << 8, .readOnly(path: "p")), (SQLITE_PERM, .readOnly(path: "p")),
      (SQLITE_CORRUPT, .corrupt(path: "p", detail: "out of memory")),
      (SQLITE_NOTADB, .corrupt(path: "p", detail: "out of memory")),
      (SQLITE_BUSY, .inUse(path: "p", by: "another process")),
      (SQLITE_IOERR, .failed(path: "p", operation: "o", detail: "out of memory")),
      (SQLITE_NOMEM, .failed(path: "p", operation: "o", detail: "out of memory")),
    ]
    for (code, fault) in cases {
      #expect(StorageError(code: code, handle: nil, path: "p", operation: "o") == fault)
    }
    #expect(StorageError(errno: ENOSPC, path: "p", operation: "o") == .diskFull(path: "p"))
    #expect(StorageError(errno: EROFS, path: "p", operation: "o") == .readOnly(path: "p"))
    #expect(
      StorageError(errno: EIO, path: "p", operation: "o")
        == .failed(path: "p", operation: "o", detail: "Input/output error"))
  }
}
