extension Chinese {
  static let clipboard: [String: String] = [
    "the clipboard does not know that order": "剪贴板不认识此指令",
    "the clipboard has no such view": "剪贴板没有此视图",
    "there is nothing to add: the text is blank": "没有可添加的内容：文本为空",
    "is already pinned: {text}": "已处于固定状态：{text}",
    "is not pinned: {text}": "未固定：{text}",
    "{count} items are pinned, the most there can be; unpin one": "已固定 {count} 个项目，达到上限；请取消固定一个",
    "this item is not there any more": "此项目已不存在",
    "pinned: {text}": "已固定：{text}",
    "no longer pinned: {text}": "已取消固定：{text}",
    "{count} items removed": "已移除 {count} 个项目",
    "{count} pinned items stay; remove pinned items too with lockstep clipboard clear --all":
      "保留了 {count} 个已固定的项目；要一并移除，请运行 lockstep clipboard clear --all",
    "nothing was copied yet": "还没有拷贝的内容",
    "[pinned] {text}": "[已固定] {text}",
    "[image, {size}]": "[图片，{size}]",
    "[image, {size}, {format}]": "[图片，{size}，{format}]",
    "A copy that is marked as a password was not synced.": "一份标记为密码的拷贝内容未同步。",
    """
    A copy of more than {size} was not synced; add it with lockstep clipboard add, or put it into \
    the vault.
    """:
      "一份超过 {size} 的拷贝内容未同步；请用 lockstep clipboard add 添加，或作为文件添加。",
    """
    A copy was not synced: there were {count} within a minute. Another program may change the \
    clipboard by itself.
    """:
      "一份拷贝内容未同步：一分钟内已有 {count} 份。可能有其他程序在自动更改剪贴板。",
    """
    A copy was not synced: the clipboard is switched off here; switch it on with lockstep \
    clipboard on.
    """:
      "一份拷贝内容未同步：剪贴板在此处已关闭；请用 lockstep clipboard on 打开。",
    "the text": "文本",
    "this item is an image; write it to a file with lockstep clipboard get ITEM --output FILE":
      "此项目是图片；请用 lockstep clipboard get ITEM --output FILE 写入文件",
    "clipboard on, {count} items": "剪贴板：已打开，{count} 个项目",
    "clipboard off, {count} items": "剪贴板：已关闭，{count} 个项目",
    "clipboard off, {count} items; {waiting} waiting to be sent":
      "剪贴板：已关闭，{count} 个项目；{waiting} 项待发送",
    "the clipboard is now on": "剪贴板已打开",
    "the clipboard was already on": "剪贴板原本就是打开的",
    "the clipboard is now off": "剪贴板已关闭",
    "the clipboard was already off": "剪贴板原本就是关闭的",
    "an image cannot be shown here; write it to a file with --output FILE":
      "无法在此显示图片；请用 --output FILE 写入文件",
    "wrote {bytes} bytes to {path}": "已将 {bytes} 字节写入 {path}",
    "this version of the program cannot read the image; update it": "此版本的程序无法读取这张图片；请更新程序",
    """
    the image's content does not have the size that the item names; ask the device that copied it \
    to copy it again
    """:
      "图片内容的大小与项目所记录的不符；请在拷贝它的设备上重新拷贝",
    "the relay does not have the image yet; open the device that copied it, then try again":
      "中继尚未拥有这张图片；请打开拷贝它的设备，然后重试",
    "the image's content was damaged on the way; try again": "图片内容在传输中损坏；请重试",
    """
    the image is sealed, and this device does not have the account's keys: pair it again with a \
    code of a device that has them
    """:
      "图片已端到端加密，而此设备没有账户的密钥：请用拥有密钥的设备的配对码重新配对",
    "the image is not sealed, although its zone is": "图片未加密，尽管剪贴板已端到端加密",
    "the image is sealed with a key that this device does not have": "图片使用此设备没有的密钥加密",
    "the image is changed since it was sealed": "图片在加密后被更改",
    "the image is sealed by a program that does not keep to the format": "加密图片的程序未遵守格式",
    "{path} is there already; choose another name": "{path} 已存在；请选用其他名称",
    "no file can be made in /dev/shm: {error}": "无法在 /dev/shm 中创建文件：{error}",
    "{program} cannot be run: {error}": "无法运行 {program}：{error}",
    "the clipboard of a desktop is synced with this home already; end that command first":
      "此数据目录已在与某个桌面的剪贴板同步；请先结束那个命令",
    "the desktop does not answer ({reason}); run this command in a terminal of the desktop":
      "桌面没有响应（{reason}）；请在该桌面的终端中运行此命令",
    "xsel cannot see which copies are passwords, so they are synced; install xclip":
      "xsel 无法识别哪些拷贝内容是密码，因此也会同步它们；请安装 xclip",
    "the clipboard of this desktop is synced; Ctrl-C ends it": "正在同步此桌面的剪贴板；按 Ctrl-C 结束",
    "an item was not copied to the desktop: {reason}": "一个项目未能拷贝到桌面：{reason}",
    "the desktop answers again": "桌面已恢复响应",
    "a copy was not synced: {reason}": "一份拷贝内容未同步：{reason}",
    "the desktop does not answer ({reason}); waiting for it": "桌面没有响应（{reason}）；正在等待",
    """
    this Wayland desktop lets no program watch its clipboard (wl-paste --watch fails); install \
    the package xclip, then try again
    """:
      "此 Wayland 桌面不允许程序监视其剪贴板（wl-paste --watch 失败）；请安装软件包 xclip，然后重试",
    "this Wayland desktop lets no program watch its clipboard; using {program}":
      "此 Wayland 桌面不允许程序监视其剪贴板；改用 {program}",
    "{count} characters from this desktop are the newest item": "来自此桌面的 {count} 个字符已成为最新项目",
    "{count} characters from another device are on this desktop": "来自另一台设备的 {count} 个字符已拷贝到此桌面",
    """
    the clipboard of this Wayland desktop is read and written by wl-paste and wl-copy, which are \
    not installed; install the package wl-clipboard, then try again
    """:
      "读写此 Wayland 桌面的剪贴板需要 wl-paste 和 wl-copy，但它们未安装；请安装软件包 wl-clipboard，然后重试",
    """
    the clipboard of this X11 desktop is read and written by xclip or xsel, and neither is \
    installed; install the package xclip, then try again
    """:
      "读写此 X11 桌面的剪贴板需要 xclip 或 xsel，但两者均未安装；请安装软件包 xclip，然后重试",
    """
    there is no desktop here, as neither WAYLAND_DISPLAY nor DISPLAY is set; run this command in \
    a terminal of the desktop, or as a service of its session
    """:
      "这里没有桌面：WAYLAND_DISPLAY 和 DISPLAY 均未设置；请在桌面的终端中运行此命令，或作为其会话的服务运行",
    "no answer": "没有响应",
  ]
}
