import Foundation
import LockstepModuleBundler

// embed-assets FOLDER OUTPUT NAME…: writes the named files of FOLDER into one Swift file: UTF-8
// files as string literals, others (icons) as byte arrays. Adds the modules of the package for web
// pages, joined into one.

/// Returns a text as a literal.
func literal(_ text: String) -> String {
  // More signs than follow any quote or backslash in the text, so the text cannot end the literal.
  var fence = "#"
  while text.contains("\"" + fence) || text.contains("\\" + fence) { fence += "#" }
  // The line break before the closing quotes is not part of the text.
  return "\(fence)\"\"\"\n\(text)\n\"\"\"\(fence)"
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
  FileHandle.standardError.write(Data("usage: embed-assets FOLDER OUTPUT NAME…\n".utf8))
  exit(2)
}
do {
  var source = "let embeddedPages: [(path: String, text: StaticString)] = [\n"
  var icons = "let embeddedIcons: [(path: String, bytes: [UInt8])] = [\n"
  var texts: [String: String] = [:]
  for name in arguments.dropFirst(3) {
    let url = URL(filePath: arguments[1]).appending(path: name)
    let content = try Data(contentsOf: url)
    guard let text = String(data: content, encoding: .utf8) else {
      let bytes = content.map { "\($0)" }.joined(separator: ", ")
      icons += "(\"\(name)\", [\(bytes)]),\n"
      continue
    }
    source += "(\n#\"\(name)\"#,\n\(literal(text))\n),\n"
    texts[name] = text
  }
  let module = try ModuleBundle.text(
    entry: "lockstep.js",
    header: "The package lockstep (Apache-2.0) in one module, made from Sources/WebClient."
  ) { texts[$0] }
  source += "]\n" + icons + "]\nlet embeddedModule: StaticString = \(literal(module))\n"
  try source.write(toFile: arguments[2], atomically: true, encoding: .utf8)
} catch {
  FileHandle.standardError.write(Data("embed-assets: \(error)\n".utf8))
  exit(1)
}
