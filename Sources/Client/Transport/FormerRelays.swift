/// Addresses of relays that the account of a home has left, as a value of the home. An app that
/// names one of them when it opens the home does not undo the move.
package struct FormerRelays: Hashable, Sendable {
  package static let key = "relay.former"
  /// Addresses that are remembered, the newest ones.
  private static let max = 8

  private var urls: [String]

  /// `text`: from the home; nil if there is none.
  package init(_ text: String?) { urls = text?.split(separator: " ").map(String.init) ?? [] }

  /// nil if there is none. No address has a space.
  var text: String? { urls.isEmpty ? nil : urls.joined(separator: " ") }

  package func contains(_ url: String) -> Bool { urls.contains(url) }

  mutating func leave(_ former: String, for relay: String) {
    urls.removeAll { $0 == former || $0 == relay }
    urls.append(former)
    urls.removeFirst(Swift.max(0, urls.count - FormerRelays.max))
  }
}
