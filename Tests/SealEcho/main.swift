import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing

// Answers requests of scripts/sealing-check, one a line; bytes are in Base64 for URLs, and `-`
// stands for none. Texts (zones, names, types, device ids) are the Base64 of their UTF-8, except
// names at the relay:
//
//   id SECRET                        the generation's id
//   words SECRET                     its check words, with hyphens
//   phrase SECRET                    its phrase, with hyphens
//   name NAMESECRET ZONE NAME        the record's name at the relay
//   seal NAMESECRET SECRET ZONE NAME TYPE SHOWN DEVICE TIME CHUNKS AUTHOR VERSION FIELDS
//                                    name, type and fields at the relay
//   open NAMESECRET SECRET ZONE NAME TYPE SHOWN DEVICE TIME CHUNKS FIELDS
//                                    record NAME TYPE AUTHOR VERSION FIELDS, or fault KIND
//   chunk SECRET ZONE BYTES          the sealed chunk
//   openchunk SECRET ZONE BYTES      the chunk, or fault altered
//   wrap KEYS ACCOUNT LETTERS SALT   the keys that a pairing code carries
//   unwrap ACCOUNT LETTERS WRAPPED   keys KEYS, or fault KIND
//   x25519 SECRET PUBLIC             the own public key, and the shared secret
//   ring KEYS                        fields of the record of all keys
//   openring SECRET FIELDS           keys KEYS, or fault KIND
//   device SECRET DEVICE PUBLIC      fields of the device's public key
//   opendevice SECRET DEVICE FIELDS  the public key
//   next KEYS AUTHOR SECRET DEVICE PUBLIC WITHOUT
//                                    fields of new keys for DEVICE, whose public key it is
//   opennext AUTHOR PUBLIC DEVICE SECRET FIELDS
//                                    keys KEYS WITHOUT
//   join KEYS KEYS                   the keys of a device that has both
//
// DEVICE saves what AUTHOR has made. VERSION are the bytes of a record version
// (`RecordVersion.bytes`). SHOWN is `shown` if the relay sees the record's type, else `hidden`.
// KEYS are the JSON of `SealingKeys.storedValue`, WITHOUT eight bytes a device. An answer is one
// line as well: `error` if the request is not valid, `-` where there is no result.

func decoded(_ word: Substring) -> [UInt8]? { word == "-" ? [] : Base64.decodeURL(word) }

func encoded(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "-" : Base64.encodeURL(bytes) }

func encoded(_ name: Name) -> String { encoded(Array(name.text.utf8)) }

func text(_ word: Substring) -> String? {
  decoded(word).flatMap { String(validating: $0, as: UTF8.self) }
}

func readName(_ word: Substring) -> Name? { text(word).flatMap { Name($0) } }

func readDevice(_ word: Substring) -> DeviceID? { text(word).flatMap { DeviceID(text: $0) } }

func generation(_ word: Substring) -> KeyGeneration? {
  decoded(word).flatMap { KeyGeneration(secret: $0) }
}

func hyphenated(_ words: String) -> String { words.split(separator: " ").joined(separator: "-") }

func chunks(_ word: Substring) -> [ChunkHash]? {
  guard let bytes = decoded(word), bytes.count.isMultiple(of: 32) else { return nil }
  return stride(from: 0, to: bytes.count, by: 32).compactMap {
    ChunkHash(bytes: Array(bytes[$0..<$0 + 32]))
  }
}

/// Returns the seal of a request's first three words; `type` is shown to the relay if `shown` says
/// so.
func zoneSeal(_ words: [Substring], shown: Substring, type: Name) -> ZoneSeal? {
  guard let nameSecret = decoded(words[0]), let generation = generation(words[1]),
    let zone = readName(words[2]), shown == "shown" || shown == "hidden",
    let keys = AccountKeys(nameSecret: nameSecret, generations: [generation])
  else { return nil }
  return ZoneSeal(keys.keys(of: zone), shownTypes: shown == "shown" ? [type] : [])
}

/// Returns the record of a request's words from the fourth on.
func record(
  _ words: [Substring], named name: Name?, device: DeviceID?, fields: Substring
) -> Record? {
  guard let zone = readName(words[2]), let name, let type = readName(words[4]), let device,
    let time = Int64(words[7]), let chunks = chunks(words[8]), let fields = decoded(fields)
  else { return nil }
  return Record(
    zone: zone, name: name, type: type, fields: fields.isEmpty ? nil : fields, modifiedAt: time,
    device: device, tag: 1, chunks: chunks)
}

