extension Japanese {
  static let memos: [String: String] = [:]
}
