/// Why nothing more is done with a file for now.
enum VaultFault: Error, Hashable {
  /// It cannot be synced until something changes; a sentence for a person.
  case problem(String)
  /// It goes on by itself, once the relay or another program lets it; a sentence as well.
  case waiting(String)
  /// File or account are not what they were a moment ago: it is to be looked at anew.
  case changed
  /// The process ends.
  case stopping
}
