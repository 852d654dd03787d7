-- A relay's store of version 8, likewise: a phone, a pairing code that carries wrapped keys, and one
-- without any, whose device may read one zone.
BEGIN TRANSACTION;
CREATE TABLE accounts (
  account INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  label TEXT NOT NULL,
  made_at INTEGER NOT NULL
, plan TEXT, forgotten INTEGER NOT NULL DEFAULT 0, chunk_bytes INTEGER NOT NULL DEFAULT 0, run INTEGER NOT NULL DEFAULT 0, range_start INTEGER NOT NULL DEFAULT 0, quota_bytes INTEGER, quota_records INTEGER, record_bytes INTEGER NOT NULL DEFAULT 0, record_count INTEGER NOT NULL DEFAULT 0, batch_count INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "accounts" VALUES(-1942433372888556364,959112516,0,'',1795972515274,NULL,0,0,7532854704099297040,0,NULL,NULL,0,0,0);
CREATE TABLE batches (
  account INTEGER NOT NULL,
  number INTEGER PRIMARY KEY,
  device INTEGER NOT NULL,
  batch_high INTEGER NOT NULL,
  batch_low INTEGER NOT NULL,
  made_at INTEGER NOT NULL,
  first_tag INTEGER NOT NULL,
  words TEXT,
  digest BLOB NOT NULL
) STRICT;
CREATE TABLE chunks (
  account INTEGER NOT NULL,
  hash BLOB NOT NULL,
  file INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  uses INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  doubtful INTEGER NOT NULL,
  PRIMARY KEY (account, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE devices (
  account INTEGER NOT NULL,
  number INTEGER PRIMARY KEY,
  device INTEGER NOT NULL,
  device_name TEXT NOT NULL,
  platform TEXT NOT NULL,
  app_version TEXT NOT NULL,
  token_hash BLOB NOT NULL,
  last_seen INTEGER NOT NULL
, scope TEXT) STRICT;
INSERT INTO "devices" VALUES(-1942433372888556364,1,-501004816725989818,'phone','test','1',X'48859A2BF133922DDF273A9B8EDE1F96A2A9151D033D720CEFE1C6AC9CAFFFC6',1795972515351,NULL);
CREATE TABLE gaps (
  account INTEGER NOT NULL,
  through_tag INTEGER NOT NULL,
  after_tag INTEGER NOT NULL,
  PRIMARY KEY (account, through_tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE lineage (
  account INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (account, generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE opening (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL
, logged INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "opening" VALUES(1,-4668020801956423016,5);
CREATE TABLE pairings (
  account INTEGER NOT NULL,
  number INTEGER PRIMARY KEY,
  code_hash BLOB NOT NULL,
  expires_at INTEGER NOT NULL
, scope TEXT, wrapped TEXT) STRICT;
INSERT INTO "pairings" VALUES(-1942433372888556364,1,X'4F2C6E56FD04B89D011CE67781408FB3F61B3E9202DF310B17099D2C189D533C',1795973115307,NULL,'d3JhcHBlZCBrZXlz');
INSERT INTO "pairings" VALUES(-1942433372888556364,2,X'8748A8A9537536C0FEC911090E4ACBE9A9419B3FE64CE0865D1224AF99FEA8D1',1795973115339,'{"access":"read","zones":["Memos"]}',NULL);
CREATE TABLE records (
  account INTEGER NOT NULL,
  number INTEGER PRIMARY KEY,
  zone TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  modified_at INTEGER NOT NULL,
  device INTEGER NOT NULL,
  tag INTEGER NOT NULL,
  fields BLOB
, chunks BLOB, deleted_at INTEGER, includes BLOB) STRICT;
CREATE TABLE subscriptions (
  account INTEGER NOT NULL,
  device INTEGER NOT NULL,
  id TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (account, device, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE wake_keys (
  made_at INTEGER PRIMARY KEY,
  private_key BLOB NOT NULL
) STRICT;
INSERT INTO "wake_keys" VALUES(1795972515191,X'2492F5B1C8307E7E1FF8E63A2BC8F5DF7B12613B22B0C3D859406CE755358A45');
CREATE TABLE wakes (
  account INTEGER NOT NULL,
  device INTEGER NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (account, device)
) STRICT, WITHOUT ROWID;
CREATE TABLE zones (
  account INTEGER NOT NULL,
  zone TEXT NOT NULL,
  live INTEGER NOT NULL,
  PRIMARY KEY (account, zone)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX devices_by_account ON devices (account, device);
CREATE UNIQUE INDEX devices_by_token ON devices (token_hash);
CREATE INDEX pairings_by_account ON pairings (account);
CREATE UNIQUE INDEX pairings_by_code ON pairings (code_hash);
CREATE INDEX pairings_by_expiry ON pairings (expires_at);
CREATE UNIQUE INDEX records_by_name ON records (account, zone, name);
CREATE UNIQUE INDEX records_by_tag ON records (account, tag, zone);
CREATE UNIQUE INDEX batches_by_id ON batches (account, device, batch_high, batch_low);
CREATE INDEX records_by_deletion ON records (deleted_at, account, tag)
  WHERE deleted_at IS NOT NULL;
CREATE INDEX chunks_by_file ON chunks (account, file);
CREATE INDEX chunks_unused ON chunks (lease_until, account, hash) WHERE uses = 0;
CREATE INDEX records_with_chunks ON records (account, zone) WHERE chunks IS NOT NULL;
COMMIT;
PRAGMA application_id = 1280539247;
PRAGMA user_version = 8;
