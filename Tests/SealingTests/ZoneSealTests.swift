import LockstepCrypto
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// Two devices of one account share its keys; the relay has none of them.
struct ZoneSealTests {
  private let memos = Name(trusted: "Memos")
  private let generation = secret(1)
  private let keys = accountKeys([secret(1)])
  private var seal: ZoneSeal { ZoneSeal(keys.keys(of: memos)) }
  private var memo: Record {
    Record(
      zone: memos, name: Name(trusted: "a memo"), type: Name(trusted: "Memo"),
      fields: Array(#"{"text":"the key is under the mat"}"#.utf8), modifiedAt: 1_790_000_000_000,
      device: DeviceID(rawValue: 7), tag: 5, chunks: [chunk(1), chunk(2)])
  }
  private let version = recordVersion(5, 90, madeOn: [(3, 12), (5, 60)])

  @Test func whatIsSealedOpensOnTheOtherDevice() throws {
    let opened = try seal.opened(seal.sealed(memo, version: version))
    #expect(opened == OpenedRecord(record: memo, version: version))
  }

  @Test func aVersionThatAnotherDeviceSavesAgainStaysTheSame() throws {
    let saver = DeviceID(rawValue: 8)
    let sealed = seal.sealed(memo, version: version, savedBy: saver)
    #expect(sealed.device == saver)
    #expect(try seal.opened(sealed) == OpenedRecord(record: memo, version: version))
  }

  @Test func theRelaySeesNeitherNameNorTypeNorText() throws {
    let sealed = seal.sealed(memo, version: version)
    let seen =
      sealed.name.text + sealed.type.text
      + String(decoding: try #require(sealed.fields), as: UTF8.self)
    for secret in ["memo", "Memo", "text", "mat"] { #expect(!seen.contains(secret)) }
    #expect(sealed.includes.isEmpty)
    #expect(sealed.type == ZoneSeal.hiddenType)
  }

  @Test func equalContentGivesEqualBytes() {
    #expect(seal.sealed(memo, version: version) == seal.sealed(memo, version: version))
  }

  @Test func aDeletionIsSealedToo() throws {
    var gone = memo
    gone.fields = nil
    let sealed = seal.sealed(gone, version: version)
    #expect(!sealed.isDeleted)
    let opened = try seal.opened(sealed)
    #expect(opened.record.isDeleted)
    #expect(opened.record.name == memo.name)
    var small = gone
    small.fields = Array("{}".utf8)
    #expect(
      seal.sealed(gone, version: version).fields?.count
        == seal.sealed(small, version: version).fields?.count)
  }

  @Test func aTombstoneOfTheRelayIsNotADeletion() {
    var sealed = seal.sealed(memo, version: version)
    sealed.fields = nil
    #expect(fault(sealed) == .notSealed)
  }

  @Test(arguments: [
    "", "1", "[]", "{}", #"{"text":"plain"}"#, #"{"key":"0011223344556677"}"#,
    #"{"key":1,"sealed":"AAAA"}"#, #"{"key":"00112233AABBCCDD","sealed":"AAAA"}"#,
    #"{"key":"001122334455667","sealed":"AAAA"}"#, #"{"key":"","sealed":"AAAA"}"#,
    #"{"key":"0011223344556677","sealed":"AAAA","more":1}"#,
  ])
  func whatIsNotSealedIsNotTaken(fields: String) {
    var plain = memo
    plain.fields = Array(fields.utf8)
    #expect(fault(plain) == .notSealed)
  }

  @Test func whateverTheRelayChangesIsNoticed() {
    let sealed = seal.sealed(memo, version: version)
    let changes: [(String, (inout Record) -> Void)] = [
      ("name", { $0.name = seal.relayName(of: Name(trusted: "another")) }),
      ("type", { $0.type = Name(trusted: "Memo") }),
      ("author", { $0.device = DeviceID(rawValue: 8) }),
      ("time", { $0.modifiedAt += 1 }),
      ("order of chunks", { $0.chunks.reverse() }),
      ("one chunk less", { $0.chunks.removeLast() }),
      ("no chunks", { $0.chunks = [] }),
      ("zone", { $0.zone = Name(trusted: "Memo") }),
    ]
    for (part, change) in changes {
      var changed = sealed
      change(&changed)
      #expect(fault(changed) == .altered, "\(part)")
    }
    var later = sealed
    later.tag = 6
    #expect(fault(later) == nil)
  }

  @Test func everyChangedBitIsNoticed() throws {
    let sealed = seal.sealed(memo, version: version)
    let (key, bytes) = try parts(of: sealed)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1 << (index % 8)
      #expect(fault(with(key, changed, in: sealed)) == .altered)
    }
    for count in 0..<bytes.count {
      #expect(fault(with(key, Array(bytes.prefix(count)), in: sealed)) == .altered)
    }
  }

  @Test func aRecordThatNoRelayHasStoredIsNotTaken() {
    var sealed = seal.sealed(memo, version: version)
    sealed.tag = 0
    #expect(fault(sealed) == .altered)
  }

  @Test func anotherVersionOfTheSameRecordDoesNotPassForThisOne() throws {
    var later = memo
    later.modifiedAt += 1_000
    var swapped = seal.sealed(memo, version: version)
    swapped.fields = seal.sealed(later, version: version).fields
    #expect(fault(swapped) == .altered)
  }

  @Test func aZonesSealOpensNothingOfAnother() {
    let clipboard = ZoneSeal(keys.keys(of: Name(trusted: "Clipboard")))
    var moved = seal.sealed(memo, version: version)
    #expect(clipboard.relayName(of: memo.name) != moved.name)
    moved.zone = clipboard.zone
    do throws(SealFault) {
      _ = try clipboard.opened(moved)
      Issue.record("another zone's seal opened it")
    } catch {
      #expect(error == .altered)
    }
  }

  // MARK: generations

  @Test func afterARotationOldRecordsOpenAndKeepTheirNames() throws {
    let rotated = ZoneSeal(accountKeys([secret(1), secret(2)]).keys(of: memos))
    let old = seal.sealed(memo, version: version)
    #expect(try rotated.opened(old).record == memo)
    #expect(rotated.relayName(of: memo.name) == old.name)
    #expect(rotated.sealed(memo, version: version).fields != old.fields)
    #expect(rotated.keyID == secret(2).id)
  }

  @Test func aRevokedDeviceReadsNothingThatIsWrittenAfterwards() {
    let rotated = ZoneSeal(accountKeys([secret(1), secret(2)]).keys(of: memos))
    #expect(fault(rotated.sealed(memo, version: version)) == .unknownKey(secret(2).id))
  }

  @Test func anotherKeyUnderTheSameIdentifierOpensNothing() throws {
    let other = ZoneSeal(accountKeys([secret(2)]).keys(of: memos))
    var sealed = other.sealed(memo, version: version)
    let (_, bytes) = try parts(of: sealed)
    sealed = with(generation.id, bytes, in: sealed)
    #expect(fault(sealed) == .altered)
  }

  // MARK: types that a subscription names

  @Test func aShownTypeIsTheRealOne() throws {
    let showing = ZoneSeal(keys.keys(of: memos), shownTypes: [memo.type])
    let sealed = showing.sealed(memo, version: version)
    #expect(sealed.type == memo.type)
    #expect(try seal.opened(sealed).record == memo)
  }

  @Test func aShownTypeThatIsNotTheRealOneIsMalformed() {
    var lie = memo
    lie.type = Name(trusted: "Note")
    #expect(
      fault(resealed(SealedContent(memo, version).padded, as: lie, shown: lie.type)) == .malformed)
  }

