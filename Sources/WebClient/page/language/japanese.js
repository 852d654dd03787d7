/** Texts of the page, by the English text; see `language.js`. */
export const japanese = Object.freeze({
  // Clipboard
  "This image is empty, so there is nothing to add.": "この画像は空のため、追加する内容がありません。",
  "This image has {size}, and an item has room for {room}. Make it smaller first.":
    "この画像のサイズは {size} ですが、1つの項目に入るのは {room} までです。先に画像を小さくしてください。",
  "This browser cannot read that image. Add it as PNG, JPEG, GIF or WebP.":
    "このブラウザではこの画像を読み込めません。PNG、JPEG、GIF、WebP のいずれかの形式で追加してください。",
  "This image is too large for the browser. Make it smaller first.":
    "この画像は大きすぎて、ブラウザで処理できません。先に画像を小さくしてください。",
  "Added to the clipboard.": "クリップボードに追加しました。",
  "Added what was shared.": "共有された内容を追加しました。",
  "Added {count} images.": "画像を{count}枚追加しました。",
  "Copied the image.": "画像をコピーしました。",
  "This browser does not let the page copy images. Download it instead.":
    "このブラウザでは、ページから画像をコピーできません。代わりにダウンロードしてください。",
  "Pinned.": "ピン留めしました。",
  "No longer pinned.": "ピン留めを解除しました。",
  "Deleted.": "削除しました。",
  "Deleted {count} items.": "{count}件の項目を削除しました。",
  "{device}, {when}": "{device}、{when}",
  "Image, {size}": "画像、{size}",
  "{format} image, {size}": "{format} 画像、{size}",
  "Type or paste a text": "入力またはペースト",
  "Images": "画像",
  "Nothing copied yet": "コピーした項目はまだありません",
  "What you add here is on your other devices at once.": "ここに追加した内容は、すぐにほかのデバイスにも表示されます。",
  "Nothing found": "見つかりませんでした",
  "No item has these words.": "この語句を含む項目はありません。",
  "Search the clipboard": "クリップボードを検索",
  "Delete all": "すべて削除",
  "New item": "新規項目",
  "Pin or unpin the row with the focus": "フォーカスのある行をピン留め／解除",
  "Paste": "ペースト",
  "Choose images": "画像を選択",
  "Ctrl+V, or ⌘V on a Mac, pastes anywhere in this view.": "この画面のどこでも、Ctrl+V（Mac では ⌘V）でペーストできます。",
  "Unpin": "ピン留めを解除",
  "Pin": "ピン留め",
  "Image": "画像",
  "Pinned · {from}": "ピン留め済み · {from}",
  "Download": "ダウンロード",
  "Waits here until it is sent to your other devices.": "ほかのデバイスに送信されるまで、ここに保管されます。",
  "This browser does not let the page read what you copied. Paste it into the field.":
    "このブラウザでは、コピーした内容をページから読み取れません。入力欄にペーストしてください。",
  "Pinned items stay.": "ピン留めした項目は残ります。",
  "Delete all pinned items?": "ピン留めした項目をすべて削除しますか？",
  "Delete all items?": "すべての項目を削除しますか？",
  "They go from all of your devices.": "すべてのデバイスから削除されます。",
  "{count} images wait to be sent already. Add this one when they are sent.":
    "すでに{count}枚の画像が送信待ちです。送信が終わってから追加してください。",
  "This browser has no room to keep the image. Free some space first.":
    "このブラウザには画像を保存する空き容量がありません。先に空き容量を増やしてください。",
  "Something that was shared is too large for the clipboard, and was not added.":
    "共有された内容の一部は、クリップボードには大きすぎるため追加されませんでした。",
  "Not everything that was shared was added. Share the rest again.":
    "共有された内容の一部が追加されませんでした。残りをもう一度共有してください。",
  "What was shared could not be read. Copy it there, and paste it here.":
    "共有された内容を読み取れませんでした。共有元でコピーして、ここにペーストしてください。",
  // Memos
  "And {count} lines.": "ほかに{count}行あります。",
  "Task": "タスク",
  "Two versions of this memo": "このメモの2つのバージョン",
  "It was changed in two places at once. Lines that only one version has are marked.":
    "2か所で同時に変更されました。片方のバージョンにしかない行に印が付いています。",
  "This memo": "このメモ",
  "The other version": "もう一方のバージョン",
  "Keep the other": "もう一方を残す",
  "Decide later": "後で決める",
  "Keep both": "両方残す",
  "Restore this version": "このバージョンを復元",
  "Then": "当時",
  "Now": "現在",
  "Former versions": "以前のバージョン",
  "This browser has not seen another text of this memo yet.": "このブラウザには、このメモの以前のテキストがまだありません。",
  ["This browser keeps up to 20 texts of a memo that it has seen while it was open. They stay "
    + "here: the relay and your other devices do not have them. What one device writes within "
    + "five minutes is one version."]:
    "このブラウザは、開いている間に確認したメモのテキストを、メモごとに20件まで保存します。保存先はこのブラウザだけで、リレーやほかのデバイスにはありません。"
      + "1台のデバイスが5分以内に書いた内容は、1つのバージョンになります。",
  "This browser did not read its drafts.": "このブラウザの下書きを読み込めませんでした。",
  "This browser keeps no draft of it.": "このブラウザに下書きを保存できませんでした。",
  "This browser did not remove a draft that is saved.": "保存済みのメモの下書きを、このブラウザから削除できませんでした。",
  "Memo": "メモ",
  "The first line is the title": "最初の行がタイトルになります",
  "Back to the list": "リストに戻る",
  "Compare": "比較",
  "Preview": "プレビュー",
  "Delete this memo": "このメモを削除",
  "Goes on with your draft": "下書きの続きです",
  "That memo is not here.": "そのメモはここにありません。",
  "Not saved: the text is kept here as a draft.": "保存できませんでした。テキストは下書きとしてここに残っています。",
  "Changed on another device": "別のデバイスで変更されました",
  "This memo was deleted on another device.": "このメモは別のデバイスで削除されました。",
  "A memo needs a word. Delete it instead.": "メモを空にはできません。不要な場合は削除してください。",
  "Saved": "保存済み",
  "The draft is deleted.": "下書きを削除しました。",
  "Deleted on all devices.": "すべてのデバイスから削除しました。",
  "The draft is back.": "下書きを元に戻しました。",
  "The memo is back.": "メモを元に戻しました。",
  "This version is kept.": "このバージョンを残しました。",
  "The other version is kept.": "もう一方のバージョンを残しました。",
  "Both are kept, each as a memo.": "両方を別々のメモとして残しました。",
  "Undone.": "取り消しました。",
  "Restored.": "復元しました。",
  "{when}, by {device}": "{when}、{device}",
  "Untitled": "無題",
  "Not saved": "未保存",
  "Draft": "下書き",
  "Other version, by {device}": "別のバージョン（{device}）",
  "Other version, by {device}. The memo itself was deleted.": "別のバージョン（{device}）。元のメモは削除されています。",
  "Keep as a memo": "メモとして残す",
  "Other version, by {device}.": "別のバージョン（{device}）です。",
  "Changed in two places: there is another version.": "2か所で変更されたため、別のバージョンがあります。",
  "Changed in several places: there are {count} other versions.":
    "複数の場所で変更されたため、別のバージョンが{count}件あります。",
  "Show more": "さらに表示",
  "Tags": "タグ",
  "No memos yet": "メモはまだありません",
  "Write one here, and read it on any of your devices.": "ここに書いたメモは、どのデバイスでも読めます。",
  "No memo has all of these words.": "これらの語句をすべて含むメモはありません。",
  "Search the memos": "メモを検索",
  "New memo": "新規メモ",
  "{found} of {count} memos": "{count}件中{found}件のメモ",
  "This browser did not remove the drafts and versions of another account.":
    "別のアカウントの下書きとバージョンを、このブラウザから削除できませんでした。",
  // Files
  "There is a file of that name": "同じ名前のファイルがあります",
  "If you replace it, all devices get the new content under this name.":
    "置き換えると、すべてのデバイスでこの名前のファイルが新しい内容になります。",
  "Replace": "置き換える",
  "The file is ready": "ファイルの準備ができました",
  "Open it in a new tab": "新しいタブで開く",
  "File": "ファイル",
  "This browser has not seen another version of this file while it was open.":
    "このブラウザを開いている間に、このファイルのほかのバージョンはありませんでした。",
  ["This browser lists the versions that it has seen while it was open. The relay keeps the "
    + "content of a version for a day after another one has replaced it."]:
    "このブラウザを開いている間に確認したバージョンの一覧です。リレーは、置き換えられたバージョンの内容を1日間保存します。",
  "{size}, changed {when} by {device}": "{size}、変更：{when}（{device}）",
  "This copy has the same content as {file}.": "このコピーの内容は「{file}」と同じです。",
  "Another device changed {file} at the same time. This is its version.":
    "別のデバイスが「{file}」を同時に変更しました。これはそのデバイスのバージョンです。",
  "The relay does not accept it: {reason}": "リレーがこのファイルを受け付けません：{reason}",
  "Not sent yet": "未送信",
  "Waits for a device to send its content": "デバイスからの内容の送信を待っています",
  "In step": "同期済み",
  "Waits for the files before it": "前のファイルの送信を待っています",
  "{share} % of {size}": "{size} 中 {share}%",
  ["The relay cannot be reached. Leave this page open: the file is sent when the connection "
    + "is back."]:
    "リレーに接続できません。このページを開いたままにしてください。接続が戻るとファイルが送信されます。",
  ["This account is not sealed, so a browser adds no files: the relay could read them. To add "
    + "files here, seal the vault with the command lockstep agent seal Vault on a computer of "
    + "this account."]:
    "このアカウントはエンドツーエンドで暗号化されていないため、ブラウザからファイルを追加できません。追加するとリレーが内容を読めてしまいます。ここにファイルを追加するには、"
      + "このアカウントのコンピュータで lockstep agent seal Vault コマンドを実行し、ファイルを暗号化してください。",
  "{count} files are sealed with the vault's own key, which no browser gets.":
    "{count}件のファイルが、ファイル専用の鍵で暗号化されています。この鍵はブラウザには渡されません。",
  ["Read them with the program lockstep on a computer. Once the vault is sealed with the "
    + "account's keys, browsers open them, too."]:
    "コンピュータの lockstep プログラムで読んでください。アカウントの鍵で暗号化すると、ブラウザでも開けるようになります。",
  "{count} files cannot be read by this version of the page: reload the page.":
    "このバージョンのページでは{count}件のファイルを読み込めません。ページを再読み込みしてください。",
  ["A file of the vault has a name of 1 to 255 bytes, without / and control characters. "
    + "Rename the file, and add it again."]:
    "ファイル名は1〜255バイトで、「/」や制御文字は使えません。ファイルの名前を変更してから、もう一度追加してください。",
  "At most {count} files wait to be sent. Add the others later.":
    "送信待ちにできるファイルは{count}件までです。残りは後で追加してください。",
  "{file} had been changed by another device meanwhile. Both versions are kept.":
    "「{file}」はその間に別のデバイスで変更されていました。両方のバージョンを残しました。",
  "{file} is in the vault.": "「{file}」をファイルに追加しました。",
  "{file} is deleted on all devices.": "「{file}」をすべてのデバイスから削除しました。",
  "Delete the file on all devices?": "すべてのデバイスからファイルを削除しますか？",
  "{file} was added before the account was sealed: this browser cannot undo that.":
    "「{file}」はアカウントがエンドツーエンドで暗号化される前に追加されたため、このブラウザでは削除を取り消せません。",
  "The file is back.": "ファイルを元に戻しました。",
  "The file is kept, and the other version is deleted.": "このファイルを残し、もう一方のバージョンを削除しました。",
  "Both are kept, each as a file.": "両方を別々のファイルとして残しました。",
  "The download was stopped.": "ダウンロードを停止しました。",
  "{about}; deleted {when}": "{about}、削除：{when}",
  "{about}; replaced {when}": "{about}、置き換え：{when}",
  "Restore": "復元",
  "The relay does not have the content of this version any more.": "このバージョンの内容は、もうリレーにありません。",
  "The version of {size} is restored.": "{size} のバージョンを復元しました。",
  "Add files": "ファイルを追加",
  "On their way": "送信中",
  "To decide": "要確認",
  "No files yet": "ファイルはまだありません",
  "Add one here, drop it or paste it: it is the same on all devices that add it.":
    "ここに追加、ドロップ、またはペーストすると、追加したすべてのデバイスで同じ内容になります。",
  "The first {shown} of {count} files are shown.": "{count}件のファイルのうち、最初の{shown}件を表示しています。",
  "Conflict copy of {file}": "「{file}」の競合コピー",
  "Download {file}": "「{file}」をダウンロード",
  "Delete {file}": "「{file}」を削除",
  "Download this version": "このバージョンをダウンロード",
  "Delete the copy": "コピーを削除",
  "Keep the file": "ファイルを残す",
  "Keep this version": "このバージョンを残す",
  "Sending {file}": "「{file}」を送信中",
  "Dismiss": "閉じる",
  "{file} was changed in two places at once, and this browser cannot read one of the two versions.":
    "「{file}」が2か所で同時に変更されましたが、このブラウザでは一方のバージョンを読み込めません。",
  "Keep this browser's version": "このブラウザのバージョンを残す",
  "Keep the other version": "もう一方のバージョンを残す",
  // Refusals of memos, clipboard and files
  "One of the two versions has changed; compare them again.": "どちらかのバージョンが変更されました。もう一度比較してください。",
  "The other version is not there any more.": "もう一方のバージョンはもうありません。",
  "This memo is not there any more.": "このメモはもうありません。",
  "This memo is there already.": "このメモはすでにあります。",
  "There is nothing to add: the text is blank.": "テキストが空のため、追加する内容がありません。",
  "This item is not there any more.": "この項目はもうありません。",
  "This file is not there any more.": "このファイルはもうありません。",
  "This file has just changed; look at it again.": "このファイルは変更されたばかりです。もう一度確認してください。",
  "This file is there again already.": "このファイルはすでに元に戻っています。",
  "This file is no other version of one.": "このファイルは、ほかのファイルの別のバージョンではありません。",
  ["This file is sealed in an earlier way; change it once with the program lockstep on a "
    + "computer, and try again."]:
    "このファイルは以前の方式で暗号化されています。コンピュータの lockstep プログラムで一度変更してから、もう一度お試しください。",
  ["The account has something in this file's place that this browser cannot read; add the "
    + "file on a device that can, or give it another name."]:
    "アカウントのこのファイルの場所に、このブラウザでは読み込めないものがあります。読み込めるデバイスでファイルを追加するか、別の名前にしてください。",
  // Start
  "Lockstep did not start": "Lockstep を開始できませんでした",
  "Nothing was deleted. Close other tabs of this page, then reload.":
    "何も削除されていません。このページのほかのタブを閉じてから、再読み込みしてください。",
  // Common texts
  ", ": "、",
  "“{name}”": "「{name}」",
  "Add": "追加",
  "Cancel": "キャンセル",
  "Clipboard": "クリップボード",
  "Close": "閉じる",
  "Copied.": "コピーしました。",
  "Copy": "コピー",
  "Delete": "削除",
  "Devices": "デバイス",
  "Done": "完了",
  "Edit": "編集",
  "Files": "ファイル",
  "Habits": "習慣",
  "Keys": "鍵",
  "Memos": "メモ",
  "Name": "名前",
  "Open": "開く",
  "Reload": "再読み込み",
  "Remove": "削除",
  "Rename {name}": "{name}の名前を変更",
  "Remove {name}": "{name}を削除",
  "Save": "保存",
  "Search": "検索",
  "Timer": "タイマー",
  "Try again": "再試行",
  "Undo": "取り消す",
  "Vault": "ファイル",
  "{count} bytes": "{count}バイト",
  "{count} minutes": "{count}分",
  "another device": "別のデバイス",
  "this browser": "このブラウザ",
  "This browser does not let the page copy. Select the text.":
    "このブラウザでは、ページからコピーできません。テキストを選択してください。",
  // The page, the frame and the keyboard shortcuts
  " to ": "〜",
  "A new version of Lockstep is here.": "Lockstep の新しいバージョンがあります。",
  "A page down": "1 ページ下へ",
  "A page up": "1 ページ上へ",
  "How the sync stands": "同期の状況",
  "In every view": "すべての画面で",
  "In sync again": "再び同期しました",
  "In sync.": "同期済みです。",
  "Keyboard shortcuts": "ショートカットキー",
  "Language": "言語",
  "Browser's language": "ブラウザの言語",
  "Loading this view …": "この画面を読み込み中…",
  "Open a view, in the order of the bar": "ナビゲーションの順に画面を開く",
  "Single letters are shortcuts": "1文字のキーをショートカットにする",
  "Skip to the content": "本文へ移動",
  "Space": "スペース",
  "Sync now": "今すぐ同期",
  "Sync: {short}": "同期：{short}",
  "Sync: {short}. Show more": "同期：{short}。詳細を表示",
  "This browser belongs to an account already. Sign out first to pair it with another.":
    "このブラウザはすでにアカウントに参加しています。別のアカウントとペアリングするには、先にサインアウトしてください。",
  "This list": "この一覧",
  ["This page came over plain http: it cannot be installed or opened without a "
      + "connection, and others in the network can read along."]:
    "このページは暗号化されていない http で読み込まれました。インストールやオフラインでの利用はできず、同じネットワークのほかの人に内容を読まれるおそれがあります。",
  ["This part of the page could not be loaded. It may need the relay, or the relay may "
      + "have a newer page."]:
    "ページのこの部分を読み込めませんでした。リレーへの接続が必要か、リレーに新しいページがある可能性があります。",
  "To the first row": "最初の行へ",
  "To the next row": "次の行へ",
  "To the row before": "前の行へ",
  "Views": "画面",
  // The first view
  "12 or 24 letters, from a device of the account, or from the relay's owner.":
    "アカウントのデバイス、またはリレーの管理者から受け取った12文字または24文字のコードです。",
  "A link brought a pairing code. Press Pair, and this browser is a device of its account.":
    "リンクにペアリングコードが含まれています。「ペアリング」を押すと、このブラウザがそのアカウントのデバイスになります。",
  "A timer, a clipboard, memos and habits, in step on all your devices.":
    "タイマー、クリップボード、メモ、習慣を、すべてのデバイスで同期します。",
  "All that is here was sent": "ここにある内容はすべて送信済みです",
  "All that is kept here goes from this browser.": "ここに保存されている内容は、すべてこのブラウザから削除されます。",
  "And {count} more.": "ほか{count}件。",
  "Browser": "ブラウザ",
  "Make a new account": "新しいアカウントを作成",
  "No name, no password: the account lives on your devices.":
    "名前もパスワードも不要です。アカウントはあなたのデバイスの中にあります。",
  "Not now": "あとで",
  "One moment…": "お待ちください…",
  "Open the account": "アカウントを開く",
  "Opening the account's keys…": "アカウントの鍵を開いています…",
  "Pair": "ペアリング",
  ["Pair it with the same account again, and what it has not sent goes out. To use it for "
      + "another account, sign out first: all that is kept here goes."]:
    "同じアカウントともう一度ペアリングすると、未送信の内容が送信されます。別のアカウントで使うには、先にサインアウトしてください。ここに保存されている内容はすべて削除されます。",
  "Pairing code": "ペアリングコード",
  "Save a copy": "コピーを保存",
  "Seal it: the relay stores it, and cannot read it": "エンドツーエンドで暗号化：リレーは保存するだけで、内容を読めません",
  "Second half": "後半",
  "Sign out": "サインアウト",
  "Sign out and lose them": "破棄してサインアウト",
  "Sign out of this browser": "このブラウザからサインアウト",
  "Sign out of this browser?": "このブラウザからサインアウトしますか？",
  ["That is not the second half of this code. Compare it with the other device: {count} "
      + "tries left."]:
    "このコードの後半ではありません。もう一方のデバイスの表示と比べてください。あと{count}回試せます。",
  "The code's second half": "コードの後半",
  "The owner of this relay makes the accounts. Ask for a pairing code, or a link.":
    "このリレーのアカウントは管理者が作成します。ペアリングコードまたはリンクを依頼してください。",
  ["The relay cannot read this account. Type the last 12 letters of the code that the "
      + "other device shows: they open the account, and stay in this browser."]:
    "リレーはこのアカウントの内容を読めません。もう一方のデバイスに表示されたコードの最後の12文字を入力してください。アカウントを開くために使われ、このブラウザの外には出ません。",
  "The second half has 12 letters and digits, in groups of four.":
    "後半は12文字の英数字で、4文字ずつに区切られています。",
  ["This browser is in the account now. The relay cannot read what is in it: type the "
      + "words of the recovery phrase, or a code of a device that still has the account."]:
    "このブラウザはアカウントに参加しました。リレーはアカウントの内容を読めません。復元フレーズ、またはこのアカウントを使えるデバイスのコードを入力してください。",
  ["This browser is not a device of its account any more: it was removed, or an older "
      + "copy of the relay was put back."]:
    "このブラウザは、もうアカウントのデバイスではありません。削除されたか、リレーが古いバックアップに戻されました。",
  "This browser's name": "このブラウザの名前",
  "Welcome": "ようこそ",
  "or": "または",
  "{browser} on {system}": "{system} の {browser}",
  "{count} changes that no other device has": "ほかのデバイスにない変更が{count}件あります",
  "{count} changes that no other device has would be lost.": "ほかのデバイスにない{count}件の変更が失われます。",
  "{zone}: a change": "{zone}：変更",
  "{zone}: something was deleted": "{zone}：削除",
  "{zone}: {text}": "{zone}：{text}",
  // Devices, pairing and keys
  "Add a device": "デバイスを追加",
  "All that this browser may use": "このブラウザで使えるすべて",
  "Another device has made keys, to seal records of this account.":
    "別のデバイスが、このアカウントの内容をエンドツーエンドで暗号化するための鍵を作成しました。",
  "Apps": "アプリ",
  "As last known.": "最後に確認した内容です。",
  "Check words": "確認用の単語",
  "Choose at least one app for the new device.": "新しいデバイス用に、アプリを1つ以上選択してください。",
  "Compare six words": "6つの単語を比べる",
  "Compare the check words below with those that it shows.": "下の確認用の単語を、そのデバイスに表示された単語と比べてください。",
  "Connected now": "接続中",
  "Copy code": "コードをコピー",
  "Copy link": "リンクをコピー",
  ["Devices shows them again. After a device was removed, they are others. To use them: "
      + "pair a browser with a code of the relay's owner, which then asks for them; in a "
      + "terminal, lockstep agent key restore."]:
    "「デバイス」でもう一度表示できます。デバイスを削除すると、単語は変わります。使うときは、リレーの管理者のコードでブラウザをペアリングすると入力を求められます。"
      + "ターミナルでは lockstep agent key restore を実行してください。",
  ["Each device with the account's keys shows these six words. Compare them after you "
      + "have added one: if they differ, remove that device."]:
    "アカウントの鍵を持つデバイスには、この6つの単語が表示されます。デバイスを追加したら比べてください。異なる場合は、そのデバイスを削除してください。",
  "Everything, read-only": "すべて（読み取りのみ）",
  "For one device, within {count} minutes.": "デバイス1台用で、有効期限は{count}分以内です。",
  "For that you need a pairing code of the relay's owner.": "そのためには、リレーの管理者のペアリングコードが必要です。",
  ["For that you need two things: a pairing code of the relay's owner, and the recovery "
      + "phrase. Without the phrase, nobody can open what is on the relay."]:
    "そのためには、リレーの管理者のペアリングコードと、復元フレーズの2つが必要です。復元フレーズがないと、リレーにある内容は誰にも開けません。",
  "If the other device asks for the second half of the code, type there:":
    "もう一方のデバイスでコードの後半を求められたら、次を入力してください：",
  "It is cut off at once and gets nothing new. What it already holds it keeps.":
    "すぐに接続が切れ、新しい内容は届かなくなります。すでにある内容は、そのデバイスに残ります。",
  "It is not this browser: {about}.": "このブラウザではありません：{about}。",
  "It may only read, and change nothing": "読み取りのみ（変更はできません）",
  "It may use": "使えるもの",
  "Limit what the new device may do": "新しいデバイスの権限を制限",
  ["No other device has this account. All that is kept here goes from this browser, and "
      + "nobody can read the account until a device joins it again."]:
    "このアカウントを使うデバイスは、ほかにありません。ここに保存されている内容はすべてこのブラウザから削除され、デバイスがもう一度参加するまで、誰もアカウントの内容を読めません。",
  "Only some apps": "一部のアプリのみ",
  "Only {zones}": "{zones}のみ",
  "Only {zones}, read-only": "{zones}のみ（読み取りのみ）",
  "Pairing link as a QR code": "ペアリングリンクの QR コード",
  "Preparing the keys…": "鍵を準備しています…",
  "Recovery phrase, or whole code": "復元フレーズまたはコード全体",
  "Remove “{name}”?": "「{name}」を削除しますか？",
  "Rename the device": "デバイスの名前を変更",
  "Save a copy of everything": "すべてのコピーを保存",
  "Scan it, or type on the other device:": "もう一方のデバイスで読み取るか、入力してください：",
  "Seen {when}": "最終オンライン：{when}",
  "Show a new code": "新しいコードを表示",
  "Show a pairing code": "ペアリングコードを表示",
  "Show the recovery phrase": "復元フレーズを表示",
  "Sign out of the account's only device?": "アカウントの唯一のデバイスからサインアウトしますか？",
  "The account was not opened by {names}. Show a new code, and try again.":
    "{names}ではアカウントを開けませんでした。新しいコードを表示して、もう一度お試しください。",
  "The code is valid for": "コードの有効期限",
  "The code was used by {names}.": "{names}がコードを使用しました。",
  "The code was used by {names}. The account is being opened there.":
    "{names}がコードを使用しました。アカウントを開いています。",
  "The new device may only read the whole account.": "新しいデバイスは、アカウント全体を読み取ることだけできます。",
  "The new device may only read {zones}, and sees nothing else of the account.":
    "新しいデバイスは{zones}を読み取ることだけできます。アカウントのほかの内容は見えません。",
  "The new device may use the whole account.": "新しいデバイスは、アカウント全体を使えます。",
  "The new device may use {zones}, and sees nothing else of the account.":
    "新しいデバイスは{zones}を使えます。アカウントのほかの内容は見えません。",
  ["The other device shows the same words: a browser under Devices, a terminal with "
      + "lockstep agent key words."]:
    "もう一方のデバイスにも同じ単語が表示されます。ブラウザでは「デバイス」に、ターミナルでは lockstep agent key words で表示されます。",
  ["The phrase has 17 words, for when all other devices are lost. A code has 24 letters: "
      + "a device that has the account shows it under Devices, or prints it with lockstep "
      + "agent pair."]:
    "復元フレーズは17語で、ほかのデバイスをすべて失ったときに使います。コードは24文字で、アカウントを使えるデバイスの「デバイス」に表示するか、lockstep "
      + "agent pair で出力します。",
  "The phrase has 17 words. A whole code has 24 letters and digits, in groups of four.":
    "復元フレーズは17語です。コード全体は24文字の英数字で、4文字ずつに区切られています。",
  ["The picture and the link have only the first half. The other device then asks for the "
      + "second half: type the last 12 letters there."]:
    "QR コードとリンクに含まれるのは前半だけです。もう一方のデバイスで後半を求められたら、最後の12文字を入力してください。",
  "The recovery phrase": "復元フレーズ",
  ["The recovery phrase is another one now; what was written down before opens nothing "
      + "new. Press “Show the recovery phrase”, and write the words down."]:
    "復元フレーズが新しくなりました。以前に書き留めたものでは、新しい内容を開けません。「復元フレーズを表示」を押して、単語を書き留めてください。",
  ["The relay cannot read this account, so nobody can open it for you. If all of its "
      + "devices are lost, these words do. Write them down, and show them to nobody:"]:
    "リレーはこのアカウントの内容を読めないため、誰もあなたの代わりに開けません。デバイスをすべて失ったときは、この単語で開けます。書き留めて、誰にも見せないでください：",
  "The whole account": "アカウント全体",
  ["They are the same if both have the account's keys. If they differ, sign out of this "
      + "browser, and do not use the code again."]:
    "両方のデバイスがアカウントの鍵を持っていれば、単語は同じです。異なる場合は、このブラウザからサインアウトし、そのコードは二度と使わないでください。",
  "This browser": "このブラウザ",
  "This browser may only read, so it can let others only read.":
    "このブラウザは読み取りのみのため、ほかのデバイスにも読み取りだけを許可できます。",
  ["This browser was paired to only read the account, and does not see your other "
      + "devices. To remove one, or to change what this browser may do, use a device with the "
      + "whole account."]:
    "このブラウザは、アカウントを読み取る権限だけでペアリングされていて、ほかのデバイスは表示されません。デバイスを削除したり、このブラウザの権限を変更したりするには、"
      + "アカウント全体を使えるデバイスをお使いください。",
  ["This browser was paired to only read {zones}, and does not see your other devices. To "
      + "remove one, or to change what this browser may do, use a device with the whole "
      + "account."]:
    "このブラウザは、{zones}を読み取る権限だけでペアリングされていて、ほかのデバイスは表示されません。デバイスを削除したり、このブラウザの権限を変更したりするには、"
      + "アカウント全体を使えるデバイスをお使いください。",
  ["This browser was paired to use {zones}, and does not see your other devices. To "
      + "remove one, or to change what this browser may do, use a device with the whole "
      + "account."]:
    "このブラウザは、{zones}を使う権限だけでペアリングされていて、ほかのデバイスは表示されません。デバイスを削除したり、このブラウザの権限を変更したりするには、"
      + "アカウント全体を使えるデバイスをお使いください。",
  ["This browser was paired to read only. What your other devices do in {zone} shows "
      + "here; to change it, use one of them."]:
    "このブラウザは読み取り専用でペアリングされています。ほかのデバイスでの{zone}の変更はここに表示されます。変更するには、ほかのデバイスをお使いください。",
  "This code is too old. Show a new one.": "このコードは期限切れです。新しいコードを表示してください。",
  ["This is the account's only device. Without it, a code of the relay's owner and the "
      + "recovery phrase bring the account back."]:
    "これはアカウントの唯一のデバイスです。失った場合、アカウントを取り戻すには、リレーの管理者のコードと復元フレーズが必要です。",
  ["This is the account's only device. Without it, a code of the relay's owner brings the "
      + "account back."]:
    "これはアカウントの唯一のデバイスです。失った場合、アカウントを取り戻すには、リレーの管理者のコードが必要です。",
  "What is on the relay and on your other devices stays there.": "リレーとほかのデバイスにある内容は、そのまま残ります。",
  "Who has the code gets into this account. Show it to your own devices alone.":
    "コードを知っている人は、このアカウントに入れます。ご自身のデバイス以外には見せないでください。",
  "Who has the code gets what this browser may use, and not more.":
    "コードを知っている人は、このブラウザで使える範囲の内容だけを使えます。",
  "Without a connection this browser stays in the account's list.":
    "接続がない場合、このブラウザはアカウントのデバイス一覧に残ります。",
  ["Your other devices get new keys first; a recovery phrase that was written down before "
      + "is then void."]:
    "先に、ほかのデバイスに新しい鍵が届きます。以前に書き留めた復元フレーズは無効になります。",
  "joined first": "最初に参加",
  "joined last": "最後に参加",
  "joined {place}": "{place}番目に参加",
  "{count} changes that the relay does not have would be lost.": "リレーにない{count}件の変更が失われます。",
  ["{names} could not get the account's new keys, and cannot read what is written "
      + "from now on. Sign out there, and pair again with a code of this browser."]:
    "{names}は、アカウントの新しい鍵を受け取れなかったため、今後書かれる内容を読めません。そのデバイスでサインアウトし、このブラウザのコードでもう一度ペアリングしてください。",
  "{names} joined. The code is used.": "{names}が参加しました。コードは使用済みです。",
  "{name} ({place} of {count})": "{name}（{count}台中{place}台目）",
  "“{name}” is removed.": "「{name}」を削除しました。",
  // Recovery phrase
  ["Not a word of a phrase: {words}. Each has five letters, as “lusab” has, and none of "
      + "c, e, q, w, x and y."]:
    "復元フレーズの単語ではありません：{words}。単語は「lusab」のように5文字で、c、e、q、w、x、y を含みません。",
  "Words so far: {count} of {total}.": "入力した単語：{total}語中{count}語。",
  "“{word}” (word {place})": "「{word}」（{place}番目）",
  // Sync status
  "All changes are on the relay, and all of its changes are here.":
    "すべての変更はリレーにあり、リレーの変更もすべてここにあります。",
  "Closed here": "ここでは終了",
  "Connected, by asking every 30 seconds.": "接続中（30秒ごとに確認）。",
  "Connected, live, by events.": "接続中（イベントによるリアルタイム更新）。",
  "Connected, live, by long-poll.": "接続中（ロングポーリングによるリアルタイム更新）。",
  "Connected, live.": "接続中（リアルタイム更新）。",
  "Connected, {transport}.": "接続中（{transport}）。",
  "In sync": "同期済み",
  "Keys missing": "鍵がありません",
  "Last in sync at {time}.": "前回の同期：{time}。",
  "Last in sync {when}.": "前回の同期：{when}。",
  "No connection.": "接続がありません。",
  "Not in the plan": "プランの対象外",
  "Not paired": "未ペアリング",
  "Nothing outlives this tab, since the browser keeps nothing for this page.":
    "ブラウザがこのページの内容を保存しないため、このタブを閉じると何も残りません。",
  "Nothing outlives this tab: {reason}": "このタブを閉じると何も残りません：{reason}",
  "Offline": "オフライン",
  "Offline, {count} waiting": "オフライン・未送信{count}件",
  "Reload the page to go on.": "続けるには、ページを再読み込みしてください。",
  ["Something between this browser and the relay refuses large requests (status 413): "
      + "{count} changes kept here, and tried again within the hour."]:
    "このブラウザとリレーの間で、大きなリクエストが拒否されています（ステータス 413）。{count}件の変更はここに保存され、1時間以内に再試行されます。",
  "Sync failed": "同期できません",
  "Syncing": "同期中",
  "The account's plan leaves out {zones}.": "アカウントのプランに{zones}は含まれていません。",
  "The connection was lost at {time}.": "接続が切れました（{time}）。",
  "The connection was lost {when}.": "接続が切れました（{when}）。",
  ["The relay refused {count} changes: {reasons} Kept here; “Try again” sends what was "
      + "refused once more."]:
    "リレーが{count}件の変更を拒否しました：{reasons}変更はここに保存されています。「再試行」でもう一度送信します。",
  "The relay's owner can change that. Nothing here is lost.": "リレーの管理者が変更できます。ここにある内容は失われません。",
  ["This browser was not paired to change {zones}: what waits there is kept here. Remove "
      + "this browser on another device, and pair it again."]:
    "このブラウザは、{zones}を変更する権限なしでペアリングされています。未送信の内容はここに保存されています。別のデバイスでこのブラウザを削除して、もう一度ペアリングしてください。",
  "Under Devices, type a whole code of a device that has them, or the recovery phrase.":
    "「デバイス」で、鍵を持つデバイスのコード全体、または復元フレーズを入力してください。",
  "Waits for you": "確認が必要",
  "What you do is kept here, and sent once there is a connection.": "変更はここに保存され、接続が戻ると送信されます。",
  "What your other devices do shows once there is a connection.": "接続が戻ると、ほかのデバイスでの変更が表示されます。",
  "{count} changes kept here, and sent once there is a connection.":
    "{count}件の変更がここに保存されています。接続が戻ると送信されます。",
  "{count} changes kept here.": "{count}件の変更がここに保存されています。",
  "{count} changes on the way.": "{count}件の変更を送信中です。",
  "{count} habits changed in two places: choose under Habits.":
    "{count}件の習慣が2か所で変更されました。「習慣」で選んでください。",
  "{count} held back": "{count}件を保留中",
  "{count} not readable": "{count}件を読めません",
  ["{count} records on the relay cannot be opened with this browser's keys: left as they "
      + "are, and changes to them wait here. If “Try again” does not help, sign out, and pair "
      + "this browser again."]:
    "リレーにある{count}件の記録を、このブラウザの鍵で開けません。記録はそのまま残り、変更はここで待機します。「再試行」で解決しない場合は、サインアウトして、"
      + "このブラウザをもう一度ペアリングしてください。",
  "{count} refused": "{count}件が拒否されました",
  ["{zones} are sealed, and this browser does not have the keys: what it shows is old, "
      + "and cannot be changed here."]:
    "{zones}はエンドツーエンドで暗号化されていて、このブラウザには鍵がありません。表示されているのは古い内容で、ここでは変更できません。",
  ["{zone} is not in the account's plan: what you change here stays in this browser, and "
      + "goes out once the relay's owner has added it."]:
    "{zone}はアカウントのプランに含まれていません。ここでの変更はこのブラウザに残り、リレーの管理者が追加すると送信されます。",
  // Failures and refusals
  ["A browser sends and opens files of at most 256 MiB. Use the program lockstep on a "
      + "computer for a larger one."]:
    "ブラウザで送信・表示できるファイルは 256 MiB までです。より大きなファイルには、コンピュータの lockstep プログラムをお使いください。",
  "Another device has just changed the keys. Try again.": "別のデバイスが鍵を変更したところです。もう一度お試しください。",
  "Another device has this name already. Choose another one.": "この名前は別のデバイスで使われています。ほかの名前にしてください。",
  "Another tab leads now. Try again.": "別のタブが同期を引き継ぎました。もう一度お試しください。",
  "Changes that no other device has would be lost. Sync first.": "ほかのデバイスにない変更が失われます。先に同期してください。",
  "Lockstep is closed in this tab. Reload the page.": "このタブの Lockstep は終了しています。ページを再読み込みしてください。",
  "Nothing is asked about that any more.": "この項目については、もう選ぶ必要がありません。",
  ["The account lives on another relay now. Open that relay's page, and pair this browser "
    + "there."]:
    "アカウントは現在、別のリレーにあります。そのリレーのページを開き、そこでこのブラウザをペアリングしてください。",
  "Two relays send this browser to each other. Ask their owners where the account is.":
    "2 つのリレーが、このブラウザを互いに案内しています。アカウントの場所を管理者に確認してください。",
  ["The account has moved to another relay, whose address is not known here. Ask the relay's "
    + "owner."]:
    "アカウントは別のリレーに移動しましたが、ここではアドレスが分かりません。リレーの管理者に確認してください。",
  "Pair this browser with an account first.": "先に、このブラウザをアカウントとペアリングしてください。",
  ["That code is wrong, used or too old. Ask for a new one where it came from: at the "
      + "other device, or at the relay's owner."]:
    "このコードは間違っているか、使用済みか、期限切れです。コードの発行元（もう一方のデバイス、またはリレーの管理者）から新しいコードを受け取ってください。",
  "That is another account. Sign out of this browser first.":
    "これは別のアカウントです。先に、このブラウザからサインアウトしてください。",
  "That is no pairing code: one has 12 or 24 letters and digits, in groups of four.":
    "ペアリングコードではありません。コードは12文字または24文字の英数字で、4文字ずつに区切られています。",
  "That is not there any more.": "その項目は、もうありません。",
  "That is too large for one record. Divide it.": "1件として保存するには大きすぎます。分割してください。",
  "The account has as many devices as it may have. Remove one first.":
    "アカウントのデバイス数が上限に達しています。先に1台を削除してください。",
  "The account has no room left. Remove something, or ask the relay's owner.":
    "アカウントの空き容量がありません。何かを削除するか、リレーの管理者に相談してください。",
  "The account's plan does not include that.": "アカウントのプランには含まれていません。",
  "The browser cannot read this file, or it has changed meanwhile. Choose it again.":
    "ブラウザがこのファイルを読み込めないか、ファイルが変更されました。もう一度選択してください。",
  "The browser's storage does not work. Make room on this device, and reload the page.":
    "ブラウザのストレージを使えません。このデバイスの空き容量を増やして、ページを再読み込みしてください。",
  "The clock of this device is wrong.": "このデバイスの時計が合っていません。",
  ["The content that the relay has is not that of the file. Open Lockstep on a device "
      + "that has the file, and try again."]:
    "リレーにある内容が、このファイルのものではありません。ファイルのあるデバイスで Lockstep を開いてから、もう一度お試しください。",
  ["The files are sealed, and this device does not have the keys. Join again with a whole "
      + "code of a device that has them."]:
    "ファイルはエンドツーエンドで暗号化されていて、このデバイスには鍵がありません。鍵を持つデバイスのコード全体で、もう一度参加してください。",
  "The keys are not readable. Pair this browser again, with a new code.":
    "鍵を読み込めません。新しいコードで、このブラウザをもう一度ペアリングしてください。",
  "The page's other tab does not answer. Reload it.": "このページの別のタブが応答しません。そのタブを再読み込みしてください。",
  ["The phrase does not open this account's keys. Compare it with what was written down. "
      + "Nothing was changed."]:
    "この復元フレーズでは、アカウントの鍵を開けません。書き留めたものと比べてください。何も変更されていません。",
  "The relay asks to wait a moment. Try again in a minute.": "リレーが混み合っています。1分ほど待ってから、もう一度お試しください。",
  "The relay could not be reached.": "リレーに接続できませんでした。",
  "The relay did not answer in time.": "リレーから時間内に応答がありませんでした。",
  "The relay does not accept this browser as a device any more.": "リレーは、このブラウザをデバイスとして受け付けなくなりました。",
  "The relay does not allow pages from this address. Its owner can change that.":
    "リレーは、このアドレスのページを許可していません。リレーの管理者が変更できます。",
  "The relay does not have the whole content of a file yet.": "ファイルの内容の一部が、まだリレーにありません。",
  ["The relay does not have the whole content yet. Open Lockstep on a device that has the "
      + "file, and try again."]:
    "内容の一部が、まだリレーにありません。ファイルのあるデバイスで Lockstep を開いてから、もう一度お試しください。",
  "The relay does not know the name in this page's address. Its owner can change that.":
    "リレーは、このページのアドレスにある名前を認識していません。リレーの管理者が変更できます。",
  "The relay gave no answer. Look at your connection, then try again.":
    "リレーから応答がありませんでした。接続を確認して、もう一度お試しください。",
  ["The relay has given no keys for that code, and this browser has not joined. Make a "
      + "new code on the other device."]:
    "リレーからこのコードの鍵が届かず、このブラウザは参加していません。もう一方のデバイスで新しいコードを作成してください。",
  "The relay has no room on its disk. Its owner can make some.":
    "リレーのディスクに空きがありません。リレーの管理者が空き容量を増やせます。",
  "The relay is being restarted. Nothing is lost.": "リレーを再起動しています。何も失われません。",
  "The relay refuses this page, for a reason that is not known here.": "リレーがこのページを拒否しました。理由は不明です。",
  "The relay, or something between it and this browser, has a fault. Try again later.":
    "リレー、またはリレーとこのブラウザの間で問題が起きています。しばらくしてから、もう一度お試しください。",
  ["The second half of the code is missing. Make a new code on the other device, and type "
      + "all of it."]:
    "コードの後半がありません。もう一方のデバイスで新しいコードを作成し、すべて入力してください。",
  "The second half was wrong too often. Make a new code on the other device.":
    "後半を間違えた回数が多すぎます。もう一方のデバイスで新しいコードを作成してください。",
  "The transfer was stopped. Start it again.": "転送は中止されました。もう一度始めてください。",
  "This browser belongs to an account already. Sign out first.":
    "このブラウザはすでにアカウントに参加しています。先にサインアウトしてください。",
  "This browser has no network.": "このブラウザはネットワークに接続されていません。",
  ["This browser was paired for a part of the account, and may not do that. Use a device "
      + "with the whole account."]:
    "このブラウザはアカウントの一部だけを使うようにペアリングされているため、この操作はできません。アカウント全体を使えるデバイスをお使いください。",
  "This relay makes no accounts by itself. Ask its owner for a pairing code.":
    "このリレーでは、自分でアカウントを作成できません。管理者にペアリングコードを依頼してください。",
  "This was changed meanwhile on another device. Look at it, and try again.":
    "別のデバイスで変更されました。内容を確認して、もう一度お試しください。",
  "Too many changes wait for the relay. Connect first.": "リレーへの送信を待つ変更が多すぎます。先に接続してください。",
  "Too much waits to be done. Try again in a moment.": "処理待ちの操作が多すぎます。しばらくしてから、もう一度お試しください。",
  "this browser did not compute the key; reload the page, and try again":
    "このブラウザで鍵を計算できませんでした。ページを再読み込みして、もう一度お試しください。",
  // Notifications of a closed page
  "Browsers deliver them only to pages that came over https.": "ブラウザは、https で読み込まれたページにだけ通知を届けます。",
  "Notifications": "通知",
  "Notify me while Lockstep is closed": "Lockstep を閉じている間も通知する",
  "On an iPhone or iPad, add this page to the home screen first, and open it from there.":
    "iPhone や iPad では、先にこのページをホーム画面に追加し、そこから開いてください。",
  "Something changed in Lockstep.": "Lockstep で変更がありました。",
  "The push service asks the relay to wait.": "プッシュサービスがリレーに待機を求めています。",
  "The push service does not accept the relay's key. Turn it off and on again.":
    "プッシュサービスがリレーの鍵を受け付けません。オフにしてから、もう一度オンにしてください。",
  "The push service does not answer the relay, which tries again.":
    "プッシュサービスがリレーに応答していません。リレーが再試行します。",
  "The push service refused the last push.": "プッシュサービスが前回のプッシュを拒否しました。",
  "The relay does not know of it. Turn it off and on again.":
    "リレーに登録されていません。オフにしてから、もう一度オンにしてください。",
  "The relay's owner does not allow this browser's push service.":
    "リレーの管理者が、このブラウザのプッシュサービスを許可していません。",
  "This browser blocks notifications of this page. Allow them in its settings for this site.":
    "このブラウザは、このページの通知をブロックしています。ブラウザのサイト設定で許可してください。",
  "This browser cannot deliver them.": "このブラウザは通知に対応していません。",
  ["This device tells you what your other devices have changed while Lockstep is closed. "
      + "The browser's push service learns when something changed, and nothing of what."]:
    "Lockstep を閉じている間に、ほかのデバイスでの変更をこのデバイスでお知らせします。ブラウザのプッシュサービスに伝わるのは変更の時刻だけで、内容は伝わりません。",
  "This relay sends none. Its owner can change that.": "このリレーは通知を送信しません。リレーの管理者が変更できます。",
  "Waiting for the first push, which proves that they arrive.": "通知が届くことを確認するため、最初のプッシュを待っています。",
  "Works, last proved {when}.": "正常に動作しています。最終確認：{when}。",
  "the browser got no subscription from its push service ({message})":
    "ブラウザがプッシュサービスに登録できませんでした（{message}）。",
  "this browser has not stored the page yet; reload it, and try again":
    "このブラウザにページがまだ保存されていません。再読み込みして、もう一度お試しください。",
  // Timer
  "Another version's state": "別のバージョンの状態",
  "Another version's state, paused": "別のバージョンの状態（一時停止中）",
  "Bell": "ベル",
  "Break": "休憩",
  "Break (min)": "休憩（分）",
  "Break is over.": "休憩が終わりました。",
  "Break of {length} began.": "{length}の休憩を開始しました。",
  "Break paused with {left} left.": "休憩を一時停止しました。残り{left}です。",
  "Break runs.": "休憩が進行中です。",
  "Break, paused": "休憩（一時停止中）",
  "Breaks begin by themselves": "休憩を自動的に開始",
  "Chime": "チャイム",
  "Completed pomodoros, newest first": "完了したポモドーロ（新しい順）",
  "Day": "日",
  "Days": "日",
  "End break": "休憩を終了",
  "Float the countdown": "フローティング表示",
  "Focus": "集中",
  "Focus (min)": "集中（分）",
  "Focus is over.": "集中が終わりました。",
  "Focus is over. The break waits for you.": "集中が終わりました。いつでも休憩を開始できます。",
  "Focus is over. Time for a break.": "集中が終わりました。休憩の時間です。",
  "Focus of {length} began.": "{length}の集中を開始しました。",
  "Focus paused with {left} left.": "集中を一時停止しました。残り{left}です。",
  "Focus runs.": "集中が進行中です。",
  "Focus, paused": "集中（一時停止中）",
  "Focused": "集中時間",
  "Keep the screen on during a countdown": "カウントダウン中は画面をオンのままにする",
  "Last changed by {device}, {when}": "最終変更：{device}、{when}",
  "Lengths and breaks": "時間と休憩",
  "Long break (min)": "長い休憩（分）",
  "Long break after (pomodoros)": "長い休憩までの回数",
  "Marimba": "マリンバ",
  "Month": "月",
  "Months": "月",
  "No pomodoro yet": "完了したポモドーロはまだなし",
  "No pomodoro yet, long break after the next": "完了したポモドーロはまだなし、次の後に長い休憩",
  "No pomodoro yet, long break after {left}": "完了したポモドーロはまだなし、{left}回で長い休憩",
  "Notify me while another window is in front": "ほかのウインドウが前面にあるときに通知",
  "On this device": "このデバイスでの動作",
  "Pause": "一時停止",
  "Pause or resume": "一時停止または再開",
  "Period": "期間",
  "Pomodoros": "ポモドーロ",
  "Ready": "準備完了",
  "Resume": "再開",
  "Ring and vibrate at the end": "終了時に音と振動で知らせる",
  "Ring at the end": "終了時に音を鳴らす",
  "Saved. It holds from the next phase on.": "保存しました。次のフェーズから有効になります。",
  "Silent": "消音",
  "Skip": "スキップ",
  "Skip to the next phase": "次のフェーズへスキップ",
  "Snooze": "スヌーズ",
  "Snooze (min)": "スヌーズ（分）",
  "Snooze is over.": "スヌーズが終わりました。",
  "Snooze is over. The break waits for you.": "スヌーズが終わりました。いつでも休憩を開始できます。",
  "Snooze is over. Time for a break.": "スヌーズが終わりました。休憩の時間です。",
  "Snooze of {length} began.": "{length}のスヌーズを開始しました。",
  "Snooze paused with {left} left.": "スヌーズを一時停止しました。残り{left}です。",
  "Snooze runs.": "スヌーズが進行中です。",
  "Snooze, paused": "スヌーズ（一時停止中）",
  "Snooze: put the break off": "スヌーズ（休憩を先に延ばす）",
  "Sound": "サウンド",
  "Sound and alerts": "サウンドと通知",
  "Sound and volume are the same on all of your devices.": "サウンドと音量は、すべてのデバイスで共通です。",
  "Start a focus": "集中を開始",
  "Start break": "休憩を開始",
  "Start focus": "集中を開始",
  "Statistics": "統計",
  "Stop": "停止",
  "The browser lets this page sound once you have pressed something in it.":
    "このページのどこかを押すと、音が鳴るようになります。",
  "The time is up.": "時間になりました。",
  "The timer is ready: {length} of focus.": "タイマーの準備ができました。集中は{length}です。",
  "The timer of {length} began.": "{length}のタイマーを開始しました。",
  "The timer paused with {left} left.": "タイマーを一時停止しました。残り{left}です。",
  "The timer runs.": "タイマーが動いています。",
  "Volume": "音量",
  "Week": "週",
  "Week {number}": "第{number}週",
  "Weeks": "週",
  "Year": "年",
  "Years": "年",
  "{count} pomodoros done": "{count}ポモドーロ完了",
  "{count} pomodoros done, long break after the next": "{count}ポモドーロ完了、次の後に長い休憩",
  "{count} pomodoros done, long break after {left} more": "{count}ポモドーロ完了、あと{left}回で長い休憩",
  "{count} pomodoros of the total have no day: an earlier version did not keep it.":
    "合計のうち{count}ポモドーロには日付がありません。以前のバージョンでは記録されていませんでした。",
  "{first} {second}": "{first}{second}",
  "{time} Another version's state": "{time} 別のバージョンの状態",
  "{time} Another version's state paused": "{time} 別のバージョンの状態（一時停止中）",
  "{time} Break": "{time} 休憩",
  "{time} Break paused": "{time} 休憩（一時停止中）",
  "{time} Focus": "{time} 集中",
  "{time} Focus paused": "{time} 集中（一時停止中）",
  "{time} Snooze": "{time} スヌーズ",
  "{time} Snooze paused": "{time} スヌーズ（一時停止中）",
  // Habits
  ["A file with all habits and their days, also the archived ones. It is not sealed: who has the "
    + "file can read it."]:
    "すべての習慣と日々の記録が入ったファイルです。アーカイブした習慣も含みます。暗号化されないため、ファイルを持つ人は誰でも読めます。",
  "A habit": "習慣",
  "Add one, and check in each day from whatever is at hand.": "習慣を追加して、毎日手元のデバイスで記録しましょう。",
  "All habits": "すべての習慣",
  "Archive": "アーカイブ",
  "Archive {title}": "「{title}」をアーカイブ",
  "Archived habits": "アーカイブした習慣",
  "Arrange": "並べ替え",
  "Bring back": "元に戻す",
  "Bring {title} back": "「{title}」を元に戻す",
  "CSV, for a spreadsheet": "CSV（表計算用）",
  "Calendar of": "カレンダーの期間",
  "Delete “{title}”?": "「{title}」を削除しますか？",
  "Deleted": "削除済み",
  "Earlier": "前へ",
  "Edit the habit": "習慣を編集",
  "Export": "書き出す",
  "Export the habits": "習慣を書き出す",
  "In all": "累計",
  "It goes from all of your devices. Its days come back if it does.":
    "すべてのデバイスから削除されます。元に戻すと、日々の記録も戻ります。",
  "JSON, with figures": "JSON（統計付き）",
  "Keep this": "これを残す",
  "Keep “{title}”, on the other devices": "ほかのデバイスの「{title}」を残す",
  "Keep “{title}”, on this browser": "このブラウザの「{title}」を残す",
  "Last 30 days": "過去30日間",
  "Later": "次へ",
  "Longest streak": "最長の連続日数",
  "Move {title} down": "「{title}」を下に移動",
  "Move {title} up": "「{title}」を上に移動",
  "New habit": "新しい習慣",
  "Next month": "次の月",
  "Next year": "次の年",
  "No habits yet": "習慣はまだありません",
  "Not done": "未完了",
  "Not done yet today: {habits}, and {count} more.": "今日はまだ完了していません：{habits}、ほか{count}件。",
  "Not done yet today: {habits}.": "今日はまだ完了していません：{habits}。",
  ["On a day on which it is not done yet, and only while Lockstep is open here, also in the "
    + "background. A closed page has no clock: what wakes it are changes of your other devices. If "
    + "Lockstep is opened later that day, it reminds then."]:
    "その日にまだ完了していないときに、Lockstep をここで開いている間（バックグラウンドを含む）だけ通知します。ページを閉じると時刻は確認されず、"
      + "ほかのデバイスでの変更があったときだけ起動します。その日のうちに Lockstep を開くと、そのときに通知します。",
  "On the other devices": "ほかのデバイス",
  "On this browser": "このブラウザ",
  "Once a day": "1日1回",
  "One less": "1回減らす",
  "One less, {title}": "「{title}」を1回減らす",
  "One more": "1回増やす",
  "One more, {title}": "「{title}」を1回増やす",
  "Previous month": "前の月",
  "Previous year": "前の年",
  "Remind me in this browser at": "このブラウザで通知する時刻",
  "Reminder": "リマインダー",
  "Show": "表示",
  "Streak": "連続日数",
  "Taken back.": "取り消しました。",
  ["The browser was not allowed to show notifications: it reminds only in the page. Set the "
    + "reminder again to be asked once more."]:
    "ブラウザの通知が許可されなかったため、ページ内でのみ通知します。リマインダーを設定し直すと、もう一度確認されます。",
  ["This browser blocks notifications of this page: it reminds only in the page. Allow them in its "
    + "settings for this site."]:
    "このブラウザはこのページの通知をブロックしているため、ページ内でのみ通知します。ブラウザの設定でこのサイトの通知を許可してください。",
  ["This browser may only read now, so its own version cannot go out. Take the other one, or pair "
    + "this browser again."]:
    "このブラウザは現在読み取り専用のため、このブラウザのバージョンは送信できません。もう一方を採用するか、このブラウザをペアリングし直してください。",
  "This browser shows no notifications: it reminds only in the page.":
    "このブラウザは通知を表示できないため、ページ内でのみ通知します。",
  "This page came over plain http, and may not show notifications: it reminds only in the page.":
    "このページは暗号化されていない http で読み込まれており、通知を表示できません。ページ内でのみ通知します。",
  "Time of the reminder": "リマインダーの時刻",
  "Times a day": "1日の回数",
  "Today, {date}": "今日、{date}",
  "What you want to do": "やりたいこと",
  "Which version shall stay, on all devices?": "すべてのデバイスで、どちらのバージョンを残しますか？",
  "by {device}": "{device}",
  "by {device}, {when}": "{device}、{when}",
  "from {date}": "{date}から",
  "nothing done yet": "まだ記録なし",
  "of {target}": "/ {target}",
  "reminder {time}": "リマインダー {time}",
  "{aim} · archived": "{aim} · アーカイブ済み",
  "{count} days": "{count}日",
  "{count} days in a row": "{count}日連続",
  "{count} times a day": "1日{count}回",
  "{day}: done": "{day}：完了",
  "{day}: not done": "{day}：未完了",
  "{day}: not yet": "{day}：これから",
  "{day}: {total} of {target}": "{day}：{total} / {target}",
  "{day}: {total} of {target}, done": "{day}：{total} / {target}、完了",
  "{done} of 7 days": "7日中{done}日",
  "{done} of {count} days": "{count}日中{done}日",
  "{first}, {second}": "{first}、{second}",
  "{month}. Show the month": "{month}。この月を表示",
  "{month}: {sum}. Show the month": "{month}：{sum}。この月を表示",
  "{percent} %": "{percent}%",
  "{title}, done": "{title}、完了",
  "{title}, {aim}, archived. Show its days": "{title}、{aim}、アーカイブ済み。日々の記録を表示",
  "{title}, {aim}. Show its days": "{title}、{aim}。日々の記録を表示",
  "“{title}”": "「{title}」",
  "“{title}” is archived.": "「{title}」をアーカイブしました。",
  "“{title}” is back.": "「{title}」を元に戻しました。",
  "“{title}” is number {place} now.": "「{title}」を{place}番目に移動しました。",
  "“{title}” was changed in two places": "「{title}」が2か所で変更されました",
  "“{title}” was deleted.": "「{title}」を削除しました。",
  "“{title}”: done on {date}.": "「{title}」：{date}は完了しました。",
  "“{title}”: done today.": "「{title}」：今日は完了しました。",
  "“{title}”: not done on {date}.": "「{title}」：{date}は未完了です。",
  "“{title}”: not done today.": "「{title}」：今日は未完了です。",
  "“{title}”: {total} of {target} on {date}.": "「{title}」：{date}は{total} / {target}です。",
  "“{title}”: {total} of {target} today.": "「{title}」：今日は{total} / {target}です。",
  // Times and dates
  "just now": "たった今",
  "long ago": "かなり前",
  "yesterday": "昨日",
  "{count} h": "{count}時間",
  "{count} min": "{count}分",
  "{count} min ago": "{count}分前",
  "{count} s": "{count}秒",
  "{hours} h {minutes} min": "{hours}時間{minutes}分",
  "{weekday} {date}": "{date} ({weekday})",
  "{weekday}, {date}": "{date}{weekday}",
});
