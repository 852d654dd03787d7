import LockstepApps
import LockstepModel
import Testing

/// Other programs send these forms.
struct VaultActionTests {
  @Test func everyOrderAndQuestionHasItsForm() throws {
    let orders = [#"{"do":"clean"}"#, #"{"do":"settle"}"#]
    #expect(VaultAction.allCases.count == orders.count)
    try expectForms(
      Array(zip(VaultAction.allCases, orders)), write: \.json, read: VaultAction.init(json:))
    let questions = [#"{"show":"files"}"#, #"{"show":"conflicts"}"#, #"{"show":"codes"}"#]
    #expect(VaultQuestion.allCases.count == questions.count)
    try expectForms(
      Array(zip(VaultQuestion.allCases, questions)), write: \.json, read: VaultQuestion.init(json:))
  }

  @Test func otherFormsAreRefused() {
    let orders = ["{}", #"{"do":"dance"}"#, #"{"do":1}"#]
    expectRefusals(
      orders.map { ($0, "the vault does not know that order") }, read: VaultAction.init(json:))
    let questions = ["{}", #"{"show":"dance"}"#, #"{"show":1}"#]
    expectRefusals(
      questions.map { ($0, "the vault has no such view") }, read: VaultQuestion.init(json:))
  }
}
