extension Japanese {
  static let memos: [String: String] = [
    "item": "項目",
    "memo": "メモ",
    "habit": "習慣",
    "there is no {noun} here": "ここに{noun}はありません",
    "there is no {noun} {number}; the last one is {count}": "{number}番の{noun}はありません。最後は{count}番です",
    "{count} of them are called so; give the number in the list":
      "同じ名前のものが{count}件あります。リストの番号で指定してください",
    "there is no {noun} “{word}”; give its number in the list":
      "「{word}」という{noun}はありません。リストの番号で指定してください",
    "memos do not know that order": "メモがこの操作を認識できません",
    "memos have no such view": "メモにこの表示はありません",
    "(untitled)": "（無題）",
    "[other version, from {device}]": "[別のバージョン（{device}）]",
    "there is no memo yet": "メモはまだありません",
    "no memo has these words": "この語句を含むメモはありません",
    "a memo without a word is not kept; remove it instead": "メモを空にはできません。不要な場合は削除してください",
    "added": "追加しました",
    "changed": "変更しました",
    "removed": "削除しました",
    "added: {text}": "追加しました：{text}",
    "changed: {text}": "変更しました：{text}",
    "removed: {text}": "削除しました：{text}",
    "the memo": "メモ",
    "nothing was changed": "変更はありません",
  ]
}
