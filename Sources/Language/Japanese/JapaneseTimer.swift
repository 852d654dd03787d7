extension Japanese {
  static let timer: [String: String] = [:]
}