  // MARK: contents that only a faulty program with the key makes

  @Test func aContentThatIsNotInTheFormatIsMalformed() {
    let good = SealedContent(memo, version).padded
    let unpadded = SealPadding.unpaddedCount(good) ?? 0
    var contents: [(String, [UInt8])] = [
      ("nothing", []), ("zeros", [UInt8](repeating: 0, count: 32)),
      ("no padding", Array(good.prefix(unpadded))),
      ("longer padding", good + [UInt8](repeating: 0, count: 32)),
      ("shorter padding", Array(good.dropLast())),
    ]
    func content(_ label: String, _ change: (inout [UInt8]) -> Void) {
      var bytes = Array(good.prefix(unpadded))
      change(&bytes)
      SealPadding.pad(&bytes)
      contents.append((label, bytes))
    }
    content("unknown kind") { $0[0] = 3 }
    content("deleted, with fields") { $0[0] = 2 }
    let (number, floor) = (17, 25)
    let name = floor + 8 + 1 + 2 * 16
    content("a number that is not above the writer's former one") { $0[number + 7] = 60 }
    content("the number 0") { $0[number + 7] = 0 }
    content("a number that is too large") { $0[number] = 0x20 }
    content("too many entries of the vector") { $0[floor + 8] = 65 }
    content("a number of the vector that is not above its floor") { $0[floor + 7] = 12 }
    content("a name without end") { $0[name] = 255 }
    content("no name") { $0[name] = 0 }
    content("a name that is not UTF-8") { $0[name + 1] = 0xFF }
    content("a name with a line feed") { $0[name + 1] = 10 }
    content("fields that are not JSON") { $0[$0.count - 1] = 0x20 }
    content("fields that are no object") { $0 = $0.dropLast(memo.fields?.count ?? 0) + [0x31] }
    content("no fields") { $0 = $0.dropLast(memo.fields?.count ?? 0) }
    for (label, bytes) in contents where !bytes.isEmpty {
      #expect(fault(resealed(bytes, as: memo)) == .malformed, "\(label)")
    }
    #expect(fault(resealed(good, as: memo)) == nil)
  }

