extension Chinese {
  static let clipboard: [String: String] = [:]
}
