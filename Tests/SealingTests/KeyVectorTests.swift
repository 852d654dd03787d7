import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// Test vectors for keys, and for all by which a device gives them to another.
struct KeyVectorTests {
  @Test func everyLineIsOfAKindThatATestReads() throws {
    let vectors = try SealVector.all()
    for vector in vectors {
      let kind = vector.value["kind"]?.string ?? ""
      #expect(SealVector.Kind(rawValue: kind) != nil, "no test reads the kind \"\(kind)\"")
    }
    #expect(vectors.count == SealVector.Kind.allCases.map(\.count).reduce(0, +))
  }

  @Test func keysAreDerivedAlike() throws {
    for vector in try SealVector.all(.keys) {
      let generation = try #require(KeyGeneration(secret: try vector.bytes("secret")))
      let keys = try #require(
        AccountKeys(nameSecret: try vector.bytes("nameSecret"), generations: [generation]))
      #expect(generation.id == vector.expect("id"))
      #expect(generation.checkWords == vector.expect("checkWords"))
      #expect(KeyPhrase.text(of: generation) == vector.expect("phrase"))
      let zoneKeys = keys.keys(of: try vector.name("zone"))
      let zoneKey = try #require(zoneKeys.generations.first?.key)
      #expect(zoneKeys.generations.count == 1 && hex(zoneKey) == vector.expect("zoneKey"))
      for (member, purpose) in [("recordKey", "record"), ("chunkKey", "chunk")] {
        #expect(hex(derived(zoneKey, Array(purpose.utf8), 64)) == vector.expect(member))
      }
      #expect(hex(zoneKeys.names) == vector.expect("nameZoneKey"))
      let nameKey = derived(zoneKeys.names, Array("name".utf8), 32)
      #expect(hex(nameKey) == vector.expect("nameKey"))
      let seed = ZoneSeal(zoneKeys).chunkSeed
      #expect(HexText.text(seed) == vector.expect("chunkSeed"))
    }
  }

  @Test func phrasesAreReadAlike() throws {
    for vector in try SealVector.all(.phrase) {
      let phrase = try #require(vector["phrase"]?.string)
      do throws(KeyPhrase.Fault) {
        let generation = try KeyPhrase.generation(from: phrase)
        #expect(hex(generation.secret) == vector.expect("secret"))
      } catch {
        let number = vector.value["expect"]?["number"]?.int64
        switch error {
        case .letters(let count):
          #expect(vector.expect("fault") == "letters" && number == Int64(count))
        case .word(let place):
          #expect(vector.expect("fault") == "word" && number == Int64(place))
        case .checksum: #expect(vector.expect("fault") == "checksum")
        }
      }
    }
  }

  @Test func keysAreWrappedAlikeAndOpen() throws {
    for vector in try SealVector.all(.wrap) {
      let (account, letters) = try code(of: vector)
      let keys = try vector.sealingKeys("keys")
      let salt = try vector.bytes("salt")
      let own = try WrappedKeys.text(of: keys, account: account, secret: letters, salt: salt)
      let wrapped = try #require(vector.expect("wrapped"))
      #expect(own == wrapped)
      #expect(try WrappedKeys.keys(in: wrapped, account: account, secret: letters) == keys)
    }
  }

  @Test func wrappedKeysOpenForTheSamePeople() throws {
    for vector in try SealVector.all(.unwrap) {
      let (account, letters) = try code(of: vector)
      let wrapped = try #require(vector["wrapped"]?.string)
      do throws(WrappedKeys.Fault) {
        let keys = try WrappedKeys.keys(in: wrapped, account: account, secret: letters)
        let expected = vector.value["expect"]?["keys"].flatMap { SealingKeys(stored: $0) }
        #expect(keys == expected, "\(vector.note)")
      } catch {
        let fault =
          switch error {
          case .malformed, .tooLong, .noMemory: ["form", "malformed"]
          case .wrongSecret: ["secret"]
          case .otherAccount: ["account"]
          }
        #expect(fault.contains(vector.expect("fault") ?? ""), "\(vector.note): \(error)")
      }
    }
  }

  @Test func twoDevicesComputeTheSameSecret() throws {
    for vector in try SealVector.all(.x25519) {
      let key = try #require(X25519PrivateKey(try vector.bytes("secret")))
      #expect(hex(key.publicKey) == vector.expect("publicKey"), "\(vector.note)")
      let shared = key.sharedSecret(with: try vector.bytes("other"))
      #expect(shared.map { hex($0) } == vector.expect("shared"), "\(vector.note)")
    }
  }

  @Test func theRecordOfAllKeysIsSealedAlikeAndOpens() throws {
    for vector in try SealVector.all(.ring) {
      let keys = try vector.sealingKeys("keys")
      let fields = try fields(of: vector)
      #expect(KeyRing.fields(of: keys) == fields)
      let current = try #require(keys.current)
      #expect(try KeyRing.keys(in: fields, openedBy: current) == keys)
    }
  }

  @Test func aDevicesPublicKeyIsSealedAlikeAndOpens() throws {
    for vector in try SealVector.all(.deviceKey) {
      let generation = try #require(KeyGeneration(secret: try vector.bytes("secret")))
      let device = try vector.device("device")
      let publicKey = try vector.bytes("publicKey")
      let fields = try fields(of: vector)
      #expect(KeyHandover.fields(ofKey: publicKey, of: device, generation) == fields)
      #expect(KeyHandover.publicKey(in: fields, of: device, generation) == publicKey)
    }
  }

  @Test func newKeysAreSealedAlikeAndOpenForTheirDevice() throws {
    for vector in try SealVector.all(.nextKeys) {
      let authorKey = try #require(X25519PrivateKey(try vector.bytes("authorSecret")))
      let deviceKey = try #require(X25519PrivateKey(try vector.bytes("deviceSecret")))
      let (author, device) = (try vector.device("author"), try vector.device("device"))
      let without = try #require(vector["without"]?.array).map {
        try #require($0.string.flatMap { DeviceID(text: $0) })
      }
      let next = KeyHandover.Next(
        try vector.sealingKeys("keys"), author: author, without: without)
      let fields = try fields(of: vector)
      #expect(
        KeyHandover.fields(of: next, for: device, deviceKey.publicKey, key: authorKey) == fields)
      #expect(KeyHandover.author(of: fields) == author)
      let read = KeyHandover.next(
        in: fields, for: device, by: author, authorKey.publicKey, key: deviceKey)
      #expect(read == next)
    }
  }

  @Test func generationsOfTwoDevicesAreJoinedAlike() throws {
    for vector in try SealVector.all(.joined) {
      let joined = try accountKeys("own", of: vector).joined(
        with: try accountKeys("others", of: vector))
      let expected = vector.value["expect"]?["generations"]?.array?.compactMap(\.string)
      #expect(joined?.generations.map(\.id) == expected, "\(vector.note)")
    }
  }

  // MARK: parts of a case

  /// Returns the account and the letters of a pairing code.
  private func code(of vector: SealVector) throws -> (AccountID, [UInt8]) {
    let account = try #require(vector["account"]?.string.flatMap { AccountID(text: $0) })
    return (account, Array(try #require(vector["letters"]?.string).utf8))
  }

  private func accountKeys(_ member: String, of vector: SealVector) throws -> AccountKeys {
    guard case .account(let keys, _) = try vector.sealingKeys(member) else {
      throw KindError.notAnAccount
    }
    return keys
  }

  private func fields(of vector: SealVector) throws -> JSONValue {
    try #require(vector.value["expect"]?["fields"])
  }

  private func hex(_ bytes: [UInt8]) -> String { HexText.text(of: bytes) }

  private enum KindError: Error { case notAnAccount }
}