  @Test func aNameThatIsNotTheRecordsIsMalformed() {
    var other = memo
    other.name = Name(trusted: "another")
    #expect(fault(resealed(SealedContent(memo, version).padded, as: other)) == .malformed)
  }

  // MARK: lengths

  @Test func theSealedLengthIsKnownBefore() {
    for count in [0, 1, 31, 32, 33, 900, 1_000, 1_025, 5_000, 70_000] {
      var long = memo
      long.fields = Array(#"{"text":"\#(String(repeating: "x", count: count))"}"#.utf8)
      let sealed = seal.sealed(long, version: version)
      #expect(seal.sealedFieldsCount(long, vectorEntries: 2) == sealed.fields?.count)
    }
  }

  @Test func lengthsBecomeFew() {
    var lengths: Set<Int> = []
    for count in 1...1_023 {
      let padded = SealPadding.paddedCount(count)
      #expect(padded > count && padded.isMultiple(of: 32) && padded - count <= 32)
      lengths.insert(padded)
    }
    #expect(lengths.count == 32)
    var last = 0
    for count in stride(from: 1_024, to: 1 << 21, by: 997) {
      let padded = SealPadding.paddedCount(count)
      #expect(padded > count && padded >= last)
      #expect(Double(padded) <= Double(count + 1) * 1.12)
      last = padded
    }
  }

  @Test func aPaddedContentHasOneForm() {
    for count in 0...2_100 {
      var bytes = [UInt8](repeating: 0x80, count: count)
      SealPadding.pad(&bytes)
      #expect(bytes.count == SealPadding.paddedCount(count))
      #expect(SealPadding.unpaddedCount(bytes) == count)
      #expect(SealPadding.unpaddedCount(bytes + [0]) == nil)
    }
  }

  // MARK: chunks

  @Test func chunksOpenWithAnyGenerationOfTheDevice() {
    let rotated = ZoneSeal(accountKeys([secret(1), secret(2)]).keys(of: memos))
    let chunk = Array("part of a file".utf8)
    #expect(rotated.opened(chunk: seal.sealed(chunk: chunk)) == chunk)
    #expect(rotated.opened(chunk: rotated.sealed(chunk: chunk)) == chunk)
    #expect(seal.opened(chunk: rotated.sealed(chunk: chunk)) == nil)
    #expect(seal.opened(chunk: []) == nil)
    #expect(rotated.chunkSeed != seal.chunkSeed)
  }

  // MARK: blocks of files

  @Test func aBlockOfAFileOpensOnTheOtherDevice() throws {
    let rotated = ZoneSeal(accountKeys([secret(1), secret(2)]).keys(of: memos))
    for count in [1, 31, 32, 1_024, 70_000] {
      let block = [UInt8](repeating: 7, count: count)
      let chunk = seal.sealed(fileBlock: block)
      #expect(try seal.opened(fileBlock: chunk, sealedWith: seal.keyID) == block)
      #expect(try rotated.opened(fileBlock: chunk, sealedWith: seal.keyID) == block)
      #expect(!chunk.starts(with: block))
    }
  }

  @Test func aFullBlockIsAChunkThatTheRelayTakes() throws {
    let block = [UInt8](repeating: 1, count: ZoneSeal.fileBlockBytes)
    let chunk = seal.sealed(fileBlock: block)
    #expect(chunk.count <= Limits.chunkBytes)
    #expect(try seal.opened(fileBlock: chunk, sealedWith: seal.keyID) == block)
  }

  @Test func theLengthOfAChunkTellsTheLengthOfAFileRoughly() {
    let lengths = (50_001...51_000).map { count in
      seal.sealed(fileBlock: [UInt8](repeating: 1, count: count)).count
    }
    #expect(Set(lengths).count <= 2)
  }

  @Test func aChunkThatWasChangedDoesNotOpen() {
    let chunk = seal.sealed(fileBlock: Array("a photo of the key".utf8))
    var changed = chunk
    changed[changed.count - 1] ^= 1
    let cases = [changed, chunk.dropLast(), chunk.dropLast(chunk.count - 1), chunk + [0], []]
    for bytes in cases { #expect(fault(ofChunk: Array(bytes)) == .altered) }
  }

  @Test func plainBytesAreNeverTakenForAFile() {
    let plain = Array("a photo that somebody else has put there".utf8)
    #expect(fault(ofChunk: plain) == .altered)
  }

  @Test func aChunkOpensOnlyWithItsOwnZoneAndGeneration() {
    let block = Array("a photo of the key".utf8)
    let otherZone = ZoneSeal(keys.keys(of: Name(trusted: "Habits")))
    #expect(otherZone.keyID == seal.keyID)
    #expect(fault(ofChunk: otherZone.sealed(fileBlock: block)) == .altered)
    let rotated = ZoneSeal(accountKeys([secret(1), secret(2)]).keys(of: memos))
    let newer = rotated.sealed(fileBlock: block)
    #expect(fault(ofChunk: newer) == .altered)
    #expect(fault(ofChunk: newer, sealedWith: rotated.keyID) == .unknownKey(rotated.keyID))
  }

  @Test func aChunkWithoutThePaddingIsMalformed() {
    #expect(fault(ofChunk: seal.sealed(chunk: Array("not padded".utf8))) == .malformed)
  }

  // MARK: tools

  private func fault(ofChunk chunk: [UInt8], sealedWith key: String? = nil) -> SealFault? {
    do throws(SealFault) {
      _ = try seal.opened(fileBlock: chunk, sealedWith: key ?? seal.keyID)
      return nil
    } catch {
      return error
    }
  }

  private func fault(_ record: Record) -> SealFault? {
    do throws(SealFault) {
      _ = try seal.opened(record)
      return nil
    } catch {
      return error
    }
  }

  private func parts(of record: Record) throws -> (key: String, bytes: [UInt8]) {
    let value = try #require(record.value)
    let text = try #require(value["sealed"]?.string)
    return (try #require(value["key"]?.string), try #require(Base64.decodeURL(text)))
  }

  private func with(_ key: String, _ bytes: [UInt8], in record: Record) -> Record {
    var changed = record
    changed.fields = Array(#"{"key":"\#(key)","sealed":"\#(Base64.encodeURL(bytes))"}"#.utf8)
    return changed
  }

  /// Returns `padded`, sealed with the right key as the content of `record`.
  private func resealed(_ padded: [UInt8], as record: Record, shown: Name? = nil) -> Record {
    var sealed = record
    sealed.name = seal.relayName(of: record.name)
    sealed.type = shown ?? ZoneSeal.hiddenType
    sealed.includes = []
    let key = SIV(key: derived(generation.zoneKey(memos), Array("record".utf8), SIV.keyBytes))
    let bytes = key.sealed(padded, data: ZoneSeal.associatedData(of: sealed))
    return with(generation.id, bytes, in: sealed)
  }
}

private func secret(_ number: UInt8) -> KeyGeneration {
  guard let generation = KeyGeneration(secret: [UInt8](repeating: number, count: 32)) else {
    preconditionFailure("a secret has 32 bytes")
  }
  return generation
}

private func recordVersion(
  _ writer: UInt64, _ number: Int64, madeOn made: [(UInt64, Int64)]
) -> RecordVersion {
  func id(_ writer: UInt64, _ number: Int64) -> VersionID {
    VersionID(writer: WriterID(rawValue: writer), number: number)
  }
  let vector = made.reduce(VersionVector()) { $0.adding(id($1.0, $1.1)) }
  guard let version = RecordVersion(id(writer, number), madeOn: vector) else {
    preconditionFailure("a number above those that are included")
  }
  return version
}

private func accountKeys(_ generations: [KeyGeneration]) -> AccountKeys {
  guard
    let keys = AccountKeys(
      nameSecret: [UInt8](repeating: 9, count: 32), generations: generations)
  else { preconditionFailure("valid keys") }
  return keys
}

private func chunk(_ number: UInt8) -> ChunkHash {
  guard let hash = ChunkHash(bytes: [UInt8](repeating: number, count: 32)) else {
    preconditionFailure("a hash has 32 bytes")
  }
  return hash
}
