extension Chinese {
  static let habits: [String: String] = [
    "habits do not know that order": "习惯不认识此指令",
    "habits have no such view": "习惯没有此视图",
    "added: {title}": "已添加：{title}",
    "changed: {title}": "已更改：{title}",
    "removed: {title}": "已移除：{title}",
    "archived: {title}": "已归档：{title}",
    "unarchived: {title}": "已恢复：{title}",
    "moved: {title}, now number {place}": "已移动：{title}，现在排在第 {place} 位",
    "say what is to change: its title, kind or target": "请说明要更改什么：标题、类型或目标",
    """
    “{title}” is checked once a day and has no other target; for a target, add a habit \
    that is counted: lockstep habits add --count
    """:
      "“{title}”每天打卡一次，没有其他目标；要设定目标，请添加计数的习惯：lockstep habits add --count",
    "a place is 1 or more": "位置必须是 1 或更大的数",
    "“{title}” is archived; unarchive it first": "“{title}”已归档；请先恢复",
    "“{title}” is counted; use count": "“{title}”是计数的习惯；请使用 count",
    "“{title}” is checked; use check": "“{title}”是打卡的习惯；请使用 check",
    "{title}: done on {day}": "{title}：{day} 已完成",
    "{title}: open on {day}": "{title}：{day} 未完成",
    "{title}: {total} of {target} on {day}": "{title}：{day} {total} / {target}",
    "count by 1 to {most}, or take as much back": "每次可加 1 到 {most}，或撤销同样的次数",
    "only {count} can be taken back on {day}": "{day} 最多只能撤销 {count} 次",
    "a habit's title has 1 to {most} characters": "习惯的标题长度为 1 到 {most} 个字符",
    "a target is 1 to {most}": "目标为 1 到 {most}",
    "streak": "连续",
    "longest": "最长",
    "30 days": "30 天",
    "{percent} %": "{percent}%",
    "all days": "累计",
    "there is no habit yet": "还没有习惯",
    "every habit is archived; see lockstep habits list --archived":
      "所有习惯都已归档；查看：lockstep habits list --archived",
    "no habit is archived": "没有已归档的习惯",
    "Mo": "一",
    "Tu": "二",
    "We": "三",
    "Th": "四",
    "Fr": "五",
    "Sa": "六",
    "Su": "日",
    "{total} of {target}": "{total} / {target}",
    "done": "已完成",
    "open": "未完成",
    "conflict": "冲突",
    "keep one of the two: lockstep habits keep local|cloud NUMBER":
      "请保留其中一个：lockstep habits keep local|cloud NUMBER",
    "no habit waits for a decision": "没有需要决定的习惯",
    "deleted here": "已在此处删除",
    "deleted  ({when}, {device})": "已删除（{when}，{device}）",
    "{title}, {target}  ({when}, {device})": "{title}，{target}（{when}，{device}）",
    "{count} a day": "每天 {count} 次",
    "once a day": "每天 1 次",
    "keep local or cloud, not “{version}”": "请选择保留 local 或 cloud，而不是“{version}”",
    "kept the local version; it goes to all devices": "已保留本机版本；会发送到所有设备",
    "kept the cloud version; it goes to all devices": "已保留云端版本；会发送到所有设备",
    "“{day}” is no day; write it as 2026-03-01": "“{day}”不是日期；请写成 2026-03-01 的形式",
    "{day} has not begun yet; give today ({today}) or an earlier day":
      "{day} 还未到；请使用今天（{today}）或更早的日期",
    "\"{word}\" is not a place in the list; give a number, such as 1":
      "“{word}”不是列表中的位置；请输入数字，例如 1",
    "\"{word}\" is not a number to count by; give a whole number, such as 3":
      "“{word}”不是可以计数的数字；请输入整数，例如 3",
    "\"{word}\" is neither yes nor wipe": "“{word}”既不是 yes 也不是 wipe",
    "no decision is pending on this device; remove single habits with lockstep habits remove":
      "此设备上没有需要决定的内容；要移除单个习惯，请使用 lockstep habits remove",
    "nothing was deleted": "没有删除任何内容",
    "this deletes {count} habits on all devices; confirm with --yes":
      "这会在所有设备上删除 {count} 个习惯；请用 --yes 确认",
    "{count} habits deleted on all devices": "已在所有设备上删除 {count} 个习惯",
    "no decision is pending": "没有需要决定的内容",
    "{count} habits accepted": "已接受 {count} 个习惯",
  ]
}
