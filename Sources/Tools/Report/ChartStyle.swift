/// Styles of lines and texts in a picture. Lines differ in colour and in dashes, so that they can
/// be distinguished without colour. All colours have a contrast of at least 4.5 to 1 to the
/// background.
enum ChartStyle {
  /// Number of distinct line styles.
  static let lines = 4
  /// Font size of all texts except headings, and the maximum width of a letter, in units of the
  /// picture.
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

  /// CSS rules of all pictures. They use no variables, because not every picture viewer supports
  /// them. In print the light colours are used.
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
