import Terminal

/// The outcome of a file of tests, for people, for scripts and for CI.
package struct TemplateTestReport {
  package let file: String
  package let results: [TemplateTest.Result]

  package init(file: String, results: [TemplateTest.Result]) {
    self.file = file
    self.results = results
  }

  package var failed: Int { results.count { !$0.isPassed } }

  package func text(_ styled: (String, Style) -> String = { text, _ in text }) -> String {
    var text = TextLayout.printable(file) + "\n"
    for result in results {
      let word = result.isPassed ? styled("ok  ", .green) : styled("FAIL", .red)
      text += "  \(word)  \(TextLayout.printable(result.tested.name))\n"
      for failure in result.failures {
        text += "        \(TextLayout.printable(failure.place)): \(failure.what)\n"
        for line in failure.lines { text += "          \(line)\n" }
      }
    }
    return text
  }

  package var json: [JSONOutput] {
    results.map { result in
      [
        "file": .text(file), "name": .text(result.tested.name),
        "line": .integer(result.tested.place.line), "passed": .bool(result.isPassed),
        "failures": .array(
          result.failures.map {
            [
              "place": .text($0.place), "what": .text($0.what), "expected": .text($0.expected),
              "actual": .text($0.actual),
            ]
          }),
      ]
    }
  }

  /// JUnit's XML, which CI servers read.
  package static func junit(_ reports: [TemplateTestReport]) -> String {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
    for report in reports {
      text +=
        "  <testsuite name=\"\(xml(report.file))\" tests=\"\(report.results.count)\" "
        + "failures=\"\(report.failed)\">\n"
      for result in report.results {
        let name = xml(result.tested.name)
        text += "    <testcase classname=\"\(xml(report.file))\" name=\"\(name)\""
        guard !result.isPassed else {
          text += "/>\n"
          continue
        }
        text += ">\n"
        for failure in result.failures {
          text += "      <failure message=\"\(xml("\(failure.place): \(failure.what)"))\">"
          text += xml(failure.lines.joined(separator: "\n")) + "</failure>\n"
        }
        text += "    </testcase>\n"
      }
      text += "  </testsuite>\n"
    }
    return text + "</testsuites>\n"
  }

  /// Without characters that XML 1.0 cannot hold.
  private static func xml(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\t": result.unicodeScalars.append(scalar)
      default: result.unicodeScalars.append(isCharacter(scalar.value) ? scalar : "\u{FFFD}")
      }
    }
    return result
  }

  private static func isCharacter(_ value: UInt32) -> Bool {
    value >= 0x20 && value != 0xFFFE && value != 0xFFFF
  }
}
