// Runs in each page before its own scripts: push subscriptions for the push service of the test, as
// the browser would get them from its vendor's. `PUSH_SERVICE` is the service's address.
(() => {
  const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const bytes = (words) => Uint8Array.from(
    atob(words.replaceAll("-", "+").replaceAll("_", "/")), (it) => it.charCodeAt(0));
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const held = () => JSON.parse(localStorage.getItem("push") ?? "null");

  const described = (it) => it && {
    endpoint: it.endpoint, options: { applicationServerKey: bytes(it.key).buffer },
    toJSON: () => ({ endpoint: it.endpoint, expirationTime: null,
      keys: { p256dh: it.p256dh, auth: it.auth } }),
    unsubscribe: async () => {
      localStorage.removeItem("push");
      return true;
    },
  };

  if (!globalThis.PushManager) return;
  PushManager.prototype.getSubscription = async () => described(held());
  PushManager.prototype.subscribe = async ({ applicationServerKey: key, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error("no silent push");
    const pair = await crypto.subtle.generateKey(curve, true, ["deriveBits"]);
    const made = {
      endpoint: `PUSH_SERVICE/${crypto.randomUUID()}`, key,
      auth: text(crypto.getRandomValues(new Uint8Array(16))),
      p256dh: text(await crypto.subtle.exportKey("raw", pair.publicKey)),
      secret: await crypto.subtle.exportKey("jwk", pair.privateKey),
    };
    localStorage.setItem("push", JSON.stringify(made));
    return described(made);
  };

  /** Decrypts a push (RFC 8291), in Base64 for URLs, as the browser does before it delivers it. */
  globalThis.decryptedPush = async (body) => {
    const { secret, p256dh, auth } = held();
    const all = bytes(body);
    const end = 21 + all[20];
    const [salt, sender, sealed] = [all.slice(0, 16), all.slice(21, end), all.slice(end)];
    const own = await crypto.subtle.importKey("jwk", secret, curve, false, ["deriveBits"]);
    const theirs = await crypto.subtle.importKey("raw", sender, curve, false, []);
    const shared = await crypto.subtle.deriveBits({ name: "ECDH", public: theirs }, own, 256);
    const utf8 = (words) => new TextEncoder().encode(words);
    const derived = async (key, from, info, count) => crypto.subtle.deriveBits(
      { name: "HKDF", hash: "SHA-256", salt: from, info },
      await crypto.subtle.importKey("raw", key, "HKDF", false, ["deriveBits"]), 8 * count);
    const info = [...utf8("WebPush: info\0"), ...bytes(p256dh), ...sender];
    const input = await derived(shared, bytes(auth), Uint8Array.from(info), 32);
    const key = await derived(input, salt, utf8("Content-Encoding: aes128gcm\0"), 16);
    const iv = await derived(input, salt, utf8("Content-Encoding: nonce\0"), 12);
    const opened = new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv },
      await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]), sealed));
    return new TextDecoder().decode(opened.slice(0, opened.lastIndexOf(2)));
  };
})();
