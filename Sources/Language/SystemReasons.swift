/// Returns the system's text for an error in the person's language; as it is if the tables do not
/// have it. `text`: what `strerror` or `gai_strerror` gives.
package func systemReason(_ text: String) -> String {
  switch text {
  case "Connection refused": localized("Connection refused")
  case "Connection reset by peer": localized("Connection reset by peer")
  case "Connection timed out": localized("Connection timed out")
  case "No route to host": localized("No route to host")
  case "Network is unreachable": localized("Network is unreachable")
  case "Name or service not known": localized("Name or service not known")
  case "Temporary failure in name resolution": localized("Temporary failure in name resolution")
  case "Broken pipe": localized("Broken pipe")
  case "No such file or directory": localized("No such file or directory")
  case "Permission denied": localized("Permission denied")
  case "Operation not permitted": localized("Operation not permitted")
  case "File exists": localized("File exists")
  case "Is a directory": localized("Is a directory")
  case "Not a directory": localized("Not a directory")
  case "Directory not empty": localized("Directory not empty")
  case "Read-only file system": localized("Read-only file system")
  case "No space left on device": localized("No space left on device")
  case "Disk quota exceeded": localized("Disk quota exceeded")
  case "Input/output error": localized("Input/output error")
  case "File name too long": localized("File name too long")
  case "Too many open files": localized("Too many open files")
  default: text
  }
}
