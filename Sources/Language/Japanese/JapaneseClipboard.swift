extension Japanese {
  static let clipboard: [String: String] = [:]
}
