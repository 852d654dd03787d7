extension Chinese {
  static let habits: [String: String] = [:]
}
