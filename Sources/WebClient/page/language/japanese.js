/** Texts of the page, by the English text; see `language.js`. */
export const japanese = Object.freeze({
  "Lockstep did not start": "Lockstep を開始できませんでした",
  "Nothing was deleted. Close other tabs of this page, then reload.":
    "何も削除されていません。このページのほかのタブを閉じてから、再読み込みしてください。",
});
