extension Chinese {
  static let timer: [String: String] = [:]
}
