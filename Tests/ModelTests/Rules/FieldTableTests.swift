import LockstepJSON
import Testing

@testable import LockstepModel

struct FieldTableTests {
  @Test func fieldsAreFoundByTheBytesOfTheirNames() {
    let table = FieldTable(["a": 1, "é": 2, "none": .null])
    #expect(table["a"] == 1 && table["é"] == 2)
    #expect(table["e\u{301}"] == nil && !table.contains("e\u{301}"))
    #expect(table["none"] == JSONValue.null && table.contains("none"))
    #expect(!FieldTable(nil).contains("a") && !FieldTable("text").contains("a"))
  }
}
