import Text

let textTargets = [
  FuzzTarget("duration", maximumBytes: 64) { input in
    do throws(DurationText.Flaw) {
      let duration = try DurationText.parse(input.lossyText)
      let text = DurationText.text(duration)
      // Microseconds beside something larger are not shown, so the second round stands still.
      let shown = try DurationText.parse(text)
      try? holdEqual(DurationText.text(shown), text, "")
    } catch { return }
  },
  FuzzTarget("timestamp", maximumBytes: 64) { input in
    guard let time = Timestamp.milliseconds(input.lossyText) else { return }
    try hold((0...Timestamp.range.upperBound + 86_400_000).contains(time), "the time \(time)")
    let civil = CivilTime(milliseconds: time)
    let two = CivilTime.twoDigits
    let date = "\(civil.year)-\(two(civil.month))-\(two(civil.day))"
    let clock = "\(two(civil.hour)):\(two(civil.minute)):\(two(civil.second))"
    guard civil.year <= 9999 else { return }
    let text = "\(date)T\(clock)Z"
    try holdEqual(Timestamp.milliseconds(text), time - time % 1000, text)
  },
  // The first byte says which of the ways to write bytes as text.
  FuzzTarget("encoding", maximumBytes: 256) { input in
    guard let kind = input.first else { return }
    let text = input[piece: 1..<input.count]
    switch kind % 5 {
    case 0:
      guard let bytes = Base64.decode(text) else { return }
      try holdEqual(Base64.decode(Base64.encode(bytes).utf8), bytes, "base64")
    case 1:
      guard let bytes = Base64URL.decode(text) else { return }
      try holdEqual(Base64URL.encode(bytes), text.lossyText, "base64url has one spelling")
    case 2:
      guard let bytes = Hexadecimal.bytes(text) else { return }
      try holdEqual(Hexadecimal.text(bytes), text.lossyText.lowercased(), "hexadecimal")
    case 3:
      for isForm in [false, true] {
        let decoded = PercentText.decoded(text, isStrict: true, isForm: isForm)
        if let decoded { try hold(decoded.count <= text.count, "longer than it was") }
        let lax = PercentText.decoded(text, isStrict: false, isForm: isForm)
        try hold(lax != nil && (decoded == nil || decoded == lax), "strict and lax differ")
      }
    default:
      guard let token = try? DeviceTokenText.read(text.lossyText) else { return }
      try holdEqual(try DeviceTokenText.read(token), token, "a token, read twice")
      try hold(token.utf8.count % 2 == 0 && token.utf8.count <= 512, "the token \(token)")
    }
  },
]
