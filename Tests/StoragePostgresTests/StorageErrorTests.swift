import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

struct StorageErrorTests {
  private func error(_ state: String) -> StorageError {
    StorageError(
      PostgresFault(cause: .refused(state: state), message: "why"), path: "p", operation: "o")
  }

  @Test func errorsOfTheServerHaveANextStep() {
    #expect(error("53100") == .diskFull(path: "p"))
    #expect(error("25006") == .readOnly(path: "p"))
    #expect(error("XX001") == .corrupt(path: "p", detail: "why"))
    #expect(error("57P01") == .unavailable(path: "p", detail: "why"))
    #expect(error("08006") == .unavailable(path: "p", detail: "why"))
    let words = [
      ("28P01", "PGPASSFILE"), ("3D000", "createdb"), ("42501", "USAGE"),
      ("53300", "max_connections"), ("57014", "overloaded"), ("22012", "why (22012)"),
    ]
    for (state, word) in words { #expect(error(state).description.contains(word)) }
  }

  @Test func aCommitOfUnknownOutcomeIsReported() {
    var fault = PostgresFault(cause: .lost, message: "cut")
    #expect(fault.mayRepeat)
    fault.isUnknown = true
    #expect(!fault.mayRepeat)
    let error = StorageError(fault, path: "p", operation: "o")
    #expect(error.description.contains("retries"))
  }

  @Test func transientFaultsAreDistinguishedFromPermanentOnes() {
    func may(_ state: String) -> Bool {
      PostgresFault(cause: .refused(state: state), message: "").mayRepeat
    }
    #expect(["40001", "40P01", "55P03", "23505", "57P01", "08006"].allSatisfy(may))
    #expect(!["22012", "53100", "42501", "28P01", "57014"].contains(where: may))
  }
}
