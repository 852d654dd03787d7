import Testing

@testable import StorageSQLite

struct LinkedSQLiteTests {
  @Test func versionIsANumberOfThreeParts() {
    #expect(LinkedSQLite.version.split(separator: ".").count == 3)
  }
}
