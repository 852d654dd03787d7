import LockstepApps
import LockstepClient
import LockstepJSON
import LockstepModel

/// A sixth app, for simulated users only: many small records that are created, changed and deleted,
/// unlike any single-record app. The newer text wins; a change wins over a delete.
package struct NotesApp: App {
  package static let zone = Name(trusted: "Notes")
  package static let type = Name(trusted: "Note")

  package var name: String { "notes" }
  package var zone: Name { NotesApp.zone }

  package init() {}

  package static func key(_ number: Int) -> RecordKey {
    RecordKey(zone: zone, name: Name(trusted: "note \(number)"))
  }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == NotesApp.type ? NewerText() : nil
  }

  package var timedTypes: [Name] { [] }

  package func dueEdit(for record: Record) -> DueEdit? { nil }

  package func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    (fields["pieces"]?.array ?? []).compactMap { $0.string.flatMap(ChunkHash.init(text:)) }
  }

  private struct NewerText: Resolver {
    func resolve(_ conflict: Conflict) -> Resolution {
      ChangeOutlivesDelete.resolution(of: conflict)
        ?? .merged(fields: conflict.sides.newer.fields, copies: [])
    }
  }

  /// Returns an edit of a note. `text`: a number that is written once only, so that it identifies
  /// its writer; nil deletes the note, if there is one. `chunks`: chunks of files, which the note
  /// names.
  package static func edit(
    _ number: Int, text: Int64?, chunks: [ChunkHash] = []
  ) -> EditRequest {
    EditRequest(key: key(number), type: type) { (context) throws(EditRefusal) -> JSONValue? in
      guard let text else {
        guard context.current != nil else { throw EditRefusal("There is no such note.") }
        return nil
      }
      let fields: JSONValue = ["text": .number(JSONNumber(text))]
      if chunks.isEmpty { return fields }
      return fields.setting("pieces", to: .array(chunks.map { .string($0.text) }))
    }
  }

  /// Fields of a note that exists before the first device starts: text 0, which no user writes.
  package static func firstText() -> [UInt8] { Array(#"{"text":0}"#.utf8) }
}

/// A text that a user wrote, or that existed at the start.
package struct NoteFact: Deed {
  package var text: Int64

  package static func list(in fields: [UInt8]) -> [NoteFact] {
    FieldsText.value(fields)?["text"]?.int64.map { [NoteFact(text: $0)] } ?? []
  }

  package func replaces(_ other: NoteFact) -> Bool { other != self }

  package func corrects(_ other: NoteFact, by milliseconds: Int64) -> Bool { false }
}
