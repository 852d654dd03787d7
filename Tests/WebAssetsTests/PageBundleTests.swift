import Foundation
import LockstepWebAssets
import LockstepWire
import Testing

struct PageBundleTests {
  /// The embedded pages equal the files in `Sources/WebClient`, byte by byte.
  @Test func everyPageIsInTheProgram() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/WebClient").standardizedFileURL
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { name in
      var isFolder: ObjCBool = false
      let path = folder.appending(path: name).path
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        && !isFolder.boolValue
    }
    let pages = PageBundle.all
    #expect(pages.map(\.path).sorted() == files.sorted())
    for page in pages {
      let content = try Data(contentsOf: folder.appending(path: page.path))
      #expect(Data(page.bytes) == content, "\(page.path)")
    }
  }

  /// The embedded description of the calls is that of the repository, for whatever relay serves it.
  @Test func theDescriptionOfTheCallsIsInTheProgram() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/openapi.json").standardizedFileURL
    let text = try String(contentsOf: file, encoding: .utf8)
    let served = text.replacing("\"http://127.0.0.1:5625\"", with: "\"/\"")
    #expect(served != text)
    let document = GzipContent.decoded(PageBundle.document, limit: 1 << 20)
    #expect(document == Array(served.utf8))
    #expect(PageBundle.document.count < served.utf8.count / 4)
  }
}
