import Foundation
import LockstepWebAssets
import LockstepWire
import Testing

struct PageBundleTests {
  private static let limit = 1 << 22

  private func content(_ file: PageBundle.File) -> [UInt8]? {
    file.isGzipped ? GzipContent.decoded(file.bytes, limit: Self.limit) : file.bytes
  }

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
    let pages = PageBundle.sources
    #expect(pages.map(\.path).sorted() == files.sorted())
    for page in pages {
      let source = try Data(contentsOf: folder.appending(path: page.path))
      #expect(content(page).map { Data($0) } == source, "\(page.path)")
      #expect(page.isGzipped != page.path.hasSuffix(".png"), "\(page.path)")
    }
  }

  /// The page has one script, one style sheet, and scripts for later, which browsers may keep for
  /// good.
  @Test func thePageIsInTheProgramAsFewFiles() throws {
    let files = PageBundle.page
    // Five views and two languages are loaded later.
    let kinds = ["html", "js", "css"] + Array(repeating: "js", count: 7)
    #expect(files.map { $0.path.split(separator: ".").last.map(String.init) } == kinds)
    #expect(files.map(\.isImmutable) == kinds.map { $0 != "html" })
    #expect(Set(files.map(\.path)).count == files.count)
    let index = try #require(content(files[0]).map { String(decoding: $0, as: UTF8.self) })
    let script = try #require(content(files[1]).map { String(decoding: $0, as: UTF8.self) })
    for later in files.dropFirst(3) { #expect(script.contains("import(\"./\(later.path)\")")) }
    for file in files[1...2] {
      #expect(index.contains("\"\(file.path)\""), "\(file.path)")
      #expect(file.isGzipped)
    }
    #expect(!index.contains("page/main.js") && !index.contains("page/style/"))
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
