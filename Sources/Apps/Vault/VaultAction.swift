import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Order to the vault.
package enum VaultAction: String, CaseIterable, Sendable {
  /// Removes the conflict copies that are the same as their file.
  case clean
  /// Resolves conflicts again that this device could not resolve.
  case settle

  package init(json: JSONValue) throws(EditRefusal) {
    guard let action = json["do"]?.string.flatMap(Self.init(rawValue:)) else {
      throw EditRefusal(localized("the vault does not know that order"))
    }
    self = action
  }

  package var json: JSONValue { ["do": .string(rawValue)] }
}

/// Question to the vault.
package enum VaultQuestion: String, CaseIterable, Sendable {
  case files
  case conflicts
  case codes

  package init(json: JSONValue) throws(EditRefusal) {
    guard let question = json["show"]?.string.flatMap(Self.init(rawValue:)) else {
      throw EditRefusal(localized("the vault has no such view"))
    }
    self = question
  }

  package var json: JSONValue { ["show": .string(rawValue)] }
}
