import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// Keys that a pairing code carries.
struct WrappedKeysTests {
  private let account = AccountID(rawValue: 7)
  private let secret = Array("C4VH1EZB83NW".utf8)
  private let salt = [UInt8](1...16)

  @Test func opensWithTheSecretAlone() throws {
    let keys = SealingKeys.account(
      try accountKeys(of: [1, 2]), .all(but: [Name(trusted: "Vault")]))
    let text = try WrappedKeys.text(of: keys, account: account, secret: secret, salt: salt)
    #expect(try WrappedKeys.keys(in: text, account: account, secret: secret) == keys)
    #expect(fault(text, account, Array("C4VH1EZB83NX".utf8)) == .wrongSecret)
    #expect(fault(text, AccountID(rawValue: 8), secret) == .otherAccount)
  }

  @Test func carriesTheKeysOfSomeZonesAlone() throws {
    let zones = ["Habits", "Memos"].map { Name(trusted: $0) }
    let whole = try accountKeys(of: [1, 2])
    let keys = SealingKeys.zones(zones.map { whole.keys(of: $0) })
    let text = try WrappedKeys.text(of: keys, account: account, secret: secret, salt: salt)
    let opened = try WrappedKeys.keys(in: text, account: account, secret: secret)
    #expect(opened == keys && opened.keys(of: Name(trusted: "Timer")) == nil)
  }

  /// The relay has the text, and can change it.
  @Test func aChangedTextOpensNothing() throws {
    let keys = SealingKeys.account(try accountKeys(of: [1]), .all(but: []))
    let text = try WrappedKeys.text(of: keys, account: account, secret: secret, salt: salt)
    for index in stride(from: 0, to: text.utf8.count - 1, by: 31) {
      var bytes = Array(text.utf8)
      bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let found = fault(String(decoding: bytes, as: UTF8.self), account, secret)
      #expect(found == (index == 0 ? .malformed : .wrongSecret))
    }
    for malformed in ["", "A", "AQ", "=", String(text.prefix(40)), text + "!"] {
      #expect(fault(malformed, account, secret) != nil)
    }
    let long = String(repeating: "A", count: Limits.wrappedKeyCharacters + 1)
    #expect(fault(long, account, secret) == .malformed)
  }

  /// A device of a part of an account has a key of each generation for each of its zones.
  @Test func refusesMoreThanARelayTakes() throws {
    let whole = try accountKeys(of: Array(1...64))
    let fits = SealingKeys.account(whole, .all(but: []))
    #expect(throws: Never.self) {
      try WrappedKeys.text(of: fits, account: account, secret: secret, salt: salt)
    }
    let zones = (1...16).map { whole.keys(of: Name(trusted: "zone\($0)")) }
    #expect(throws: WrappedKeys.Fault.tooLong) {
      try WrappedKeys.text(of: .zones(zones), account: account, secret: secret, salt: salt)
    }
  }

  private func accountKeys(of numbers: [UInt8]) throws -> AccountKeys {
    let generations = numbers.compactMap {
      KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count))
    }
    return try #require(
      AccountKeys(nameSecret: [UInt8](repeating: 9, count: 32), generations: generations))
  }

  private func fault(_ text: String, _ account: AccountID, _ secret: [UInt8])
    -> WrappedKeys.Fault?
  {
    do throws(WrappedKeys.Fault) {
      _ = try WrappedKeys.keys(in: text, account: account, secret: secret)
      return nil
    } catch {
      return error
    }
  }
}
