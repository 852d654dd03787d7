import CZlib
import Foundation
import LockstepModuleBundler

// embed-assets FOLDER OUTPUT DOCUMENT NAME…: writes the named files of FOLDER into one Swift file,
// in Base64, texts in the coding gzip. Adds the account's page with its scripts and styles joined
// (`BundledPage`), the modules of the package for web pages, joined into one, and DOCUMENT
// (docs/openapi.json) in the coding gzip.

/// Returns a text as a literal.
func literal(_ text: String) -> String {
  // More signs than follow any quote or backslash in the text, so the text cannot end the literal.
  var fence = "#"
  while text.contains("\"" + fence) || text.contains("\\" + fence) { fence += "#" }
  // The line break before the closing quotes is not part of the text.
  return "\(fence)\"\"\"\n\(text)\n\"\"\"\(fence)"
}

/// Description of why an input cannot be embedded.
struct EmbeddingFault: Error, CustomStringConvertible {
  var description: String
}

/// Returns the document as each relay serves it: its calls are at the place it was loaded from
/// (OpenAPI 3.1, section 4.8.5: a relative server URL).
func served(_ document: String) throws(EmbeddingFault) -> String {
  let example = "\"url\": \"http://127.0.0.1:5625\""
  let parts = document.components(separatedBy: example)
  guard parts.count == 2 else {
    throw EmbeddingFault(description: "docs/openapi.json has \(example) not once")
  }
  return parts.joined(separator: "\"url\": \"/\"")
}

/// Returns the bytes in the coding gzip (RFC 1952), without a name or a time: equal bytes have an
/// equal coding.
func compressed(_ bytes: [UInt8]) throws(EmbeddingFault) -> [UInt8] {
  // On the heap: zlib's state points back at it, so it must not move.
  let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  stream.initialize(to: z_stream())
  defer {
    deflateEnd(stream)
    stream.deallocate()
  }
  // 16 more than the largest window: gzip's header. 8: zlib's default memory level.
  let code = deflateInit2_(
    stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
    Int32(MemoryLayout<z_stream>.size))
  guard code == Z_OK else { throw EmbeddingFault(description: "zlib: no memory") }
  let room = Int(deflateBound(stream, UInt(bytes.count)))
  var input = bytes
  var output = [UInt8](repeating: 0, count: room)
  let end = input.withUnsafeMutableBufferPointer { input in
    output.withUnsafeMutableBufferPointer { output in
      stream.pointee.next_in = input.baseAddress
      stream.pointee.avail_in = UInt32(input.count)
      stream.pointee.next_out = output.baseAddress
      stream.pointee.avail_out = UInt32(output.count)
      return deflate(stream, Z_FINISH)
    }
  }
  guard end == Z_STREAM_END else { throw EmbeddingFault(description: "zlib: code \(end)") }
  return Array(output.prefix(Int(stream.pointee.total_out)))
}

let arguments = CommandLine.arguments
guard arguments.count >= 4 else {
  FileHandle.standardError.write(
    Data("usage: embed-assets FOLDER OUTPUT DOCUMENT NAME…\n".utf8))
  exit(2)
}
/// Returns a row of the table of files.
func row(_ path: String, _ content: Data, isText: Bool, isImmutable: Bool = false)
  throws(EmbeddingFault) -> String
{
  let bytes = isText ? Data(try compressed(Array(content))) : content
  return "(#\"\(path)\"#, \(isText), \(isImmutable), \"\(bytes.base64EncodedString())\"),\n"
}

do {
  var rows = ""
  var texts: [String: String] = [:]
  for name in arguments.dropFirst(4) {
    let url = URL(filePath: arguments[1]).appending(path: name)
    let content = try Data(contentsOf: url)
    texts[name] = String(data: content, encoding: .utf8)
    rows += try row(name, content, isText: texts[name] != nil)
  }
  var bundle = ""
  for file in try BundledPage.files(read: { texts[$0] }) {
    bundle += try row(
      file.path, Data(file.text.utf8), isText: true, isImmutable: file.isImmutable)
  }
  let module = try ModuleBundle.text(
    entry: "lockstep.js",
    header: "The package lockstep (Apache-2.0) in one module, made from Sources/WebClient."
  ) { texts[$0] }
  let document = try String(contentsOf: URL(filePath: arguments[3]), encoding: .utf8)
  let coded = Data(try compressed(Array(served(document).utf8))).base64EncodedString()
  let type = "[(path: String, isGzipped: Bool, isImmutable: Bool, base64: StaticString)]"
  let source = """
    let embeddedFiles: \(type) = [
    \(rows)]
    let embeddedBundle: \(type) = [
    \(bundle)]
    let embeddedModule: StaticString = \(literal(module))
    let embeddedDocument: StaticString = "\(coded)"

    """
  try source.write(toFile: arguments[2], atomically: true, encoding: .utf8)
} catch {
  FileHandle.standardError.write(Data("embed-assets: \(error)\n".utf8))
  exit(1)
}
