import DeadLetters
import Kafka
import Telemetry
import Terminal

/// Dead letters for people and for scripts. All of their text comes from outside.
enum DLQReport {
  static func table(_ rows: some Sequence<LetterSearch.Row>) -> Table {
    var table = Table([
      .init("LETTER", isWhole: true), .init("WRITTEN"), .init("STATE"), .init("CODE"),
      .init("EVENT"),
      .init("STREAMER"), .init("BYTES", .right), .init("REASON"),
    ])
    for row in rows {
      let letter = row.letter
      table.add([
        "\(letter.id)", WallClock.rfc3339(letter.writtenAt), row.mark.state.rawValue, letter.code,
        letter.event ?? "-", letter.streamer ?? "-", Figures.grouped(letter.bytes), letter.reason,
      ])
    }
    return table
  }

  static func json(_ search: LetterSearch, atMost limit: Int) -> JSONOutput {
    [
      "letters": .array(search.rows.prefix(limit).map { .object(object($0)) }),
      "matched": .integer(search.matched), "scanned": .integer(search.scanned),
      "window": .text(search.window),
    ]
  }

  private static func object(_ row: LetterSearch.Row) -> JSONObject {
    let (letter, mark) = (row.letter, row.mark)
    return [
      "letter": .text("\(letter.id)"), "topic": .text(letter.topic), "code": .text(letter.code),
      "reason": .text(letter.reason), "event": letter.event.map { .text($0) } ?? .null,
      "streamer": letter.streamer.map { .text($0) } ?? .null,
      "at_ms": .integer(Int(letter.writtenAt)), "state": .text(mark.state.rawValue),
      "state_at_ms": mark.state == .new ? .null : .integer(Int(mark.at)),
      "bytes": .integer(letter.bytes),
    ]
  }

  // MARK: one letter

  /// Longer names of headers push their value to the right.
  private static let widestName = 28

  static func json(_ found: DLQConnection.Details) -> JSONOutput {
    var object = object(found.row)
    object["source"] = .text(found.row.letter.source)
    object["headers"] = .array(
      found.record.headers.map { header in
        ["name": .text(header.name), "value": .text(LetterBody(header.value ?? []).text)]
      })
    if found.holdsTokens {
      object["value"] = .null
    } else if let value = found.record.value {
      let body = LetterBody(value)
      object["value"] = .text(body.text)
      object["value_is_text"] = .bool(body.isText)
      object["value_is_cut"] = .bool(body.isCut)
    } else {
      object["value"] = .null
    }
    object["preview"] = ["fits": .bool(found.preview.fits), "why": .text(found.preview.why)]
    return .object(object)
  }

  static func write(_ found: DLQConnection.Details, to output: Console) {
    let (letter, mark) = (found.row.letter, found.row.mark)
    let names = found.record.headers.map { DisplayWidth.cells(TextLayout.printable($0.name)) }
    let cells = min(widestName, max(12, names.max() ?? 0))
    func line(_ name: String, _ value: String) {
      let name = TextLayout.padded(TextLayout.printable(name), to: cells)
      output.line("\(name)  \(TextLayout.printable(value))")
    }
    line("letter", "\(letter.id)")
    line("code", letter.code)
    line("reason", letter.reason)
    line("source", letter.source)
    line("event", letter.event ?? "-")
    line("streamer", letter.streamer ?? "-")
    line("written", WallClock.rfc3339(letter.writtenAt))
    line(
      "state",
      mark.state == .new
        ? "new" : "\(mark.state.rawValue) at \(WallClock.rfc3339(mark.at))")
    line("replay", (found.preview.fits ? "possible: " : "not possible: ") + found.preview.why)
    output.line()
    for header in found.record.headers {
      line(header.name, LetterBody(header.value ?? [], atMost: 4_096).text)
    }
    output.line()
    guard let value = found.record.value else {
      output.line("(no body)")
      return
    }
    guard !found.holdsTokens else {
      output.line("(\(value.count) bytes with device tokens; --raw prints them)")
      return
    }
    let body = LetterBody(value)
    for part in body.text.split(separator: "\n", omittingEmptySubsequences: false) {
      output.line(TextLayout.printable(String(part)))
    }
    if body.isCut { output.line("(cut: the body has \(Figures.grouped(value.count)) bytes)") }
  }

  static func writeDifference(_ old: LetterBody, _ new: String, to output: Console) {
    let old = old.isText ? old.text : "(\(old.text.utf8.count / 2) bytes that are not UTF-8)"
    for line in LineDiff.lines(old, new) {
      let text = TextLayout.printable(line)
      switch line.first {
      case "-": output.line(output.styled(text, .red))
      case "+": output.line(output.styled(text, .green))
      default: output.line(text)
      }
    }
  }

  // MARK: acts

  static func json(_ report: LetterActReport, isDry: Bool) -> JSONOutput {
    let reasons = report.reasons.map { reason -> JSONOutput in
      [
        "why": .text(reason.why), "count": .integer(reason.count),
        "letter": .text("\(reason.example)"),
      ]
    }
    return [
      "fits": .integer(report.fits), "expired": .integer(report.expired),
      "already": .integer(report.already), "refused": .integer(report.refused),
      "replayed": .integer(report.replayed), "dropped": .integer(report.dropped),
      "skipped": .integer(isDry ? 0 : report.skipped), "dry_run": .bool(isDry),
      "stopped": .bool(report.isStopped), "reasons": .array(reasons),
    ]
  }

  static func write(
    _ report: LetterActReport, of act: LetterAct, isDry: Bool, to output: Console
  ) {
    var text = Summary()
    let done = act == .replay ? "replayed" : "dropped"
    if isDry {
      text.add("would be \(done)", report.fits)
    } else {
      text.add(done, act == .replay ? report.replayed : report.dropped, mark: .good)
    }
    let skipped = isDry ? report.seen - report.fits : report.skipped
    text.add(isDry ? "would be skipped" : "skipped", skipped)
    for (name, count) in [
      ("expired", report.expired), ("replayed or dropped before", report.already),
      ("refused", report.refused),
    ] where count > 0 {
      text.add(name, count, indent: 1)
    }
    text.write(to: output)
    for reason in report.reasons {
      output.line(
        TextLayout.printable(
          "  \(reason.why): \(Figures.grouped(reason.count)), such as \(reason.example)"))
    }
    if isDry { output.line("nothing was written; without --dry-run it is done") }
  }
}
