import Changes

/// What was copied, on whichever device: zone `Clipboard`, a record an item.
package struct ClipboardApp: App {
  package static let zone = Name(trusted: "Clipboard")
  package static let itemType = Name(trusted: "ClipboardItem")

  package init() {}

  package var name: String { "clipboard" }
  package var zone: Name { ClipboardApp.zone }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == ClipboardApp.itemType ? ClipboardItemResolver() : nil
  }
}
