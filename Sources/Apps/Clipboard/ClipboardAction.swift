import LockstepJSON
import LockstepModel

/// Order to the clipboard. `item`: a word of the person, which selects an item (`Choice`).
package enum ClipboardAction: Hashable, Sendable {
  case add(content: String, name: Name)
  case remove(item: String)
  case clear

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["do"]?.string {
    case "add": self = try .add(content: json.textMember("content"), name: AppState.newName(json))
    case "remove": self = try .remove(item: json.textMember("item"))
    case "clear": self = .clear
    default: throw EditRefusal("the clipboard does not know that order")
    }
  }

  package var json: JSONValue {
    switch self {
    case .add(let content, let name):
      ["do": "add", "name": .string(name.text), "content": .string(content)]
    case .remove(let item): ["do": "remove", "item": .string(item)]
    case .clear: ["do": "clear"]
    }
  }
}

/// Question to the clipboard.
package enum ClipboardQuestion: Hashable, Sendable {
  case list
  case item(String)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["show"]?.string {
    case "list": self = .list
    case "item": self = try .item(json.textMember("item"))
    default: throw EditRefusal("the clipboard has no such view")
    }
  }

  package var json: JSONValue {
    switch self {
    case .list: ["show": "list"]
    case .item(let item): ["show": "item", "item": .string(item)]
    }
  }
}
