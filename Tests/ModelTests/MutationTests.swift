import Testing

@testable import LockstepModel

@Suite struct MutationTests {
  @Test func mutationWithoutFieldsIsADelete() {
    let name = Name(trusted: "a")
    let delete = Mutation(name: name, type: nil, fields: nil, modifiedAt: 1, baseTag: 2)
    let save = Mutation(
      name: name, type: name, fields: Array("{}".utf8), modifiedAt: 1, baseTag: 0)
    #expect(delete.isDelete)
    #expect(!save.isDelete)
    #expect(save.refusal == nil)
  }
}
