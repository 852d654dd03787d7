extension Japanese {
  static let habits: [String: String] = [
    "habits do not know that order": "習慣がこの操作を認識できません",
    "habits have no such view": "習慣にこの表示はありません",
    "added: {title}": "追加しました：{title}",
    "changed: {title}": "変更しました：{title}",
    "removed: {title}": "削除しました：{title}",
    "archived: {title}": "アーカイブしました：{title}",
    "unarchived: {title}": "元に戻しました：{title}",
    "moved: {title}, now number {place}": "移動しました：{title}（{place}番目）",
    "say what is to change: its title, kind or target": "変更する内容（タイトル、種類、目標）を指定してください",
    """
    “{title}” is checked once a day and has no other target; for a target, add a habit \
    that is counted: lockstep habits add --count
    """:
      "「{title}」は1日1回の習慣で、ほかの目標は設定できません。目標を設定するには、回数を数える習慣を追加してください：lockstep habits add --count",
    "a place is 1 or more": "順番は1以上で指定してください",
    "“{title}” is archived; unarchive it first": "「{title}」はアーカイブ済みです。先に元に戻してください",
    "“{title}” is counted; use count": "「{title}」は回数を数える習慣です。count を使ってください",
    "“{title}” is checked; use check": "「{title}」は1日1回の習慣です。check を使ってください",
    "{title}: done on {day}": "{title}：{day} は完了",
    "{title}: open on {day}": "{title}：{day} は未完了",
    "{title}: {total} of {target} on {day}": "{title}：{day} は {total} / {target}",
    "count by 1 to {most}, or take as much back": "1回に増やせるのは1〜{most}で、取り消せるのも同じ範囲です",
    "only {count} can be taken back on {day}": "{day} に取り消せるのは{count}回までです",
    "a habit's title has 1 to {most} characters": "習慣のタイトルは1〜{most}文字です",
    "a target is 1 to {most}": "目標は1〜{most}です",
    "streak": "連続",
    "longest": "最長",
    "30 days": "30日間",
    "{percent} %": "{percent}%",
    "all days": "累計",
    "there is no habit yet": "習慣はまだありません",
    "every habit is archived; see lockstep habits list --archived":
      "すべての習慣がアーカイブ済みです。lockstep habits list --archived で表示できます",
    "no habit is archived": "アーカイブした習慣はありません",
    "Mo": "月",
    "Tu": "火",
    "We": "水",
    "Th": "木",
    "Fr": "金",
    "Sa": "土",
    "Su": "日",
    "{total} of {target}": "{total} / {target}",
    "done": "完了",
    "open": "未完了",
    "conflict": "競合",
    "keep one of the two: lockstep habits keep local|cloud NUMBER":
      "どちらかを残してください：lockstep habits keep local|cloud NUMBER",
    "no habit waits for a decision": "確認が必要な習慣はありません",
    "deleted here": "ここでは削除済み",
    "deleted  ({when}, {device})": "削除済み（{when}、{device}）",
    "{title}, {target}  ({when}, {device})": "{title}、{target}（{when}、{device}）",
    "{count} a day": "1日{count}回",
    "once a day": "1日1回",
    "keep local or cloud, not “{version}”": "「{version}」ではなく、local または cloud を指定してください",
    "kept the local version; it goes to all devices": "このデバイスのバージョンを残しました。すべてのデバイスに送信されます",
    "kept the cloud version; it goes to all devices": "クラウドのバージョンを残しました。すべてのデバイスに送信されます",
    "“{day}” is no day; write it as 2026-03-01": "「{day}」は日付ではありません。2026-03-01 の形式で指定してください",
    "{day} has not begun yet; give today ({today}) or an earlier day":
      "{day} はまだ始まっていません。今日（{today}）以前の日付を指定してください",
    "\"{word}\" is not a place in the list; give a number, such as 1":
      "「{word}」はリストの順番ではありません。1 のような数字を指定してください",
    "\"{word}\" is not a number to count by; give a whole number, such as 3":
      "「{word}」は数える回数として使えません。3 のような整数を指定してください",
    "\"{word}\" is neither yes nor wipe": "「{word}」は yes でも wipe でもありません",
    "no decision is pending on this device; remove single habits with lockstep habits remove":
      "このデバイスに確認が必要なものはありません。個々の習慣は lockstep habits remove で削除してください",
    "nothing was deleted": "何も削除していません",
    "this deletes {count} habits on all devices; confirm with --yes":
      "すべてのデバイスから{count}件の習慣が削除されます。--yes で確定してください",
    "{count} habits deleted on all devices": "{count}件の習慣をすべてのデバイスから削除しました",
    "no decision is pending": "確認が必要なものはありません",
    "{count} habits accepted": "{count}件の習慣を受け入れました",
  ]
}
