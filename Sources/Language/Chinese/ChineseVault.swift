extension Chinese {
  static let vault: [String: String] = [
    "the vault does not know that order": "文件不认识此指令",
    "the vault has no such view": "文件没有此视图",
    "there is no file in the vault yet": "还没有文件",
    "there are no conflict copies": "没有冲突副本",
    "{count} conflicts settled": "已解决 {count} 个冲突",
    "{count} cannot be: this device cannot read both sides": "{count} 个无法解决：此设备无法读取全部两个版本",
    "a conflict copy has just changed; look at them again": "一个冲突副本刚刚被更改；请重新查看",
    "{count} conflict copies removed": "已移除 {count} 个冲突副本",
    "{count} differ and stay": "{count} 个与其文件不同，已保留",
    "{count} codes wait": "{count} 个配对码待使用",
    "[same as {file}]": "[与“{file}”相同]",
    "[other version of {file}]": "[“{file}”的另一个版本]",
    "[not sealed]": "[未加密]",
    """
    {count} files are sealed, and this device does not have the vault's key: give it a code from \
    lockstep agent pair of a device that has it, with lockstep vault unlock
    """: """
    {count} 个文件已加密，而此设备没有文件专用密钥：请在拥有密钥的设备上运行 lockstep agent pair 获取配对码，\
    然后用 lockstep vault unlock 输入
    """,
    """
    {count} files are sealed with another key than this device's: bring the right one with \
    lockstep vault restore
    """:
      "{count} 个文件使用了与此设备不同的密钥加密：请用 lockstep vault restore 恢复正确的密钥",
    """
    {count} files are not readable, and written by no device that has the vault's key: add the \
    file again on a device that still has it
    """:
      "{count} 个文件无法读取，且不是由拥有文件专用密钥的设备写入的：请在仍有该文件的设备上重新添加",
    "{file} is synced, {size}": "“{file}”已同步，{size}",
    "{file} is synced, deleted": "“{file}”已同步，已删除",
    "it cannot be synced": "无法同步",
    "{file} will be synced": "“{file}”将会同步",
    "it is not synced yet": "尚未同步",
    "{reason}; lockstep agent run continues to sync it": "{reason}；lockstep agent run 会继续同步",
    "this folder is gone; change to another one, then try again": "此文件夹已不存在；请切换到其他文件夹，然后重试",
    "this folder's name is not UTF-8; give the file's absolute path": "此文件夹的名称不是 UTF-8；请给出文件的绝对路径",
    "nothing has happened yet": "还没有任何记录",
    "{path} is no longer synced; the file itself stays": "{path} 不再同步；文件本身会保留",
    "“{word}” is not an action; the only one is clean": "“{word}”不是可用的操作；只有 clean",
    "this device opens the vault (key {key})": "此设备现在可以打开文件（密钥 {key}）",
    """
    this device does not have the vault's key, so it has no phrase; print it on a device that has \
    the key, or get the key with lockstep vault unlock --home {home}
    """:
      "此设备没有文件专用密钥，因此没有恢复短语；请在拥有密钥的设备上输出，或用 lockstep vault unlock --home {home} 获取密钥",
    "the phrase is a secret, and standard output is not a terminal; print it with --show":
      "恢复短语需要保密，而标准输出不是终端；要输出，请加上 --show",
    """
    Write these {count} words down and keep them away from your devices. They open the vault
    when all devices are lost: lockstep vault restore, on a device of the account.
    """: """
    请写下这 {count} 个词，并与设备分开保管。所有设备都丢失时，可以在账户的设备上
    运行 lockstep vault restore，用它们打开文件。
    """,
    "a phrase on the command line can be seen by others; give it on standard input":
      "命令行中的恢复短语会被他人看到；请通过标准输入提供",
    "this device opens the vault again (key {key})": "此设备又可以打开文件了（密钥 {key}）",
    """
    {count} files are sealed with a key that this device does not have: bring that key (lockstep \
    vault unlock, or restore); --force gives up what is sealed with it
    """:
      "{count} 个文件使用此设备没有的密钥加密：请取得该密钥（lockstep vault unlock 或 restore）；--force 会放弃用该密钥加密的内容",
    "the account's vault has this device's key (key {key})": "账户的文件现在使用此设备的密钥（密钥 {key}）",
    "Phrase: ": "恢复短语：",
    "the phrase": "恢复短语",
    """
    a recovery phrase has {words} words of five letters, {letters} letters in all, and this has \
    {count}; nothing was changed
    """:
      "恢复短语由 {words} 个五字母的词组成，共 {letters} 个字母，而这里有 {count} 个；没有更改任何内容",
    "word {place} is misspelt: it cannot be in a recovery phrase; nothing was changed":
      "第 {place} 个词拼写有误：它不可能出现在恢复短语中；没有更改任何内容",
    "the checksum is wrong: a word is misspelt, or two are swapped; nothing was changed":
      "校验和不正确：有词拼写有误，或有两个词顺序颠倒；没有更改任何内容",
    "one case a line, then Ctrl-D": "每行一个冲突，然后按 Ctrl-D",
    "cannot read the cases: {error}": "无法读取冲突：{error}",
    "longer than {count} bytes": "超过 {count} 字节",
    "line {number}: {reason}": "第 {number} 行：{reason}",
    "a case is a JSON object": "每个冲突须为一个 JSON 对象",
    "give either \"type\" or \"rules\", not both": "请只给出 \"type\" 或 \"rules\" 之一，不能同时给出",
    "\"type\" is missing; give it, or \"rules\" in its place": "缺少 \"type\"；请给出它，或以 \"rules\" 代替",
    "give what stands under \"case\", not the whole vector": "请给出 \"case\" 之下的内容，而不是整个测试向量",
    "\"type\" is no string": "\"type\" 不是字符串",
    "the rules have no record type \"{type}\"": "规则中没有记录类型 \"{type}\"",
    "no app here knows the record type \"{type}\"": "这里没有应用支持记录类型 \"{type}\"",
    "\"{side}\" is no version of a record": "\"{side}\" 不是记录的版本",
    "\"modifiedAt\" of \"{side}\" must be a whole number of milliseconds":
      "\"{side}\" 的 \"modifiedAt\" 须为以毫秒计的整数",
    "\"fields\" of \"{side}\" must be a JSON object, or null for a delete":
      "\"{side}\" 的 \"fields\" 须为 JSON 对象，删除时为 null",
    "\"deleted\" of \"{side}\" must be true where \"fields\" is null and false elsewhere":
      "\"{side}\" 的 \"deleted\" 在 \"fields\" 为 null 时须为 true，否则须为 false",
    "\"{member}\" of \"{side}\" must be a string": "\"{side}\" 的 \"{member}\" 须为字符串",
    "the rules {path} cannot be read: {error}; give the path of a file as in docs/rules.md":
      "无法读取规则 {path}：{error}；请按 docs/rules.md 给出文件的路径",
    "{path}: {reason}; see docs/rules.md": "{path}：{reason}；请参阅 docs/rules.md",
    "no file is synced here; add one: lockstep vault add FILE":
      "这里没有同步的文件；请添加：lockstep vault add FILE",
    "{path} is not a regular file; replace it with one, or forget it":
      "{path} 不是普通文件；请换成普通文件，或停止同步（lockstep vault forget）",
    "{path} cannot be examined: {error}": "无法检查 {path}：{error}",
    "{error}; free disk space, then the device retries": "{error}；请释放磁盘空间，随后设备会重试",
    "{path} cannot be read: {error}": "无法读取 {path}：{error}",
    "another program has {path} open for writing; it is replaced once that program closes it":
      "另一个程序正打开 {path} 进行写入；该程序关闭后会替换此文件",
    "{path} cannot be written: {error}": "无法写入 {path}：{error}",
    "{path} cannot be replaced: {error}": "无法替换 {path}：{error}",
    "{path} cannot be removed: {error}": "无法移除 {path}：{error}",
    "{folder} cannot be written to: {error}": "无法写入文件夹 {folder}：{error}",
    "it keeps changing while it is read; the device retries": "读取期间文件不断变化；设备会重试",
    "cannot watch files: too many inotify instances; raise fs.inotify.max_user_instances":
      "无法监视文件：inotify 实例过多；请增大 fs.inotify.max_user_instances",
    """
    the folder {folder} cannot be watched ({error}); make it readable, or raise \
    fs.inotify.max_user_watches
    """:
      "无法监视文件夹 {folder}（{error}）；请使其可读，或增大 fs.inotify.max_user_watches",
    "it is uploaded when the relay is reachable ({reason})": "连接到中继后会上传（{reason}）",
    "the account's plan does not include the vault; ask the relay's owner": "账户的套餐不包含文件；请联系中继管理员",
    "it cannot be uploaded: {reason}": "无法上传：{reason}",
    "the relay refuses it: {reason}": "中继不接受此文件：{reason}",
    "the home cannot be written": "无法写入数据目录",
    "{file} is not a valid record name; forget it, and add it with --name":
      "“{file}”不是有效的名称；请停止同步，再用 --name 添加",
    "{reason}; or move the file away: the account's version then comes":
      "{reason}；或者移走文件：随后会取得账户中的版本",
    """
    {reason}; the file is unchanged; to replace the record with this device's version, add the \
    file again (lockstep vault add)
    """:
      "{reason}；文件未更改；要用此设备的版本替换，请重新添加文件（lockstep vault add）",
    "the account's record is not a file's record: another program, or the relay, has written it":
      "账户中的记录不是文件的记录：由其他程序或中继写入",
    """
    the account's record is not sealed: a device without the vault's key, or the relay, has \
    written it
    """:
      "账户中的记录未加密：由没有文件专用密钥的设备或中继写入",
    "the account's record is sealed, and this file is not": "账户中的记录已加密，而此文件未加密",
    "this device cannot read the account's record": "此设备无法读取账户中的记录",
    "the folder {folder} is not there; restore it, or forget the file (lockstep vault forget)":
      "文件夹 {folder} 不存在；请恢复它，或停止同步该文件（lockstep vault forget）",
    "{path} is a folder; move it away, or forget the file":
      "{path} 是文件夹；请移走它，或停止同步该文件（lockstep vault forget）",
    "it has {size}; the limit is {limit}": "大小为 {size}；上限为 {limit}",
    """
    {path} is gone, and its folder is another one than before: if a disk is not mounted, mount \
    it; if the file was deleted, forget it (lockstep vault forget)
    """:
      "{path} 已不存在，且其文件夹与之前不同：如果磁盘未挂载，请挂载；如果文件已删除，请停止同步（lockstep vault forget）",
    "{file} is not a valid record name; give the file a shorter name": "“{file}”不是有效的名称；请给文件起更短的名称",
    "the conflict copy {file} cannot be read on this device, or is sealed differently":
      "此设备无法读取冲突副本“{file}”，或其加密方式不同",
    "{path} has another version of the file and cannot be renamed; move it yourself":
      "{path} 是该文件的另一个版本，且无法重命名；请自行移走",
    "{path} has another version of the file; rename it yourself": "{path} 是该文件的另一个版本；请自行重命名",
    "it has more chunks than a record can list; split it, or forget it":
      "文件的数据块过多，无法记录；请拆分文件，或停止同步（lockstep vault forget）",
    "a chunk has {bytes} bytes, which is too large": "有一个数据块为 {bytes} 字节，过大",
    "the home is busy with other chunks": "数据目录正在处理其他数据块",
    "this home has not joined an account; join one first": "此数据目录尚未加入账户；请先加入一个账户",
    "some of its chunks are not at the relay yet": "部分数据块尚未到达中继",
    "some of its chunks are damaged in this home and are downloaded again":
      "此数据目录中的部分数据块已损坏，正在重新下载",
    "the relay cannot be reached ({reason})": "无法连接到中继（{reason}）",
    "another program has it open for writing; it is replaced once that program closes it":
      "另一个程序正打开该文件进行写入；该程序关闭后会替换",
    "the account's version is damaged; add it again on a device with an intact copy":
      "账户中的版本已损坏；请在拥有完好文件的设备上重新添加",
    "{path} cannot be used; see the log of lockstep agent run":
      "{path} 无法使用；请查看 lockstep agent run 的日志",
    "the vault does not know that request": "文件不认识此请求",
    "the file needs an absolute path": "文件需要绝对路径",
    "the folder {folder} is not there; create it, then try again": "文件夹 {folder} 不存在；请创建它，然后重试",
    "“{name}” is no name for a file; give one with --name": "“{name}”不能用作文件名称；请用 --name 指定名称",
    """
    a file that is not sealed cannot be named {name} in the vault, because that name is reserved; \
    choose another with --name
    """:
      "未加密的文件不能命名为“{name}”，因为该名称已保留；请用 --name 选用其他名称",
    """
    {file} is synced already, at {path}; give this file another name with --name, or forget that \
    one first (lockstep vault forget)
    """:
      "“{file}”已在同步，位于 {path}；请用 --name 给此文件指定其他名称，或先停止同步那个文件（lockstep vault forget）",
    "{path} is synced already, as {file}": "{path} 已在同步，名称为“{file}”",
    "{path} is in the home itself; move the file elsewhere": "{path} 位于数据目录内；请将文件移到别处",
    "{count} files are synced already, the limit; forget some (lockstep vault forget)":
      "已有 {count} 个文件在同步，达到上限；请停止同步一些文件（lockstep vault forget）",
    "{path} is a folder; add the files in it one by one": "{path} 是文件夹；请逐个添加其中的文件",
    "{path} has {size}; the limit is {limit}": "{path} 的大小为 {size}；上限为 {limit}",
    """
    the account's records are sealed, and so are all files of its vault; add the file without \
    --plain
    """:
      "账户的内容已端到端加密，所有文件也是如此；请不加 --plain 添加文件",
    """
    the account's file {file} is not sealed: the relay's owner can read it, and may have put it \
    there; add it with --plain if that is meant, or under another --name
    """:
      "账户中的文件“{file}”未加密：中继管理员可以读取它，它也可能是中继管理员放入的；如果确实如此打算，请加上 --plain 添加，或用 --name 指定其他名称",
    "there is no file {path}, and the account has none called {file}; see lockstep vault list":
      "没有文件 {path}，账户中也没有名为“{file}”的文件；请查看 lockstep vault list",
    "the file was changed just now; try again": "文件刚刚被更改；请重试",
    "this home is being closed; try again": "此数据目录正在关闭；请重试",
    "this home syncs no file of that name; see lockstep vault status":
      "此数据目录没有同步该名称的文件；请查看 lockstep vault status",
    "{copy} is a conflict copy of {file}; delete the file to remove it on all devices":
      "“{copy}”是“{file}”的冲突副本；删除该文件即可在所有设备上移除",
    "{percent} %  {done} of {size}": "{percent}%  {done} / {size}",
    "no file is synced here; add one with lockstep vault add FILE":
      "这里没有同步的文件；请用 lockstep vault add FILE 添加",
    "FILE": "文件",
    "STATE": "状态",
    "SIZE": "大小",
    "WHERE": "位置",
    "unknown": "未知",
    "synced": "已同步",
    "syncing": "正在同步",
    "uploading": "正在上传",
    "downloading": "正在下载",
    "error": "错误",
    "sent; the relay had all its chunks": "已发送；中继已有全部数据块",
    "sent {size} of new chunks": "已发送 {size} 的新数据块",
    "received {size} from {device}": "已从 {device} 收到 {size}",
    "both versions kept; the other is {file}": "两个版本均已保留；另一个是“{file}”",
    "removed; it was deleted on another device": "已移除；它已在另一台设备上删除",
    "deleted here and on all devices": "已在此处和所有设备上删除",
    "failed: {reason}": "失败：{reason}",
    """
    the account's keys open this vault: it has no key of its own; lockstep agent key --help says \
    how to print, restore and replace them
    """:
      "这些文件由账户的密钥打开，没有专用的密钥；输出、恢复和更换密钥的方法见 lockstep agent key --help",
    """
    the account's keys open this vault, and this device does not have them: pair it again with a \
    code of a device that has them (lockstep agent pair), or restore them from the phrase \
    (lockstep agent key restore --home {home})
    """: """
    这些文件由账户的密钥打开，而此设备没有密钥：请用拥有密钥的设备的配对码重新配对（lockstep agent pair），或用恢复短语恢复密钥（\
    lockstep agent key restore --home {home}）
    """,
    "the home cannot be read": "无法读取数据目录",
    "this device does not have the vault's key; bring it with lockstep vault unlock":
      "此设备没有文件专用密钥；请用 lockstep vault unlock 获取",
    """
    the vault's key, made once for an account, could not be made: {reason}; do it again with the \
    relay in reach
    """:
      "未能生成文件专用密钥（每个账户生成一次）：{reason}；请在能连接到中继时重试",
    """
    this account's vault has a key already, and this device does not have it: get a code with \
    lockstep agent pair on a device that has it, and give it to lockstep vault unlock --home \
    {home}, or bring it with lockstep vault restore; {advice}
    """: """
    此账户已有文件专用密钥，而此设备没有：请在拥有密钥的设备上用 lockstep agent pair 获取配对码，\
    并输入到 lockstep vault unlock --home {home}，或用 lockstep vault restore 恢复密钥；{advice}
    """,
    """
    if none of your devices has that key, and no phrase of it is written down, somebody else has \
    put it there: lockstep vault new-key --instead-of {key} puts this device's in its place
    """:
      "如果你的所有设备都没有该密钥，也没有写下它的恢复短语，那么它是由他人放入的：lockstep vault new-key --instead-of {key} 会用此设备的密钥替换它",
    "that is the key that this home has; there is nothing to replace": "这就是此数据目录拥有的密钥；无需替换",
    """
    the vault's key cannot be given along: {reason}; lockstep agent pair --no-vault makes a code \
    without it
    """:
      "无法一并提供文件专用密钥：{reason}；lockstep agent pair --no-vault 会生成不含该密钥的配对码",
    "this home's key ({key}) is not the one of the account's vault ({current}); {advice}":
      "此数据目录的密钥（{key}）不是账户的文件专用密钥（{current}）；{advice}",
    """
    that code has the relay's half alone, and no vault's key comes with it: lockstep agent pair \
    prints one of 24 letters on a device that has the key
    """:
      "此配对码只有中继的那一半，不含文件专用密钥：在拥有密钥的设备上，lockstep agent pair 会输出 24 个字符的配对码",
    """
    no vault's key waits under that code: it was used, has expired, or its first half is \
    mistyped; make a new one with lockstep agent pair on a device that has the key
    """:
      "此配对码下没有文件专用密钥：它已使用、已过期，或前半部分输入有误；请在拥有密钥的设备上用 lockstep agent pair 生成新的配对码",
    "the second half of that code is wrong; nothing was changed, so look at it and try again":
      "此配对码的后半部分有误；没有更改任何内容，请核对后重试",
    "that is the key of another vault ({key}); this account's is {current}":
      "这是其他账户的文件专用密钥（{key}）；此账户的是 {current}",
    "this home has another vault's key already ({current}, not {key}); nothing was changed":
      "此数据目录已有其他账户的文件专用密钥（{current}，而不是 {key}）；没有更改任何内容",
    """
    this machine has not the {size} of memory that a code's secret takes; try again when others \
    need less
    """:
      "此电脑没有处理配对码所需的 {size} 内存；请在其他程序占用较少时重试",
    """
    {path} does not hold a vault's key; move it away, then bring the key back with lockstep vault \
    restore or unlock
    """:
      "{path} 不包含文件专用密钥；请移走它，然后用 lockstep vault restore 或 unlock 取回密钥",
    "the process that holds the home {home} has gone; try again": "占用数据目录 {home} 的进程已结束；请重试",
    "the relay did not say whether the key was made; try again": "中继没有说明密钥是否已生成；请重试",
    "the account's vault has no key; lockstep vault add makes one":
      "此账户没有文件专用密钥；lockstep vault add 会生成",
    "the key of the account's vault is {current}, and not {key}": "账户的文件专用密钥是 {current}，而不是 {key}",
    "another device has just changed the vault's key; look again": "另一台设备刚刚更改了文件专用密钥；请重新查看",
    "what waits under that code is no vault's key; make a new code with lockstep agent pair":
      "此配对码下的内容不是文件专用密钥；请用 lockstep agent pair 生成新的配对码",
    "another key waits under that code; make a new one": "此配对码下已有其他密钥；请生成新的配对码",
    "the account's record of its vault's key cannot be read; another program wrote it: {advice}":
      "无法读取账户中关于文件专用密钥的记录，它由其他程序写入：{advice}",
    """
    {path} is damaged; move it away, and add the vault's files again (lockstep vault add): \
    nothing is lost by that
    """:
      "{path} 已损坏；请移走它，并重新添加文件（lockstep vault add）：不会丢失任何内容",
  ]
}
