extension Japanese {
  static let commandLine: [String: String] = [
    "HOME is not set, so there is no place for settings; set LOCKSTEP_LANG instead":
      "HOME が設定されていないため、設定を保存する場所がありません。LOCKSTEP_LANG を設定してください",
    "The language is that of the system now.": "言語をシステムに合わせました。",
    "The language is {language} now.": "言語を{language}にしました。",
  ]
}
