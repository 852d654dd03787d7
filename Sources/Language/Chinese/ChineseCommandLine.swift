extension Chinese {
  static let commandLine: [String: String] = [
    "HOME is not set, so there is no place for settings; set LOCKSTEP_LANG instead":
      "未设置 HOME，没有存放设置的位置；请改为设置 LOCKSTEP_LANG",
    "The language is that of the system now.": "现在使用系统的语言。",
    "The language is {language} now.": "语言现在是{language}。",
  ]
}
