import LockstepCrypto
import LockstepModel
import LockstepWebPush

// Answers requests of scripts/push-check, one a line; bytes are in Base64 for URLs, and `-` stands
// for none:
//
//   encrypt P256DH AUTH CONTENT                    the body of a push
//   decrypt PRIVATE AUTH BODY                      the content
//   sign PRIVATE ORIGIN SUBJECT MILLISECONDS       the value of Authorization
//   check ORIGIN MILLISECONDS AUTHORIZATION        audience, end and subject
//
// An answer is one line as well: `refused` if what came from the other side is not valid.

func decoded(_ word: Substring) -> [UInt8]? { word == "-" ? [] : Base64.decodeURL(word) }

func encoded(_ bytes: [UInt8]?) -> String {
  guard let bytes else { return "refused" }
  return bytes.isEmpty ? "-" : Base64.encodeURL(bytes)
}

func encrypt(_ words: [Substring], number: Int) -> String? {
  guard words.count == 3, let content = decoded(words[2]),
    let recipient = PushRecipient(p256dh: String(words[0]), auth: String(words[1]))
  else { return nil }
  let secrets = SecretSource { count in
    HKDF.derive(Array("\(number)".utf8), salt: [], info: Array("\(count)".utf8), count: count)
  }
  return encoded(PushMessage.encrypt(content, to: recipient, secrets: secrets))
}

func decrypt(_ words: [Substring]) -> String? {
  guard words.count == 3, let key = decoded(words[0]).flatMap({ P256PrivateKey($0) }),
    let auth = decoded(words[1]), let body = decoded(words[2])
  else { return nil }
  return encoded(PushMessage.decrypt(body, key: key, auth: auth))
}

func sign(_ words: [Substring]) -> String? {
  guard words.count == 4, let key = decoded(words[0]).flatMap({ P256PrivateKey($0) }),
    var tokens = VAPIDTokens(key: key, subject: words[2] == "-" ? nil : String(words[2])),
    let wall = Int64(words[3])
  else { return nil }
  return tokens.authorization(for: String(words[1]), at: wall)
}

func check(_ words: [Substring]) -> String? {
  guard words.count > 2, let wall = Int64(words[1]) else { return nil }
  do throws(VAPIDFault) {
    let token = try VAPIDToken(
      checking: words[2...].joined(separator: " "), audience: String(words[0]), at: wall)
    return "\(token.claims.audience) \(token.claims.expires) \(token.claims.subject ?? "-")"
  } catch {
    return "refused"
  }
}

var number = 0
while let line = readLine() {
  number += 1
  let words = line.split(separator: " ")
  let rest = Array(words.dropFirst())
  let answer: String? =
    switch words.first {
    case "encrypt": encrypt(rest, number: number)
    case "decrypt": decrypt(rest)
    case "sign": sign(rest)
    case "check": check(rest)
    default: nil
    }
  print(answer ?? "not a request")
}
