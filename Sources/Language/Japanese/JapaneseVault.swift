extension Japanese {
  static let vault: [String: String] = [
    "the vault does not know that order": "ファイルがこの操作を認識できません",
    "the vault has no such view": "ファイルにこの表示はありません",
    "there is no file in the vault yet": "ファイルはまだありません",
    "there are no conflict copies": "競合コピーはありません",
    "{count} conflicts settled": "{count}件の競合を解決しました",
    "{count} cannot be: this device cannot read both sides":
      "{count}件は解決できません：このデバイスでは両方のバージョンを読み込めません",
    "a conflict copy has just changed; look at them again": "競合コピーが変更されたばかりです。もう一度確認してください",
    "{count} conflict copies removed": "{count}件の競合コピーを削除しました",
    "{count} differ and stay": "{count}件は元のファイルと異なるため残しました",
    "{count} codes wait": "{count}件のペアリングコードが未使用です",
    "[same as {file}]": "[「{file}」と同じ]",
    "[other version of {file}]": "[「{file}」の別のバージョン]",
    "[not sealed]": "[暗号化なし]",
    """
    {count} files are sealed, and this device does not have the vault's key: give it a code from \
    lockstep agent pair of a device that has it, with lockstep vault unlock
    """: """
    {count}件のファイルは暗号化されていて、このデバイスにはファイル専用の鍵がありません：鍵を持つデバイスの lockstep agent pair で得たコードを、\
    lockstep vault unlock で入力してください
    """,
    """
    {count} files are sealed with another key than this device's: bring the right one with \
    lockstep vault restore
    """:
      "{count}件のファイルは、このデバイスとは別の鍵で暗号化されています：lockstep vault restore で正しい鍵を復元してください",
    """
    {count} files are not readable, and written by no device that has the vault's key: add the \
    file again on a device that still has it
    """:
      "{count}件のファイルは読み込めず、ファイル専用の鍵を持つデバイスが書いたものでもありません：ファイルが残っているデバイスでもう一度追加してください",
    "{file} is synced, {size}": "「{file}」は同期済みです（{size}）",
    "{file} is synced, deleted": "「{file}」は同期済みです（削除済み）",
    "it cannot be synced": "同期できません",
    "{file} will be synced": "「{file}」はこれから同期されます",
    "it is not synced yet": "まだ同期されていません",
    "{reason}; lockstep agent run continues to sync it": "{reason}。lockstep agent run が同期を続けます",
    "this folder is gone; change to another one, then try again":
      "このフォルダはもうありません。別のフォルダに移動してから、もう一度お試しください",
    "this folder's name is not UTF-8; give the file's absolute path":
      "このフォルダの名前は UTF-8 ではありません。ファイルの絶対パスを指定してください",
    "nothing has happened yet": "記録はまだありません",
    "{path} is no longer synced; the file itself stays": "{path} の同期を停止しました。ファイル自体は残ります",
    "“{word}” is not an action; the only one is clean": "「{word}」という操作はありません。使えるのは clean だけです",
    "this device opens the vault (key {key})": "このデバイスでファイルを開けるようになりました（鍵 {key}）",
    """
    this device does not have the vault's key, so it has no phrase; print it on a device that has \
    the key, or get the key with lockstep vault unlock --home {home}
    """: """
    このデバイスにはファイル専用の鍵がないため、復元フレーズもありません。鍵を持つデバイスで表示するか、\
    lockstep vault unlock --home {home} で鍵を取得してください
    """,
    "the phrase is a secret, and standard output is not a terminal; print it with --show":
      "復元フレーズは秘密の情報で、標準出力は端末ではありません。表示するには --show を付けてください",
    """
    Write these {count} words down and keep them away from your devices. They open the vault
    when all devices are lost: lockstep vault restore, on a device of the account.
    """: """
    この{count}個の単語を書き留め、デバイスとは別の場所に保管してください。
    すべてのデバイスを失ったときは、アカウントのデバイスで lockstep vault restore を
    実行すると、これらの単語でファイルを開けます。
    """,
    "a phrase on the command line can be seen by others; give it on standard input":
      "コマンドラインの復元フレーズは、ほかの人に見られるおそれがあります。標準入力から入力してください",
    "this device opens the vault again (key {key})": "このデバイスで再びファイルを開けるようになりました（鍵 {key}）",
    """
    {count} files are sealed with a key that this device does not have: bring that key (lockstep \
    vault unlock, or restore); --force gives up what is sealed with it
    """: """
    {count}件のファイルは、このデバイスにない鍵で暗号化されています：その鍵を取得してください（lockstep vault unlock または restore）。\
    --force を付けると、その鍵で暗号化された内容を放棄します
    """,
    "the account's vault has this device's key (key {key})":
      "アカウントのファイルは、このデバイスの鍵を使うようになりました（鍵 {key}）",
    "Phrase: ": "復元フレーズ：",
    "the phrase": "復元フレーズ",
    """
    a recovery phrase has {words} words of five letters, {letters} letters in all, and this has \
    {count}; nothing was changed
    """:
      "復元フレーズは5文字の単語{words}個、合計{letters}文字ですが、入力は{count}文字です。何も変更されていません",
    "word {place} is misspelt: it cannot be in a recovery phrase; nothing was changed":
      "{place}番目の単語のつづりが違います：復元フレーズには使われない単語です。何も変更されていません",
    "the checksum is wrong: a word is misspelt, or two are swapped; nothing was changed":
      "チェックサムが一致しません：単語のつづりが違うか、2つの単語が入れ替わっています。何も変更されていません",
    "one case a line, then Ctrl-D": "1行に1件の競合を入力し、最後に Ctrl-D を押してください",
    "cannot read the cases: {error}": "競合を読み込めません：{error}",
    "longer than {count} bytes": "{count}バイトを超えています",
    "line {number}: {reason}": "{number}行目：{reason}",
    "a case is a JSON object": "競合は JSON オブジェクトで指定してください",
    "give either \"type\" or \"rules\", not both": "\"type\" か \"rules\" のどちらか一方だけを指定してください",
    "\"type\" is missing; give it, or \"rules\" in its place":
      "\"type\" がありません。\"type\" か、その代わりの \"rules\" を指定してください",
    "give what stands under \"case\", not the whole vector": "テストベクトル全体ではなく、\"case\" の中身を指定してください",
    "\"type\" is no string": "\"type\" が文字列ではありません",
    "the rules have no record type \"{type}\"": "ルールにレコードの型 \"{type}\" がありません",
    "no app here knows the record type \"{type}\"": "レコードの型 \"{type}\" に対応するアプリがありません",
    "\"{side}\" is no version of a record": "\"{side}\" がレコードのバージョンではありません",
    "\"modifiedAt\" of \"{side}\" must be a whole number of milliseconds":
      "\"{side}\" の \"modifiedAt\" はミリ秒単位の整数にしてください",
    "\"fields\" of \"{side}\" must be a JSON object, or null for a delete":
      "\"{side}\" の \"fields\" は JSON オブジェクト、削除の場合は null にしてください",
    "\"deleted\" of \"{side}\" must be true where \"fields\" is null and false elsewhere":
      "\"{side}\" の \"deleted\" は、\"fields\" が null の場合は true、それ以外は false にしてください",
    "\"{member}\" of \"{side}\" must be a string": "\"{side}\" の \"{member}\" は文字列にしてください",
    "the rules {path} cannot be read: {error}; give the path of a file as in docs/rules.md":
      "ルール {path} を読み込めません：{error}。docs/rules.md に従ってファイルのパスを指定してください",
    "{path}: {reason}; see docs/rules.md": "{path}：{reason}。docs/rules.md を参照してください",
    "no file is synced here; add one: lockstep vault add FILE":
      "ここで同期しているファイルはありません。追加するには：lockstep vault add FILE",
    "{path} is not a regular file; replace it with one, or forget it":
      "{path} は通常のファイルではありません。通常のファイルに置き換えるか、同期を停止してください（lockstep vault forget）",
    "{path} cannot be examined: {error}": "{path} を確認できません：{error}",
    "{error}; free disk space, then the device retries": "{error}。ディスクの空き容量を増やすと、デバイスが再試行します",
    "{path} cannot be read: {error}": "{path} を読み込めません：{error}",
    "another program has {path} open for writing; it is replaced once that program closes it":
      "別のプログラムが {path} を書き込み用に開いています。そのプログラムが閉じると置き換えます",
    "{path} cannot be written: {error}": "{path} に書き込めません：{error}",
    "{path} cannot be replaced: {error}": "{path} を置き換えられません：{error}",
    "{path} cannot be removed: {error}": "{path} を削除できません：{error}",
    "{folder} cannot be written to: {error}": "フォルダ {folder} に書き込めません：{error}",
    "it keeps changing while it is read; the device retries": "読み込み中にファイルが変更され続けています。デバイスが再試行します",
    "cannot watch files: too many inotify instances; raise fs.inotify.max_user_instances":
      "ファイルを監視できません：inotify インスタンスが多すぎます。fs.inotify.max_user_instances を増やしてください",
    """
    the folder {folder} cannot be watched ({error}); make it readable, or raise \
    fs.inotify.max_user_watches
    """:
      "フォルダ {folder} を監視できません（{error}）。読み込めるようにするか、fs.inotify.max_user_watches を増やしてください",
    "it is uploaded when the relay is reachable ({reason})": "リレーに接続できるようになると送信します（{reason}）",
    "the account's plan does not include the vault; ask the relay's owner":
      "アカウントのプランにファイルは含まれていません。リレーの管理者に問い合わせてください",
    "it cannot be uploaded: {reason}": "送信できません：{reason}",
    "the relay refuses it: {reason}": "リレーがこのファイルを受け付けません：{reason}",
    "the home cannot be written": "データフォルダに書き込めません",
    "{file} is not a valid record name; forget it, and add it with --name":
      "「{file}」は有効な名前ではありません。同期を停止し、--name を付けて追加してください",
    "{reason}; or move the file away: the account's version then comes":
      "{reason}。または、ファイルを移動してください：アカウントのバージョンが届きます",
    """
    {reason}; the file is unchanged; to replace the record with this device's version, add the \
    file again (lockstep vault add)
    """:
      "{reason}。ファイルは変更されていません。このデバイスのバージョンで置き換えるには、ファイルをもう一度追加してください（lockstep vault add）",
    "the account's record is not a file's record: another program, or the relay, has written it":
      "アカウントのレコードはファイルのものではありません：別のプログラムかリレーが書いたものです",
    """
    the account's record is not sealed: a device without the vault's key, or the relay, has \
    written it
    """:
      "アカウントのレコードは暗号化されていません：ファイル専用の鍵を持たないデバイスかリレーが書いたものです",
    "the account's record is sealed, and this file is not":
      "アカウントのレコードは暗号化されていますが、このファイルは暗号化されていません",
    "this device cannot read the account's record": "このデバイスではアカウントのレコードを読み込めません",
    "the folder {folder} is not there; restore it, or forget the file (lockstep vault forget)":
      "フォルダ {folder} がありません。フォルダを元に戻すか、ファイルの同期を停止してください（lockstep vault forget）",
    "{path} is a folder; move it away, or forget the file":
      "{path} はフォルダです。移動するか、ファイルの同期を停止してください（lockstep vault forget）",
    "it has {size}; the limit is {limit}": "サイズは {size} ですが、上限は {limit} です",
    """
    {path} is gone, and its folder is another one than before: if a disk is not mounted, mount \
    it; if the file was deleted, forget it (lockstep vault forget)
    """: """
    {path} がなく、フォルダも以前とは異なります：ディスクがマウントされていない場合はマウントし、ファイルを削除した場合は同期を停止してください（\
    lockstep vault forget）
    """,
    "{file} is not a valid record name; give the file a shorter name":
      "「{file}」は有効な名前ではありません。ファイルの名前を短くしてください",
    "the conflict copy {file} cannot be read on this device, or is sealed differently":
      "競合コピー「{file}」はこのデバイスで読み込めないか、暗号化の方式が異なります",
    "{path} has another version of the file and cannot be renamed; move it yourself":
      "{path} はこのファイルの別のバージョンですが、名前を変更できません。手動で移動してください",
    "{path} has another version of the file; rename it yourself":
      "{path} はこのファイルの別のバージョンです。手動で名前を変更してください",
    "it has more chunks than a record can list; split it, or forget it":
      "ファイルのチャンクが多すぎて記録できません。ファイルを分割するか、同期を停止してください（lockstep vault forget）",
    "a chunk has {bytes} bytes, which is too large": "{bytes}バイトのチャンクがあり、大きすぎます",
    "the home is busy with other chunks": "データフォルダがほかのチャンクを処理しています",
    "this home has not joined an account; join one first": "このデータフォルダはまだアカウントに参加していません。先に参加してください",
    "some of its chunks are not at the relay yet": "チャンクの一部がまだリレーにありません",
    "some of its chunks are damaged in this home and are downloaded again":
      "このデータフォルダでチャンクの一部が壊れているため、もう一度受信します",
    "the relay cannot be reached ({reason})": "リレーに接続できません（{reason}）",
    "another program has it open for writing; it is replaced once that program closes it":
      "別のプログラムがこのファイルを書き込み用に開いています。そのプログラムが閉じると置き換えます",
    "the account's version is damaged; add it again on a device with an intact copy":
      "アカウントのバージョンが壊れています。正常なファイルがあるデバイスでもう一度追加してください",
    "{path} cannot be used; see the log of lockstep agent run":
      "{path} を使用できません。lockstep agent run のログを確認してください",
    "the vault does not know that request": "ファイルがこの要求を認識できません",
    "the file needs an absolute path": "ファイルは絶対パスで指定してください",
    "the folder {folder} is not there; create it, then try again":
      "フォルダ {folder} がありません。作成してから、もう一度お試しください",
    "“{name}” is no name for a file; give one with --name":
      "「{name}」はファイルの名前に使えません。--name で名前を指定してください",
    """
    a file that is not sealed cannot be named {name} in the vault, because that name is reserved; \
    choose another with --name
    """:
      "「{name}」は予約された名前のため、暗号化しないファイルには使えません。--name で別の名前を指定してください",
    """
    {file} is synced already, at {path}; give this file another name with --name, or forget that \
    one first (lockstep vault forget)
    """:
      "「{file}」はすでに {path} で同期しています。--name で別の名前を指定するか、先にそのファイルの同期を停止してください（lockstep vault forget）",
    "{path} is synced already, as {file}": "{path} はすでに「{file}」として同期しています",
    "{path} is in the home itself; move the file elsewhere":
      "{path} はデータフォルダの中にあります。ファイルをほかの場所に移動してください",
    "{count} files are synced already, the limit; forget some (lockstep vault forget)":
      "すでに{count}件のファイルを同期していて、上限に達しています。一部のファイルの同期を停止してください（lockstep vault forget）",
    "{path} is a folder; add the files in it one by one": "{path} はフォルダです。中のファイルを1つずつ追加してください",
    "{path} has {size}; the limit is {limit}": "{path} のサイズは {size} ですが、上限は {limit} です",
    """
    the account's records are sealed, and so are all files of its vault; add the file without \
    --plain
    """:
      "アカウントの内容はエンドツーエンドで暗号化されていて、すべてのファイルも同様です。--plain を付けずに追加してください",
    """
    the account's file {file} is not sealed: the relay's owner can read it, and may have put it \
    there; add it with --plain if that is meant, or under another --name
    """: """
    アカウントのファイル「{file}」は暗号化されていません：リレーの管理者が読むことができ、管理者が置いた可能性もあります。それでよければ --plain を付けて、\
    そうでなければ別の --name で追加してください
    """,
    "there is no file {path}, and the account has none called {file}; see lockstep vault list":
      "ファイル {path} はなく、アカウントにも「{file}」という名前のファイルはありません。lockstep vault list を確認してください",
    "the file was changed just now; try again": "ファイルが変更されたばかりです。もう一度お試しください",
    "this home is being closed; try again": "このデータフォルダは終了処理中です。もう一度お試しください",
    "this home syncs no file of that name; see lockstep vault status":
      "このデータフォルダでは、その名前のファイルを同期していません。lockstep vault status を確認してください",
    "{copy} is a conflict copy of {file}; delete the file to remove it on all devices":
      "「{copy}」は「{file}」の競合コピーです。そのファイルを削除すると、すべてのデバイスから削除されます",
    "{percent} %  {done} of {size}": "{percent}%  {done} / {size}",
    "no file is synced here; add one with lockstep vault add FILE":
      "ここで同期しているファイルはありません。lockstep vault add FILE で追加してください",
    "FILE": "ファイル",
    "STATE": "状態",
    "SIZE": "サイズ",
    "WHERE": "場所",
    "unknown": "不明",
    "synced": "同期済み",
    "syncing": "同期中",
    "uploading": "送信中",
    "downloading": "受信中",
    "error": "エラー",
    "sent; the relay had all its chunks": "送信しました。すべてのチャンクがすでにリレーにありました",
    "sent {size} of new chunks": "新しいチャンクを {size} 送信しました",
    "received {size} from {device}": "{device} から {size} を受信しました",
    "both versions kept; the other is {file}": "両方のバージョンを残しました。もう一方は「{file}」です",
    "removed; it was deleted on another device": "別のデバイスで削除されたため、削除しました",
    "deleted here and on all devices": "ここと、すべてのデバイスから削除しました",
    "failed: {reason}": "失敗しました：{reason}",
    """
    the account's keys open this vault: it has no key of its own; lockstep agent key --help says \
    how to print, restore and replace them
    """:
      "これらのファイルはアカウントの鍵で開くため、専用の鍵はありません。鍵の表示、復元、置き換えの方法は lockstep agent key --help を参照してください",
    """
    the account's keys open this vault, and this device does not have them: pair it again with a \
    code of a device that has them (lockstep agent pair), or restore them from the phrase \
    (lockstep agent key restore --home {home})
    """: """
    これらのファイルはアカウントの鍵で開きますが、このデバイスには鍵がありません：鍵を持つデバイスのペアリングコードでもう一度ペアリングするか（lockstep agent pair）、\
    復元フレーズで鍵を復元してください（lockstep agent key restore --home {home}）
    """,
    "the home cannot be read": "データフォルダを読み込めません",
    "this device does not have the vault's key; bring it with lockstep vault unlock":
      "このデバイスにはファイル専用の鍵がありません。lockstep vault unlock で取得してください",
    """
    the vault's key, made once for an account, could not be made: {reason}; do it again with the \
    relay in reach
    """:
      "アカウントごとに一度だけ作成するファイル専用の鍵を作成できませんでした：{reason}。リレーに接続できるときに、もう一度お試しください",
    """
    this account's vault has a key already, and this device does not have it: get a code with \
    lockstep agent pair on a device that has it, and give it to lockstep vault unlock --home \
    {home}, or bring it with lockstep vault restore; {advice}
    """: """
    このアカウントにはすでにファイル専用の鍵がありますが、このデバイスにはありません：鍵を持つデバイスの lockstep agent pair でコードを取得して lockstep \
    vault unlock --home {home} に入力するか、lockstep vault restore で鍵を復元してください。{advice}
    """,
    """
    if none of your devices has that key, and no phrase of it is written down, somebody else has \
    put it there: lockstep vault new-key --instead-of {key} puts this device's in its place
    """: """
    どのデバイスにもその鍵がなく、復元フレーズも書き留めていない場合は、ほかの誰かが置いた鍵です：lockstep vault new-key --instead-of {key} で、\
    このデバイスの鍵に置き換えられます
    """,
    "that is the key that this home has; there is nothing to replace":
      "これはこのデータフォルダにある鍵です。置き換える必要はありません",
    """
    the vault's key cannot be given along: {reason}; lockstep agent pair --no-vault makes a code \
    without it
    """:
      "ファイル専用の鍵を渡せません：{reason}。lockstep agent pair --no-vault で、鍵を含まないコードを作成できます",
    "this home's key ({key}) is not the one of the account's vault ({current}); {advice}":
      "このデータフォルダの鍵（{key}）は、アカウントのファイル専用の鍵（{current}）ではありません。{advice}",
    """
    that code has the relay's half alone, and no vault's key comes with it: lockstep agent pair \
    prints one of 24 letters on a device that has the key
    """:
      "このコードにはリレー用の半分しかなく、ファイル専用の鍵は含まれていません：鍵を持つデバイスの lockstep agent pair で、24文字のコードを表示できます",
    """
    no vault's key waits under that code: it was used, has expired, or its first half is \
    mistyped; make a new one with lockstep agent pair on a device that has the key
    """: """
    このコードにファイル専用の鍵はありません：使用済みか、期限切れか、前半の入力が間違っています。鍵を持つデバイスの lockstep agent pair で新しいコードを作成してください
    """,
    "the second half of that code is wrong; nothing was changed, so look at it and try again":
      "このコードの後半が間違っています。何も変更されていないので、確認してもう一度お試しください",
    "that is the key of another vault ({key}); this account's is {current}":
      "これは別のアカウントのファイル専用の鍵です（{key}）。このアカウントの鍵は {current} です",
    "this home has another vault's key already ({current}, not {key}); nothing was changed":
      "このデータフォルダには、すでに別のアカウントのファイル専用の鍵があります（{key} ではなく {current}）。何も変更されていません",
    """
    this machine has not the {size} of memory that a code's secret takes; try again when others \
    need less
    """:
      "このコンピュータには、コードの処理に必要な {size} のメモリがありません。ほかのプログラムの使用量が減ってから、もう一度お試しください",
    """
    {path} does not hold a vault's key; move it away, then bring the key back with lockstep vault \
    restore or unlock
    """:
      "{path} にファイル専用の鍵が入っていません。移動してから、lockstep vault restore か unlock で鍵を取り戻してください",
    "the process that holds the home {home} has gone; try again":
      "データフォルダ {home} を使用していたプロセスが終了しました。もう一度お試しください",
    "the relay did not say whether the key was made; try again":
      "鍵が作成されたかどうか、リレーから返答がありませんでした。もう一度お試しください",
    "the account's vault has no key; lockstep vault add makes one":
      "このアカウントにファイル専用の鍵はありません。lockstep vault add で作成されます",
    "the key of the account's vault is {current}, and not {key}":
      "アカウントのファイル専用の鍵は {key} ではなく {current} です",
    "another device has just changed the vault's key; look again":
      "別のデバイスがファイル専用の鍵を変更したばかりです。もう一度確認してください",
    "what waits under that code is no vault's key; make a new code with lockstep agent pair":
      "このコードにあるものはファイル専用の鍵ではありません。lockstep agent pair で新しいコードを作成してください",
    "another key waits under that code; make a new one": "このコードには別の鍵があります。新しいコードを作成してください",
    "the account's record of its vault's key cannot be read; another program wrote it: {advice}":
      "アカウントのファイル専用の鍵についてのレコードを読み込めません。別のプログラムが書いたものです：{advice}",
    """
    {path} is damaged; move it away, and add the vault's files again (lockstep vault add): \
    nothing is lost by that
    """:
      "{path} が壊れています。移動してから、ファイルをもう一度追加してください（lockstep vault add）：何も失われません",
  ]
}
