import { createInterface } from "node:readline";
import { isObject, serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { JSONFault, parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { isName } from "../../../Sources/WebClient/model/name.js";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { base64url, base64urlBytes } from "../../../Sources/WebClient/sealing/base64url.js";
import { hex, hexBytes } from "../../../Sources/WebClient/sealing/hex.js";
import {
  deviceFields, nextFields, nextIn, publicKeyIn,
} from "../../../Sources/WebClient/sealing/keyHandover.js";
import { keysInRing, ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { scrypt } from "../../../Sources/WebClient/sealing/scrypt.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import {
  unwrap, wrap, wrapSaltOf, wrapStretching,
} from "../../../Sources/WebClient/sealing/wrappedKeys.js";
import { x25519PublicKey, x25519Secret } from "../../../Sources/WebClient/sealing/x25519.js";
import { ZoneSeal } from "../../../Sources/WebClient/sealing/zoneSeal.js";

// Answers the requests of scripts/sealing-check, which describes them, one a line.

/** A request that is not of the protocol. */
class RequestFault extends Error {}

const utf8 = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const check = (isRight) => { if (!isRight) throw new RequestFault(); };

function bytesOf(word) {
  const bytes = word === "-" ? new Uint8Array(0) : base64urlBytes(word);
  check(bytes !== null);
  return bytes;
}

function textOf(word) {
  try {
    return decoder.decode(bytesOf(word));
  } catch (error) {
    if (error instanceof TypeError) throw new RequestFault();
    throw error;
  }
}

function secretOf(word) {
  const bytes = bytesOf(word);
  check(bytes.length === 32);
  return bytes;
}

function nameOf(word) {
  const name = textOf(word);
  check(isName(name));
  return name;
}

function deviceOf(word) {
  const device = textOf(word);
  check(/^[0-9a-f]{16}$/u.test(device));
  return device;
}

function stampOf(word) {
  check(/^-?\d{1,16}$/u.test(word) && Number.isSafeInteger(Number(word)));
  return Number(word);
}

/** Hexadecimal texts of the parts of `count` bytes each. */
function partsOf(word, count) {
  const bytes = bytesOf(word);
  check(bytes.length % count === 0);
  return Array.from({ length: bytes.length / count }, (_, index) =>
    hex(bytes.subarray(count * index, count * (index + 1))));
}

function versionOf(word) {
  const version = RecordVersion.ofBytes(bytesOf(word));
  check(version !== null);
  return version;
}

/** The value of a JSON text; null if it is not one. */
function parsed(word) {
  try {
    return parse(textOf(word));
  } catch (error) {
    if (error instanceof JSONFault) return null;
    throw error;
  }
}

/** The object of the fields; null if there are none, or if it is not the JSON of an object. */
function fieldsOf(word) {
  const value = word === "-" ? null : parsed(word);
  return isObject(value) ? value : null;
}

const written = (bytes) => (bytes.length === 0 ? "-" : base64url(bytes));
const writtenText = (text) => written(utf8.encode(text));
const writtenJSON = (value) => (value === null ? "-" : writtenText(serialize(value)));

function zoneSeal(nameSecret, secret, zone, shownTypes = []) {
  const keys = new AccountKeys(secretOf(nameSecret), [new KeyGeneration(secretOf(secret))]);
  return new ZoneSeal(keys.zoneKeys(nameOf(zone)), shownTypes);
}

/** Chunks have no names, so they need no name secret. */
const chunkSeal = (secret, zone) => zoneSeal(base64url(new Uint8Array(32)), secret, zone);

function shownTypes(shown, type) {
  check(shown === "shown" || shown === "hidden");
  return shown === "shown" ? [type] : [];
}

function recordOf(zone, name, type, device, modifiedAt, chunks, fields) {
  return {
    zone: nameOf(zone), name, type, fields: fieldsOf(fields), modifiedAt: stampOf(modifiedAt),
    device: deviceOf(device), tag: 1, deleted: fields === "-", chunks: partsOf(chunks, 32),
  };
}

function keysOf(word) {
  const value = parsed(word);
  const keys = value === null ? null : SealingKeys.ofStored(value);
  check(keys !== null);
  return keys;
}

function accountOf(word) {
  const { account } = keysOf(word);
  check(account !== null);
  return account;
}

const writtenKeys = ({ storedValue }) => writtenJSON(storedValue);

/** Returns the key under which keys are wrapped. */
function wrappingKey(letters, salt) {
  const { password, parameters } = wrapStretching(letters, salt);
  return scrypt(password, parameters);
}

const requests = {
  id: (secret) => new KeyGeneration(secretOf(secret)).id,
  words: (secret) => new KeyGeneration(secretOf(secret)).checkWords().replaceAll(" ", "-"),
  phrase: (secret) => new KeyGeneration(secretOf(secret)).phrase().replaceAll(" ", "-"),
  name: (nameSecret, zone, name) =>
    zoneSeal(nameSecret, base64url(new Uint8Array(32)), zone).name(nameOf(name)),
  seal: (nameSecret, secret, zone, name, type, shown, device, modifiedAt, chunks, author, version,
    fields) => {
    const plainType = nameOf(type);
    const seal = zoneSeal(nameSecret, secret, zone, shownTypes(shown, plainType));
    const record = recordOf(zone, nameOf(name), plainType, author, modifiedAt, chunks, fields);
    check(fields === "-" || record.fields !== null);
    record.version = versionOf(version);
    const sealed = seal.seal(record, deviceOf(device));
    const text = writtenJSON(sealed.fields);
    check(base64urlBytes(text).length === seal.sealedLength(record));
    return `${sealed.name} ${writtenText(sealed.type)} ${text}`;
  },
  open: (nameSecret, secret, zone, name, type, shown, device, modifiedAt, chunks, fields) => {
    const plainType = nameOf(type);
    const seal = zoneSeal(nameSecret, secret, zone, shownTypes(shown, plainType));
    check(/^[0-9a-f]{64}$/u.test(name));
    const { record, fault } =
      seal.open(recordOf(zone, name, plainType, device, modifiedAt, chunks, fields));
    if (fault) return `fault ${fault.kind}`;
    return ["record", writtenText(record.name), writtenText(record.type),
      writtenText(record.device), written(record.version.bytes()),
      writtenJSON(record.fields)].join(" ");
  },
  chunk: (secret, zone, bytes) => {
    check(bytes !== "-");
    return written(chunkSeal(secret, zone).sealChunk(bytesOf(bytes)));
  },
  openchunk: (secret, zone, sealed) => {
    const { bytes, fault } = chunkSeal(secret, zone).openChunk(bytesOf(sealed));
    return fault ? `fault ${fault.kind}` : written(bytes);
  },
  wrap: (keys, account, letters, salt) => {
    const context = { account: textOf(account), salt: bytesOf(salt) };
    const key = wrappingKey(textOf(letters), context.salt);
    const text = wrap(keysOf(keys), { ...context, key });
    check(text !== null);
    return text;
  },
  unwrap: (account, letters, wrapped) => {
    const text = textOf(wrapped);
    const salt = wrapSaltOf(text);
    if (!salt) return "fault malformed";
    const key = wrappingKey(textOf(letters), salt);
    const { keys, fault } = unwrap(text, { account: textOf(account), key });
    return fault ? `fault ${fault.kind}` : `keys ${writtenKeys(keys)}`;
  },
  x25519: (secret, other) => {
    const shared = x25519Secret(secretOf(secret), bytesOf(other));
    return `${written(x25519PublicKey(secretOf(secret)))} ${shared ? written(shared) : "-"}`;
  },
  ring: (keys) => writtenJSON(ringFields(keysOf(keys))),
  openring: (secret, fields) => {
    const { keys, fault } = keysInRing(fieldsOf(fields), new KeyGeneration(secretOf(secret)));
    return fault ? `fault ${fault}` : `keys ${writtenKeys(keys)}`;
  },
  device: (secret, device, publicKey) => writtenJSON(deviceFields(
    bytesOf(publicKey), deviceOf(device), new KeyGeneration(secretOf(secret)))),
  opendevice: (secret, device, fields) => {
    const key = publicKeyIn(
      fieldsOf(fields), deviceOf(device), new KeyGeneration(secretOf(secret)));
    return key ? written(key) : "-";
  },
  next: (keys, author, secret, device, publicKey, without) => writtenJSON(nextFields(
    { keys: keysOf(keys), author: deviceOf(author), without: partsOf(without, 8) },
    { device: deviceOf(device), publicKey: bytesOf(publicKey), privateKey: secretOf(secret) })),
  opennext: (author, publicKey, device, secret, fields) => {
    const next = nextIn(fieldsOf(fields), {
      device: deviceOf(device), author: deviceOf(author), publicKey: bytesOf(publicKey),
      privateKey: secretOf(secret),
    });
    if (!next) return "-";
    return `keys ${writtenKeys(next.keys)} ${written(hexBytes(next.without.join("")))}`;
  },
  join: (keys, others) => {
    const joined = accountOf(keys).joined(accountOf(others));
    return joined ? writtenKeys(SealingKeys.ofAccount(joined, keysOf(keys).sealed)) : "-";
  },
};

function answer(line) {
  const [word, ...words] = line.split(" ");
  const request = Object.hasOwn(requests, word) ? requests[word] : undefined;
  if (request?.length !== words.length) return "error";
  try {
    return request(...words);
  } catch (error) {
    if (error instanceof RequestFault) return "error";
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${answer(line)}\n`);
}
