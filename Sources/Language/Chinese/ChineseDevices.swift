extension Chinese {
  static let devices: [String: String] = [
    "the relay did not answer in time": "中继没有及时响应",
    "the process that holds this home has no app {app}; restart that process":
      "占用此数据目录的进程没有应用 {app}；请重新启动该进程",
    "the device joins again": "设备正在重新加入",
    """
    the relay does not know this device any more; join the account again with a code of another \
    device (lockstep agent join); unsent changes are kept
    """:
      "中继不再认识此设备；请用另一台设备的配对码重新加入账户（lockstep agent join）；未发送的更改会保留",
    "the account's plan does not include sync ({reason})": "账户的套餐不包含同步（{reason}）",
    "{reason}; this version does not know the reason: update it": "{reason}；此版本不认识该原因：请更新",
    "the call was stopped": "请求已停止",
    "the account lives at {relay} now": "账户现在位于 {relay}",
    """
    the relays at {former} and {relay} each send this device to another address; ask their owners \
    where the account is
    """:
      "{former} 和 {relay} 处的中继都让此设备转到另一个地址；请向它们的管理者询问账户在哪里",
    """
    the relay at {former} says that the account has moved, and does not say to which address; ask \
    its owner
    """:
      "{former} 处的中继说账户已迁移，但没有说明地址；请询问其管理者",
    """
    the relay at {former} says that the account has moved to this same address; ask its owner
    """:
      "{former} 处的中继说账户已迁移到这个相同的地址；请询问其管理者",
    """
    the relay at {former} says that the account has moved to {relay}, an address without TLS, \
    which is not followed; ask its owner
    """:
      "{former} 处的中继说账户已迁移到 {relay}，该地址不使用 TLS，因此不会转过去；请询问其管理者",
    """
    the relay at {relay} and others send each other's devices in a circle; ask their owners where \
    the account is
    """:
      "{relay} 处的中继和其他中继让设备来回转；请向它们的管理者询问账户在哪里",
    "the relay could not be reached in time": "未能及时连接到中继",
    "the relay closed the connection": "中继关闭了连接",
    """
    no authority that is trusted here has signed the relay's certificate; if it is an authority of \
    your own, name its file with --ca when you join
    """:
      "中继的证书没有由此处信任的机构签名；如果是你自己的机构，请在加入时用 --ca 指定其文件",
    """
    the relay's certificate is for another name; use a name that the certificate contains, or have \
    the relay's owner obtain one for this name
    """:
      "中继的证书属于另一个名称；请使用证书包含的名称，或请中继管理员为此名称申请证书",
    "the relay's certificate has expired; have the relay's owner renew it": "中继的证书已过期；请让中继管理员续期",
    "the relay's certificate is not valid yet; check this machine's clock": "中继的证书尚未生效；请检查此电脑的时钟",
    "the peer does not use TLS; check the port, and whether the address must begin with http://":
      "对方不使用 TLS；请检查端口，以及地址是否应以 http:// 开头",
    "the peer does not speak the protocol of this connection; check its address and port":
      "对方不使用此连接的协议；请检查其地址和端口",
    "the TLS handshake failed: {reason}": "TLS 握手失败：{reason}",
    "something between this device and the relay refuses large requests (status 413)":
      "此设备与中继之间的某个环节拒绝较大的请求（状态 413）",
    "something between this device and the relay answered in its place, with status {status}":
      "此设备与中继之间的某个环节代为响应，状态为 {status}",
    "the relay closed the socket ({code}): {reason}": "中继关闭了套接字（{code}）：{reason}",
    "the relay did not answer the WebSocket handshake in time": "中继没有及时响应 WebSocket 握手",
    "the relay sent no data in time": "中继没有及时发送数据",
    "the relay closed the socket ({code} {reason})": "中继关闭了套接字（{code} {reason}）",
    "the relay sent a malformed message: {reason}": "中继发送了格式有误的消息：{reason}",
    "the WebSocket handshake was answered with status {status}": "WebSocket 握手的响应状态为 {status}",
    "the relay ended the stream": "中继结束了事件流",
    "the answer is not an event stream": "响应不是事件流",
    "the answer with status {status} is not from the relay": "状态为 {status} 的响应不是来自中继",
    "the process that holds the home does not report its status": "占用数据目录的进程没有报告其状态",
    "{app} is switched off here and not synced; switch it on with lockstep {app} on":
      "{app} 在此处已关闭，不会同步；要打开，请运行 lockstep {app} on",
    "Type {name}; it ends with Ctrl-D.": "请输入{name}；按 Ctrl-D 结束。",
    "DEVICE": "设备",
    "NAME": "名称",
    "PLATFORM": "平台",
    "SCOPE": "范围",
    "SEEN": "上次在线",
    "{seen} (this one)": "{seen}（此设备）",
    "this device was paired for {scope}: the relay shows it no others":
      "此设备配对时的范围是 {scope}：中继不会向它显示其他设备",
    "wakes of this device ({id}): {state}": "此设备的唤醒（{id}）：{state}",
    "this device is now called {name}": "此设备现在名为{name}",
    "{device} is now called {name}": "{device} 现在名为{name}",
    """
    this device was paired for {scope}, and cannot remove others: do it on a device with the whole \
    account
    """:
      "此设备配对时的范围是 {scope}，不能移除其他设备：请在拥有整个账户的设备上操作",
    "that is this device; remove it with lockstep agent leave":
      "这就是此设备；要移除它，请运行 lockstep agent leave",
    "{name} ({id}) was removed from this account": "{name}（{id}）已从此账户移除",
    "the account has no device \u{201C}{name}\u{201D}; see lockstep agent devices":
      "账户没有名为“{name}”的设备；请查看 lockstep agent devices",
    "{count} devices have that name; give the id that lockstep agent devices shows":
      "有 {count} 台设备使用该名称；请给出 lockstep agent devices 显示的 ID",
    "{contents} in {path}": "{contents}，位于 {path}",
    "{contents} in {path}; this device was paired for a part of the account: {scope}":
      "{contents}，位于 {path}；此设备仅针对账户的一部分配对：{scope}",
    "{count} records": "{count} 条记录",
    "{count} files": "{count} 个文件",
    "{count} chunks of files": "{count} 个文件块",
    "{count} chunks that do not open": "{count} 个无法打开的块",
    "{count} waiting for you": "{count} 项等待你处理",
    ", ": "、",
    "On the other device, within {time}:": "请在 {time}内在另一台设备上运行：",
    "and enter the code there, or this link, which contains relay and code:":
      "并在那里输入配对码，或输入这个包含中继和配对码的链接：",
    "The new device may {abilities}.": "新设备可以{abilities}。",
    "The code carries the keys of its sealed zones.": "配对码包含其加密区域的密钥。",
    """
    The code carries the account's keys. The new device shows these six words if it has the\nsame \
    keys:
    """:
      "配对码包含账户的密钥。如果密钥相同，新设备会显示这六个词：",
    "In a browser, open this link, and type the second half of the code there:":
      "在浏览器中打开此链接，并在那里输入配对码的后半部分：",
    "In a browser, open this link, which does not open the vault:": "在浏览器中打开此链接（无法打开文件）：",
    "In a browser, open this link:": "在浏览器中打开此链接：",
    "the zone {zone} is for the account's keys alone; leave it out": "区域 {zone} 仅用于账户的密钥；请不要指定它",
    """
    the account's records are sealed, and this device does not have the keys, so its code would \
    not carry them: pair from a device that has them, or restore them first (lockstep agent key \
    restore)
    """:
      "账户已端到端加密，而此设备没有密钥，因此它的配对码不会包含密钥：请在拥有密钥的设备上配对，或先恢复密钥（lockstep agent key restore）",
    """
    the account's keys open its vault, so a code cannot do without; to leave the vault out, name \
    the other zones (--zones)
    """:
      "账户的密钥可以打开文件，配对码无法排除它；要排除文件，请指定其他区域（--zones）",
    """
    this device was paired for {scope}, and can give other devices no more than that; run lockstep \
    agent pair on a device that has those zones
    """:
      "此设备配对时的范围是 {scope}，不能给予其他设备更多权限；请在拥有这些区域的设备上运行 lockstep agent pair",
    "{count} seconds": "{count} 秒",
    "{count} minutes": "{count} 分钟",
    "of its zones alone": "仅其区域的密钥",
    "none, although the account's records are sealed; see lockstep doctor":
      "没有，而账户已端到端加密；请查看 lockstep doctor",
    "none of {zones}, whose records are sealed; see lockstep doctor":
      "没有 {zones} 的密钥，而其内容已端到端加密；请查看 lockstep doctor",
    "keys": "密钥",
    "; ": "；",
    "another process holds the home {home} already": "另一个进程已在使用数据目录 {home}",
    "another process holds the home {home}; stop that one first": "另一个进程正在使用数据目录 {home}；请先停止该进程",
    """
    {count} changes were not synced and would be lost; sync first (lockstep agent sync --home \
    {home}), or leave with --force
    """:
      "{count} 项更改尚未同步，将会丢失；请先同步（lockstep agent sync --home {home}），或使用 --force 离开",
    "{home} has left its account": "{home} 已离开其账户",
    "{first} and of {second}": "{first} 和 {second}",
    """
    this is the account's last device, and nobody can read its sealed records without its keys: \
    write down the output of {commands}
    """:
      "这是账户的最后一台设备，没有它的密钥，任何人都无法读取加密的内容：请写下以下命令的输出：{commands}",
    "{reason}; or leave with --force": "{reason}；或使用 --force 离开",
    "give either --new or --code CODE": "请指定 --new 或 --code CODE 之一",
    "--sealed makes the keys of a new account; a code carries those of its account":
      "--sealed 会为新账户生成密钥；配对码则包含其账户的密钥",
    "give --sealed or --plain, and not both": "请指定 --sealed 或 --plain 之一，不要同时指定",
    "{device} is a device of account {account} on {relay}, and has the key of its vault":
      "{device} 已成为中继 {relay} 上账户 {account} 的设备，并拥有其文件的密钥",
    "{device} is a device of account {account} on {relay}":
      "{device} 已成为中继 {relay} 上账户 {account} 的设备",
    "Its home is {home}": "数据目录：{home}",
    "It may {abilities}.": "它可以{abilities}。",
    """
    The account's records are sealed, and that code carries no keys: this device can read\nand \
    change nothing yet. Bring the keys with one of these:
    """:
      "账户已端到端加密，而该配对码不包含密钥：此设备还不能读取或更改任何内容。\n请用以下方式之一取得密钥：",
    "  lockstep agent join --code CODE   a code of lockstep agent pair, on a device with the keys":
      "  lockstep agent join --code CODE   拥有密钥的设备上 lockstep agent pair 的配对码",
    "  lockstep agent key restore        the phrase that was written down":
      "  lockstep agent key restore        已写下的恢复短语",
    "It has the keys of its sealed zones.": "它拥有其加密区域的密钥。",
    "Its records are sealed: the relay cannot read them. Devices with the same keys show:":
      "内容已端到端加密：中继无法读取。拥有相同密钥的设备会显示：",
    "Write the keys down, in case that all devices are lost: lockstep agent key phrase":
      "请写下密钥，以防所有设备丢失：lockstep agent key phrase",
    "This device has the account's keys. The device that made the code shows the same six words:":
      "此设备拥有账户的密钥。生成配对码的设备会显示相同的六个词：",
    "If it does not, leave the account (lockstep agent leave), and pair again.":
      "如果不同，请离开账户（lockstep agent leave），然后重新配对。",
    """
    the device has joined, but does not have the vault's key: {reason}; then run lockstep vault \
    unlock --home {home}
    """:
      "设备已加入，但没有文件的密钥：{reason}；然后请运行 lockstep vault unlock --home {home}",
    "--relay says {relay}, and the link {link}; give one of them":
      "--relay 给出 {relay}，而链接给出 {link}；请只给出其中一个",
    """
    --relay URL is missing (or LOCKSTEP_RELAY in the environment); a link with a code has it too; \
    see lockstep agent join --help
    """:
      "缺少 --relay URL（或环境变量 LOCKSTEP_RELAY）；带配对码的链接也包含它；请查看 lockstep agent join --help",
    """
    the home {home} belongs to account {account} on {relay} already; leave that first (lockstep \
    agent leave --home {home}), name another home, or give a code of that account
    """:
      """
    数据目录 {home} 已属于 {relay} 上的账户 {account}；请先离开该账户（lockstep agent leave --home \
    {home}）、指定另一个数据目录，或给出该账户的配对码
    """,
    """
    Write these {count} words down and keep them away from your devices. If all devices are\nlost, \
    they bring the account's records back: lockstep agent key restore, on a new\ndevice of the \
    account.
    """:
      "请写下这 {count} 个词，并与你的设备分开保管。如果所有设备都丢失，\n它们可以找回账户的内容：在账户的新设备上\n运行 lockstep agent key restore。",
    """
    this device was paired for some zones, and the phrase opens all: restore it on a device with \
    the whole account
    """:
      "此设备仅针对部分区域配对，而恢复短语可打开全部：请在拥有整个账户的设备上恢复",
    "this device has the account's keys ({words})": "此设备拥有账户的密钥（{words}）",
    "that is a phrase of a vault; lockstep vault restore takes it; nothing was changed":
      "这是文件的恢复短语；请用于 lockstep vault restore；没有更改任何内容",
    """
    this device was paired for some zones, and has the keys of these alone; ask a device with the \
    whole account
    """:
      "此设备仅针对部分区域配对，只有这些区域的密钥；请使用拥有整个账户的设备",
    """
    the home {home} has no keys: its account's records are not sealed, or it joined with a code \
    that carries none; if they are sealed, lockstep agent key restore brings the keys back
    """:
      "数据目录 {home} 没有密钥：其账户未端到端加密，或者它用不含密钥的配对码加入；如果账户已加密，lockstep agent key restore 可恢复密钥",
    "The language is that of the system now.": "现在使用系统的语言。",
    "The language is {language} now.": "语言现在是{language}。",
    "this device was paired for {scope}: seal zones on a device with the whole account":
      "此设备配对时的范围是 {scope}：请在拥有整个账户的设备上加密区域",
    "{name} is not a zone's name": "{name} 不是区域的名称",
    "zone {zone} is where devices give each other keys: its records are sealed":
      "设备在区域 {zone} 中互相传递密钥：其内容已加密",
    "the account has no records in a zone {zone}; the apps' zones are {zones}":
      "账户在区域 {zone} 中没有记录；应用的区域有 {zones}",
    "nothing is sealed yet: these devices do not have the account's keys": "尚未加密任何内容：以下设备没有账户的密钥",
    """
    For each, make a code here (lockstep agent pair --home {home}), and enter it there\n(lockstep \
    agent join --code - --home DIR; in a browser, under Devices). Each then shows
    """:
      """
    请在此处为每台设备生成配对码（lockstep agent pair --home {home}），并在那里输入\n（lockstep agent join --code - \
    --home DIR；浏览器中在“设备”下）。随后每台设备会显示
    """,
    "Remove those that are not used any more (lockstep agent revoke). Then repeat":
      "请移除不再使用的设备（lockstep agent revoke）。然后再次运行",
    "zone {zone} is sealed: {count} records saved again": "区域 {zone} 已端到端加密：重新保存了 {count} 条记录",
    """
    {count} of zone {zone} are not sealed yet: the relay does not answer, or refuses them \
    (lockstep agent status); repeat the command
    """:
      "区域 {zone} 中还有 {count} 条记录未加密：中继没有响应，或拒绝了它们（lockstep agent status）；请再次运行该命令",
    """
    Still without the keys: {names}. Give the command again once they have them, for what they may \
    save until they hear of it.
    """:
      "仍没有密钥：{names}。等它们拥有密钥后，请再次运行该命令，以处理它们在此之前可能保存的内容。",
    "Pair again, for the keys of their zones: {names}": "请重新配对，以取得其区域的密钥：{names}",
    "the agent does not say how it is woken: {reason}": "代理没有说明如何被唤醒：{reason}",
    "the agent cannot be woken: {reason}": "无法唤醒代理：{reason}",
    "the agent is woken through {distributor}": "代理通过 {distributor} 唤醒",
    "the agent is registering": "代理正在注册",
    "no agent runs with --wake; start one with lockstep agent run --wake":
      "没有使用 --wake 运行的代理；请用 lockstep agent run --wake 启动",
    "the registrations at the relay are not known: {reason}": "无法得知中继上的注册：{reason}",
    "the relay has no registration of this device": "中继上没有此设备的注册",
    "REGISTRATION": "注册",
    "LAST SENT": "上次发送",
    "LAST ANSWERED": "上次应答",
    "never": "从未",
    "the process that holds the home has another version; stop it": "占用数据目录的进程是另一个版本；请停止它",
    "{seen}, after {time} ms": "{seen}，用时 {time} 毫秒",
    "ok": "正常",
    "FAILED": "失败",
    "pushes wake this device": "推送可以唤醒此设备",
    "pushes do not wake this device": "推送无法唤醒此设备",
    "an agent of this home runs with --wake; stop it, then run it without, and try again":
      "此数据目录的代理正在使用 --wake 运行；请停止它，改为不带 --wake 运行，然后重试",
    """
    it is not known if an agent of this home runs with --wake, so nothing was changed: {reason}; \
    if it stays so, stop that process
    """:
      "无法得知此数据目录的代理是否使用 --wake 运行，因此没有更改任何内容：{reason}；如果一直如此，请停止该进程",
    "this device is not woken by pushes any more": "此设备不再由推送唤醒",
    "the distributor may keep a registration: {reason}": "分发程序可能仍保留注册：{reason}",
    "the account's records are sealed, and that code is its first half alone":
      "账户已端到端加密，而该配对码只有前半部分",
    "Second half of the code, 12 letters: ": "配对码的后半部分（12 个字符）：",
    "that has not twelve letters and digits": "这不是十二个字母和数字",
    """
    {reason}; this device has not joined, and the code is used up: get a new one with lockstep \
    agent pair, and give all of its 24 letters
    """:
      "{reason}；此设备未能加入，配对码已失效：请用 lockstep agent pair 获取新的配对码，并输入全部 24 个字符",
    "Code: ": "配对码：",
    "standard input has no pairing code": "标准输入中没有配对码",
    "{source}: {reason}": "{source}：{reason}",
    """
    root has no default; run this as the user whose device it is, or name the home here or in \
    LOCKSTEP_HOME
    """:
      "root 没有默认值；请以设备所属用户的身份运行，或在此处或 LOCKSTEP_HOME 中指定数据目录",
    "HOME is not set, so there is no default; name the home here or in LOCKSTEP_HOME":
      "未设置 HOME，因此没有默认值；请在此处或 LOCKSTEP_HOME 中指定数据目录",
    "{path} cannot be made: {reason}; name another folder for the home with --home DIR":
      "无法创建 {path}：{reason}；请用 --home DIR 指定另一个数据目录",
    "{line}; it will be synced with the next command, or by lockstep agent run":
      "{line}；将在下一个命令时或由 lockstep agent run 同步",
    "the home {home} has not joined an account; there is nothing to export":
      "数据目录 {home} 尚未加入账户；没有可导出的内容",
    "the export was interrupted; its files were removed": "导出已中断；其文件已移除",
    "the chunk": "文件块",
    "the home {home} has not joined an account; see lockstep agent join --help":
      "数据目录 {home} 尚未加入账户；请查看 lockstep agent join --help",
    "this home's device is not woken by pushes; start lockstep agent run --wake --home {home}":
      "此数据目录的设备不由推送唤醒；请运行 lockstep agent run --wake --home {home}",
    "{path}: {reason}; remove the file, and name the rules again with lockstep agent run --rules":
      "{path}：{reason}；请移除该文件，然后用 lockstep agent run --rules 重新指定规则",
    "the zone {zone} has the rules of the app {app}; choose another zone":
      "区域 {zone} 使用应用 {app} 的规则；请选用另一个区域",
    "the zone {zone} is for the account's keys alone; choose another zone":
      "区域 {zone} 仅用于账户的密钥；请选用另一个区域",
    "{reason}; use another home for further zones": "{reason}；其他区域请使用另一个数据目录",
    "the home {home} is held by another process that does not answer; stop it, then try again":
      "数据目录 {home} 正由另一个没有响应的进程使用；请停止该进程，然后重试",
    "there is no home at {home}; create one with lockstep agent join --home {home}":
      "{home} 没有数据目录；请用 lockstep agent join --home {home} 创建",
    "there is no home at {home}; create one with lockstep agent join, or name one: {others}":
      "{home} 没有数据目录；请用 lockstep agent join 创建，或指定已有的：{others}",
    "there is no home at {home}; create one with lockstep agent join":
      "{home} 没有数据目录；请用 lockstep agent join 创建",
    "the process that holds the home {home} did not answer; try again": "占用数据目录 {home} 的进程没有响应；请重试",
    """
    the process that held the home {home} ended before it answered; the command may have been \
    applied: check before you repeat it
    """:
      "占用数据目录 {home} 的进程在响应之前结束；命令可能已执行：重复之前请先检查",
    """
    the process that holds the home {home} did not answer; the command may still be applied: check \
    before you repeat it
    """:
      "占用数据目录 {home} 的进程没有响应；命令仍可能会执行：重复之前请先检查",
    "Other devices of this account have {records}; this one started with none.":
      "此账户的其他设备上有{records}；此设备开始时没有任何内容。",
    "  yes    accept them": "  yes    接受",
    "  wipe   delete them on all devices and start empty": "  wipe   在所有设备上删除，从空白开始",
    "  later  decide another time": "  later  以后再决定",
    "yes, wipe or later? ": "请输入 yes、wipe 或 later：",
    "This deletes {records} on all devices, for good. Type wipe again: ":
      "这将从所有设备上永久删除{records}。请再次输入 wipe：",
    "this device has not read all records yet; sync first, then try again": "此设备尚未读取所有记录；请先同步，然后重试",
    "The account has new keys. All devices with them show these six words:":
      "账户有了新的密钥。拥有新密钥的所有设备会显示这六个词：",
    "{name} gets them with the next sync.": "{name}会在下次同步时获得新密钥。",
    "{names} get them with the next sync.": "{names}会在下次同步时获得新密钥。",
    "{names} cannot get them: pair again with a code of lockstep agent pair.":
      "{names}无法获得新密钥：请用 lockstep agent pair 的配对码重新配对。",
    "A phrase that was written down before is void: print lockstep agent key phrase.":
      "之前写下的恢复短语已失效：请用 lockstep agent key phrase 打印新的恢复短语。",
    "this device has the keys of some zones, and not those of the account": "此设备只有部分区域的密钥，没有账户的密钥",
    """
    the account has keys, and this device does not have them: get them with a code of lockstep \
    agent pair from a device that has them (lockstep agent join --code CODE)
    """:
      "账户已有密钥，而此设备没有：请用拥有密钥的设备上 lockstep agent pair 的配对码取得（lockstep agent join --code CODE）",
    """
    the vault has files that are not sealed, such as {file}: delete each on one device, and add it \
    again without --plain (lockstep vault add)
    """:
      "有未加密的文件，例如 {file}：请在一台设备上逐个删除，然后不带 --plain 重新添加（lockstep vault add）",
    """
    zone {zone} has records with files, and files that were attached before cannot be sealed: \
    remove them, or keep the zone as it is
    """:
      "区域 {zone} 中有带文件的记录，之前附加的文件无法加密：请移除它们，或让该区域保持原样",
    "zone {zone}: {count} of {total} records sealed": "区域 {zone}：已加密 {count} / {total} 条记录",
    "libdbus cannot be loaded: {reason}": "无法加载 libdbus：{reason}",
    "Install it, for example with apt-get install libdbus-1-3.":
      "请安装它，例如使用 apt-get install libdbus-1-3。",
    "there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set":
      "没有会话总线：未设置 DBUS_SESSION_BUS_ADDRESS",
    "Run the agent in a desktop session, or as a service of systemctl --user.":
      "请在桌面会话中运行代理，或作为 systemctl --user 的服务运行。",
    "the session bus at {address} cannot be used: {reason}": "无法使用 {address} 的会话总线：{reason}",
    "Check that the session bus runs, and that no other agent uses this home.":
      "请检查会话总线是否在运行，以及是否有其他代理使用此数据目录。",
    "the session bus does not list its programs: {reason}": "会话总线没有列出其程序：{reason}",
    "Check that the session bus runs; it is tried again.": "请检查会话总线是否在运行；程序会重试。",
    "the distributor {distributor} failed: {reason}": "分发程序 {distributor} 失败：{reason}",
    "Start the distributor again, and look at its messages.": "请重新启动分发程序，并查看其消息。",
    "the distributor {distributor} does not end the registration: {reason}":
      "分发程序 {distributor} 没有结束注册：{reason}",
    "Start the distributor.": "请启动分发程序。",
    "The distributor has no network; it is tried again.": "分发程序没有网络；程序会重试。",
    "Open the distributor's settings: it asks for something there.": "请打开分发程序的设置：其中有需要处理的事项。",
    "It is tried again; look at the distributor's messages.": "程序会重试；请查看分发程序的消息。",
    "the distributor {distributor} refused the registration ({word})":
      "分发程序 {distributor} 拒绝了注册（{word}）",
    "it did not answer": "没有响应",
    "the process that holds the home {home} did not answer": "占用数据目录 {home} 的进程没有响应",
    "the process that holds the home has another version": "占用数据目录的进程是另一个版本",
    "Repeat the command in a minute; if it stays so, restart the agent.":
      "请在一分钟后再次运行该命令；如果一直如此，请重新启动代理。",
    "the home's relay {relay} is no address of a relay": "数据目录的中继 {relay} 不是中继的地址",
    "Repeat the test in a minute.": "请在一分钟后重新测试。",
    "that request about wakes is not known": "不认识该唤醒请求",
    "the keys cannot be stored": "无法存储密钥",
    "Make room on the disk of the home, and check its permissions.": "请在数据目录所在的磁盘上释放空间，并检查其权限。",
    "It is tried again.": "程序会重试。",
    "the relay {relay} wakes no devices": "中继 {relay} 不唤醒设备",
    "Its owner can change that: docs/wake.md.": "中继管理员可以更改这一点：docs/wake.md。",
    "the distributor {distributor} is not on the session bus": "会话总线上没有分发程序 {distributor}",
    "Start it.": "请启动它。",
    "Start it, or choose another: {others}": "请启动它，或选用其他分发程序：{others}",
    "no UnifiedPush distributor is on the session bus": "会话总线上没有 UnifiedPush 分发程序",
    "Install and start one, for example KUnifiedPush.": "请安装并启动一个，例如 KUnifiedPush。",
    "the distributor has ended the registration": "分发程序结束了注册",
    "It registers again.": "设备会重新注册。",
    "the distributor {distributor} has left the session bus": "分发程序 {distributor} 已离开会话总线",
    "Start it again; this device then registers by itself.": "请重新启动它；此设备随后会自行注册。",
    "another test is running; wait for its end": "另一个测试正在进行；请等待其结束",
    "the device is still registering": "设备仍在注册",
    "Repeat the test in a few seconds.": "请在几秒后重新测试。",
    "Repeat the test when the relay can be reached.": "请在可以连接中继时重新测试。",
    "the push service took the push, and it did not arrive here in time": "推送服务接受了推送，但没有及时到达此处",
    "Check that the distributor is connected to its push service.": "请检查分发程序是否已连接到其推送服务。",
    "{path} has another form; remove it, and the device registers for wakes anew":
      "{path} 的格式不同；请移除它，设备会重新注册唤醒",
    "the distributor accepted the registration, and named no endpoint": "分发程序接受了注册，但没有给出端点",
    "Check in the distributor's settings that it is connected to its push service.":
      "请在分发程序的设置中检查它是否已连接到其推送服务。",
    "the relay's first push did not arrive": "中继的第一次推送没有到达",
    """
    Check that the distributor is connected to its push service, and that the relay reaches that \
    service: lockstep agent wake status shows its last error.
    """:
      "请检查分发程序是否已连接到其推送服务，以及中继能否连接该服务：lockstep agent wake status 会显示其最近的错误。",
    "the connection to the session bus has ended": "与会话总线的连接已结束",
    """
    It connects again by itself. If the session is over, start the agent in the next one; if it \
    happens often, a program sends messages over 1 MiB to this device.
    """:
      "会自动重新连接。如果会话已结束，请在下一个会话中启动代理；如果经常发生，说明有程序向此设备发送超过 1 MiB 的消息。",
    "the relay cannot take the registration now: {reason}": "中继现在无法接受注册：{reason}",
    "The relay's owner can allow that push service: lockstep relay run --wake-allow HOST.":
      "中继管理员可以允许该推送服务：lockstep relay run --wake-allow HOST。",
    "Turn wakes off in an app that shares this home; lockstep agent wake status lists them.":
      "请在共用此数据目录的应用中关闭唤醒；lockstep agent wake status 会列出它们。",
    "Check that device and relay have the same version.": "请检查设备和中继的版本是否相同。",
    "the relay does not take the registration: {reason}": "中继不接受注册：{reason}",
    "the relay does not take the code of its push: {reason}": "中继不接受其推送的代码：{reason}",
    "the registration there is not known: {reason}": "无法得知那里的注册：{reason}",
    "no keys can be read": "无法读取密钥",
    "Nothing is sent there any more; remove Lockstep in the distributor's settings.":
      "不会再向那里发送任何内容；请在分发程序的设置中移除 Lockstep。",
    "works, last proved {time}": "正常，上次验证：{time}",
    "registered, but never verified: no push has arrived yet": "已注册，但从未验证：尚未收到推送",
    "never verified: {reason}": "从未验证：{reason}",
    "{reason}; last proved {time}": "{reason}；上次验证：{time}",
    "Test it with lockstep agent wake test, or open the app that has registered.":
      "请用 lockstep agent wake test 测试，或打开已注册的应用。",
    "{count} days ago": "{count} 天前",
    "the push service refused the last push": "推送服务拒绝了上一次推送",
    "the push service does not accept the relay's key": "推送服务不接受中继的密钥",
    "the push service asks the relay to wait": "推送服务要求中继等待",
    "the push service does not answer the relay": "推送服务没有响应中继",
    "the relay does not send to this push service": "中继不向此推送服务发送",
    """
    Register again: restart lockstep agent run --wake, or turn the app's notifications off and on.
    """:
      "请重新注册：重新启动 lockstep agent run --wake，或关闭并重新打开应用的通知。",
    "The relay tries again by itself.": "中继会自动重试。",
    "Check that the push service runs; the relay tries again by itself.": "请检查推送服务是否在运行；中继会自动重试。",
    "The relay's owner can allow it: lockstep relay run --wake-allow HOST.":
      "中继管理员可以允许它：lockstep relay run --wake-allow HOST。",
    "{distributor} has registered this device": "{distributor} 已注册此设备",
    "the relay sends a push to this device": "中继向此设备发送推送",
    "the push came through the push service and the distributor": "推送已通过推送服务和分发程序到达",
    "the relay has its code back": "中继已收回其代码",
    "the home {home} cannot be used: {reason}": "无法使用数据目录 {home}：{reason}",
    "this device belongs to the account {account}; call leave first, or open another folder":
      "此设备属于账户 {account}；请先离开，或使用另一个文件夹",
    "the home {home} has schema {found}, and this library knows up to {known}; update the app":
      "数据目录 {home} 的结构版本为 {found}，而此程序最多支持 {known}；请更新",
    "there is no home at {home}; open it with Lockstep.open first":
      "{home} 没有数据目录；请先用 Lockstep.open 打开",
    "no space is left for {path}; free some, then try again": "{path} 没有剩余空间；请释放一些空间，然后重试",
    "the relay at {relay} cannot be reached: {reason}; is it running, and is that its address?":
      "无法连接到中继 {relay}：{reason}；它是否在运行，地址是否正确？",
    "{relay} is not trusted, and nothing was sent to it: {reason}":
      "{relay} 不受信任，没有向它发送任何内容：{reason}",
    "the relay at {relay} gave no answer: {reason}; try again": "中继 {relay} 没有响应：{reason}；请重试",
    "what answers at {address} is not a Lockstep relay ({reason}); check the address":
      "在 {address} 响应的不是 Lockstep 中继（{reason}）；请检查地址",
    "the device's store failed: {reason}": "设备的存储失败：{reason}",
    "it answers with status {status}": "响应状态为 {status}",
    """
    the relay made a code for more than was asked for, which is not shown here and expires by \
    itself; update the relay, then try again
    """:
      "中继生成的配对码超出了请求的权限，因此不在此显示，并会自动失效；请更新中继，然后重试",
    "{path} cannot be read: {reason}": "无法读取 {path}：{reason}",
    "{path} cannot be written: {reason}": "无法写入 {path}：{reason}",
    "{path} cannot be removed: {reason}": "无法移除 {path}：{reason}",
    "{path} cannot be replaced: {reason}": "无法替换 {path}：{reason}",
    "{path} cannot be made: {reason}": "无法创建 {path}：{reason}",
    "{path} cannot be made durable: {reason}": "无法可靠地写入 {path}：{reason}",
    "{path} cannot be opened: {reason}": "无法打开 {path}：{reason}",
    "{path} cannot be found: {reason}": "找不到 {path}：{reason}",
    "{path} is no regular file; put one in its place": "{path} 不是普通文件；请换成普通文件",
    "{path} has over {limit} bytes; put a smaller file in its place":
      "{path} 超过 {limit} 字节；请换成较小的文件",
    "this home has not joined an account; see lockstep agent join --help":
      "此数据目录尚未加入账户；请查看 lockstep agent join --help",
    "{line}; {zone} is switched off": "{line}；{zone} 已关闭",
    "{line}; {zone} is switched off ({count} changes wait)": "{line}；{zone} 已关闭（{count} 项待发送）",
    "in sync": "已同步",
    "in sync, {time} ago": "已同步，{time}前",
    "in sync, just now": "已同步，刚刚",
    "asleep for {time}, and woken by changes": "休眠 {time}，有更改时唤醒",
    "asleep, and woken by changes": "休眠，有更改时唤醒",
    "offline for {time} ({reason})": "离线 {time}（{reason}）",
    "offline ({reason})": "离线（{reason}）",
    "not syncing: {reason}": "未同步：{reason}",
    "{first}; and {second}": "{first}；{second}",
    "in sync, but {reasons}": "已同步，但{reasons}",
    "{state}, {count} changes wait": "{state}，{count} 项待发送",
    "{count} records wait for you": "有 {count} 条记录等待你处理",
    "decide about the account's {app}: lockstep {app} restore yes|wipe":
      "请决定如何处理账户的 {app}：lockstep {app} restore yes|wipe",
    "the account's plan does not include {zones}": "账户的套餐不包含 {zones}",
    "this device is not paired to change {zones}, pair it again": "此设备配对时未获准更改 {zones}，请重新配对",
    "files cannot be uploaded: {reason}": "无法上传文件：{reason}",
    """
    {count} records of sealed zones cannot be read here: bring the account's keys with a code of \
    lockstep agent pair, or lockstep agent key restore
    """:
      "加密区域中有 {count} 条记录无法在此读取：请用 lockstep agent pair 的配对码或 lockstep agent key restore 取得账户的密钥",
    """
    {count} records of sealed zones cannot be read here: a device without the keys has written \
    them, or somebody has changed them at the relay
    """:
      "加密区域中有 {count} 条记录无法在此读取：它们由没有密钥的设备写入，或在中继上被人更改",
    "{relay} by {transport}": "{relay}（{transport}）",
    "device": "设备",
    "account": "账户",
    "relay": "中继",
    "sync": "同步",
    "scope": "范围",
    "unknown to this version of the program": "此版本的程序不认识",
    "{zone}: {count} records {fault}": "{zone}：{count} 条记录{fault}",
    "unread": "无法读取",
    "parked": "被拒绝",
    "retry": "重试",
    "the record would have {bytes} bytes; the limit is {limit}": "记录将有 {bytes} 字节；上限为 {limit}",
    "too many changes wait for the relay; sync first, then try again": "等待发送到中继的更改过多；请先同步，然后重试",
    "that record has no open conflict": "该记录没有待处理的冲突",
    "{reason}; the change may have been applied: check before you repeat it":
      "{reason}；更改可能已生效：重复之前请先检查",
    """
    other devices of this account have {records}, and this one started with none; lockstep {app} \
    restore yes accepts them, restore wipe deletes them everywhere
    """:
      "此账户的其他设备上有{records}，而此设备开始时没有任何内容；lockstep {app} restore yes 会接受它们，restore wipe 会在所有设备上删除它们",
    "{count} habits": "{count} 个习惯",
    "{path} cannot be used: {reason}": "无法使用 {path}：{reason}",
    "the relay does not accept this device any more; pair it again": "中继不再接受此设备；请重新配对",
    "this relay makes no accounts by itself; ask its owner for a pairing code":
      "此中继不会自行创建账户；请向管理员索取配对码",
    """
    that code is wrong, used or too old; ask for a new one where it came from: at the other \
    device, or at the relay's owner
    """:
      "此配对码有误、已使用或已过期；请从原来的地方获取新的配对码：另一台设备或中继管理员",
    "that code is of another account": "此配对码属于另一个账户",
    "the account has as many devices as it may have; remove one first": "账户的设备数已达上限；请先移除一台设备",
    "the account's plan does not include that": "账户的套餐不包含此功能",
    """
    this device was paired for a part of the account, and may not do that; use a device with the \
    whole account
    """:
      "此设备仅针对账户的一部分配对，无权执行此操作；请使用拥有整个账户的设备",
    "the relay does not know the name in its address; its owner can add it":
      "中继不认识其地址中的名称；中继管理员可以添加",
    "another account has this name already; choose another one": "另一个账户已使用此名称；请选用其他名称",
    "the clock of this device is wrong": "此设备的时钟不正确",
    "the relay does not have the whole content of a file yet": "中继尚未拥有某个文件的完整内容",
    "that is too large for one record; divide it": "内容过大，无法作为一项存储；请拆分",
    "the account has no room left; remove something, or ask the relay's owner":
      "账户的空间已用完；请移除一些内容，或联系中继管理员",
    "the relay asks to wait a moment; try again in a minute": "中继要求稍等片刻；请在一分钟后重试",
    "the relay's owner does not allow that push service": "中继管理员不允许该推送服务",
    "the relay has no room on its disk; its owner can make some": "中继的磁盘空间不足；中继管理员可以释放空间",
    "the relay has a fault; try again later": "中继出现故障；请稍后重试",
    "the relay is being restarted; nothing is lost": "中继正在重新启动；内容不会丢失",
    "read everything, and change nothing": "查看全部内容，但不能更改",
    "read and change everything": "查看和更改全部内容",
    "read {zones}, and nothing else of the account; it can change nothing":
      "查看 {zones}，看不到账户的其他内容，也不能更改",
    "read and change {zones}, and nothing else of the account": "查看和更改 {zones}，看不到账户的其他内容",
    "everything": "全部",
    "{zones} (read only)": "{zones}（只读）",
    """
    this device was paired for {scope}, without the zone {zone}; pair this device again with a \
    code of lockstep agent pair --zones {zones}
    """:
      "此设备配对时的范围是 {scope}，不包含区域 {zone}；请用 lockstep agent pair --zones {zones} 的配对码重新配对此设备",
    """
    this device was paired to read the zone {zone}, and to change nothing; pair this device again \
    with a code of lockstep agent pair without --read-only
    """:
      "此设备配对时仅获准查看区域 {zone}；请用不带 --read-only 的 lockstep agent pair 的配对码重新配对此设备",
    """
    this device was paired to read the zone {zone}, and to change nothing; pair this device again \
    with a code of lockstep agent pair --zones {zones}, without --read-only
    """:
      "此设备配对时仅获准查看区域 {zone}；请用 lockstep agent pair --zones {zones}（不带 --read-only）的配对码重新配对此设备",
    "{others} and {last}": "{others}和{last}",
    "the account's keys cannot be given along: {reason}": "无法传递账户的密钥：{reason}",
    """
    this device has the keys of some zones, and not those of the account; use one that has the \
    whole account
    """:
      "此设备只有部分区域的密钥，没有账户的密钥；请使用拥有整个账户的设备",
    "another device has just changed the record of the keys; try again": "另一台设备刚刚更改了密钥的记录；请重试",
    """
    the account has keys that this device does not have: another device has made them; sync, or \
    pair this device again with a code of that one
    """:
      "账户有此设备没有的密钥：由另一台设备生成；请同步，或用那台设备的配对码重新配对此设备",
    """
    the relay has no record of this account's keys: the account is not sealed, or its phrase was \
    never printed; pair this device again with a code of one that has the keys
    """:
      "中继没有此账户密钥的记录：账户未端到端加密，或从未打印恢复短语；请用拥有密钥的设备的配对码重新配对此设备",
    """
    that phrase is of key {key}, and the account's is {other}: it is the phrase of another \
    account, or of a key that was replaced since; nothing was changed
    """:
      "该恢复短语对应密钥 {key}，而账户的密钥是 {other}：它属于另一个账户，或属于已被替换的密钥；没有更改任何内容",
    """
    the record of the account's keys cannot be read: somebody has changed it at the relay; pair \
    this device again with a code of one that has the keys
    """:
      "无法读取账户密钥的记录：有人在中继上更改了它；请用拥有密钥的设备的配对码重新配对此设备",
    "this account has had {count} keys, and can have no more of them": "此账户已用过 {count} 个密钥，不能再生成更多",
    "the home {home} does not have the account's keys, so it cannot make new ones":
      "数据目录 {home} 没有账户的密钥，因此无法生成新的密钥",
    "this device has not made its own key known yet; sync, then try again": "此设备尚未公布自己的密钥；请同步，然后重试",
    "another device has just changed the account's keys; sync, then try again":
      "另一台设备刚刚更改了账户的密钥；请同步，然后重试",
    "that is not a link with a code, such as http://RELAY:5625/#code=CODE":
      "这不是带配对码的链接，例如 http://RELAY:5625/#code=CODE",
    """
    that code is mistyped: a code has 12 letters and digits, or 24 if keys come with it; nothing \
    was sent
    """:
      "配对码输入有误：配对码由 12 个字母和数字组成，包含密钥时为 24 个；没有发送任何内容",
    """
    a recovery phrase of an account has {words} words of five letters, {letters} letters in all, \
    and this has {count}; nothing was changed
    """:
      "账户的恢复短语有 {words} 个五字母的词，共 {letters} 个字母，而输入的有 {count} 个；没有更改任何内容",
    "the keys that came with that code are in a form this version does not know":
      "该配对码附带的密钥格式不为此版本所知",
    "the second half of that code is wrong": "该配对码的后半部分有误",
    "the keys that came with that code are those of another account": "该配对码附带的密钥属于另一个账户",
    "there are too many of them for one code; name fewer zones": "密钥过多，一个配对码容纳不下；请减少区域",
    """
    this machine has not the {size} MiB of memory that a code's second half takes; try again when \
    others need less
    """:
      "此电脑没有处理配对码后半部分所需的 {size} MiB 内存；请在内存空闲时重试",
    "not sealed, although its zone is": "未加密，但其区域已加密",
    "sealed with a key that this device does not have": "使用此设备没有的密钥加密",
    "changed since it was sealed": "加密后被更改",
    "sealed by a program that does not keep to the format": "由不符合格式的程序加密",
    "not readable, for a reason that this version of the program does not know":
      "无法读取，原因不为此版本的程序所知",
    "the store {path} is in use by {holder}; stop that one first, or name another store":
      "存储 {path} 正由 {holder} 使用；请先停止它，或指定另一个存储",
    "the store {path} is damaged ({detail}); restore it from a backup, or name another store":
      "存储 {path} 已损坏（{detail}）；请从备份恢复，或指定另一个存储",
    """
    the store {path} has schema {found}, and this program knows up to {known}; run the newer \
    lockstep that wrote it
    """:
      "存储 {path} 的结构版本为 {found}，而此程序最多支持 {known}；请运行写入它的较新版 lockstep",
    "the store {path} cannot be written; check its owner and permissions":
      "无法写入存储 {path}；请检查其所有者和权限",
    "no space is left for the store {path}; free some, then try again":
      "存储 {path} 没有剩余空间；请释放一些空间，然后重试",
  ]
}
