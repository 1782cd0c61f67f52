import APNsSimulator
import JSON

let jsonTargets = [
  FuzzTarget("json") { input in
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(Array(input))
    } catch {
      try hold(error.line > 0 && error.column > 0, "an error without a place: \(error)")
      try hold(!error.message.isEmpty, "an error without words")
      return
    }
    let text = JSONText.compact(value)
    try holdEqual(try JSONValue.parse(Array(text.utf8)), value, "written and read again")
  },
  FuzzTarget("payload-scan", maximumBytes: 1024) { input in
    guard PayloadScan.isPlainlySound(input) else { return }
    try hold(JSONCheck.isValid(input), "the scan takes what jansson refuses")
    try hold(input.first { !" \t\r\n".utf8.contains($0) } == 0x7B, "it takes what is no object")
  },
]
