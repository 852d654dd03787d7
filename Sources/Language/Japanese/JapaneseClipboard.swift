extension Japanese {
  static let clipboard: [String: String] = [
    "the clipboard does not know that order": "クリップボードがこの操作を認識できません",
    "the clipboard has no such view": "クリップボードにこの表示はありません",
    "there is nothing to add: the text is blank": "テキストが空のため、追加する内容がありません",
    "is already pinned: {text}": "すでにピン留めされています：{text}",
    "is not pinned: {text}": "ピン留めされていません：{text}",
    "{count} items are pinned, the most there can be; unpin one":
      "{count}件の項目がピン留めされていて、上限に達しています。1件のピン留めを解除してください",
    "this item is not there any more": "この項目はもうありません",
    "pinned: {text}": "ピン留めしました：{text}",
    "no longer pinned: {text}": "ピン留めを解除しました：{text}",
    "{count} items removed": "{count}件の項目を削除しました",
    "{count} pinned items stay; remove pinned items too with lockstep clipboard clear --all":
      "ピン留めした{count}件の項目は残っています。これらも削除するには lockstep clipboard clear --all を実行してください",
    "nothing was copied yet": "コピーした項目はまだありません",
    "[pinned] {text}": "[ピン留め] {text}",
    "[image, {size}]": "[画像、{size}]",
    "[image, {size}, {format}]": "[画像、{size}、{format}]",
    "A copy that is marked as a password was not synced.": "パスワードとしてマークされたコピーは同期しませんでした。",
    """
    A copy of more than {size} was not synced; add it with lockstep clipboard add, or put it into \
    the vault.
    """:
      "{size} を超えるコピーは同期しませんでした。lockstep clipboard add で追加するか、ファイルとして追加してください。",
    """
    A copy was not synced: there were {count} within a minute. Another program may change the \
    clipboard by itself.
    """:
      "コピーを同期しませんでした：1分間に{count}件ありました。別のプログラムがクリップボードを自動的に変更している可能性があります。",
    """
    A copy was not synced: the clipboard is switched off here; switch it on with lockstep \
    clipboard on.
    """:
      "コピーを同期しませんでした：クリップボードはここではオフです。lockstep clipboard on でオンにしてください。",
    "the text": "テキスト",
    "this item is an image; write it to a file with lockstep clipboard get ITEM --output FILE":
      "この項目は画像です。lockstep clipboard get ITEM --output FILE でファイルに書き出してください",
    "clipboard on, {count} items": "クリップボード：オン、{count}件",
    "clipboard off, {count} items": "クリップボード：オフ、{count}件",
    "clipboard off, {count} items; {waiting} waiting to be sent":
      "クリップボード：オフ、{count}件、送信待ち{waiting}件",
    "the clipboard is now on": "クリップボードをオンにしました",
    "the clipboard was already on": "クリップボードはすでにオンです",
    "the clipboard is now off": "クリップボードをオフにしました",
    "the clipboard was already off": "クリップボードはすでにオフです",
    "an image cannot be shown here; write it to a file with --output FILE":
      "ここに画像は表示できません。--output FILE でファイルに書き出してください",
    "wrote {bytes} bytes to {path}": "{bytes}バイトを {path} に書き出しました",
    "this version of the program cannot read the image; update it":
      "このバージョンのプログラムではこの画像を読み込めません。プログラムを更新してください",
    """
    the image's content does not have the size that the item names; ask the device that copied it \
    to copy it again
    """:
      "画像の内容のサイズが項目の記録と一致しません。コピーしたデバイスでもう一度コピーしてください",
    "the relay does not have the image yet; open the device that copied it, then try again":
      "画像がまだリレーにありません。コピーしたデバイスを開いてから、もう一度お試しください",
    "the image's content was damaged on the way; try again": "画像の内容が転送中に壊れました。もう一度お試しください",
    """
    the image is sealed, and this device does not have the account's keys: pair it again with a \
    code of a device that has them
    """:
      "画像はエンドツーエンドで暗号化されていて、このデバイスにはアカウントの鍵がありません：鍵を持つデバイスのペアリングコードで、もう一度ペアリングしてください",
    "the image is not sealed, although its zone is": "クリップボードはエンドツーエンドで暗号化されていますが、この画像は暗号化されていません",
    "the image is sealed with a key that this device does not have": "画像は、このデバイスにない鍵で暗号化されています",
    "the image is changed since it was sealed": "画像は暗号化された後に変更されています",
    "the image is sealed by a program that does not keep to the format":
      "画像は、形式に従わないプログラムで暗号化されています",
    "{path} is there already; choose another name": "{path} はすでにあります。別の名前にしてください",
    "no file can be made in /dev/shm: {error}": "/dev/shm にファイルを作成できません：{error}",
    "{program} cannot be run: {error}": "{program} を実行できません：{error}",
    "the clipboard of a desktop is synced with this home already; end that command first":
      "このデータフォルダは、すでにデスクトップのクリップボードと同期しています。先にそのコマンドを終了してください",
    "the desktop does not answer ({reason}); run this command in a terminal of the desktop":
      "デスクトップが応答しません（{reason}）。このコマンドはデスクトップのターミナルで実行してください",
    "xsel cannot see which copies are passwords, so they are synced; install xclip":
      "xsel はパスワードのコピーを判別できないため、パスワードも同期されます。xclip をインストールしてください",
    "the clipboard of this desktop is synced; Ctrl-C ends it":
      "このデスクトップのクリップボードを同期しています。Ctrl-C で終了します",
    "an item was not copied to the desktop: {reason}": "項目をデスクトップにコピーできませんでした：{reason}",
    "the desktop answers again": "デスクトップが再び応答しています",
    "a copy was not synced: {reason}": "コピーを同期できませんでした：{reason}",
    "the desktop does not answer ({reason}); waiting for it": "デスクトップが応答しません（{reason}）。応答を待っています",
    """
    this Wayland desktop lets no program watch its clipboard (wl-paste --watch fails); install \
    the package xclip, then try again
    """: """
    この Wayland デスクトップでは、プログラムがクリップボードを監視できません（wl-paste --watch が失敗しました）。パッケージ xclip をインストールしてから、\
    もう一度お試しください
    """,
    "this Wayland desktop lets no program watch its clipboard; using {program}":
      "この Wayland デスクトップでは、プログラムがクリップボードを監視できません。{program} を使います",
    "{count} characters from this desktop are the newest item": "このデスクトップの{count}文字が最新の項目になりました",
    "{count} characters from another device are on this desktop":
      "別のデバイスの{count}文字をこのデスクトップにコピーしました",
    """
    the clipboard of this Wayland desktop is read and written by wl-paste and wl-copy, which are \
    not installed; install the package wl-clipboard, then try again
    """: """
    この Wayland デスクトップのクリップボードの読み書きには wl-paste と wl-copy が必要ですが、インストールされていません。\
    パッケージ wl-clipboard をインストールしてから、もう一度お試しください
    """,
    """
    the clipboard of this X11 desktop is read and written by xclip or xsel, and neither is \
    installed; install the package xclip, then try again
    """: """
    この X11 デスクトップのクリップボードの読み書きには xclip か xsel が必要ですが、どちらもインストールされていません。パッケージ xclip をインストールしてから、\
    もう一度お試しください
    """,
    """
    there is no desktop here, as neither WAYLAND_DISPLAY nor DISPLAY is set; run this command in \
    a terminal of the desktop, or as a service of its session
    """: """
    ここにデスクトップはありません：WAYLAND_DISPLAY も DISPLAY も設定されていません。このコマンドは、デスクトップのターミナルか、\
    そのセッションのサービスとして実行してください
    """,
    "no answer": "応答なし",
  ]
}
