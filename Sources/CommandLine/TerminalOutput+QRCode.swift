import LockstepTerminal

extension TerminalOutput {
  package static let withoutQRCode = CommandOption.flag("no-qr", "Draw no QR code.")

  /// Draws the link as a QR code if the output is a terminal that has room for it. Without colours
  /// it would not be dark on light everywhere.
  package func drawQRCode(of link: String) throws(CommandFailure) {
    guard supportsColours, let code = QRCode(link), code.columns <= columns else { return }
    try write("\n" + code.lines.joined(separator: "\n") + "\n")
  }
}
