import Foundation
import Lockstep

let usage = """
  usage: todo HOME RELAY COMMAND
    new NAME          makes a new account; prints a pairing code
    join CODE NAME    joins the account of the code
    code              prints a pairing code
    add TITLE         adds a to-do
    done TITLE        marks a to-do as done
    count TITLE N     counts minutes
    tag TITLE TAG     adds a tag
    untag TITLE TAG   removes a tag
    rename TITLE NEW  changes a title
    delete TITLE      deletes a to-do
    list              prints the to-dos
    json              prints them as one line of JSON
    wait N            prints the open to-dos once there are N
    sync              syncs now
    status            prints the sync status
  """

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 3, let relay = URL(string: arguments[1]) else {
  print(usage)
  exit(2)
}
do {
  let lockstep = try await Lockstep.open(
    at: URL(filePath: arguments[0]), relay: relay, records: [Todo.self])
  try await run(arguments[2], Array(arguments.dropFirst(3)), lockstep)
  await lockstep.close()
} catch {
  print("todo: \(error)")
  exit(1)
}

func run(_ command: String, _ words: [String], _ lockstep: Lockstep) async throws {
  switch (command, words.count) {
  case ("new", 1):
    // Programs without the account's keys are devices of it, too.
    try await lockstep.createAccount(deviceName: words[0], sealed: false)
    print(try await lockstep.pairingCode())
  case ("join", 2): try await lockstep.join(code: words[0], deviceName: words[1])
  case ("code", 0): print(try await lockstep.pairingCode())
  case ("add", 1): try await lockstep.save(Todo(title: words[0]))
  case ("done", 1): try await change(words[0], lockstep) { $0.done = true }
  case ("count", 2):
    let minutes = Int(words[1]) ?? 0
    try await change(words[0], lockstep) { $0.minutes.add(minutes) }
  case ("tag", 2): try await change(words[0], lockstep) { $0.tags.insert(words[1]) }
  case ("untag", 2): try await change(words[0], lockstep) { $0.tags.remove(words[1]) }
  case ("rename", 2): try await change(words[0], lockstep) { $0.title = words[1] }
  case ("delete", 1):
    for todo in try await lockstep.records(Todo.self) where todo.title == words[0] {
      try await lockstep.delete(Todo.self, id: todo.id)
    }
  case ("list", 0): show(try await lockstep.records(Todo.self))
  case ("json", 0): try showJSON(try await lockstep.records(Todo.self))
  case ("wait", 1):
    let open = lockstep.live(Todo.self, where: { !$0.done }, sortedBy: { $0.order < $1.order })
    for await todos in open where todos.count == Int(words[0]) {
      show(todos)
      break
    }
  case ("sync", 0): print(try await lockstep.sync())
  case ("status", 0): print(lockstep.status.state)
  default:
    print(usage)
    exit(2)
  }
}

func change(
  _ title: String, _ lockstep: Lockstep, _ change: @escaping @Sendable (inout Todo) -> Void
) async throws {
  for todo in try await lockstep.records(Todo.self) where todo.title == title {
    try await lockstep.update(Todo.self, id: todo.id, change)
  }
}

func show(_ todos: [Todo]) {
  for todo in todos.sorted(by: { $0.order < $1.order }) {
    print("[\(todo.done ? "x" : " ")] \(todo.title) \(todo.minutes.value)")
  }
}

/// Row of the JSON that the to-do apps of all languages print alike.
struct Row: Encodable {
  let done: Bool
  let id: String
  let minutes: Int
  let tags: [String]
  let title: String
}

func showJSON(_ todos: [Todo]) throws {
  let rows = todos.sorted { $0.id < $1.id }.map {
    Row(
      done: $0.done, id: $0.id, minutes: $0.minutes.value, tags: $0.tags.sorted(),
      title: $0.title)
  }
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  print(String(decoding: try encoder.encode(rows), as: UTF8.self))
}
