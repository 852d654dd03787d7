extension Chinese {
  static let common: [String: String] = [:]
}
