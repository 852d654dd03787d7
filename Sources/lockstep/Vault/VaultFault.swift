/// Reason why the work on a file stops for now.
enum VaultFault: Error, Hashable {
  /// The file cannot be synced until something changes; a sentence for a person.
  case problem(String)
  /// The work continues by itself once the relay or another program permits it; a sentence as well.
  case waiting(String)
  /// File or account changed during the step: check the file again.
  case changed
  /// The process ends.
  case stopping
}
