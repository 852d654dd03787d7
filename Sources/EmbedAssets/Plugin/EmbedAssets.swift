import Foundation
import PackagePlugin

/// Embeds the files of `Sources/WebClient` and `docs/openapi.json` in the program as Swift source,
/// so the program needs no separate asset files.
@main
struct EmbedAssets: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let folder = context.package.directoryURL.appending(path: "Sources/WebClient")
    let document = context.package.directoryURL.appending(path: "docs/openapi.json")
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedPages.swift")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
      .filter { name in
        var isFolder: ObjCBool = false
        let path = folder.appending(path: name).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
          && !isFolder.boolValue
      }
    return [
      .buildCommand(
        displayName: "Embedding the pages", executable: try context.tool(named: "embed-assets").url,
        arguments: [folder.path, output.path, document.path] + names,
        inputFiles: names.map { folder.appending(path: $0) } + [document],
        outputFiles: [output])
    ]
  }
}
