/** Texts of the page, by the English text; see `language.js`. */
export const chinese = Object.freeze({
  "Lockstep did not start": "Lockstep 没有启动",
  "Nothing was deleted. Close other tabs of this page, then reload.":
    "没有删除任何内容。请关闭此页面的其他标签页，然后重新加载。",
});
