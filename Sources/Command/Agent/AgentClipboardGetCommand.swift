import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing

/// `lockstep clipboard get`: writes an item, such as an image, to a file or to standard output.
enum AgentClipboardGetCommand {
  /// Timeout for one chunk of an image, up to 4 MiB, in milliseconds.
  private static let chunkMilliseconds: Int64 = 120_000

  private static let output = CommandOption.optional(
    "output", ValueKind.text("FILE", known: .files),
    "The file to write, which must not exist; standard output if not given.")

  static let command = Command(
    name: "get",
    summary: "Writes an item to a file: an image, or a text.",
    discussion: """
      On a desktop: lockstep clipboard get 1 | wl-copy --type image/png

      The content of an image comes from the relay, which must be reachable.
      """,
    options: [output.entry] + AgentApp.options, operands: AgentClipboardCommand.item
  ) { arguments throws(CommandFailure) in
    let path = arguments[output]
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) -> ExitCode in
      let question = ClipboardQuestion.item(arguments.operands[0]).json
      let (view, _) = try AgentApp.view(session, ClipboardApp().name, question)
      let isImage = view.json["image"] != nil
      if path == nil, isImage, isatty(STDOUT_FILENO) == 1 {
        throw CommandFailure(
          localized("an image cannot be shown here; write it to a file with --output FILE"))
      }
      let content = try content(of: view.json, session)
      guard let path else { return try printed(content, isImage: isImage) }
      try write(content, to: path)
      if !arguments[AgentCommand.json] {
        return try TerminalOutput.printed(
          localized(
            "wrote {bytes} bytes to {path}", ["bytes": String(content.count), "path": path]))
      }
      let answer: JSONValue = [
        "output": .string(path), "bytes": .number(JSONNumber(Int64(content.count))),
      ]
      return try TerminalOutput.printed(answer.text)
    }
  }

  private static func printed(
    _ content: [UInt8], isImage: Bool
  ) throws(CommandFailure) -> ExitCode {
    if isImage {
      try TerminalOutput.standard.write(content)
    } else {
      try TerminalOutput.standard.writeForPerson(String(decoding: content, as: UTF8.self))
    }
    return .success
  }

  private static func content(
    of item: JSONValue, _ session: HomeSession
  ) throws(CommandFailure) -> [UInt8] {
    guard let image = item["image"] else { return Array((item["content"]?.string ?? "").utf8) }
    guard let file = FileReference.references(in: image).first else {
      throw CommandFailure(
        localized("this version of the program cannot read the image; update it"))
    }
    let opener = try opener(of: file, session.folder)
    let member = try HomeAccess(of: session)
    var content: [UInt8] = []
    for chunk in file.chunks {
      content += try opener(try fetch(chunk, member))
      // So that what a record says bounds what is held.
      guard content.count <= file.bytes else { break }
    }
    guard content.count == file.bytes else {
      throw CommandFailure(
        localized(
          "the image's content does not have the size that the item names; ask the device that "
            + "copied it to copy it again"))
    }
    return content
  }

  /// Returns the bytes of a chunk, which have its hash.
  private static func fetch(
    _ chunk: ChunkHash, _ member: HomeAccess
  ) throws(CommandFailure) -> [UInt8] {
    var request = HTTPCallRequest(
      "GET", path: ["v1", "chunks", chunk.text], token: member.token)
    request.deadlineMilliseconds = chunkMilliseconds
    let (status, body) = try member.call.answer(request)
    if status == 404 {
      throw CommandFailure(
        localized(
          "the relay does not have the image yet; open the device that copied it, then try again"))
    }
    let bytes = try RelayCall.body(body, status: status)
    guard SHA256.hash(bytes) == chunk.bytes else {
      throw CommandFailure(localized("the image's content was damaged on the way; try again"))
    }
    return bytes
  }

  /// Returns a function that gives a chunk's part of the content.
  private static func opener(
    of file: FileReference, _ home: HomeFolder
  ) throws(CommandFailure) -> ([UInt8]) throws(CommandFailure) -> [UInt8] {
    guard let named = file.seal else { return { chunk throws(CommandFailure) in chunk } }
    let keys = try HomeKeys.keys(in: home)?.keys(of: named.zone)
    guard let seal = keys.map({ ZoneSeal($0) }) else {
      throw CommandFailure(
        localized(
          "the image is sealed, and this device does not have the account's keys: pair it again "
            + "with a code of a device that has them"))
    }
    return { chunk throws(CommandFailure) in
      do throws(SealFault) {
        return try seal.opened(fileBlock: chunk, sealedWith: named.key)
      } catch {
        throw CommandFailure(text(of: error))
      }
    }
  }

  private static func text(of fault: SealFault) -> String {
    switch fault {
    case .notSealed: localized("the image is not sealed, although its zone is")
    case .unknownKey:
      localized("the image is sealed with a key that this device does not have")
    case .altered: localized("the image is changed since it was sealed")
    case .malformed:
      localized("the image is sealed by a program that does not keep to the format")
    }
  }

  /// Writes a new file, readable by its owner. It gets its name when it is complete.
  private static func write(_ content: [UInt8], to path: String) throws(CommandFailure) {
    var status = stat()
    if lstat(path, &status) == 0 {
      throw CommandFailure(
        localized("{path} is there already; choose another name", ["path": path]))
    }
    let draft = path + ".partial"
    let descriptor = PlainFile.makeDraft(draft)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be written", errno) }
    do throws(CommandFailure) {
      try PlainFile(path: draft, descriptor: descriptor).write(content)
      guard rename(draft, path) == 0 else { throw PlainFile.failure(path, "be written", errno) }
    } catch {
      unlink(draft)
      throw error
    }
  }
}
