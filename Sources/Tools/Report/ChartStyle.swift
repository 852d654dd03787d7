/// How lines and words of a picture look. Lines differ in colour and in their dashes, so that no
/// colour is needed to tell them apart; all colours stand out from their ground at least 4.5 to 1.
enum ChartStyle {
  /// Lines that look different.
  static let lines = 4
  /// Of all words in a picture but its headings, and what one of its letters takes at most, in
  /// units of the picture.
  static let fontSize = 12.0
  static let letterWidth = 6.6

  struct Palette {
    var ground: String
    var card: String
    var edge: String
    var text: String
    var soft: String
    var bad: String
    var lines: [String]
  }

  static let light = Palette(
    ground: "#f3f5f8", card: "#ffffff", edge: "#dde2e9", text: "#1b2027", soft: "#566070",
    bad: "#b3261e", lines: ["#1f6fd1", "#b0500c", "#17733c", "#7a3fa0"])
  static let dark = Palette(
    ground: "#0f1318", card: "#181d24", edge: "#2b323c", text: "#e7ebf0", soft: "#9ea8b6",
    bad: "#ff8f86", lines: ["#6cabf7", "#f2a365", "#62cb8a", "#cfa2f0"])

  private static let dashes = ["none", "7 3", "1.5 3.5", "9 3 1.5 3"]

  /// The rules of all pictures, without variables, which not every viewer of pictures knows. On
  /// paper they are light.
  static var rules: String {
    var rules = """
      .chart text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;\
      font-variant-numeric:tabular-nums}
      .chart .h{font-weight:600;font-size:13px}
      .chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
      .chart .grid{fill:none;stroke-width:1;shape-rendering:crispEdges}
      .chart .axis{fill:none;stroke-width:1;shape-rendering:crispEdges}
      .chart .area{fill-opacity:.14;stroke:none}

      """
    for (index, dash) in dashes.enumerated() {
      rules += ".chart .d\(index){stroke-dasharray:\(dash)}\n"
    }
    rules += colours(light)
    rules += "@media screen and (prefers-color-scheme:dark){\n" + colours(dark) + "}\n"
    return rules
  }

  private static func colours(_ palette: Palette) -> String {
    var rules = """
      .chart text{fill:\(palette.text)}
      .chart .soft{fill:\(palette.soft)}
      .chart .card{fill:\(palette.card)}
      .chart .grid{stroke:\(palette.edge)}
      .chart .axis{stroke:\(palette.soft)}

      """
    for (index, colour) in palette.lines.enumerated() {
      rules += ".chart .c\(index){stroke:\(colour)}\n.chart .area.c\(index){fill:\(colour)}\n"
    }
    return rules
  }
}
