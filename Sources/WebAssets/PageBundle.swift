/// The files of `Sources/WebClient`, which the build puts into the program.
public enum PageBundle {
  /// Each with its path in that folder and its bytes.
  public static var all: [(path: String, bytes: [UInt8])] {
    embeddedPages.map { page in
      (page.path, page.text.withUTF8Buffer { Array($0) })
    } + embeddedIcons
  }
}
