import LockstepJSON
import Testing

@testable import LockstepModel

struct FileReferenceTests {
  private let one = String(repeating: "1", count: 64)
  private let two = String(repeating: "2", count: 64)

  private func reference(_ hashes: [String], bytes: Int64 = 3) -> JSONValue {
    [
      "name": "a.jpg", "bytes": .number(JSONNumber(bytes)),
      "chunks": .array(hashes.map { .string($0) }),
    ]
  }

  private func found(_ fields: JSONValue) -> [String] {
    FileReference.chunks(in: fields).map(\.text)
  }

  @Test func referencesAreFoundWhereverTheyStand() {
    #expect(found(["image": reference([one])]) == [one])
    #expect(found(["pages": [reference([one]), reference([two, one])]]) == [one, two])
    #expect(found(["deep": ["deeper": ["image": reference([two])]]]) == [two])
    #expect(found(["title": "milk", "done": true]) == [])
  }

  @Test func whatOnlyLooksLikeAReferenceIsNone() {
    #expect(found(["image": reference(["abc"])]) == [])
    #expect(found(["image": ["name": "a", "chunks": [.string(one)]]]) == [])
    #expect(found(["image": ["bytes": 3, "chunks": [.string(one)]]]) == [])
    #expect(found(["image": reference([one], bytes: 0)]) == [])
    #expect(found(["image": reference([one], bytes: -1)]) == [])
    #expect(found(["chunks": [.string(one)]]) == [])
  }
}
