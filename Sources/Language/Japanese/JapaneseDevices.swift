extension Japanese {
  static let devices: [String: String] = [
    "the relay did not answer in time": "リレーから時間内に応答がありませんでした",
    "the process that holds this home has no app {app}; restart that process":
      "このデータフォルダを使用中のプロセスにはアプリ {app} がありません。そのプロセスを再起動してください",
    "the device joins again": "デバイスが参加し直しています",
    """
    the relay does not know this device any more; join the account again with a code of another \
    device (lockstep agent join); unsent changes are kept
    """:
      "リレーはこのデバイスを認識しなくなりました。別のデバイスのコードでアカウントに参加し直してください（lockstep agent join）。未送信の変更は残ります",
    "the account's plan does not include sync ({reason})": "アカウントのプランに同期は含まれていません（{reason}）",
    "{reason}; this version does not know the reason: update it":
      "{reason}。このバージョンでは理由が分かりません。更新してください",
    "the call was stopped": "呼び出しが停止されました",
    "the account lives at {relay} now": "アカウントは現在 {relay} にあります",
    """
    the relays at {former} and {relay} each send this device to another address; ask their owners \
    where the account is
    """:
      "{former} と {relay} のリレーは、どちらもこのデバイスを別のアドレスに案内しています。アカウントの場所を管理者に確認してください",
    """
    the relay at {former} says that the account has moved, and does not say to which address; ask \
    its owner
    """:
      "{former} のリレーによるとアカウントは移動しましたが、移動先のアドレスが示されていません。管理者に確認してください",
    """
    the relay at {former} says that the account has moved to this same address; ask its owner
    """:
      "{former} のリレーによるとアカウントはこの同じアドレスに移動しました。管理者に確認してください",
    """
    the relay at {former} says that the account has moved to {relay}, an address without TLS, \
    which is not followed; ask its owner
    """:
      "{former} のリレーによるとアカウントは {relay} に移動しましたが、TLS を使わないアドレスのため移動先には接続しません。管理者に確認してください",
    """
    the relay at {relay} and others send each other's devices in a circle; ask their owners where \
    the account is
    """:
      "{relay} などのリレーが、デバイスを互いのアドレスに案内し続けています。アカウントの場所を管理者に確認してください",
    "the relay could not be reached in time": "時間内にリレーに接続できませんでした",
    "the relay closed the connection": "リレーが接続を閉じました",
    """
    no authority that is trusted here has signed the relay's certificate; if it is an authority of \
    your own, name its file with --ca when you join
    """:
      "リレーの証明書は、ここで信頼されている認証局が署名したものではありません。自分の認証局の場合は、参加するときに --ca でファイルを指定してください",
    """
    the relay's certificate is for another name; use a name that the certificate contains, or have \
    the relay's owner obtain one for this name
    """:
      "リレーの証明書は別の名前のものです。証明書にある名前を使うか、この名前の証明書の取得をリレーの管理者に依頼してください",
    "the relay's certificate has expired; have the relay's owner renew it":
      "リレーの証明書の期限が切れています。リレーの管理者に更新を依頼してください",
    "the relay's certificate is not valid yet; check this machine's clock":
      "リレーの証明書はまだ有効ではありません。このコンピュータの時計を確認してください",
    "the peer does not use TLS; check the port, and whether the address must begin with http://":
      "相手は TLS を使っていません。ポートと、アドレスを http:// で始める必要がないかを確認してください",
    "the peer does not speak the protocol of this connection; check its address and port":
      "相手はこの接続のプロトコルを使っていません。アドレスとポートを確認してください",
    "the TLS handshake failed: {reason}": "TLS ハンドシェイクに失敗しました：{reason}",
    "something between this device and the relay refuses large requests (status 413)":
      "このデバイスとリレーの間の何かが、大きなリクエストを拒否しています（ステータス 413）",
    "something between this device and the relay answered in its place, with status {status}":
      "このデバイスとリレーの間の何かが代わりに応答しました（ステータス {status}）",
    "the relay closed the socket ({code}): {reason}": "リレーがソケットを閉じました（{code}）：{reason}",
    "the relay did not answer the WebSocket handshake in time":
      "リレーが WebSocket のハンドシェイクに時間内に応答しませんでした",
    "the relay sent no data in time": "リレーから時間内にデータが届きませんでした",
    "the relay closed the socket ({code} {reason})": "リレーがソケットを閉じました（{code} {reason}）",
    "the relay sent a malformed message: {reason}": "リレーから不正な形式のメッセージが届きました：{reason}",
    "the WebSocket handshake was answered with status {status}":
      "WebSocket のハンドシェイクにステータス {status} の応答がありました",
    "the relay ended the stream": "リレーがストリームを終了しました",
    "the answer is not an event stream": "応答がイベントストリームではありません",
    "the answer with status {status} is not from the relay": "ステータス {status} の応答はリレーからのものではありません",
    "the process that holds the home does not report its status": "データフォルダを使用中のプロセスが状態を報告しません",
    "{app} is switched off here and not synced; switch it on with lockstep {app} on":
      "{app} はここではオフになっていて、同期されません。オンにするには lockstep {app} on を実行してください",
    "Type {name}; it ends with Ctrl-D.": "{name}を入力してください。Ctrl-D で終了します。",
    "DEVICE": "デバイス",
    "NAME": "名前",
    "PLATFORM": "プラットフォーム",
    "SCOPE": "範囲",
    "SEEN": "最終オンライン",
    "{seen} (this one)": "{seen}（このデバイス）",
    "this device was paired for {scope}: the relay shows it no others":
      "このデバイスは {scope} 用にペアリングされているため、リレーはほかのデバイスを表示しません",
    "wakes of this device ({id}): {state}": "このデバイスの呼び起こし（{id}）：{state}",
    "this device is now called {name}": "このデバイスの名前は{name}になりました",
    "{device} is now called {name}": "{device} の名前は{name}になりました",
    """
    this device was paired for {scope}, and cannot remove others: do it on a device with the whole \
    account
    """:
      "このデバイスは {scope} 用にペアリングされているため、ほかのデバイスを削除できません。アカウント全体を使えるデバイスで行ってください",
    "that is this device; remove it with lockstep agent leave":
      "それはこのデバイスです。削除するには lockstep agent leave を実行してください",
    "{name} ({id}) was removed from this account": "{name}（{id}）をこのアカウントから削除しました",
    "the account has no device \u{201C}{name}\u{201D}; see lockstep agent devices":
      "アカウントに「{name}」というデバイスはありません。lockstep agent devices で確認してください",
    "{count} devices have that name; give the id that lockstep agent devices shows":
      "その名前のデバイスが{count}台あります。lockstep agent devices に表示される ID を指定してください",
    "{contents} in {path}": "{contents}（{path}）",
    "{contents} in {path}; this device was paired for a part of the account: {scope}":
      "{contents}（{path}）。このデバイスはアカウントの一部だけを使うようにペアリングされています：{scope}",
    "{count} records": "記録{count}件",
    "{count} files": "ファイル{count}件",
    "{count} chunks of files": "ファイルのチャンク{count}件",
    "{count} chunks that do not open": "開けないチャンク{count}件",
    "{count} waiting for you": "確認待ち{count}件",
    ", ": "、",
    "On the other device, within {time}:": "もう一方のデバイスで、{time}以内に実行してください：",
    "and enter the code there, or this link, which contains relay and code:":
      "そこでコードを入力するか、リレーとコードを含むこのリンクを入力してください：",
    "The new device may {abilities}.": "新しいデバイスの権限：{abilities}。",
    "The code carries the keys of its sealed zones.": "このコードには、暗号化されたゾーンの鍵が含まれています。",
    """
    The code carries the account's keys. The new device shows these six words if it has the\nsame \
    keys:
    """:
      "このコードにはアカウントの鍵が含まれています。同じ鍵なら、新しいデバイスに次の 6 つの単語が表示されます：",
    "In a browser, open this link, and type the second half of the code there:":
      "ブラウザではこのリンクを開き、コードの後半を入力してください：",
    "In a browser, open this link, which does not open the vault:":
      "ブラウザではこのリンクを開いてください（ファイルは開けません）：",
    "In a browser, open this link:": "ブラウザではこのリンクを開いてください：",
    "the zone {zone} is for the account's keys alone; leave it out":
      "ゾーン {zone} はアカウントの鍵専用です。指定から外してください",
    """
    the account's records are sealed, and this device does not have the keys, so its code would \
    not carry them: pair from a device that has them, or restore them first (lockstep agent key \
    restore)
    """:
      """
    アカウントはエンドツーエンドで暗号化されていて、このデバイスには鍵がないため、コードに鍵を含められません。鍵を持つデバイスでペアリングするか、先に鍵を復元してください（lockstep \
    agent key restore）
    """,
    """
    the account's keys open its vault, so a code cannot do without; to leave the vault out, name \
    the other zones (--zones)
    """:
      "アカウントの鍵でファイルも開けるため、コードから除けません。ファイルを除くには、ほかのゾーンを指定してください（--zones）",
    """
    this device was paired for {scope}, and can give other devices no more than that; run lockstep \
    agent pair on a device that has those zones
    """:
      """
    このデバイスは {scope} 用にペアリングされているため、それ以上の権限をほかのデバイスに渡せません。それらのゾーンを使えるデバイスで lockstep agent pair \
    を実行してください
    """,
    "{count} seconds": "{count}秒",
    "{count} minutes": "{count}分",
    "of its zones alone": "ゾーンの鍵のみ",
    "none, although the account's records are sealed; see lockstep doctor":
      "なし（アカウントは暗号化されています。lockstep doctor で確認してください）",
    "none of {zones}, whose records are sealed; see lockstep doctor":
      "{zones} の鍵なし（内容は暗号化されています。lockstep doctor で確認してください）",
    "keys": "鍵",
    "; ": "、",
    "another process holds the home {home} already": "別のプロセスがすでにデータフォルダ {home} を使用しています",
    "another process holds the home {home}; stop that one first":
      "別のプロセスがデータフォルダ {home} を使用しています。先にそのプロセスを停止してください",
    """
    {count} changes were not synced and would be lost; sync first (lockstep agent sync --home \
    {home}), or leave with --force
    """:
      """
    {count}件の変更がまだ同期されておらず、失われます。先に同期するか（lockstep agent sync --home {home}）、--force を付けて離脱してください
    """,
    "{home} has left its account": "{home} はアカウントから離脱しました",
    "{first} and of {second}": "{first} と {second}",
    """
    this is the account's last device, and nobody can read its sealed records without its keys: \
    write down the output of {commands}
    """:
      "これはアカウントの最後のデバイスです。鍵がなければ、暗号化された内容は誰にも読めません。次のコマンドの出力を書き留めてください：{commands}",
    "{reason}; or leave with --force": "{reason}。または --force を付けて離脱してください",
    "give either --new or --code CODE": "--new か --code CODE のどちらかを指定してください",
    "--sealed makes the keys of a new account; a code carries those of its account":
      "--sealed は新しいアカウントの鍵を作ります。コードには、そのアカウントの鍵が含まれています",
    "give --sealed or --plain, and not both": "--sealed と --plain は、どちらか一方だけを指定してください",
    "{device} is a device of account {account} on {relay}, and has the key of its vault":
      "{device} は、リレー {relay} のアカウント {account} のデバイスになりました。ファイルの鍵も持っています",
    "{device} is a device of account {account} on {relay}":
      "{device} は、リレー {relay} のアカウント {account} のデバイスになりました",
    "Its home is {home}": "データフォルダ：{home}",
    "It may {abilities}.": "権限：{abilities}。",
    """
    The account's records are sealed, and that code carries no keys: this device can read\nand \
    change nothing yet. Bring the keys with one of these:
    """:
      "アカウントはエンドツーエンドで暗号化されていて、そのコードには鍵が含まれていません。\nこのデバイスではまだ何も読めず、変更もできません。次のどちらかで鍵を入手してください：",
    "  lockstep agent join --code CODE   a code of lockstep agent pair, on a device with the keys":
      "  lockstep agent join --code CODE   鍵を持つデバイスの lockstep agent pair のコード",
    "  lockstep agent key restore        the phrase that was written down":
      "  lockstep agent key restore        書き留めた復元フレーズ",
    "It has the keys of its sealed zones.": "暗号化されたゾーンの鍵を持っています。",
    "Its records are sealed: the relay cannot read them. Devices with the same keys show:":
      "内容はエンドツーエンドで暗号化され、リレーには読めません。同じ鍵を持つデバイスの表示：",
    "Write the keys down, in case that all devices are lost: lockstep agent key phrase":
      "すべてのデバイスを失った場合に備えて、鍵を書き留めてください：lockstep agent key phrase",
    "This device has the account's keys. The device that made the code shows the same six words:":
      "このデバイスはアカウントの鍵を持っています。コードを作成したデバイスにも同じ 6 つの単語が表示されます：",
    "If it does not, leave the account (lockstep agent leave), and pair again.":
      "異なる場合は、アカウントから離脱し（lockstep agent leave）、もう一度ペアリングしてください。",
    """
    the device has joined, but does not have the vault's key: {reason}; then run lockstep vault \
    unlock --home {home}
    """:
      "デバイスは参加しましたが、ファイルの鍵がありません：{reason}。その後で lockstep vault unlock --home {home} を実行してください",
    "--relay says {relay}, and the link {link}; give one of them":
      "--relay は {relay}、リンクは {link} です。どちらか一方を指定してください",
    """
    --relay URL is missing (or LOCKSTEP_RELAY in the environment); a link with a code has it too; \
    see lockstep agent join --help
    """:
      """
    --relay URL がありません（または環境変数 LOCKSTEP_RELAY）。コードを含むリンクにも入っています。lockstep agent join --help \
    で確認してください
    """,
    """
    the home {home} belongs to account {account} on {relay} already; leave that first (lockstep \
    agent leave --home {home}), name another home, or give a code of that account
    """:
      """
    データフォルダ {home} はすでに {relay} のアカウント {account} に参加しています。先に離脱するか（lockstep agent leave --home \
    {home}）、別のデータフォルダを指定するか、そのアカウントのコードを入力してください
    """,
    """
    Write these {count} words down and keep them away from your devices. If all devices are\nlost, \
    they bring the account's records back: lockstep agent key restore, on a new\ndevice of the \
    account.
    """:
      """
    この{count}語を書き留め、デバイスとは別の場所に保管してください。すべてのデバイスを\n失っても、これでアカウントの内容を取り戻せます。アカウントの新しいデバイスで\nlockst\
    ep agent key restore を実行してください。
    """,
    """
    this device was paired for some zones, and the phrase opens all: restore it on a device with \
    the whole account
    """:
      "このデバイスは一部のゾーン用にペアリングされていますが、復元フレーズはすべてを開きます。アカウント全体を使えるデバイスで復元してください",
    "this device has the account's keys ({words})": "このデバイスはアカウントの鍵を持っています（{words}）",
    "that is a phrase of a vault; lockstep vault restore takes it; nothing was changed":
      "これはファイルの復元フレーズです。lockstep vault restore で使ってください。何も変更されていません",
    """
    this device was paired for some zones, and has the keys of these alone; ask a device with the \
    whole account
    """:
      "このデバイスは一部のゾーン用にペアリングされていて、その鍵しか持っていません。アカウント全体を使えるデバイスをお使いください",
    """
    the home {home} has no keys: its account's records are not sealed, or it joined with a code \
    that carries none; if they are sealed, lockstep agent key restore brings the keys back
    """:
      """
    データフォルダ {home} には鍵がありません。アカウントが暗号化されていないか、鍵を含まないコードで参加しています。暗号化されている場合は、lockstep agent key \
    restore で鍵を復元できます
    """,
    "The language is that of the system now.": "言語をシステムに合わせました。",
    "The language is {language} now.": "言語を{language}にしました。",
    "this device was paired for {scope}: seal zones on a device with the whole account":
      "このデバイスは {scope} 用にペアリングされています。ゾーンの暗号化は、アカウント全体を使えるデバイスで行ってください",
    "{name} is not a zone's name": "{name} はゾーンの名前ではありません",
    "zone {zone} is where devices give each other keys: its records are sealed":
      "ゾーン {zone} はデバイスが鍵を渡し合う場所で、すでに暗号化されています",
    "the account has no records in a zone {zone}; the apps' zones are {zones}":
      "アカウントのゾーン {zone} には記録がありません。アプリのゾーンは {zones} です",
    "nothing is sealed yet: these devices do not have the account's keys":
      "まだ何も暗号化されていません。次のデバイスにアカウントの鍵がありません",
    """
    For each, make a code here (lockstep agent pair --home {home}), and enter it there\n(lockstep \
    agent join --code - --home DIR; in a browser, under Devices). Each then shows
    """:
      """
    デバイスごとに、ここでコードを作成し（lockstep agent pair --home {home}）、そこで入力して\nください（lockstep agent join \
    --code - --home DIR、ブラウザでは「デバイス」）。表示される単語：
    """,
    "Remove those that are not used any more (lockstep agent revoke). Then repeat":
      "使わなくなったデバイスは削除してください（lockstep agent revoke）。その後、もう一度実行します",
    "zone {zone} is sealed: {count} records saved again":
      "ゾーン {zone} をエンドツーエンドで暗号化しました：記録{count}件を保存し直しました",
    """
    {count} of zone {zone} are not sealed yet: the relay does not answer, or refuses them \
    (lockstep agent status); repeat the command
    """:
      """
    ゾーン {zone} の{count}件がまだ暗号化されていません。リレーが応答しないか、拒否しています（lockstep agent status）。コマンドをもう一度実行してください
    """,
    """
    Still without the keys: {names}. Give the command again once they have them, for what they may \
    save until they hear of it.
    """:
      "まだ鍵がないデバイス：{names}。鍵が届いたら、それまでに保存された内容のために、もう一度このコマンドを実行してください。",
    "Pair again, for the keys of their zones: {names}": "ゾーンの鍵のために、もう一度ペアリングしてください：{names}",
    "the agent does not say how it is woken: {reason}": "エージェントは、呼び起こしの状態を返していません：{reason}",
    "the agent cannot be woken: {reason}": "エージェントを呼び起こせません：{reason}",
    "the agent is woken through {distributor}": "エージェントは {distributor} を通じて呼び起こされます",
    "the agent is registering": "エージェントを登録中です",
    "no agent runs with --wake; start one with lockstep agent run --wake":
      "--wake を付けて動いているエージェントがありません。lockstep agent run --wake で起動してください",
    "the registrations at the relay are not known: {reason}": "リレーでの登録の状態が分かりません：{reason}",
    "the relay has no registration of this device": "リレーにこのデバイスの登録はありません",
    "REGISTRATION": "登録",
    "LAST SENT": "最終送信",
    "LAST ANSWERED": "最終応答",
    "never": "なし",
    "the process that holds the home has another version; stop it":
      "データフォルダを使用中のプロセスは別のバージョンです。停止してください",
    "{seen}, after {time} ms": "{seen}（{time} ミリ秒後）",
    "ok": "成功",
    "FAILED": "失敗",
    "pushes wake this device": "プッシュでこのデバイスを呼び起こせます",
    "pushes do not wake this device": "プッシュでこのデバイスを呼び起こせません",
    "an agent of this home runs with --wake; stop it, then run it without, and try again":
      "このデータフォルダのエージェントが --wake 付きで動いています。停止し、付けずに実行してから、もう一度お試しください",
    """
    it is not known if an agent of this home runs with --wake, so nothing was changed: {reason}; \
    if it stays so, stop that process
    """:
      "このデータフォルダのエージェントが --wake 付きで動いているか分からないため、何も変更していません：{reason}。続く場合は、そのプロセスを停止してください",
    "this device is not woken by pushes any more": "このデバイスはプッシュで呼び起こされなくなりました",
    "the distributor may keep a registration: {reason}": "ディストリビューターに登録が残っている可能性があります：{reason}",
    "the account's records are sealed, and that code is its first half alone":
      "アカウントはエンドツーエンドで暗号化されていて、そのコードは前半だけです",
    "Second half of the code, 12 letters: ": "コードの後半（12 文字）：",
    "that has not twelve letters and digits": "12 文字の英数字ではありません",
    """
    {reason}; this device has not joined, and the code is used up: get a new one with lockstep \
    agent pair, and give all of its 24 letters
    """:
      "{reason}。このデバイスは参加しておらず、コードは使用済みです。lockstep agent pair で新しいコードを作成し、24 文字すべてを入力してください",
    "Code: ": "コード：",
    "standard input has no pairing code": "標準入力にペアリングコードがありません",
    "{source}: {reason}": "{source}：{reason}",
    """
    root has no default; run this as the user whose device it is, or name the home here or in \
    LOCKSTEP_HOME
    """:
      "root には既定値がありません。デバイスの持ち主のユーザーで実行するか、ここまたは LOCKSTEP_HOME でデータフォルダを指定してください",
    "HOME is not set, so there is no default; name the home here or in LOCKSTEP_HOME":
      "HOME が設定されていないため、既定値がありません。ここまたは LOCKSTEP_HOME でデータフォルダを指定してください",
    "{path} cannot be made: {reason}; name another folder for the home with --home DIR":
      "{path} を作成できません：{reason}。--home DIR で別のデータフォルダを指定してください",
    "{line}; it will be synced with the next command, or by lockstep agent run":
      "{line}。次のコマンドのとき、または lockstep agent run で同期されます",
    "the home {home} has not joined an account; there is nothing to export":
      "データフォルダ {home} はアカウントに参加していません。書き出す内容がありません",
    "the export was interrupted; its files were removed": "書き出しが中断されました。ファイルは削除されました",
    "the chunk": "チャンク",
    "the home {home} has not joined an account; see lockstep agent join --help":
      "データフォルダ {home} はアカウントに参加していません。lockstep agent join --help で確認してください",
    "this home's device is not woken by pushes; start lockstep agent run --wake --home {home}":
      "このデータフォルダのデバイスはプッシュで呼び起こされません。lockstep agent run --wake --home {home} を実行してください",
    "{path}: {reason}; remove the file, and name the rules again with lockstep agent run --rules":
      "{path}：{reason}。ファイルを削除し、lockstep agent run --rules で規則を指定し直してください",
    "the zone {zone} has the rules of the app {app}; choose another zone":
      "ゾーン {zone} にはアプリ {app} の規則があります。別のゾーンにしてください",
    "the zone {zone} is for the account's keys alone; choose another zone":
      "ゾーン {zone} はアカウントの鍵専用です。別のゾーンにしてください",
    "{reason}; use another home for further zones": "{reason}。ほかのゾーンには別のデータフォルダを使ってください",
    "the home {home} is held by another process that does not answer; stop it, then try again":
      "データフォルダ {home} は、応答しない別のプロセスが使用しています。停止してから、もう一度お試しください",
    "there is no home at {home}; create one with lockstep agent join --home {home}":
      "{home} にデータフォルダがありません。lockstep agent join --home {home} で作成してください",
    "there is no home at {home}; create one with lockstep agent join, or name one: {others}":
      "{home} にデータフォルダがありません。lockstep agent join で作成するか、次から指定してください：{others}",
    "there is no home at {home}; create one with lockstep agent join":
      "{home} にデータフォルダがありません。lockstep agent join で作成してください",
    "the process that holds the home {home} did not answer; try again":
      "データフォルダ {home} を使用中のプロセスが応答しませんでした。もう一度お試しください",
    """
    the process that held the home {home} ended before it answered; the command may have been \
    applied: check before you repeat it
    """:
      "データフォルダ {home} を使用していたプロセスが、応答する前に終了しました。コマンドは実行された可能性があります。繰り返す前に確認してください",
    """
    the process that holds the home {home} did not answer; the command may still be applied: check \
    before you repeat it
    """:
      "データフォルダ {home} を使用中のプロセスが応答しませんでした。コマンドはこれから実行される可能性があります。繰り返す前に確認してください",
    "Other devices of this account have {records}; this one started with none.":
      "このアカウントのほかのデバイスには{records}があります。このデバイスは空の状態で始まりました。",
    "  yes    accept them": "  yes    受け入れる",
    "  wipe   delete them on all devices and start empty": "  wipe   すべてのデバイスから削除し、空の状態で始める",
    "  later  decide another time": "  later  あとで決める",
    "yes, wipe or later? ": "yes、wipe、later のいずれかを入力：",
    "This deletes {records} on all devices, for good. Type wipe again: ":
      "すべてのデバイスから{records}を完全に削除します。もう一度 wipe と入力：",
    "this device has not read all records yet; sync first, then try again":
      "このデバイスはまだすべての記録を読み込んでいません。先に同期してから、もう一度お試しください",
    "The account has new keys. All devices with them show these six words:":
      "アカウントの鍵が新しくなりました。新しい鍵を持つデバイスには、次の 6 つの単語が表示されます：",
    "{name} gets them with the next sync.": "{name}には次の同期で届きます。",
    "{names} get them with the next sync.": "{names}には次の同期で届きます。",
    "{names} cannot get them: pair again with a code of lockstep agent pair.":
      "{names}には届きません。lockstep agent pair のコードで、もう一度ペアリングしてください。",
    "A phrase that was written down before is void: print lockstep agent key phrase.":
      "以前に書き留めた復元フレーズは無効です。lockstep agent key phrase で新しいものを表示してください。",
    "this device has the keys of some zones, and not those of the account":
      "このデバイスには一部のゾーンの鍵しかなく、アカウントの鍵がありません",
    """
    the account has keys, and this device does not have them: get them with a code of lockstep \
    agent pair from a device that has them (lockstep agent join --code CODE)
    """:
      """
    アカウントには鍵がありますが、このデバイスにはありません。鍵を持つデバイスの lockstep agent pair のコードで入手してください（lockstep agent join \
    --code CODE）
    """,
    """
    the vault has files that are not sealed, such as {file}: delete each on one device, and add it \
    again without --plain (lockstep vault add)
    """:
      "{file} など、暗号化されていないファイルがあります。それぞれ 1 台のデバイスで削除し、--plain を付けずに追加し直してください（lockstep vault add）",
    """
    zone {zone} has records with files, and files that were attached before cannot be sealed: \
    remove them, or keep the zone as it is
    """:
      "ゾーン {zone} にファイル付きの記録があり、以前に添付されたファイルは暗号化できません。削除するか、ゾーンをそのままにしてください",
    "zone {zone}: {count} of {total} records sealed": "ゾーン {zone}：記録 {count} / {total} 件を暗号化しました",
    "libdbus cannot be loaded: {reason}": "libdbus を読み込めません：{reason}",
    "Install it, for example with apt-get install libdbus-1-3.":
      "インストールしてください（例：apt-get install libdbus-1-3）。",
    "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set":
      "セッションバスがありません：DBUS_SESSION_BUS_ADDRESS が設定されていません",
    "Run the agent in a desktop session, or as a service of systemctl --user.":
      "エージェントをデスクトップのセッションで、または systemctl --user のサービスとして実行してください。",
    "the session bus at {address} cannot be used: {reason}": "{address} のセッションバスを使えません：{reason}",
    "Check that the session bus runs, and that no other agent uses this home.":
      "セッションバスが動いていて、ほかのエージェントがこのデータフォルダを使っていないことを確認してください。",
    "the session bus does not list its programs: {reason}": "セッションバスがプログラムの一覧を返しません：{reason}",
    "Check that the session bus runs; it is tried again.": "セッションバスが動いていることを確認してください。自動で再試行します。",
    "the distributor {distributor} failed: {reason}": "ディストリビューター {distributor} が失敗しました：{reason}",
    "Start the distributor again, and look at its messages.": "ディストリビューターを再起動し、メッセージを確認してください。",
    "the distributor {distributor} does not end the registration: {reason}":
      "ディストリビューター {distributor} が登録を終了しません：{reason}",
    "Start the distributor.": "ディストリビューターを起動してください。",
    "The distributor has no network; it is tried again.": "ディストリビューターがネットワークに接続していません。自動で再試行します。",
    "Open the distributor's settings: it asks for something there.":
      "ディストリビューターの設定を開いてください。確認が必要な項目があります。",
    "It is tried again; look at the distributor's messages.":
      "自動で再試行します。ディストリビューターのメッセージを確認してください。",
    "the distributor {distributor} refused the registration ({word})":
      "ディストリビューター {distributor} が登録を拒否しました（{word}）",
    "it did not answer": "応答がありませんでした",
    "the process that holds the home {home} did not answer": "データフォルダ {home} を使用中のプロセスが応答しませんでした",
    "the process that holds the home has another version": "データフォルダを使用中のプロセスは別のバージョンです",
    "Repeat the command in a minute; if it stays so, restart the agent.":
      "1 分後にもう一度コマンドを実行してください。続く場合は、エージェントを再起動してください。",
    "the home's relay {relay} is no address of a relay": "データフォルダのリレー {relay} は、リレーのアドレスではありません",
    "Repeat the test in a minute.": "1 分後にもう一度テストしてください。",
    "that request about wakes is not known": "その呼び起こしのリクエストは不明です",
    "the keys cannot be stored": "鍵を保存できません",
    "Make room on the disk of the home, and check its permissions.":
      "データフォルダのあるディスクの空きを増やし、権限を確認してください。",
    "It is tried again.": "自動で再試行します。",
    "the relay {relay} wakes no devices": "リレー {relay} はデバイスの呼び起こしに対応していません",
    "Its owner can change that: docs/wake.md.": "リレーの管理者が変更できます：docs/wake.md",
    "the distributor {distributor} is not on the session bus":
      "ディストリビューター {distributor} がセッションバスにありません",
    "Start it.": "起動してください。",
    "Start it, or choose another: {others}": "起動するか、別のものを選んでください：{others}",
    "no UnifiedPush distributor is on the session bus": "セッションバスに UnifiedPush のディストリビューターがありません",
    "Install and start one, for example KUnifiedPush.": "インストールして起動してください（例：KUnifiedPush）。",
    "the distributor has ended the registration": "ディストリビューターが登録を終了しました",
    "It registers again.": "自動で登録し直します。",
    "the distributor {distributor} has left the session bus":
      "ディストリビューター {distributor} がセッションバスから離れました",
    "Start it again; this device then registers by itself.": "起動し直してください。このデバイスは自動で登録されます。",
    "another test is running; wait for its end": "別のテストを実行中です。終わるまでお待ちください",
    "the device is still registering": "デバイスを登録中です",
    "Repeat the test in a few seconds.": "数秒後にもう一度テストしてください。",
    "Repeat the test when the relay can be reached.": "リレーに接続できるときに、もう一度テストしてください。",
    "the push service took the push, and it did not arrive here in time":
      "プッシュサービスはプッシュを受け取りましたが、時間内にここへ届きませんでした",
    "Check that the distributor is connected to its push service.":
      "ディストリビューターがプッシュサービスに接続していることを確認してください。",
    "{path} has another form; remove it, and the device registers for wakes anew":
      "{path} の形式が異なります。削除すると、デバイスは呼び起こしを登録し直します",
    "the distributor accepted the registration, and named no endpoint":
      "ディストリビューターは登録を受け付けましたが、エンドポイントを返しませんでした",
    "Check in the distributor's settings that it is connected to its push service.":
      "ディストリビューターの設定で、プッシュサービスに接続していることを確認してください。",
    "the relay's first push did not arrive": "リレーの最初のプッシュが届きませんでした",
    """
    Check that the distributor is connected to its push service, and that the relay reaches that \
    service: lockstep agent wake status shows its last error.
    """:
      """
    ディストリビューターがプッシュサービスに接続し、リレーからもそのサービスに届くことを確認してください。最後のエラーは lockstep agent wake status \
    で確認できます。
    """,
    "the connection to the session bus has ended": "セッションバスへの接続が終了しました",
    """
    It connects again by itself. If the session is over, start the agent in the next one; if it \
    happens often, a program sends messages over 1 MiB to this device.
    """:
      """
    自動で接続し直します。セッションが終わった場合は、次のセッションでエージェントを起動してください。頻繁に起きる場合は、1 MiB \
    を超えるメッセージをこのデバイスに送るプログラムがあります。
    """,
    "the relay cannot take the registration now: {reason}": "リレーは今、登録を受け付けられません：{reason}",
    "The relay's owner can allow that push service: lockstep relay run --wake-allow HOST.":
      "リレーの管理者がそのプッシュサービスを許可できます：lockstep relay run --wake-allow HOST",
    "Turn wakes off in an app that shares this home; lockstep agent wake status lists them.":
      "このデータフォルダを共有するアプリで呼び起こしをオフにしてください。一覧は lockstep agent wake status で確認できます。",
    "Check that device and relay have the same version.": "デバイスとリレーのバージョンが同じか確認してください。",
    "the relay does not take the registration: {reason}": "リレーが登録を受け付けません：{reason}",
    "the relay does not take the code of its push: {reason}": "リレーがプッシュのコードを受け付けません：{reason}",
    "the registration there is not known: {reason}": "そこでの登録の状態が分かりません：{reason}",
    "no keys can be read": "鍵を読み込めません",
    "Nothing is sent there any more; remove Lockstep in the distributor's settings.":
      "もう何も送信されません。ディストリビューターの設定で Lockstep を削除してください。",
    "works, last proved {time}": "正常、最終確認：{time}",
    "registered, but never verified: no push has arrived yet": "登録済み、未確認：まだプッシュが届いていません",
    "never verified: {reason}": "未確認：{reason}",
    "{reason}; last proved {time}": "{reason}、最終確認：{time}",
    "Test it with lockstep agent wake test, or open the app that has registered.":
      "lockstep agent wake test でテストするか、登録したアプリを開いてください。",
    "{count} days ago": "{count}日前",
    "the push service refused the last push": "プッシュサービスが前回のプッシュを拒否しました",
    "the push service does not accept the relay's key": "プッシュサービスがリレーの鍵を受け付けません",
    "the push service asks the relay to wait": "プッシュサービスがリレーに待機を求めています",
    "the push service does not answer the relay": "プッシュサービスがリレーに応答していません",
    "the relay does not send to this push service": "リレーはこのプッシュサービスに送信しません",
    """
    Register again: restart lockstep agent run --wake, or turn the app's notifications off and on.
    """:
      "登録し直してください：lockstep agent run --wake を再起動するか、アプリの通知をオフにしてからオンにしてください。",
    "The relay tries again by itself.": "リレーが自動で再試行します。",
    "Check that the push service runs; the relay tries again by itself.":
      "プッシュサービスが動いていることを確認してください。リレーが自動で再試行します。",
    "The relay's owner can allow it: lockstep relay run --wake-allow HOST.":
      "リレーの管理者が許可できます：lockstep relay run --wake-allow HOST",
    "{distributor} has registered this device": "{distributor} がこのデバイスを登録しました",
    "the relay sends a push to this device": "リレーがこのデバイスにプッシュを送信しました",
    "the push came through the push service and the distributor":
      "プッシュサービスとディストリビューターを通じてプッシュが届きました",
    "the relay has its code back": "リレーにコードが戻りました",
    "the home {home} cannot be used: {reason}": "データフォルダ {home} を使えません：{reason}",
    "this device belongs to the account {account}; call leave first, or open another folder":
      "このデバイスはアカウント {account} に参加しています。先に離脱するか、別のフォルダを使ってください",
    "the home {home} has schema {found}, and this library knows up to {known}; update the app":
      "データフォルダ {home} の形式は {found} ですが、このプログラムは {known} までしか扱えません。更新してください",
    "there is no home at {home}; open it with Lockstep.open first":
      "{home} にデータフォルダがありません。先に Lockstep.open で開いてください",
    "no space is left for {path}; free some, then try again":
      "{path} のための空き領域がありません。空きを増やしてから、もう一度お試しください",
    "the relay at {relay} cannot be reached: {reason}; is it running, and is that its address?":
      "リレー {relay} に接続できません：{reason}。リレーが動いていて、アドレスが正しいか確認してください",
    "{relay} is not trusted, and nothing was sent to it: {reason}":
      "{relay} は信頼されていないため、何も送信していません：{reason}",
    "the relay at {relay} gave no answer: {reason}; try again":
      "リレー {relay} から応答がありません：{reason}。もう一度お試しください",
    "what answers at {address} is not a Lockstep relay ({reason}); check the address":
      "{address} で応答しているのは Lockstep のリレーではありません（{reason}）。アドレスを確認してください",
    "the device's store failed: {reason}": "デバイスのストレージが失敗しました：{reason}",
    "it answers with status {status}": "応答のステータスは {status}",
    """
    the relay made a code for more than was asked for, which is not shown here and expires by \
    itself; update the relay, then try again
    """:
      "求めた以上の権限のコードをリレーが作成したため、ここには表示しません。コードは自動で失効します。リレーを更新してから、もう一度お試しください",
    "{path} cannot be read: {reason}": "{path} を読み込めません：{reason}",
    "{path} cannot be written: {reason}": "{path} に書き込めません：{reason}",
    "{path} cannot be removed: {reason}": "{path} を削除できません：{reason}",
    "{path} cannot be replaced: {reason}": "{path} を置き換えられません：{reason}",
    "{path} cannot be made: {reason}": "{path} を作成できません：{reason}",
    "{path} cannot be made durable: {reason}": "{path} を確実に書き込めません：{reason}",
    "{path} cannot be opened: {reason}": "{path} を開けません：{reason}",
    "{path} cannot be found: {reason}": "{path} が見つかりません：{reason}",
    "{path} is no regular file; put one in its place": "{path} は通常のファイルではありません。通常のファイルに置き換えてください",
    "{path} has over {limit} bytes; put a smaller file in its place":
      "{path} が {limit} バイトを超えています。小さいファイルに置き換えてください",
    "this home has not joined an account; see lockstep agent join --help":
      "このデータフォルダはアカウントに参加していません。lockstep agent join --help で確認してください",
    "{line}; {zone} is switched off": "{line}、{zone} はオフ",
    "{line}; {zone} is switched off ({count} changes wait)": "{line}、{zone} はオフ（未送信{count}件）",
    "in sync": "同期済み",
    "in sync, {time} ago": "同期済み、{time}前",
    "in sync, just now": "同期済み、たった今",
    "asleep for {time}, and woken by changes": "休止中（{time}）、変更で呼び起こし",
    "asleep, and woken by changes": "休止中、変更で呼び起こし",
    "offline for {time} ({reason})": "オフライン {time}（{reason}）",
    "offline ({reason})": "オフライン（{reason}）",
    "not syncing: {reason}": "同期していません：{reason}",
    "{first}; and {second}": "{first}、{second}",
    "in sync, but {reasons}": "同期済み、ただし{reasons}",
    "{state}, {count} changes wait": "{state}、未送信{count}件",
    "{count} records wait for you": "記録{count}件が確認待ち",
    "decide about the account's {app}: lockstep {app} restore yes|wipe":
      "アカウントの {app} の扱いを決めてください：lockstep {app} restore yes|wipe",
    "the account's plan does not include {zones}": "アカウントのプランに {zones} は含まれていません",
    "this device is not paired to change {zones}, pair it again":
      "このデバイスには {zones} を変更する権限がありません。もう一度ペアリングしてください",
    "files cannot be uploaded: {reason}": "ファイルをアップロードできません：{reason}",
    """
    {count} records of sealed zones cannot be read here: bring the account's keys with a code of \
    lockstep agent pair, or lockstep agent key restore
    """:
      """
    暗号化されたゾーンの記録{count}件をここで読めません。lockstep agent pair のコードか lockstep agent key restore \
    で、アカウントの鍵を入手してください
    """,
    """
    {count} records of sealed zones cannot be read here: a device without the keys has written \
    them, or somebody has changed them at the relay
    """:
      "暗号化されたゾーンの記録{count}件をここで読めません。鍵のないデバイスが書いたか、リレーで誰かが変更しました",
    "{relay} by {transport}": "{relay}（{transport}）",
    "device": "デバイス",
    "account": "アカウント",
    "relay": "リレー",
    "sync": "同期",
    "scope": "範囲",
    "unknown to this version of the program": "このバージョンのプログラムでは不明",
    "{zone}: {count} records {fault}": "{zone}：記録{count}件（{fault}）",
    "unread": "未読",
    "parked": "拒否",
    "retry": "再試行",
    "the record would have {bytes} bytes; the limit is {limit}":
      "記録が {bytes} バイトになります。上限は {limit} です",
    "too many changes wait for the relay; sync first, then try again":
      "リレーへの送信を待つ変更が多すぎます。先に同期してから、もう一度お試しください",
    "that record has no open conflict": "その記録に未解決の競合はありません",
    "{reason}; the change may have been applied: check before you repeat it":
      "{reason}。変更は反映された可能性があります。繰り返す前に確認してください",
    """
    other devices of this account have {records}, and this one started with none; lockstep {app} \
    restore yes accepts them, restore wipe deletes them everywhere
    """:
      """
    このアカウントのほかのデバイスには{records}があり、このデバイスは空の状態で始まりました。lockstep {app} restore yes で受け入れ、restore \
    wipe ですべてのデバイスから削除します
    """,
    "{count} habits": "習慣{count}件",
    "{path} cannot be used: {reason}": "{path} を使えません：{reason}",
    "the relay does not accept this device any more; pair it again":
      "リレーはこのデバイスを受け付けなくなりました。もう一度ペアリングしてください",
    "this relay makes no accounts by itself; ask its owner for a pairing code":
      "このリレーでは、自分でアカウントを作成できません。管理者にペアリングコードを依頼してください",
    """
    that code is wrong, used or too old; ask for a new one where it came from: at the other \
    device, or at the relay's owner
    """:
      "このコードは間違っているか、使用済みか、期限切れです。コードの発行元（もう一方のデバイス、またはリレーの管理者）から新しいコードを受け取ってください",
    "that code is of another account": "そのコードは別のアカウントのものです",
    "the account has as many devices as it may have; remove one first":
      "アカウントのデバイス数が上限に達しています。先に 1 台を削除してください",
    "the account's plan does not include that": "アカウントのプランには含まれていません",
    """
    this device was paired for a part of the account, and may not do that; use a device with the \
    whole account
    """:
      "このデバイスはアカウントの一部だけを使うようにペアリングされているため、この操作はできません。アカウント全体を使えるデバイスをお使いください",
    "the relay does not know the name in its address; its owner can add it":
      "リレーは、アドレスにある名前を認識していません。リレーの管理者が追加できます",
    "another account has this name already; choose another one":
      "この名前は別のアカウントで使われています。ほかの名前にしてください",
    "the clock of this device is wrong": "このデバイスの時計が合っていません",
    "the relay does not have the whole content of a file yet": "ファイルの内容の一部が、まだリレーにありません",
    "that is too large for one record; divide it": "1 件として保存するには大きすぎます。分割してください",
    "the account has no room left; remove something, or ask the relay's owner":
      "アカウントの空き容量がありません。何かを削除するか、リレーの管理者に相談してください",
    "the relay asks to wait a moment; try again in a minute": "リレーが混み合っています。1 分ほど待ってから、もう一度お試しください",
    "the relay's owner does not allow that push service": "リレーの管理者が、そのプッシュサービスを許可していません",
    "the relay has no room on its disk; its owner can make some":
      "リレーのディスクに空きがありません。リレーの管理者が空き容量を増やせます",
    "the relay has a fault; try again later": "リレーで問題が起きています。しばらくしてから、もう一度お試しください",
    "the relay is being restarted; nothing is lost": "リレーを再起動しています。何も失われません",
    "read everything, and change nothing": "すべて読み取りのみ（変更不可）",
    "read and change everything": "すべての読み取りと変更",
    "read {zones}, and nothing else of the account; it can change nothing":
      "{zones} の読み取りのみ（ほかの内容は見えず、変更不可）",
    "read and change {zones}, and nothing else of the account": "{zones} の読み取りと変更のみ（ほかの内容は見えません）",
    "everything": "すべて",
    "{zones} (read only)": "{zones}（読み取りのみ）",
    """
    this device was paired for {scope}, without the zone {zone}; pair this device again with a \
    code of lockstep agent pair --zones {zones}
    """:
      """
    このデバイスは {scope} 用にペアリングされていて、ゾーン {zone} は含まれていません。lockstep agent pair --zones {zones} \
    のコードで、もう一度ペアリングしてください
    """,
    """
    this device was paired to read the zone {zone}, and to change nothing; pair this device again \
    with a code of lockstep agent pair without --read-only
    """:
      """
    このデバイスはゾーン {zone} の読み取り専用でペアリングされています。--read-only を付けない lockstep agent pair \
    のコードで、もう一度ペアリングしてください
    """,
    """
    this device was paired to read the zone {zone}, and to change nothing; pair this device again \
    with a code of lockstep agent pair --zones {zones}, without --read-only
    """:
      """
    このデバイスはゾーン {zone} の読み取り専用でペアリングされています。lockstep agent pair --zones {zones}（--read-only \
    なし）のコードで、もう一度ペアリングしてください
    """,
    "{others} and {last}": "{others}、{last}",
    "the account's keys cannot be given along: {reason}": "アカウントの鍵を渡せません：{reason}",
    """
    this device has the keys of some zones, and not those of the account; use one that has the \
    whole account
    """:
      "このデバイスには一部のゾーンの鍵しかなく、アカウントの鍵がありません。アカウント全体を使えるデバイスをお使いください",
    "another device has just changed the record of the keys; try again":
      "別のデバイスが鍵の記録を変更したところです。もう一度お試しください",
    """
    the account has keys that this device does not have: another device has made them; sync, or \
    pair this device again with a code of that one
    """:
      "アカウントに、このデバイスにはない鍵があります。別のデバイスが作成したものです。同期するか、そのデバイスのコードでもう一度ペアリングしてください",
    """
    the relay has no record of this account's keys: the account is not sealed, or its phrase was \
    never printed; pair this device again with a code of one that has the keys
    """:
      "リレーにこのアカウントの鍵の記録がありません。アカウントが暗号化されていないか、復元フレーズが一度も表示されていません。鍵を持つデバイスのコードで、もう一度ペアリングしてください",
    """
    that phrase is of key {key}, and the account's is {other}: it is the phrase of another \
    account, or of a key that was replaced since; nothing was changed
    """:
      "その復元フレーズは鍵 {key} のもので、アカウントの鍵は {other} です。別のアカウントのものか、置き換えられた鍵のものです。何も変更されていません",
    """
    the record of the account's keys cannot be read: somebody has changed it at the relay; pair \
    this device again with a code of one that has the keys
    """:
      "アカウントの鍵の記録を読み込めません。リレーで誰かが変更しました。鍵を持つデバイスのコードで、もう一度ペアリングしてください",
    "this account has had {count} keys, and can have no more of them":
      "このアカウントはすでに{count}個の鍵を使っていて、これ以上は作成できません",
    "the home {home} does not have the account's keys, so it cannot make new ones":
      "データフォルダ {home} にアカウントの鍵がないため、新しい鍵を作成できません",
    "this device has not made its own key known yet; sync, then try again":
      "このデバイスの鍵がまだ共有されていません。同期してから、もう一度お試しください",
    "another device has just changed the account's keys; sync, then try again":
      "別のデバイスがアカウントの鍵を変更したところです。同期してから、もう一度お試しください",
    "that is not a link with a code, such as http://RELAY:5625/#code=CODE":
      "コードを含むリンクではありません（例：http://RELAY:5625/#code=CODE）",
    """
    that code is mistyped: a code has 12 letters and digits, or 24 if keys come with it; nothing \
    was sent
    """:
      "コードが正しくありません。コードは 12 文字の英数字で、鍵を含む場合は 24 文字です。何も送信されていません",
    """
    a recovery phrase of an account has {words} words of five letters, {letters} letters in all, \
    and this has {count}; nothing was changed
    """:
      "アカウントの復元フレーズは 5 文字の単語{words}個（全部で {letters} 文字）ですが、入力は {count} 文字です。何も変更されていません",
    "the keys that came with that code are in a form this version does not know":
      "そのコードの鍵は、このバージョンでは扱えない形式です",
    "the second half of that code is wrong": "そのコードの後半が間違っています",
    "the keys that came with that code are those of another account": "そのコードの鍵は別のアカウントのものです",
    "there are too many of them for one code; name fewer zones":
      "鍵が多すぎて 1 つのコードに入りません。ゾーンを減らしてください",
    """
    this machine has not the {size} MiB of memory that a code's second half takes; try again when \
    others need less
    """:
      "このコンピュータには、コードの後半の処理に必要な {size} MiB のメモリがありません。空きがあるときに、もう一度お試しください",
    "not sealed, although its zone is": "ゾーンは暗号化されていますが、暗号化されていません",
    "sealed with a key that this device does not have": "このデバイスにない鍵で暗号化",
    "changed since it was sealed": "暗号化の後に変更",
    "sealed by a program that does not keep to the format": "形式に従わないプログラムで暗号化",
    "not readable, for a reason that this version of the program does not know":
      "読み取り不可（このバージョンでは理由が不明）",
    "the store {path} is in use by {holder}; stop that one first, or name another store":
      "ストア {path} は {holder} が使用中です。先に停止するか、別のストアを指定してください",
    "the store {path} is damaged ({detail}); restore it from a backup, or name another store":
      "ストア {path} が壊れています（{detail}）。バックアップから復元するか、別のストアを指定してください",
    """
    the store {path} has schema {found}, and this program knows up to {known}; run the newer \
    lockstep that wrote it
    """:
      "ストア {path} の形式は {found} ですが、このプログラムは {known} までしか扱えません。書き込んだ新しい lockstep を実行してください",
    "the store {path} cannot be written; check its owner and permissions":
      "ストア {path} に書き込めません。所有者と権限を確認してください",
    "no space is left for the store {path}; free some, then try again":
      "ストア {path} のための空き領域がありません。空きを増やしてから、もう一度お試しください",
  ]
}
