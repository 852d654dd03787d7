import Testing

@testable import LockstepStorageSQLite

struct LinkedSQLiteTests {
  @Test func versionIsANumberOfThreeParts() {
    #expect(LinkedSQLite.version.split(separator: ".").count == 3)
  }
}
