import LockstepJSON
import Testing

@testable import LockstepModel

@Suite struct ResolverTests {
  @Test func versionWithoutFieldsIsADelete() {
    let delete = Version(name: "a", fields: nil, modifiedAt: 1, device: "d")
    let live = Version(name: "a", fields: .object([]), modifiedAt: 1, device: "d")
    #expect(delete.isDeleted)
    #expect(!live.isDeleted)
  }

  @Test func versionsAreEqualAsJSON() throws {
    let fields = try ["{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}"].map {
      try JSONValue(parsing: $0)
    }
    let versions = fields.map { Version(name: "a", fields: $0, modifiedAt: 1, device: "d") }
    #expect(versions[0] == versions[1])
  }
}
