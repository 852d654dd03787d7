/// Files of `Sources/WebClient`, embedded in the program by the build.
package enum PageBundle {
  /// Path in that folder, and bytes, of each file.
  package static var all: [(path: String, bytes: [UInt8])] {
    embeddedPages.map { page in
      (page.path, page.text.withUTF8Buffer { Array($0) })
    } + embeddedIcons
  }

  /// `docs/openapi.json` in the coding gzip, with a server URL that fits every relay.
  package static var document: [UInt8] { embeddedDocument }

  /// The package for web pages (`lockstep.js` with all that it imports) as one module.
  package static var module: [UInt8] { embeddedModule.withUTF8Buffer { Array($0) } }
}
