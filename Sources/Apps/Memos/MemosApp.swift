import Changes

/// Notes: zone `Memos`, a record a memo.
package struct MemosApp: App {
  package static let zone = Name(trusted: "Memos")
  package static let memoType = Name(trusted: "Memo")

  package init() {}

  package var name: String { "memo" }
  package var zone: Name { MemosApp.zone }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == MemosApp.memoType ? MemoResolver() : nil
  }
}
