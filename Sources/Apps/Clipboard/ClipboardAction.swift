import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Order to the clipboard. `item`: a word of the person, which selects an item (`Choice`).
package enum ClipboardAction: Hashable, Sendable {
  case add(content: String, name: Name)
  case remove(item: String)
  case pin(item: String)
  case unpin(item: String)
  /// `includesPinned`: false keeps the pinned items.
  case clear(includesPinned: Bool)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["do"]?.string {
    case "add": self = try .add(content: json.textMember("content"), name: AppState.newName(json))
    case "remove": self = try .remove(item: json.textMember("item"))
    case "pin": self = try .pin(item: json.textMember("item"))
    case "unpin": self = try .unpin(item: json.textMember("item"))
    case "clear": self = .clear(includesPinned: json["pinned"]?.bool ?? false)
    default: throw EditRefusal(localized("the clipboard does not know that order"))
    }
  }

  package var json: JSONValue {
    switch self {
    case .add(let content, let name):
      ["do": "add", "name": .string(name.text), "content": .string(content)]
    case .remove(let item): ["do": "remove", "item": .string(item)]
    case .pin(let item): ["do": "pin", "item": .string(item)]
    case .unpin(let item): ["do": "unpin", "item": .string(item)]
    case .clear(false): ["do": "clear"]
    case .clear(true): ["do": "clear", "pinned": true]
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
    default: throw EditRefusal(localized("the clipboard has no such view"))
    }
  }

  package var json: JSONValue {
    switch self {
    case .list: ["show": "list"]
    case .item(let item): ["show": "item", "item": .string(item)]
    }
  }
}
