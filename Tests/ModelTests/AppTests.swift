import LockstepJSON
import Testing

@testable import LockstepModel

@Suite struct AppTests {
  @Test func recordsNameNoFilesUnlessTheAppSaysSo() {
    #expect(PlainApp().chunks(in: ["a": 1], of: Name(trusted: "Plain")).isEmpty)
  }

  @Test func fieldsWithoutInstantsNeedNoCorrection() {
    let fields: JSONValue = ["a": 1_790_000_000_000]
    let type = Name(trusted: "Plain")
    #expect(PlainApp().restamped(fields, of: type, base: nil, from: 1, to: 5) == fields)
  }
}

private struct PlainApp: App {
  let name = "plain"
  let zone = Name(trusted: "Plain")
  func resolver(for type: Name) -> (any Resolver)? { nil }
  let timedTypes: [Name] = []
  func dueEdit(for record: Record) -> DueEdit? { nil }
}
