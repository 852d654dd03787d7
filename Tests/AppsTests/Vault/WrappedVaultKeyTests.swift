import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import Testing

@testable import LockstepApps

struct WrappedVaultKeyTests {
  private let record = Name(trusted: "code/abc")
  private let key: VaultKey
  private let secret: JoinSecret

  init() throws {
    key = try #require(VaultKey(bytes: Array(0..<16)))
    secret = try #require(JoinSecret(letters: Array("0123456789AB".utf8)))
  }

  /// Values wrapped by Python's `hashlib.scrypt` and `cryptography`.
  @Test func aWrappedKeyIsThatOfOtherPrograms() throws {
    let wrapped = try wrapped()
    #expect(wrapped.fields == fields)
    #expect(wrapped.key(secret: secret, record: record) == key)
  }

  @Test func itIsOpenedWithItsSecretAndInItsRecordAlone() throws {
    let read = try #require(WrappedVaultKey(fields: fields))
    #expect(read.expiresAt == 5 && read.keyID == key.id)
    #expect(read.key(secret: secret, record: record) == key)
    #expect(read.key(secret: JoinSecret(word: 1), record: record) == nil)
    #expect(read.key(secret: secret, record: Name(trusted: "code/abd")) == nil)
    let named = fields.setting("key", to: "0000000000000000")
    let renamed = try #require(WrappedVaultKey(fields: named))
    #expect(renamed.key(secret: secret, record: record) == nil)
    let cheaper = try #require(WrappedVaultKey(fields: fields.setting("n", to: 1_024)))
    #expect(cheaper.key(secret: secret, record: record) == nil)
  }

  /// A record from any writer must not exhaust the device's memory and time.
  @Test(arguments: [
    ("n", 1 << 40), ("n", 1 << 18), ("n", -65_536), ("n", 0), ("r", 17), ("r", 0),
    ("r", 1 << 60), ("p", 5), ("p", 0), ("p", -1),
  ])
  func whatAsksForTooMuchIsNotTried(member: String, value: Int64) {
    #expect(
      WrappedVaultKey(fields: fields.setting(member, to: .number(JSONNumber(value)))) == nil)
  }

  @Test func whatIsNoWrappedKeyIsNone() {
    for (member, value) in [
      ("key", 1), ("salt", "AAA"), ("salt", "AAAA"), ("wrapped", "AAAA"), ("wrapped", nil),
      ("expiresAt", "soon"), ("n", "65536"),
    ] as [(String, JSONValue?)] {
      #expect(WrappedVaultKey(fields: fields.setting(member, to: value)) == nil, "\(member)")
    }
    let salt = String(repeating: "AAAA", count: 30)
    #expect(WrappedVaultKey(fields: fields.setting("salt", to: .string(salt))) == nil)
    #expect(WrappedVaultKey(fields: .null) == nil)
    #expect(WrappedVaultKey(fields: fields) != nil)
  }

  /// Parameters that scrypt does not allow.
  @Test func aCostThatIsNoPowerOfTwoOpensNothing() throws {
    let odd = try #require(WrappedVaultKey(fields: fields.setting("n", to: 65_535)))
    #expect(odd.key(secret: secret, record: record) == nil)
  }

  @Test func theRecordFollowsFromTheRelaysPartAlone() throws {
    let code = try #require(JoinCode(offer: "7q2m 0XKD-9RTA", secret: secret))
    let hash = HexText.text(of: Array(SHA256.hash(Array("7Q2M0XKD9RTA".utf8)).prefix(16)))
    #expect(code.recordName?.text == "code/" + hash)
    let other = try #require(JoinCode(offer: "7Q2M-0XKD-9RTA", secret: JoinSecret(word: 1)))
    #expect(other.recordName == code.recordName && other != code)
    let half = try #require(JoinCode(typed: "7Q2M-0XKD-9RTA"))
    #expect(half.recordName == nil)
  }

  private func wrapped() throws -> WrappedVaultKey {
    try #require(
      WrappedVaultKey(key, secret: secret, salt: Array(0..<16), record: record, expiresAt: 5))
  }

  private let fields: JSONValue = [
    "key": "b5042643d3ecb49c", "salt": "AAECAwQFBgcICQoLDA0ODw==", "n": 65_536, "r": 8, "p": 1,
    "wrapped": "wuONSFlvhJPHh7spDZnqyZdvaIGAZr/vKaR6u29Uk7k=", "expiresAt": 5,
  ]
}
