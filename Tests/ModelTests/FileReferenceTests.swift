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

  @Test func aReferenceNamesTheKeysOfItsChunks() {
    let seal: JSONValue = ["zone": "Photos", "key": "00112233445566aa"]
    let sealed = reference([one]).setting("seal", to: seal)
    let fields: JSONValue = ["sealed": sealed, "plain": reference([two])]
    let photos = Name(trusted: "Photos")
    #expect(found(fields) == [one, two])
    #expect(
      FileReference.references(in: fields).map(\.seal) == [
        FileReference.Seal(zone: photos, key: "00112233445566aa"), nil,
      ])
    #expect(FileReference.chunks(in: fields, sealedIn: photos).map(\.text) == [one])
    #expect(FileReference.chunks(in: fields, sealedIn: Name(trusted: "Memos")) == [])
  }

  @Test func aSealOfAnotherFormSealsNothing() {
    let photos = Name(trusted: "Photos")
    let seals: [JSONValue] = [
      "Photos", ["zone": "Photos"], ["key": "a"], ["zone": "", "key": "a"],
    ]
    for seal in seals {
      let fields: JSONValue = ["image": reference([one]).setting("seal", to: seal)]
      #expect(found(fields) == [one])
      #expect(FileReference.chunks(in: fields, sealedIn: photos) == [])
    }
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
