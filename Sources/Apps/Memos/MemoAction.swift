import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Order to the memos. `memo`: a word of the person, which selects a memo (`Choice`).
package enum MemoAction: Hashable, Sendable {
  case add(content: String, name: Name)
  /// `was`: the text that the person saw.
  case edit(memo: String, content: String, was: String)
  case remove(memo: String)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["do"]?.string {
    case "add": self = try .add(content: json.textMember("content"), name: AppState.newName(json))
    case "edit":
      self = try .edit(
        memo: json.textMember("memo"), content: json.textMember("content"),
        was: json.textMember("was"))
    case "remove": self = try .remove(memo: json.textMember("memo"))
    default: throw EditRefusal(localized("memos do not know that order"))
    }
  }

  package var json: JSONValue {
    switch self {
    case .add(let content, let name):
      ["do": "add", "name": .string(name.text), "content": .string(content)]
    case .edit(let memo, let content, let was):
      ["do": "edit", "memo": .string(memo), "was": .string(was), "content": .string(content)]
    case .remove(let memo): ["do": "remove", "memo": .string(memo)]
    }
  }
}

/// Question to the memos.
package enum MemoQuestion: Hashable, Sendable {
  case list
  case search(words: String)
  case memo(String)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["show"]?.string {
    case "list": self = .list
    case "search": self = try .search(words: json.textMember("words"))
    case "memo": self = try .memo(json.textMember("memo"))
    default: throw EditRefusal(localized("memos have no such view"))
    }
  }

  package var json: JSONValue {
    switch self {
    case .list: ["show": "list"]
    case .search(let words): ["show": "search", "words": .string(words)]
    case .memo(let memo): ["show": "memo", "memo": .string(memo)]
    }
  }
}
