import LockstepCrypto
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
//
// DEVICE saves what AUTHOR has made. VERSION are the bytes of a record version
// (`RecordVersion.bytes`). SHOWN is `shown` if the relay sees the record's type, else `hidden`. An
// answer is one line as well: `error` if the request is not valid.

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
  default: nil
  }
}

while let line = readLine() {
  let words = line.split(separator: " ", omittingEmptySubsequences: false)
  print(answer(words[0], Array(words.dropFirst())) ?? "error")
}
