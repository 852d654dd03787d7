/** Texts of the page, by the English text; see `language.js`. */
export const chinese = Object.freeze({
  // Clipboard
  "This image is empty, so there is nothing to add.": "这张图片是空的，没有可添加的内容。",
  "This image has {size}, and an item has room for {room}. Make it smaller first.":
    "这张图片的大小为 {size}，而每个项目最多可容纳 {room}。请先缩小图片。",
  "This browser cannot read that image. Add it as PNG, JPEG, GIF or WebP.":
    "此浏览器无法读取这张图片。请以 PNG、JPEG、GIF 或 WebP 格式添加。",
  "This image is too large for the browser. Make it smaller first.": "这张图片太大，浏览器无法处理。请先缩小图片。",
  "Added to the clipboard.": "已添加到剪贴板。",
  "Added what was shared.": "已添加共享的内容。",
  "Added {count} images.": "已添加 {count} 张图片。",
  "Copied the image.": "已拷贝图片。",
  "This browser does not let the page copy images. Download it instead.": "此浏览器不允许页面拷贝图片。请改为下载。",
  "Pinned.": "已固定。",
  "No longer pinned.": "已取消固定。",
  "Deleted.": "已删除。",
  "Deleted {count} items.": "已删除 {count} 个项目。",
  "{device}, {when}": "{device}，{when}",
  "Image, {size}": "图片，{size}",
  "{format} image, {size}": "{format} 图片，{size}",
  "Type or paste a text": "输入或粘贴文本",
  "Images": "图片",
  "Nothing copied yet": "还没有拷贝的内容",
  "What you add here is on your other devices at once.": "在这里添加的内容会立即出现在你的其他设备上。",
  "Nothing found": "未找到结果",
  "No item has these words.": "没有包含这些字词的项目。",
  "Search the clipboard": "搜索剪贴板",
  "Delete all": "全部删除",
  "New item": "新项目",
  "Pin or unpin the row with the focus": "固定或取消固定当前行",
  "Paste": "粘贴",
  "Choose images": "选择图片",
  "Ctrl+V, or ⌘V on a Mac, pastes anywhere in this view.": "在此页面的任意位置按 Ctrl+V（Mac 上为 ⌘V）即可粘贴。",
  "Unpin": "取消固定",
  "Pin": "固定",
  "Image": "图片",
  "Pinned · {from}": "已固定 · {from}",
  "Download": "下载",
  "Waits here until it is sent to your other devices.": "正在等待发送到你的其他设备。",
  "This browser does not let the page read what you copied. Paste it into the field.":
    "此浏览器不允许页面读取你拷贝的内容。请粘贴到输入框中。",
  "Pinned items stay.": "已固定的项目会保留。",
  "Delete all pinned items?": "要删除所有已固定的项目吗？",
  "Delete all items?": "要删除所有项目吗？",
  "They go from all of your devices.": "这些项目将从你的所有设备上删除。",
  "{count} images wait to be sent already. Add this one when they are sent.":
    "已有 {count} 张图片等待发送。请在它们发送后再添加这张图片。",
  "This browser has no room to keep the image. Free some space first.": "此浏览器没有空间保存这张图片。请先释放一些空间。",
  "Something that was shared is too large for the clipboard, and was not added.":
    "共享的部分内容对剪贴板来说太大，未能添加。",
  "Not everything that was shared was added. Share the rest again.": "共享的内容未能全部添加。请重新共享其余部分。",
  "What was shared could not be read. Copy it there, and paste it here.":
    "无法读取共享的内容。请在原处拷贝，然后粘贴到这里。",
  // Memos
  "And {count} lines.": "另有 {count} 行。",
  "Task": "任务",
  "Two versions of this memo": "此备忘录的两个版本",
  "It was changed in two places at once. Lines that only one version has are marked.":
    "此备忘录同时在两处被更改。只有一个版本包含的行已标出。",
  "This memo": "此备忘录",
  "The other version": "另一个版本",
  "Keep the other": "保留另一版本",
  "Decide later": "稍后决定",
  "Keep both": "两者都保留",
  "Restore this version": "恢复此版本",
  "Then": "当时",
  "Now": "现在",
  "Former versions": "历史版本",
  "This browser has not seen another text of this memo yet.": "此浏览器尚未见过此备忘录的其他文本。",
  ["This browser keeps up to 20 texts of a memo that it has seen while it was open. They stay "
    + "here: the relay and your other devices do not have them. What one device writes within "
    + "five minutes is one version."]:
    "此浏览器会为每条备忘录保留打开期间见过的最多 20 份文本。它们只保存在这里，中继和你的其他设备上都没有。同一设备在五分钟内写入的内容算作一个版本。",
  "This browser did not read its drafts.": "此浏览器未能读取草稿。",
  "This browser keeps no draft of it.": "此浏览器未能保存草稿。",
  "This browser did not remove a draft that is saved.": "此浏览器未能移除一份已保存内容的草稿。",
  "Memo": "备忘录",
  "The first line is the title": "第一行为标题",
  "Back to the list": "返回列表",
  "Compare": "比较",
  "Preview": "预览",
  "Delete this memo": "删除此备忘录",
  "Goes on with your draft": "从草稿继续",
  "That memo is not here.": "这里没有该备忘录。",
  "Not saved: the text is kept here as a draft.": "未保存：文本已作为草稿保留在这里。",
  "Changed on another device": "已在另一台设备上更改",
  "This memo was deleted on another device.": "此备忘录已在另一台设备上删除。",
  "A memo needs a word. Delete it instead.": "备忘录不能为空。如不需要，请将其删除。",
  "Saved": "已保存",
  "The draft is deleted.": "草稿已删除。",
  "Deleted on all devices.": "已在所有设备上删除。",
  "The draft is back.": "草稿已恢复。",
  "The memo is back.": "备忘录已恢复。",
  "This version is kept.": "已保留此版本。",
  "The other version is kept.": "已保留另一个版本。",
  "Both are kept, each as a memo.": "两个版本均已保留，各为一条备忘录。",
  "Undone.": "已撤销。",
  "Restored.": "已恢复。",
  "{when}, by {device}": "{when}，{device}",
  "Untitled": "无标题",
  "Not saved": "未保存",
  "Draft": "草稿",
  "Other version, by {device}": "另一个版本（{device}）",
  "Other version, by {device}. The memo itself was deleted.": "另一个版本（{device}）。备忘录本身已被删除。",
  "Keep as a memo": "保留为备忘录",
  "Other version, by {device}.": "另一个版本（{device}）。",
  "Changed in two places: there is another version.": "在两处被更改：还有另一个版本。",
  "Changed in several places: there are {count} other versions.": "在多处被更改：还有 {count} 个其他版本。",
  "Show more": "显示更多",
  "Tags": "标签",
  "No memos yet": "还没有备忘录",
  "Write one here, and read it on any of your devices.": "在这里写一条，即可在你的任何设备上阅读。",
  "No memo has all of these words.": "没有包含所有这些字词的备忘录。",
  "Search the memos": "搜索备忘录",
  "New memo": "新建备忘录",
  "{found} of {count} memos": "{count} 条备忘录中的 {found} 条",
  "This browser did not remove the drafts and versions of another account.": "此浏览器未能移除另一个账户的草稿和版本。",
  // Files
  "There is a file of that name": "已有同名文件",
  "If you replace it, all devices get the new content under this name.": "如果替换，所有设备都会以此文件名获得新内容。",
  "Replace": "替换",
  "The file is ready": "文件已就绪",
  "Open it in a new tab": "在新标签页中打开",
  "File": "文件",
  "This browser has not seen another version of this file while it was open.":
    "此浏览器在打开期间未见过此文件的其他版本。",
  ["This browser lists the versions that it has seen while it was open. The relay keeps the "
    + "content of a version for a day after another one has replaced it."]:
    "此浏览器列出打开期间见过的版本。版本被替换后，中继会将其内容再保留一天。",
  "{size}, changed {when} by {device}": "{size}，{when}更改（{device}）",
  "This copy has the same content as {file}.": "此副本的内容与“{file}”相同。",
  "Another device changed {file} at the same time. This is its version.":
    "另一台设备同时更改了“{file}”。这是该设备的版本。",
  "The relay does not accept it: {reason}": "中继不接受此文件：{reason}",
  "Not sent yet": "尚未发送",
  "Waits for a device to send its content": "正在等待设备发送内容",
  "In step": "已同步",
  "Waits for the files before it": "正在等待前面的文件",
  "{share} % of {size}": "{share}%，共 {size}",
  ["The relay cannot be reached. Leave this page open: the file is sent when the connection "
    + "is back."]:
    "无法连接中继。请不要关闭此页面：连接恢复后会发送文件。",
  ["This account is not sealed, so a browser adds no files: the relay could read them. To add "
    + "files here, seal the vault with the command lockstep agent seal Vault on a computer of "
    + "this account."]:
    "此账户未启用端到端加密，因此浏览器不能添加文件：否则中继可以读取它们。要在这里添加文件，请在此账户的一台电脑上运行命令 lockstep agent seal Vault，"
      + "为文件启用端到端加密。",
  "{count} files are sealed with the vault's own key, which no browser gets.":
    "有 {count} 个文件使用文件专用的密钥加密，浏览器无法取得该密钥。",
  ["Read them with the program lockstep on a computer. Once the vault is sealed with the "
    + "account's keys, browsers open them, too."]:
    "请在电脑上用 lockstep 程序读取。改用账户的密钥加密后，浏览器也能打开它们。",
  "{count} files cannot be read by this version of the page: reload the page.":
    "此版本的页面无法读取 {count} 个文件：请重新加载页面。",
  ["A file of the vault has a name of 1 to 255 bytes, without / and control characters. "
    + "Rename the file, and add it again."]:
    "文件名称的长度须为 1 到 255 字节，且不能包含“/”和控制字符。请重命名文件后再添加。",
  "At most {count} files wait to be sent. Add the others later.":
    "最多可有 {count} 个文件等待发送。请稍后再添加其他文件。",
  "{file} had been changed by another device meanwhile. Both versions are kept.":
    "“{file}”在此期间已被另一台设备更改。两个版本均已保留。",
  "{file} is in the vault.": "“{file}”已添加到文件。",
  "{file} is deleted on all devices.": "“{file}”已在所有设备上删除。",
  "Delete the file on all devices?": "要在所有设备上删除此文件吗？",
  "{file} was added before the account was sealed: this browser cannot undo that.":
    "“{file}”是在账户启用端到端加密之前添加的：此浏览器无法撤销删除。",
  "The file is back.": "文件已恢复。",
  "The file is kept, and the other version is deleted.": "已保留此文件，并删除了另一个版本。",
  "Both are kept, each as a file.": "两个版本均已保留，各为一个文件。",
  "The download was stopped.": "下载已停止。",
  "{about}; deleted {when}": "{about}；{when}删除",
  "{about}; replaced {when}": "{about}；{when}被替换",
  "Restore": "恢复",
  "The relay does not have the content of this version any more.": "中继已不再保存此版本的内容。",
  "The version of {size} is restored.": "已恢复 {size} 的版本。",
  "Add files": "添加文件",
  "On their way": "传输中",
  "To decide": "待决定",
  "No files yet": "还没有文件",
  "Add one here, drop it or paste it: it is the same on all devices that add it.":
    "在这里添加、拖放或粘贴文件：所有添加了它的设备上内容都相同。",
  "The first {shown} of {count} files are shown.": "共 {count} 个文件，显示前 {shown} 个。",
  "Conflict copy of {file}": "“{file}”的冲突副本",
  "Download {file}": "下载“{file}”",
  "Delete {file}": "删除“{file}”",
  "Download this version": "下载此版本",
  "Delete the copy": "删除副本",
  "Keep the file": "保留文件",
  "Keep this version": "保留此版本",
  "Sending {file}": "正在发送“{file}”",
  "Dismiss": "关闭",
  "{file} was changed in two places at once, and this browser cannot read one of the two versions.":
    "“{file}”同时在两处被更改，而此浏览器无法读取其中一个版本。",
  "Keep this browser's version": "保留此浏览器的版本",
  "Keep the other version": "保留另一个版本",
  // Refusals of memos, clipboard and files
  "One of the two versions has changed; compare them again.": "两个版本之一已更改，请重新比较。",
  "The other version is not there any more.": "另一个版本已不存在。",
  "This memo is not there any more.": "此备忘录已不存在。",
  "This memo is there already.": "此备忘录已存在。",
  "There is nothing to add: the text is blank.": "没有可添加的内容：文本为空。",
  "This item is not there any more.": "此项目已不存在。",
  "This file is not there any more.": "此文件已不存在。",
  "This file has just changed; look at it again.": "此文件刚刚被更改，请重新查看。",
  "This file is there again already.": "此文件已重新存在。",
  "This file is no other version of one.": "此文件不是其他文件的另一个版本。",
  ["This file is sealed in an earlier way; change it once with the program lockstep on a "
    + "computer, and try again."]:
    "此文件使用较早的方式加密。请在电脑上用 lockstep 程序更改一次，然后重试。",
  ["The account has something in this file's place that this browser cannot read; add the "
    + "file on a device that can, or give it another name."]:
    "账户中在此文件的位置有此浏览器无法读取的内容。请在可以读取的设备上添加文件，或更改文件名。",
  // Start
  "Lockstep did not start": "Lockstep 没有启动",
  "Nothing was deleted. Close other tabs of this page, then reload.":
    "没有删除任何内容。请关闭此页面的其他标签页，然后重新加载。",
  // Common texts
  ", ": "、",
  "“{name}”": "“{name}”",
  "Add": "添加",
  "Cancel": "取消",
  "Clipboard": "剪贴板",
  "Close": "关闭",
  "Copied.": "已拷贝。",
  "Copy": "拷贝",
  "Delete": "删除",
  "Devices": "设备",
  "Done": "完成",
  "Edit": "编辑",
  "Files": "文件",
  "Habits": "习惯",
  "Keys": "密钥",
  "Memos": "备忘录",
  "Name": "名称",
  "Open": "打开",
  "Reload": "重新加载",
  "Remove": "移除",
  "Rename {name}": "重命名 {name}",
  "Remove {name}": "移除 {name}",
  "Save": "存储",
  "Search": "搜索",
  "Timer": "计时器",
  "Try again": "重试",
  "Undo": "撤销",
  "Vault": "文件",
  "{count} bytes": "{count} 字节",
  "{count} minutes": "{count} 分钟",
  "another device": "另一台设备",
  "this browser": "此浏览器",
  "This browser does not let the page copy. Select the text.": "此浏览器不允许页面拷贝。请手动选中文本。",
  // The page, the frame and the keyboard shortcuts
  " to ": " 到 ",
  "A new version of Lockstep is here.": "Lockstep 有新版本。",
  "A page down": "向下翻一页",
  "A page up": "向上翻一页",
  "How the sync stands": "同步状态",
  "In every view": "在每个页面中",
  "In sync again": "已恢复同步",
  "In sync.": "已同步。",
  "Keyboard shortcuts": "键盘快捷键",
  "Language": "语言",
  "Browser's language": "浏览器的语言",
  "Loading this view …": "正在加载此页面…",
  "Open a view, in the order of the bar": "按导航栏中的顺序打开页面",
  "Single letters are shortcuts": "将单个字母用作快捷键",
  "Skip to the content": "跳到内容",
  "Space": "空格",
  "Sync now": "立即同步",
  "Sync: {short}": "同步：{short}",
  "Sync: {short}. Show more": "同步：{short}。显示详细信息",
  "This browser belongs to an account already. Sign out first to pair it with another.":
    "此浏览器已属于一个账户。要与其他账户配对，请先退出登录。",
  "This list": "此列表",
  ["This page came over plain http: it cannot be installed or opened without a "
      + "connection, and others in the network can read along."]:
    "此页面通过未加密的 http 加载：无法安装，也无法离线打开，并且网络中的其他人可以看到内容。",
  ["This part of the page could not be loaded. It may need the relay, or the relay may "
      + "have a newer page."]:
    "无法加载页面的这一部分。可能需要连接中继，或者中继上有更新的页面。",
  "To the first row": "转到第一行",
  "To the next row": "转到下一行",
  "To the row before": "转到上一行",
  "Views": "页面",
  // The first view
  "12 or 24 letters, from a device of the account, or from the relay's owner.":
    "12 或 24 个字符，来自该账户的设备或中继管理员。",
  "A link brought a pairing code. Press Pair, and this browser is a device of its account.":
    "链接中带有配对码。点按“配对”，此浏览器就会成为该账户的设备。",
  "A timer, a clipboard, memos and habits, in step on all your devices.":
    "计时器、剪贴板、备忘录和习惯，在你的所有设备上保持同步。",
  "All that is here was sent": "此处的内容均已发送",
  "All that is kept here goes from this browser.": "保存在这里的所有内容都会从此浏览器中移除。",
  "And {count} more.": "以及另外 {count} 项。",
  "Browser": "浏览器",
  "Make a new account": "新建账户",
  "No name, no password: the account lives on your devices.": "不需要姓名，也不需要密码：账户就在你的设备上。",
  "Not now": "以后再说",
  "One moment…": "请稍候…",
  "Open the account": "打开账户",
  "Opening the account's keys…": "正在打开账户的密钥…",
  "Pair": "配对",
  ["Pair it with the same account again, and what it has not sent goes out. To use it for "
      + "another account, sign out first: all that is kept here goes."]:
    "再次与同一账户配对后，尚未发送的内容就会发送出去。要用于其他账户，请先退出登录：保存在这里的所有内容都会被移除。",
  "Pairing code": "配对码",
  "Save a copy": "存储副本",
  "Seal it: the relay stores it, and cannot read it": "端到端加密：中继只存储内容，无法读取",
  "Second half": "后半部分",
  "Sign out": "退出登录",
  "Sign out and lose them": "退出登录并丢弃",
  "Sign out of this browser": "在此浏览器上退出登录",
  "Sign out of this browser?": "要在此浏览器上退出登录吗？",
  ["That is not the second half of this code. Compare it with the other device: {count} "
      + "tries left."]:
    "这不是此配对码的后半部分。请与另一台设备上显示的内容核对：还可以尝试 {count} 次。",
  "The code's second half": "配对码的后半部分",
  "The owner of this relay makes the accounts. Ask for a pairing code, or a link.":
    "此中继的账户由管理员创建。请向管理员索取配对码或链接。",
  ["The relay cannot read this account. Type the last 12 letters of the code that the "
      + "other device shows: they open the account, and stay in this browser."]:
    "中继无法读取此账户。请输入另一台设备所显示配对码的最后 12 个字符：它们用于打开账户，并且只留在此浏览器中。",
  "The second half has 12 letters and digits, in groups of four.": "后半部分由 12 个字母和数字组成，每四个一组。",
  ["This browser is in the account now. The relay cannot read what is in it: type the "
      + "words of the recovery phrase, or a code of a device that still has the account."]:
    "此浏览器现已加入账户。中继无法读取账户的内容：请输入恢复短语，或输入仍拥有该账户的设备上的配对码。",
  ["This browser is not a device of its account any more: it was removed, or an older "
      + "copy of the relay was put back."]:
    "此浏览器已不再是其账户的设备：它已被移除，或者中继恢复到了较早的备份。",
  "This browser's name": "此浏览器的名称",
  "Welcome": "欢迎",
  "or": "或",
  "{browser} on {system}": "{system} 上的 {browser}",
  "{count} changes that no other device has": "{count} 项更改尚未出现在其他设备上",
  "{count} changes that no other device has would be lost.": "{count} 项尚未出现在其他设备上的更改将会丢失。",
  "{zone}: a change": "{zone}：一项更改",
  "{zone}: something was deleted": "{zone}：删除了内容",
  "{zone}: {text}": "{zone}：{text}",
  // Devices, pairing and keys
  "Add a device": "添加设备",
  "All that this browser may use": "此浏览器可以使用的全部内容",
  "Another device has made keys, to seal records of this account.": "另一台设备已生成密钥，以端到端加密此账户的内容。",
  "Apps": "应用",
  "As last known.": "这是最近一次获知的状态。",
  "Check words": "核对词",
  "Choose at least one app for the new device.": "请为新设备至少选取一个应用。",
  "Compare six words": "核对六个词",
  "Compare the check words below with those that it shows.": "请将下方的核对词与该设备上显示的核对词进行比较。",
  "Connected now": "当前已连接",
  "Copy code": "拷贝配对码",
  "Copy link": "拷贝链接",
  ["Devices shows them again. After a device was removed, they are others. To use them: "
      + "pair a browser with a code of the relay's owner, which then asks for them; in a "
      + "terminal, lockstep agent key restore."]:
    "可以在“设备”中再次查看。移除设备后，这些词会改变。使用方法：用中继管理员提供的配对码配对浏览器，浏览器随后会要求输入；在终端中，运行 lockstep agent "
      + "key restore。",
  ["Each device with the account's keys shows these six words. Compare them after you "
      + "have added one: if they differ, remove that device."]:
    "拥有账户密钥的每台设备都会显示这六个词。添加设备后请进行核对：如果不一致，请移除该设备。",
  "Everything, read-only": "全部内容，只读",
  "For one device, within {count} minutes.": "限一台设备使用，{count} 分钟内有效。",
  "For that you need a pairing code of the relay's owner.": "为此，需要中继管理员提供的配对码。",
  ["For that you need two things: a pairing code of the relay's owner, and the recovery "
      + "phrase. Without the phrase, nobody can open what is on the relay."]:
    "为此，需要两样东西：中继管理员提供的配对码，以及恢复短语。没有恢复短语，任何人都无法打开中继上的内容。",
  "If the other device asks for the second half of the code, type there:":
    "如果另一台设备要求输入配对码的后半部分，请在那里输入：",
  "It is cut off at once and gets nothing new. What it already holds it keeps.":
    "该设备会立即断开，不再收到新内容。已有的内容会保留在该设备上。",
  "It is not this browser: {about}.": "这不是此浏览器：{about}。",
  "It may only read, and change nothing": "只能查看，不能更改",
  "It may use": "可以使用",
  "Limit what the new device may do": "限制新设备的权限",
  ["No other device has this account. All that is kept here goes from this browser, and "
      + "nobody can read the account until a device joins it again."]:
    "没有其他设备拥有此账户。保存在这里的所有内容都会从此浏览器中移除，在有设备重新加入之前，任何人都无法读取此账户。",
  "Only some apps": "仅部分应用",
  "Only {zones}": "仅{zones}",
  "Only {zones}, read-only": "仅{zones}，只读",
  "Pairing link as a QR code": "配对链接的二维码",
  "Preparing the keys…": "正在准备密钥…",
  "Recovery phrase, or whole code": "恢复短语或完整的配对码",
  "Remove “{name}”?": "要移除“{name}”吗？",
  "Rename the device": "重命名设备",
  "Save a copy of everything": "存储全部内容的副本",
  "Scan it, or type on the other device:": "请用另一台设备扫描，或在该设备上输入：",
  "Seen {when}": "上次在线：{when}",
  "Show a new code": "显示新的配对码",
  "Show a pairing code": "显示配对码",
  "Show the recovery phrase": "显示恢复短语",
  "Sign out of the account's only device?": "要在账户的唯一设备上退出登录吗？",
  "The account was not opened by {names}. Show a new code, and try again.":
    "{names}未能打开账户。请显示新的配对码，然后重试。",
  "The code is valid for": "配对码的有效期",
  "The code was used by {names}.": "{names}使用了此配对码。",
  "The code was used by {names}. The account is being opened there.": "{names}使用了此配对码，正在那里打开账户。",
  "The new device may only read the whole account.": "新设备只能查看整个账户。",
  "The new device may only read {zones}, and sees nothing else of the account.":
    "新设备只能查看{zones}，看不到账户的其他内容。",
  "The new device may use the whole account.": "新设备可以使用整个账户。",
  "The new device may use {zones}, and sees nothing else of the account.":
    "新设备可以使用{zones}，看不到账户的其他内容。",
  ["The other device shows the same words: a browser under Devices, a terminal with "
      + "lockstep agent key words."]:
    "另一台设备会显示相同的词：浏览器在“设备”中显示，终端用 lockstep agent key words 显示。",
  ["The phrase has 17 words, for when all other devices are lost. A code has 24 letters: "
      + "a device that has the account shows it under Devices, or prints it with lockstep "
      + "agent pair."]:
    "恢复短语有 17 个词，用于其他设备全部丢失时。配对码有 24 个字符：拥有该账户的设备会在“设备”中显示，或用 lockstep agent pair 输出。",
  "The phrase has 17 words. A whole code has 24 letters and digits, in groups of four.":
    "恢复短语有 17 个词。完整的配对码由 24 个字母和数字组成，每四个一组。",
  ["The picture and the link have only the first half. The other device then asks for the "
      + "second half: type the last 12 letters there."]:
    "二维码和链接只包含前半部分。另一台设备随后会要求输入后半部分：请在那里输入最后 12 个字符。",
  "The recovery phrase": "恢复短语",
  ["The recovery phrase is another one now; what was written down before opens nothing "
      + "new. Press “Show the recovery phrase”, and write the words down."]:
    "恢复短语已更换；之前写下的短语无法打开新内容。请点按“显示恢复短语”，并写下这些词。",
  ["The relay cannot read this account, so nobody can open it for you. If all of its "
      + "devices are lost, these words do. Write them down, and show them to nobody:"]:
    "中继无法读取此账户，因此没有人能替你打开。如果所有设备都丢失了，可以用这些词打开账户。请写下来，不要给任何人看：",
  "The whole account": "整个账户",
  ["They are the same if both have the account's keys. If they differ, sign out of this "
      + "browser, and do not use the code again."]:
    "如果两台设备都拥有账户的密钥，这些词就会相同。如果不同，请在此浏览器上退出登录，并且不要再使用该配对码。",
  "This browser": "此浏览器",
  "This browser may only read, so it can let others only read.": "此浏览器只能查看，因此也只能允许其他设备查看。",
  ["This browser was paired to only read the account, and does not see your other "
      + "devices. To remove one, or to change what this browser may do, use a device with the "
      + "whole account."]:
    "此浏览器配对时仅获准查看账户，看不到你的其他设备。要移除设备或更改此浏览器的权限，请使用拥有整个账户的设备。",
  ["This browser was paired to only read {zones}, and does not see your other devices. To "
      + "remove one, or to change what this browser may do, use a device with the whole "
      + "account."]:
    "此浏览器配对时仅获准查看{zones}，看不到你的其他设备。要移除设备或更改此浏览器的权限，请使用拥有整个账户的设备。",
  ["This browser was paired to use {zones}, and does not see your other devices. To "
      + "remove one, or to change what this browser may do, use a device with the whole "
      + "account."]:
    "此浏览器配对时仅获准使用{zones}，看不到你的其他设备。要移除设备或更改此浏览器的权限，请使用拥有整个账户的设备。",
  ["This browser was paired to read only. What your other devices do in {zone} shows "
      + "here; to change it, use one of them."]:
    "此浏览器配对时仅获准查看。其他设备在{zone}中的更改会显示在这里；要进行更改，请使用其他设备。",
  "This code is too old. Show a new one.": "此配对码已过期。请显示新的配对码。",
  ["This is the account's only device. Without it, a code of the relay's owner and the "
      + "recovery phrase bring the account back."]:
    "这是账户的唯一设备。没有它时，需要中继管理员的配对码和恢复短语才能找回账户。",
  ["This is the account's only device. Without it, a code of the relay's owner brings the "
      + "account back."]:
    "这是账户的唯一设备。没有它时，需要中继管理员的配对码才能找回账户。",
  "What is on the relay and on your other devices stays there.": "中继和其他设备上的内容会保留。",
  "Who has the code gets into this account. Show it to your own devices alone.":
    "任何人拿到配对码都能进入此账户。请只在你自己的设备上使用。",
  "Who has the code gets what this browser may use, and not more.": "拿到配对码的人可以使用此浏览器能够使用的内容，不会更多。",
  "Without a connection this browser stays in the account's list.": "没有连接时，此浏览器会继续留在账户的设备列表中。",
  ["Your other devices get new keys first; a recovery phrase that was written down before "
      + "is then void."]:
    "其他设备会先获得新的密钥；之前写下的恢复短语随后失效。",
  "joined first": "最先加入",
  "joined last": "最后加入",
  "joined {place}": "第 {place} 个加入",
  "{count} changes that the relay does not have would be lost.": "{count} 项尚未发送到中继的更改将会丢失。",
  ["{names} could not get the account's new keys, and cannot read what is written "
      + "from now on. Sign out there, and pair again with a code of this browser."]:
    "{names}未能获得账户的新密钥，无法读取今后写入的内容。请在该设备上退出登录，然后用此浏览器的配对码重新配对。",
  "{names} joined. The code is used.": "{names}已加入。配对码已使用。",
  "{name} ({place} of {count})": "{name}（第 {place} 台，共 {count} 台）",
  "“{name}” is removed.": "“{name}”已移除。",
  // Recovery phrase
  ["Not a word of a phrase: {words}. Each has five letters, as “lusab” has, and none of "
      + "c, e, q, w, x and y."]:
    "不是恢复短语中的词：{words}。每个词有五个字母（例如“lusab”），并且不含 c、e、q、w、x 和 y。",
  "Words so far: {count} of {total}.": "已输入 {count} 个词，共 {total} 个。",
  "“{word}” (word {place})": "“{word}”（第 {place} 个词）",
  // Sync status
  "All changes are on the relay, and all of its changes are here.": "所有更改都已在中继上，中继的所有更改也都在这里。",
  "Closed here": "已在此关闭",
  "Connected, by asking every 30 seconds.": "已连接，每 30 秒查询一次。",
  "Connected, live, by events.": "已连接，通过事件流实时更新。",
  "Connected, live, by long-poll.": "已连接，通过长轮询实时更新。",
  "Connected, live.": "已连接，实时更新。",
  "Connected, {transport}.": "已连接，{transport}。",
  "In sync": "已同步",
  "Keys missing": "缺少密钥",
  "Last in sync at {time}.": "上次同步：{time}。",
  "Last in sync {when}.": "上次同步：{when}。",
  "No connection.": "没有连接。",
  "Not in the plan": "不在套餐内",
  "Not paired": "未配对",
  "Nothing outlives this tab, since the browser keeps nothing for this page.":
    "关闭此标签页后内容不会保留，因为浏览器不为此页面保存任何内容。",
  "Nothing outlives this tab: {reason}": "关闭此标签页后内容不会保留：{reason}",
  "Offline": "离线",
  "Offline, {count} waiting": "离线，{count} 项待发送",
  "Reload the page to go on.": "要继续，请重新加载页面。",
  ["Something between this browser and the relay refuses large requests (status 413): "
      + "{count} changes kept here, and tried again within the hour."]:
    "此浏览器与中继之间的某个环节拒绝较大的请求（状态 413）：{count} 项更改保存在这里，并会在一小时内重试。",
  "Sync failed": "同步失败",
  "Syncing": "正在同步",
  "The account's plan leaves out {zones}.": "账户的套餐不包含{zones}。",
  "The connection was lost at {time}.": "连接已断开（{time}）。",
  "The connection was lost {when}.": "连接已断开（{when}）。",
  ["The relay refused {count} changes: {reasons} Kept here; “Try again” sends what was "
      + "refused once more."]:
    "中继拒绝了 {count} 项更改：{reasons}更改保存在这里；点按“重试”会再次发送。",
  "The relay's owner can change that. Nothing here is lost.": "中继管理员可以更改这一点。这里的内容不会丢失。",
  ["This browser was not paired to change {zones}: what waits there is kept here. Remove "
      + "this browser on another device, and pair it again."]:
    "此浏览器配对时未获准更改{zones}：等待发送的内容保存在这里。请在另一台设备上移除此浏览器，然后重新配对。",
  "Under Devices, type a whole code of a device that has them, or the recovery phrase.":
    "请在“设备”中输入拥有密钥的设备的完整配对码，或输入恢复短语。",
  "Waits for you": "等待你处理",
  "What you do is kept here, and sent once there is a connection.": "你的更改会保存在这里，恢复连接后发送。",
  "What your other devices do shows once there is a connection.": "恢复连接后，会显示其他设备上的更改。",
  "{count} changes kept here, and sent once there is a connection.": "{count} 项更改保存在这里，恢复连接后发送。",
  "{count} changes kept here.": "{count} 项更改保存在这里。",
  "{count} changes on the way.": "正在发送 {count} 项更改。",
  "{count} habits changed in two places: choose under Habits.": "{count} 个习惯在两处被更改：请在“习惯”中选取。",
  "{count} held back": "{count} 项未发送",
  "{count} not readable": "{count} 项无法读取",
  ["{count} records on the relay cannot be opened with this browser's keys: left as they "
      + "are, and changes to them wait here. If “Try again” does not help, sign out, and pair "
      + "this browser again."]:
    "中继上有 {count} 条记录无法用此浏览器的密钥打开：这些记录保持不变，对它们的更改会在这里等待。如果“重试”不起作用，请退出登录，然后重新配对此浏览器。",
  "{count} refused": "{count} 项被拒绝",
  ["{zones} are sealed, and this browser does not have the keys: what it shows is old, "
      + "and cannot be changed here."]:
    "{zones}已端到端加密，而此浏览器没有密钥：显示的是旧内容，无法在这里更改。",
  ["{zone} is not in the account's plan: what you change here stays in this browser, and "
      + "goes out once the relay's owner has added it."]:
    "{zone}不在账户的套餐内：在这里的更改会留在此浏览器中，待中继管理员添加后再发送。",
  // Failures and refusals
  ["A browser sends and opens files of at most 256 MiB. Use the program lockstep on a "
      + "computer for a larger one."]:
    "浏览器最多可发送和打开 256 MiB 的文件。更大的文件请在电脑上使用 lockstep 程序。",
  "Another device has just changed the keys. Try again.": "另一台设备刚刚更改了密钥。请重试。",
  "Another device has this name already. Choose another one.": "另一台设备已使用此名称。请选用其他名称。",
  "Another tab leads now. Try again.": "现在由另一个标签页负责同步。请重试。",
  "Changes that no other device has would be lost. Sync first.": "尚未出现在其他设备上的更改将会丢失。请先同步。",
  "Lockstep is closed in this tab. Reload the page.": "Lockstep 已在此标签页中关闭。请重新加载页面。",
  "Nothing is asked about that any more.": "此项已不需要选择。",
  ["The account lives on another relay now. Open that relay's page, and pair this browser "
    + "there."]:
    "账户现在位于另一个中继。请打开那个中继的页面，并在那里配对此浏览器。",
  "Two relays send this browser to each other. Ask their owners where the account is.":
    "两个中继让此浏览器来回转。请向它们的管理者询问账户在哪里。",
  ["The account has moved to another relay, whose address is not known here. Ask the relay's "
    + "owner."]:
    "账户已迁移到另一个中继，但此处不知道其地址。请询问中继的管理者。",
  "Pair this browser with an account first.": "请先将此浏览器与账户配对。",
  ["That code is wrong, used or too old. Ask for a new one where it came from: at the "
      + "other device, or at the relay's owner."]:
    "此配对码有误、已使用或已过期。请从原来的地方获取新的配对码：另一台设备或中继管理员。",
  "That is another account. Sign out of this browser first.": "这是另一个账户。请先在此浏览器上退出登录。",
  "That is no pairing code: one has 12 or 24 letters and digits, in groups of four.":
    "这不是配对码：配对码由 12 或 24 个字母和数字组成，每四个一组。",
  "That is not there any more.": "该项目已不存在。",
  "That is too large for one record. Divide it.": "内容过大，无法作为一项存储。请拆分。",
  "The account has as many devices as it may have. Remove one first.": "账户的设备数已达上限。请先移除一台设备。",
  "The account has no room left. Remove something, or ask the relay's owner.":
    "账户的空间已用完。请移除一些内容，或联系中继管理员。",
  "The account's plan does not include that.": "账户的套餐不包含此功能。",
  "The browser cannot read this file, or it has changed meanwhile. Choose it again.":
    "浏览器无法读取此文件，或者文件已被更改。请重新选取。",
  "The browser's storage does not work. Make room on this device, and reload the page.":
    "浏览器的存储无法使用。请释放此设备的空间，然后重新加载页面。",
  "The clock of this device is wrong.": "此设备的时钟不正确。",
  ["The content that the relay has is not that of the file. Open Lockstep on a device "
      + "that has the file, and try again."]:
    "中继上的内容与此文件不符。请在拥有该文件的设备上打开 Lockstep，然后重试。",
  ["The files are sealed, and this device does not have the keys. Join again with a whole "
      + "code of a device that has them."]:
    "文件已端到端加密，而此设备没有密钥。请用拥有密钥的设备的完整配对码重新加入。",
  "The keys are not readable. Pair this browser again, with a new code.": "无法读取密钥。请用新的配对码重新配对此浏览器。",
  "The page's other tab does not answer. Reload it.": "此页面的另一个标签页没有响应。请重新加载该标签页。",
  ["The phrase does not open this account's keys. Compare it with what was written down. "
      + "Nothing was changed."]:
    "此恢复短语无法打开该账户的密钥。请与写下的内容核对。没有更改任何内容。",
  "The relay asks to wait a moment. Try again in a minute.": "中继要求稍等片刻。请在一分钟后重试。",
  "The relay could not be reached.": "无法连接到中继。",
  "The relay did not answer in time.": "中继没有及时响应。",
  "The relay does not accept this browser as a device any more.": "中继不再接受此浏览器作为设备。",
  "The relay does not allow pages from this address. Its owner can change that.":
    "中继不允许来自此地址的页面。中继管理员可以更改这一点。",
  "The relay does not have the whole content of a file yet.": "中继尚未拥有某个文件的完整内容。",
  ["The relay does not have the whole content yet. Open Lockstep on a device that has the "
      + "file, and try again."]:
    "中继尚未拥有完整的内容。请在拥有该文件的设备上打开 Lockstep，然后重试。",
  "The relay does not know the name in this page's address. Its owner can change that.":
    "中继不认识此页面地址中的名称。中继管理员可以更改这一点。",
  "The relay gave no answer. Look at your connection, then try again.": "中继没有响应。请检查网络连接，然后重试。",
  ["The relay has given no keys for that code, and this browser has not joined. Make a "
      + "new code on the other device."]:
    "中继没有为此配对码提供密钥，此浏览器未能加入。请在另一台设备上生成新的配对码。",
  "The relay has no room on its disk. Its owner can make some.": "中继的磁盘空间不足。中继管理员可以释放空间。",
  "The relay is being restarted. Nothing is lost.": "中继正在重新启动。内容不会丢失。",
  "The relay refuses this page, for a reason that is not known here.": "中继拒绝了此页面，原因未知。",
  "The relay, or something between it and this browser, has a fault. Try again later.":
    "中继，或中继与此浏览器之间的某个环节出现故障。请稍后重试。",
  ["The second half of the code is missing. Make a new code on the other device, and type "
      + "all of it."]:
    "缺少配对码的后半部分。请在另一台设备上生成新的配对码，并完整输入。",
  "The second half was wrong too often. Make a new code on the other device.":
    "后半部分输错次数过多。请在另一台设备上生成新的配对码。",
  "The transfer was stopped. Start it again.": "传输已停止。请重新开始。",
  "This browser belongs to an account already. Sign out first.": "此浏览器已属于一个账户。请先退出登录。",
  "This browser has no network.": "此浏览器没有网络连接。",
  ["This browser was paired for a part of the account, and may not do that. Use a device "
      + "with the whole account."]:
    "此浏览器仅针对账户的一部分配对，无权执行此操作。请使用拥有整个账户的设备。",
  "This relay makes no accounts by itself. Ask its owner for a pairing code.":
    "此中继不会自行创建账户。请向管理员索取配对码。",
  "This was changed meanwhile on another device. Look at it, and try again.":
    "此内容刚刚在另一台设备上更改。请查看后重试。",
  "Too many changes wait for the relay. Connect first.": "等待发送到中继的更改过多。请先连接。",
  "Too much waits to be done. Try again in a moment.": "等待处理的操作过多。请稍后重试。",
  "this browser did not compute the key; reload the page, and try again":
    "此浏览器未能计算密钥。请重新加载页面，然后重试。",
  // Notifications of a closed page
  "Browsers deliver them only to pages that came over https.": "浏览器只向通过 https 加载的页面发送通知。",
  "Notifications": "通知",
  "Notify me while Lockstep is closed": "Lockstep 关闭时通知我",
  "On an iPhone or iPad, add this page to the home screen first, and open it from there.":
    "在 iPhone 或 iPad 上，请先将此页面添加到主屏幕，然后从主屏幕打开。",
  "Something changed in Lockstep.": "Lockstep 中有更改。",
  "The push service asks the relay to wait.": "推送服务要求中继等待。",
  "The push service does not accept the relay's key. Turn it off and on again.":
    "推送服务不接受中继的密钥。请关闭后重新打开。",
  "The push service does not answer the relay, which tries again.": "推送服务没有响应中继，中继会重试。",
  "The push service refused the last push.": "推送服务拒绝了上一次推送。",
  "The relay does not know of it. Turn it off and on again.": "中继上没有此设置。请关闭后重新打开。",
  "The relay's owner does not allow this browser's push service.": "中继管理员不允许此浏览器的推送服务。",
  "This browser blocks notifications of this page. Allow them in its settings for this site.":
    "此浏览器阻止了此页面的通知。请在浏览器的网站设置中允许通知。",
  "This browser cannot deliver them.": "此浏览器无法发送通知。",
  ["This device tells you what your other devices have changed while Lockstep is closed. "
      + "The browser's push service learns when something changed, and nothing of what."]:
    "Lockstep 关闭时，此设备会告诉你其他设备上的更改。浏览器的推送服务只知道何时有更改，不知道更改了什么。",
  "This relay sends none. Its owner can change that.": "此中继不发送通知。中继管理员可以更改这一点。",
  "Waiting for the first push, which proves that they arrive.": "正在等待第一次推送，以确认通知可以送达。",
  "Works, last proved {when}.": "工作正常，上次确认：{when}。",
  "the browser got no subscription from its push service ({message})": "浏览器未能从推送服务获得订阅（{message}）。",
  "this browser has not stored the page yet; reload it, and try again": "此浏览器尚未存储页面。请重新加载，然后重试。",
  // Timer
  "Another version's state": "其他版本的状态",
  "Another version's state, paused": "其他版本的状态（已暂停）",
  "Bell": "钟声",
  "Break": "休息",
  "Break (min)": "休息（分钟）",
  "Break is over.": "休息结束。",
  "Break of {length} began.": "{length}的休息已开始。",
  "Break paused with {left} left.": "休息已暂停，剩余 {left}。",
  "Break runs.": "休息进行中。",
  "Break, paused": "休息（已暂停）",
  "Breaks begin by themselves": "自动开始休息",
  "Chime": "风铃",
  "Completed pomodoros, newest first": "已完成的番茄钟，最近的在前",
  "Day": "日",
  "Days": "日",
  "End break": "结束休息",
  "Float the countdown": "悬浮显示倒计时",
  "Focus": "专注",
  "Focus (min)": "专注（分钟）",
  "Focus is over.": "专注结束。",
  "Focus is over. The break waits for you.": "专注结束。随时可以开始休息。",
  "Focus is over. Time for a break.": "专注结束。该休息了。",
  "Focus of {length} began.": "{length}的专注已开始。",
  "Focus paused with {left} left.": "专注已暂停，剩余 {left}。",
  "Focus runs.": "专注进行中。",
  "Focus, paused": "专注（已暂停）",
  "Focused": "专注时长",
  "Keep the screen on during a countdown": "倒计时期间保持屏幕常亮",
  "Last changed by {device}, {when}": "上次更改：{device}，{when}",
  "Lengths and breaks": "时长与休息",
  "Long break (min)": "长休息（分钟）",
  "Long break after (pomodoros)": "长休息间隔（番茄钟）",
  "Marimba": "马林巴",
  "Month": "月",
  "Months": "月",
  "No pomodoro yet": "还没有完成番茄钟",
  "No pomodoro yet, long break after the next": "还没有完成番茄钟，完成下一个后长休息",
  "No pomodoro yet, long break after {left}": "还没有完成番茄钟，完成 {left} 个后长休息",
  "Notify me while another window is in front": "其他窗口在前面时通知我",
  "On this device": "在此设备上",
  "Pause": "暂停",
  "Pause or resume": "暂停或继续",
  "Period": "时间段",
  "Pomodoros": "番茄钟",
  "Ready": "准备就绪",
  "Resume": "继续",
  "Ring and vibrate at the end": "结束时响铃并振动",
  "Ring at the end": "结束时响铃",
  "Saved. It holds from the next phase on.": "已存储。从下一阶段起生效。",
  "Silent": "静音",
  "Skip": "跳过",
  "Skip to the next phase": "跳到下一阶段",
  "Snooze": "推迟休息",
  "Snooze (min)": "推迟休息（分钟）",
  "Snooze is over.": "推迟时间结束。",
  "Snooze is over. The break waits for you.": "推迟时间结束。随时可以开始休息。",
  "Snooze is over. Time for a break.": "推迟时间结束。该休息了。",
  "Snooze of {length} began.": "休息已推迟 {length}。",
  "Snooze paused with {left} left.": "推迟休息已暂停，剩余 {left}。",
  "Snooze runs.": "休息已推迟。",
  "Snooze, paused": "推迟休息（已暂停）",
  "Snooze: put the break off": "推迟休息",
  "Sound": "声音",
  "Sound and alerts": "声音与提醒",
  "Sound and volume are the same on all of your devices.": "声音和音量在你的所有设备上相同。",
  "Start a focus": "开始专注",
  "Start break": "开始休息",
  "Start focus": "开始专注",
  "Statistics": "统计",
  "Stop": "停止",
  "The browser lets this page sound once you have pressed something in it.":
    "在此页面中点按任意位置后，浏览器才会允许它发出声音。",
  "The time is up.": "时间到。",
  "The timer is ready: {length} of focus.": "计时器已就绪：专注 {length}。",
  "The timer of {length} began.": "{length}的计时已开始。",
  "The timer paused with {left} left.": "计时器已暂停，剩余 {left}。",
  "The timer runs.": "计时器正在运行。",
  "Volume": "音量",
  "Week": "周",
  "Week {number}": "第 {number} 周",
  "Weeks": "周",
  "Year": "年",
  "Years": "年",
  "{count} pomodoros done": "已完成 {count} 个番茄钟",
  "{count} pomodoros done, long break after the next": "已完成 {count} 个番茄钟，完成下一个后长休息",
  "{count} pomodoros done, long break after {left} more": "已完成 {count} 个番茄钟，再完成 {left} 个后长休息",
  "{count} pomodoros of the total have no day: an earlier version did not keep it.":
    "总数中有 {count} 个番茄钟没有日期：较早的版本未记录日期。",
  "{first} {second}": "{first}{second}",
  "{time} Another version's state": "{time} 其他版本的状态",
  "{time} Another version's state paused": "{time} 其他版本的状态（已暂停）",
  "{time} Break": "{time} 休息",
  "{time} Break paused": "{time} 休息（已暂停）",
  "{time} Focus": "{time} 专注",
  "{time} Focus paused": "{time} 专注（已暂停）",
  "{time} Snooze": "{time} 推迟休息",
  "{time} Snooze paused": "{time} 推迟休息（已暂停）",
  // Habits
  ["A file with all habits and their days, also the archived ones. It is not sealed: who has the "
    + "file can read it."]:
    "此文件包含所有习惯及每日记录，也包括已归档的习惯。文件未加密：拿到文件的人都能读取。",
  "A habit": "习惯",
  "Add one, and check in each day from whatever is at hand.": "添加一个习惯，每天用手边的任意设备打卡。",
  "All habits": "所有习惯",
  "Archive": "归档",
  "Archive {title}": "归档“{title}”",
  "Archived habits": "已归档的习惯",
  "Arrange": "整理",
  "Bring back": "恢复",
  "Bring {title} back": "恢复“{title}”",
  "CSV, for a spreadsheet": "CSV（用于电子表格）",
  "Calendar of": "日历范围",
  "Delete “{title}”?": "要删除“{title}”吗？",
  "Deleted": "已删除",
  "Earlier": "更早",
  "Edit the habit": "编辑习惯",
  "Export": "导出",
  "Export the habits": "导出习惯",
  "In all": "累计",
  "It goes from all of your devices. Its days come back if it does.":
    "它会从你的所有设备上删除。如果恢复它，每日记录也会一并恢复。",
  "JSON, with figures": "JSON（含统计数据）",
  "Keep this": "保留此版本",
  "Keep “{title}”, on the other devices": "保留其他设备上的“{title}”",
  "Keep “{title}”, on this browser": "保留此浏览器上的“{title}”",
  "Last 30 days": "最近 30 天",
  "Later": "更晚",
  "Longest streak": "最长连续天数",
  "Move {title} down": "下移“{title}”",
  "Move {title} up": "上移“{title}”",
  "New habit": "新建习惯",
  "Next month": "下个月",
  "Next year": "下一年",
  "No habits yet": "还没有习惯",
  "Not done": "未完成",
  "Not done yet today: {habits}, and {count} more.": "今天尚未完成：{habits}，以及另外 {count} 个。",
  "Not done yet today: {habits}.": "今天尚未完成：{habits}。",
  ["On a day on which it is not done yet, and only while Lockstep is open here, also in the "
    + "background. A closed page has no clock: what wakes it are changes of your other devices. If "
    + "Lockstep is opened later that day, it reminds then."]:
    "仅在当天尚未完成，并且 Lockstep 在此处打开（包括在后台）时提醒。页面关闭后不再计时，只有其他设备上的更改才能唤醒它。如果当天稍后打开 Lockstep，届时会提醒。",
  "On the other devices": "在其他设备上",
  "On this browser": "在此浏览器上",
  "Once a day": "每天 1 次",
  "One less": "减一次",
  "One less, {title}": "“{title}”减一次",
  "One more": "加一次",
  "One more, {title}": "“{title}”加一次",
  "Previous month": "上个月",
  "Previous year": "上一年",
  "Remind me in this browser at": "在此浏览器中提醒的时间",
  "Reminder": "提醒",
  "Show": "显示",
  "Streak": "连续天数",
  "Taken back.": "已撤销。",
  ["The browser was not allowed to show notifications: it reminds only in the page. Set the "
    + "reminder again to be asked once more."]:
    "尚未允许浏览器显示通知：仅在页面中提醒。再次设置提醒时会重新询问。",
  ["This browser blocks notifications of this page: it reminds only in the page. Allow them in its "
    + "settings for this site."]:
    "此浏览器已阻止此页面的通知：仅在页面中提醒。请在浏览器的网站设置中允许此网站发送通知。",
  ["This browser may only read now, so its own version cannot go out. Take the other one, or pair "
    + "this browser again."]:
    "此浏览器现在只能读取，因此它自己的版本无法发送。请采用另一个版本，或重新配对此浏览器。",
  "This browser shows no notifications: it reminds only in the page.": "此浏览器不显示通知：仅在页面中提醒。",
  "This page came over plain http, and may not show notifications: it reminds only in the page.":
    "此页面通过未加密的 http 加载，不能显示通知：仅在页面中提醒。",
  "Time of the reminder": "提醒时间",
  "Times a day": "每天次数",
  "Today, {date}": "今天，{date}",
  "What you want to do": "想做的事",
  "Which version shall stay, on all devices?": "要在所有设备上保留哪个版本？",
  "by {device}": "来自 {device}",
  "by {device}, {when}": "来自 {device}，{when}",
  "from {date}": "自{date}起",
  "nothing done yet": "尚无记录",
  "of {target}": "/ {target}",
  "reminder {time}": "提醒 {time}",
  "{aim} · archived": "{aim} · 已归档",
  "{count} days": "{count} 天",
  "{count} days in a row": "连续 {count} 天",
  "{count} times a day": "每天 {count} 次",
  "{day}: done": "{day}：已完成",
  "{day}: not done": "{day}：未完成",
  "{day}: not yet": "{day}：未到",
  "{day}: {total} of {target}": "{day}：{total} / {target}",
  "{day}: {total} of {target}, done": "{day}：{total} / {target}，已完成",
  "{done} of 7 days": "7 天中的 {done} 天",
  "{done} of {count} days": "{count} 天中的 {done} 天",
  "{first}, {second}": "{first}、{second}",
  "{month}. Show the month": "{month}。显示该月",
  "{month}: {sum}. Show the month": "{month}：{sum}。显示该月",
  "{percent} %": "{percent}%",
  "{title}, done": "{title}，已完成",
  "{title}, {aim}, archived. Show its days": "{title}，{aim}，已归档。显示每日记录",
  "{title}, {aim}. Show its days": "{title}，{aim}。显示每日记录",
  "“{title}”": "“{title}”",
  "“{title}” is archived.": "“{title}”已归档。",
  "“{title}” is back.": "“{title}”已恢复。",
  "“{title}” is number {place} now.": "“{title}”现在排在第 {place} 位。",
  "“{title}” was changed in two places": "“{title}”在两处被更改",
  "“{title}” was deleted.": "“{title}”已删除。",
  "“{title}”: done on {date}.": "“{title}”：{date}已完成。",
  "“{title}”: done today.": "“{title}”：今天已完成。",
  "“{title}”: not done on {date}.": "“{title}”：{date}未完成。",
  "“{title}”: not done today.": "“{title}”：今天未完成。",
  "“{title}”: {total} of {target} on {date}.": "“{title}”：{date} {total} / {target}。",
  "“{title}”: {total} of {target} today.": "“{title}”：今天 {total} / {target}。",
  // Times and dates
  "just now": "刚刚",
  "long ago": "很久以前",
  "yesterday": "昨天",
  "{count} h": "{count} 小时",
  "{count} min": "{count} 分钟",
  "{count} min ago": "{count} 分钟前",
  "{count} s": "{count} 秒",
  "{hours} h {minutes} min": "{hours} 小时 {minutes} 分钟",
  "{weekday} {date}": "{date} {weekday}",
  "{weekday}, {date}": "{date}{weekday}",
});