func sealRecord(_ words: [Substring]) -> String? {
  guard words.count == 12, let type = readName(words[4]), let saver = readDevice(words[6]),
    let version = decoded(words[10]).flatMap({ RecordVersion(bytes: $0[...]) }),
    let seal = zoneSeal(words, shown: words[5], type: type),
    let record = record(
      words, named: readName(words[3]), device: readDevice(words[9]), fields: words[11])
  else { return nil }
  let sealed = seal.sealed(record, version: version, savedBy: saver)
  return "\(sealed.name.text) \(encoded(sealed.type)) \(encoded(sealed.fields ?? []))"
}

func openRecord(_ words: [Substring]) -> String? {
  guard words.count == 10, let type = readName(words[4]),
    let seal = zoneSeal(words, shown: words[5], type: type),
    let record = record(
      words, named: Name(String(words[3])), device: readDevice(words[6]), fields: words[9])
  else { return nil }
  do throws(SealFault) {
    let opened = try seal.opened(record)
    let author = encoded(Array(opened.record.device.text.utf8))
    return "record \(encoded(opened.record.name)) \(encoded(opened.record.type)) \(author) "
      + "\(encoded(opened.version.bytes)) \(encoded(opened.record.fields ?? []))"
  } catch {
    return "fault \(error.kind)"
  }
}

func chunk(_ words: [Substring], isOpened: Bool) -> String? {
  guard words.count == 3, let generation = generation(words[0]), let zone = readName(words[1]),
    let bytes = decoded(words[2]), isOpened || !bytes.isEmpty,
    let keys = AccountKeys(
      nameSecret: [UInt8](repeating: 0, count: 32), generations: [generation])
  else { return nil }
  let seal = ZoneSeal(keys.keys(of: zone))
  if !isOpened { return encoded(seal.sealed(chunk: bytes)) }
  return seal.opened(chunk: bytes).map { encoded($0) } ?? "fault altered"
}

// MARK: keys, and how devices give them to each other

func readKeys(_ word: Substring) -> SealingKeys? {
  decoded(word).flatMap { JSONValue(ifJSON: $0) }.flatMap { SealingKeys(stored: $0) }
}

/// Returns the value; nil for none, and for bytes that are not JSON.
func readFields(_ word: Substring) -> JSONValue? {
  decoded(word).flatMap { JSONValue(ifJSON: $0) }
}

func readDevices(_ word: Substring) -> [DeviceID]? {
  guard let bytes = decoded(word), bytes.count.isMultiple(of: 8) else { return nil }
  return stride(from: 0, to: bytes.count, by: 8).compactMap {
    DeviceID(text: HexText.text(of: Array(bytes[$0..<$0 + 8])))
  }
}

func privateKey(_ word: Substring) -> X25519PrivateKey? {
  decoded(word).flatMap { X25519PrivateKey($0) }
}

func encoded(_ value: JSONValue?) -> String {
  value.map { encoded(Array($0.text.utf8)) } ?? "-"
}

func readAccount(_ word: Substring) -> AccountID? { text(word).flatMap { AccountID(text: $0) } }

func wrap(_ words: [Substring]) -> String? {
  guard let keys = readKeys(words[0]), let account = readAccount(words[1]),
    let letters = decoded(words[2]), let salt = decoded(words[3]),
    salt.count == WrappedKeys.saltBytes
  else { return nil }
  do throws(WrappedKeys.Fault) {
    return try WrappedKeys.text(of: keys, account: account, secret: letters, salt: salt)
  } catch {
    return nil
  }
}

func unwrap(_ words: [Substring]) -> String? {
  guard let account = readAccount(words[0]), let letters = decoded(words[1]),
    let wrapped = text(words[2])
  else { return nil }
  do throws(WrappedKeys.Fault) {
    let keys = try WrappedKeys.keys(in: wrapped, account: account, secret: letters)
    return "keys \(encoded(keys.storedValue))"
  } catch {
    switch error {
    case .malformed: return "fault malformed"
    case .wrongSecret: return "fault secret"
    case .otherAccount: return "fault account"
    case .tooLong, .noMemory: return nil
    }
  }
}

