extension Chinese {
  static let vault: [String: String] = [:]
}
