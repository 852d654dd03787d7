import LockstepJSON
import LockstepModel

// Short constructors for versions in tests.

func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

func version(_ fields: JSONValue?, at modifiedAt: Int64 = 0, by device: String = "mac") -> Version {
  Version(name: "current", fields: fields, modifiedAt: modifiedAt, device: device)
}
