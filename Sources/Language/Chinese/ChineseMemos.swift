extension Chinese {
  static let memos: [String: String] = [:]
}
