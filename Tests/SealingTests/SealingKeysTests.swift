import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepSealing

/// A home's part of an account's keys: all, or those of some zones.
struct SealingKeysTests {
  private let memos = Name(trusted: "Memos")
  private let todos = Name(trusted: "Todos")
  private let vault = Name(trusted: "Vault")

  @Test func anAccountsKeysSealEveryZoneButThoseThatStayPlain() throws {
    let keys = SealingKeys.account(try account([1]), .all(but: [vault]))
    #expect(keys.keys(of: memos) == (try account([1]).keys(of: memos)))
    #expect(keys.keys(of: vault) == nil)
    let some = SealingKeys.zones([try account([1]).keys(of: memos)])
    #expect(some.keys(of: memos) == keys.keys(of: memos))
    #expect(some.keys(of: todos) == nil)
  }

  @Test func keysReplaceOnlyThoseThatTheyContain() throws {
    let one = SealingKeys.account(try account([1]), .all(but: [vault]))
    let two = SealingKeys.account(try account([1, 2]), .all(but: [vault]))
    #expect(two.contains(one) && !one.contains(two))
    #expect(SealingKeys.account(try account([1]), .all(but: [])).contains(one))
    #expect(!one.contains(.account(try account([1]), .all(but: []))))
    let other = SealingKeys.account(try account([1], names: 8), .all(but: [vault]))
    #expect(!other.contains(one))
    let memosOnly = SealingKeys.zones([try account([1]).keys(of: memos)])
    #expect(one.contains(memosOnly) && two.contains(memosOnly) && !memosOnly.contains(one))
    #expect(!one.contains(.zones([try account([1]).keys(of: vault)])))
    #expect(!other.contains(memosOnly))
  }

  @Test func keysOfOneAccountAreJoined() throws {
    let first = SealingKeys.account(try account([1, 2]), .all(but: [vault]))
    let second = SealingKeys.account(try account([1, 3]), .all(but: [vault, todos]))
    let all = first.replaced(by: second)
    #expect(all.contains(first) && all.contains(second) && all.sealed == .all(but: [vault]))
    let other = second.replaced(by: first)
    #expect(other.contains(all) && other.current == all.current)
    #expect(all.replaced(by: first) == all && first.replaced(by: all) == all)
    let foreign = SealingKeys.account(try account([1], names: 8), .all(but: [vault]))
    #expect(first.replaced(by: foreign) == foreign)
  }

  @Test func keysOfZonesAreAdded() throws {
    let old = SealingKeys.zones([try account([1]).keys(of: todos)])
    let new = SealingKeys.zones([
      try account([1]).keys(of: memos), try account([1, 2]).keys(of: todos),
    ])
    let memosOnly = SealingKeys.zones([try account([1]).keys(of: memos)])
    #expect(
      old.replaced(by: memosOnly)
        == .zones([try account([1]).keys(of: memos), try account([1]).keys(of: todos)]))
    #expect(old.replaced(by: memosOnly).replaced(by: new) == new)
    let all = SealingKeys.account(try account([1]), .all(but: []))
    #expect(old.replaced(by: all) == all)
    let twice = SealingKeys.zones([
      try account([1]).keys(of: memos), try account([2]).keys(of: memos),
    ])
    #expect(!twice.isUnambiguous && new.isUnambiguous)
  }

  @Test func aHomeReadsWhatItHasStored() throws {
    let all: [SealingKeys] = [
      .account(try account([1, 2]), .all(but: [vault, todos])),
      .account(try account([3]), .only([memos])),
      .zones([try account([1]).keys(of: memos), try account([1, 2]).keys(of: todos)]),
    ]
    for keys in all {
      let text = keys.storedValue.text
      #expect(SealingKeys(stored: try JSONValue(parsing: text)) == keys)
    }
    let stored = try JSONValue(parsing: all[0].storedValue.text)
    for text in [
      "[]", "{}", "null", "1", "[1]", #"{"names":"AA","generations":[],"plain":[]}"#,
      stored.text.replacing(#""plain":["#, with: #""plain":["","#),
      stored.text.replacing(#""generations":["#, with: #""generations":["AA","#),
    ] {
      #expect(SealingKeys(stored: try JSONValue(parsing: text)) == nil, "\(text)")
    }
  }

  private func account(_ numbers: [UInt8], names: UInt8 = 9) throws -> AccountKeys {
    let generations = numbers.compactMap {
      KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count))
    }
    return try #require(
      AccountKeys(
        nameSecret: [UInt8](repeating: names, count: 32), generations: generations))
  }
}
