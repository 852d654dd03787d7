import LockstepCrypto
import LockstepJSON
import LockstepRelay

/// The JavaScript package in one file, as the relay serves it to pages.
package enum ClientModule {
  /// Returns the file, at a path that names the version, and `lockstep.json`, which names the path,
  /// and the hash for the attribute `integrity` (W3C Subresource Integrity).
  package static func pages(_ module: [UInt8], version: String) -> [PageFile] {
    let path = "lockstep-\(version).js"
    let description: JSONValue = [
      "version": .string(version), "module": .string("/" + path),
      "integrity": .string("sha256-" + Base64.encode(SHA256.hash(module))),
    ]
    return [
      PageFile(path: path, bytes: module, isImmutable: true),
      PageFile(path: "lockstep.json", bytes: description.serialized() + [0x0A]),
    ]
  }
}
