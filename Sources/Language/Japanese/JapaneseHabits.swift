extension Japanese {
  static let habits: [String: String] = [:]
}