func openRing(_ words: [Substring]) -> String? {
  guard let generation = generation(words[0]) else { return nil }
  do throws(KeyRing.Fault) {
    let keys = try KeyRing.keys(in: readFields(words[1]), openedBy: generation)
    return "keys \(encoded(keys.storedValue))"
  } catch {
    switch error {
    case .malformed: return "fault malformed"
    case .otherKey: return "fault otherKey"
    }
  }
}

func sealDevice(_ words: [Substring]) -> String? {
  guard let generation = generation(words[0]), let device = readDevice(words[1]),
    let publicKey = decoded(words[2])
  else { return nil }
  return encoded(KeyHandover.fields(ofKey: publicKey, of: device, generation))
}

func openDevice(_ words: [Substring]) -> String? {
  guard let generation = generation(words[0]), let device = readDevice(words[1]) else {
    return nil
  }
  return encoded(
    KeyHandover.publicKey(in: readFields(words[2]), of: device, generation) ?? [])
}

func sealNext(_ words: [Substring]) -> String? {
  guard let keys = readKeys(words[0]), let author = readDevice(words[1]),
    let own = privateKey(words[2]), let device = readDevice(words[3]),
    let publicKey = decoded(words[4]), let without = readDevices(words[5])
  else { return nil }
  let next = KeyHandover.Next(keys, author: author, without: without)
  return encoded(KeyHandover.fields(of: next, for: device, publicKey, key: own))
}

func openNext(_ words: [Substring]) -> String? {
  guard let author = readDevice(words[0]), let publicKey = decoded(words[1]),
    let device = readDevice(words[2]), let own = privateKey(words[3])
  else { return nil }
  guard
    let next = KeyHandover.next(
      in: readFields(words[4]), for: device, by: author, publicKey, key: own)
  else { return "-" }
  let without = next.without.flatMap { HexText.bytes(of: $0.text) ?? [] }
  return "keys \(encoded(next.all.storedValue)) \(encoded(without))"
}

func join(_ words: [Substring]) -> String? {
  guard case .account(let own, let sealed) = readKeys(words[0]),
    case .account(let others, _) = readKeys(words[1])
  else { return nil }
  let joined = own.joined(with: others).map { SealingKeys.account($0, sealed) }
  return encoded(joined?.storedValue)
}

func answer(_ request: Substring, _ words: [Substring]) -> String? {
  switch (request, words.count) {
  case ("id", 1): generation(words[0])?.id
  case ("words", 1): generation(words[0]).map { hyphenated($0.checkWords) }
  case ("phrase", 1): generation(words[0]).map { hyphenated(KeyPhrase.text(of: $0)) }
  case ("name", 3):
    if let nameSecret = decoded(words[0]), let zone = readName(words[1]),
      let name = readName(words[2]),
      let generation = KeyGeneration(secret: [UInt8](repeating: 0, count: KeyGeneration.count)),
      let keys = AccountKeys(nameSecret: nameSecret, generations: [generation])
    {
      ZoneSeal(keys.keys(of: zone)).relayName(of: name).text
    } else {
      nil
    }
  case ("seal", _): sealRecord(words)
  case ("open", _): openRecord(words)
  case ("chunk", _): chunk(words, isOpened: false)
  case ("openchunk", _): chunk(words, isOpened: true)
  case ("wrap", 4): wrap(words)
  case ("unwrap", 3): unwrap(words)
  case ("x25519", 2):
    if let own = privateKey(words[0]), let other = decoded(words[1]) {
      "\(encoded(own.publicKey)) \(encoded(own.sharedSecret(with: other) ?? []))"
    } else {
      nil
    }
  case ("ring", 1): readKeys(words[0]).map { encoded(KeyRing.fields(of: $0)) }
  case ("openring", 2): openRing(words)
  case ("device", 3): sealDevice(words)
  case ("opendevice", 3): openDevice(words)
  case ("next", 6): sealNext(words)
  case ("opennext", 5): openNext(words)
  case ("join", 2): join(words)
  default: nil
  }
}

while let line = readLine() {
  let words = line.split(separator: " ", omittingEmptySubsequences: false)
  print(answer(words[0], Array(words.dropFirst())) ?? "error")
}
