import Glibc
import Text

/// Reads the body of a request in one pass, without a tree: syntax, names and types as ProtoJSON
/// has them, and what FCM asks of the values. A million messages go through it in a test.
struct MessageScan {
  /// A string's bytes between its quotation marks.
  struct Quoted {
    let start: Int
    let end: Int
    /// In UTF-8, escapes undone.
    let count: Int
    let hasEscapes: Bool
  }

  private static let maximumDepth = 100

  let bytes: UnsafeBufferPointer<UInt8>
  var place = 0
  private(set) var message = ScannedMessage()

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  static func read(_ body: UnsafeBufferPointer<UInt8>) throws(FCMRefusal) -> ScannedMessage {
    var scan = MessageScan(body)
    scan.skipSpace()
    try scan.object(.request)
    scan.skipSpace()
    guard scan.place == body.count else { throw scan.syntax("Expected end of input") }
    try scan.message.check()
    return scan.message
  }

  // MARK: Objects

  private mutating func object(_ schema: MessageSchema) throws(FCMRefusal) {
    guard peek() == UInt8(ascii: "{") else {
      throw schema.path.isEmpty ? syntax("Root element must be a message") : wrongType(schema.path)
    }
    place += 1
    message.enter(schema.place)
    skipSpace()
    if takes(UInt8(ascii: "}")) { return }
    while true {
      skipSpace()
      let name = try string("name")
      try colon()
      try member(name, of: schema)
      if try isLast(UInt8(ascii: "}")) { return }
    }
  }

  private mutating func member(
    _ name: Quoted, of schema: MessageSchema
  ) throws(FCMRefusal) {
    guard let field = find(name, in: schema) else {
      throw unknown(String(decoding: decoded(name), as: UTF8.self), in: schema)
    }
    // Null is as good as nothing in ProtoJSON.
    if peek() == UInt8(ascii: "n") { return try word("null") }
    let counts = schema.place == .notification
    switch field.kind {
    case .text:
      let text = try text(schema, field)
      if counts { message.notificationBytes += name.count + text.count }
    case .texts:
      let count = try texts(schema, field)
      if counts { message.notificationBytes += name.count + count }
    case .boolean: _ = try boolean(schema, field)
    case .validateOnly: message.isValidateOnly = try boolean(schema, field)
    case .integer: try integer(schema, field)
    case .number: try number(schema, field)
    case .duration:
      guard duration(try text(schema, field)) != nil else { throw badDuration(schema, field) }
    case .durations: try durations(schema, field)
    case .timeToLive: try timeToLive(schema, field)
    case .timestamp:
      let text = decoded(try text(schema, field))
      guard Timestamp.milliseconds(String(decoding: text, as: UTF8.self)) != nil else {
        throw wrongType(Self.path(schema, field))
      }
    case .color: try color(schema, field)
    case .label: try label(schema, field)
    case .choice(let names): try choice(names, schema, field)
    case .textMap(let role): try textMap(role, schema, field)
    case .anything:
      guard peek() == UInt8(ascii: "{") else { throw wrongType(Self.path(schema, field)) }
      try skipValue(depth: 1)
    case .target(let target):
      let text = try text(schema, field)
      if let before = message.target, before != target { throw twoTargets(field) }
      message.target = target
      message.name = decoded(text)
    case .object(let inner): try object(inner)
    }
  }

  private func find(_ name: Quoted, in schema: MessageSchema) -> MessageField? {
    guard name.hasEscapes else {
      return schema.find(UnsafeBufferPointer(rebasing: bytes[name.start..<name.end]))
    }
    return decoded(name).withUnsafeBufferPointer { schema.find($0) }
  }

  // MARK: Values of a field

  private mutating func text(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) -> Quoted {
    guard peek() == UInt8(ascii: "\"") else { throw wrongType(Self.path(schema, field)) }
    return try string("string")
  }

  /// Returns how long the texts of a list are together.
  private mutating func texts(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) -> Int {
    var count = 0
    try list(schema, field) { (scan) throws(FCMRefusal) in
      count += try scan.text(schema, field).count
    }
    return count
  }

  private mutating func durations(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    try list(schema, field) { (scan) throws(FCMRefusal) in
      guard scan.duration(try scan.text(schema, field)) != nil else {
        throw scan.badDuration(schema, field)
      }
    }
  }

  private mutating func list(
    _ schema: MessageSchema, _ field: MessageField,
    _ element: (inout MessageScan) throws(FCMRefusal) -> Void
  ) throws(FCMRefusal) {
    guard takes(UInt8(ascii: "[")) else { throw wrongType(Self.path(schema, field)) }
    skipSpace()
    if takes(UInt8(ascii: "]")) { return }
    while true {
      skipSpace()
      try element(&self)
      if try isLast(UInt8(ascii: "]")) { return }
    }
  }

  private mutating func boolean(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) -> Bool {
    switch peek() {
    case UInt8(ascii: "t"):
      try word("true")
      return true
    case UInt8(ascii: "f"):
      try word("false")
      return false
    default: throw wrongType(Self.path(schema, field))
    }
  }

  /// A number of 32 bits, bare or in quotation marks.
  private mutating func integer(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    let digits: [UInt8]
    if peek() == UInt8(ascii: "\"") {
      digits = decoded(try string("string"))
    } else {
      let start = place
      guard number() else { throw wrongType(Self.path(schema, field)) }
      digits = Array(bytes[start..<place])
    }
    guard Int32(String(decoding: digits, as: UTF8.self)) != nil else {
      throw wrongType(Self.path(schema, field))
    }
  }

  private mutating func number(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    guard number() else { throw wrongType(Self.path(schema, field)) }
  }

  private mutating func timeToLive(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    let text = try text(schema, field)
    guard let seconds = duration(text) else { throw badDuration(schema, field) }
    if !(0...ScannedMessage.maximumTimeToLive).contains(seconds) {
      let path = Self.path(schema, field)
      message.note(.badPayload(path, "Invalid value at '\(path)': 0 to 2419200 seconds"))
    }
  }

  private mutating func color(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    let text = decoded(try text(schema, field))
    let isColor =
      text.count == 7 && text[0] == UInt8(ascii: "#") && text[1...].allSatisfy(\.isASCIIHexDigit)
    if !isColor {
      message.note(.badPayload(Self.path(schema, field), "Invalid color: #rrggbb is needed"))
    }
  }

  private mutating func label(
    _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    let text = decoded(try text(schema, field))
    let isLabel =
      (1...50).contains(text.count)
      && text.allSatisfy { $0.isASCIIWord || "-_.~%".utf8.contains($0) }
    if !isLabel {
      message.note(.badPayload(Self.path(schema, field), "Invalid analytics label"))
    }
  }

  /// The name of an enum's value, in any case, as the documentation's own examples have it; or its
  /// number.
  private mutating func choice(
    _ names: [StaticString], _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    guard peek() == UInt8(ascii: "\"") else { return try integer(schema, field) }
    let text = String(decoding: decoded(try string("string")), as: UTF8.self)
    guard names.contains(where: { "\($0)".isSame(ignoringASCIICaseOf: text) }) else {
      throw wrongType(Self.path(schema, field))
    }
  }

  private mutating func textMap(
    _ role: MessageField.MapRole, _ schema: MessageSchema, _ field: MessageField
  ) throws(FCMRefusal) {
    guard takes(UInt8(ascii: "{")) else { throw wrongType(Self.path(schema, field)) }
    message.begin(role)
    skipSpace()
    if takes(UInt8(ascii: "}")) { return }
    var index = 0
    while true {
      skipSpace()
      let key = try string("name")
      try colon()
      guard peek() == UInt8(ascii: "\"") else {
        throw wrongType("\(Self.path(schema, field))[\(index)].value")
      }
      let value = try string("string")
      message.add(key.count + value.count, to: role)
      if role != .other { checkKey(key, Self.path(schema, field)) }
      index += 1
      if try isLast(UInt8(ascii: "}")) { return }
    }
  }

  private mutating func checkKey(_ key: Quoted, _ path: @autoclosure () -> String) {
    let name = decoded(key)
    guard ScannedMessage.isReserved(name) else { return }
    let text = String(decoding: name, as: UTF8.self)
    message.note(.badPayload("\(path()).\(text)", "Invalid data payload key: \(text)"))
  }

  /// Of any type.
  private mutating func skipValue(depth: Int) throws(FCMRefusal) {
    guard depth <= Self.maximumDepth else { throw syntax("Message too deep") }
    switch peek() {
    case UInt8(ascii: "\""): _ = try string("string")
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    case UInt8(ascii: "{"):
      place += 1
      skipSpace()
      if takes(UInt8(ascii: "}")) { return }
      while true {
        skipSpace()
        _ = try string("name")
        try colon()
        try skipValue(depth: depth + 1)
        if try isLast(UInt8(ascii: "}")) { return }
      }
    case UInt8(ascii: "["):
      place += 1
      skipSpace()
      if takes(UInt8(ascii: "]")) { return }
      while true {
        skipSpace()
        try skipValue(depth: depth + 1)
        if try isLast(UInt8(ascii: "]")) { return }
      }
    default: guard number() else { throw syntax("Unexpected token") }
    }
  }
}

/// A request that could be read.
struct ScannedMessage {
  static let maximumTimeToLive: Int64 = 2_419_200
  static let maximumBytes = 4096
  static let maximumTopicBytes = 2048
  /// No token is longer; Google gives no bound.
  static let maximumTokenBytes = 4096

  var target: MessageField.Target?
  /// The token, or what else it goes to.
  var name: [UInt8] = []
  var isValidateOnly = false
  var notificationBytes = 0
  private var hasMessage = false
  private var hasAndroid = false
  private var hasAndroidV2 = false
  private var dataBytes = 0
  /// Takes the place of the message's own data.
  private var androidDataBytes: Int?
  /// FCM looks at values when all could be read.
  private var violation: FCMRefusal?

  mutating func enter(_ place: MessageSchema.Place) {
    switch place {
    case .message: hasMessage = true
    case .android: hasAndroid = true
    case .androidV2: hasAndroidV2 = true
    case .request, .notification, .other: break
    }
  }

  mutating func begin(_ role: MessageField.MapRole) {
    switch role {
    case .data: dataBytes = 0
    case .androidData: androidDataBytes = 0
    case .other: break
    }
  }

  mutating func add(_ count: Int, to role: MessageField.MapRole) {
    switch role {
    case .data: dataBytes += count
    case .androidData: androidDataBytes = (androidDataBytes ?? 0) + count
    case .other: break
    }
  }

  mutating func note(_ refusal: FCMRefusal) { if violation == nil { violation = refusal } }

  /// The registration token or the installation that it goes to, if it is one.
  var device: [UInt8]? { target == .token || target == .fid ? name : nil }

  func check() throws(FCMRefusal) {
    guard hasMessage else { throw .badPayload("message", "Message is not set.") }
    if let violation { throw violation }
    guard let target, !name.isEmpty else {
      throw .badPayload("message", "Recipient of the message is not set.")
    }
    if hasAndroid && hasAndroidV2 {
      throw .badPayload("message.android_v2", "Only one of android and android_v2 may be set")
    }
    let limit = target == .topic ? Self.maximumTopicBytes : Self.maximumBytes
    guard notificationBytes + (androidDataBytes ?? dataBytes) <= limit else {
      throw .badPayload("message", "Message is too big: at most \(limit) bytes")
    }
    switch target {
    case .token: if !Self.isToken(name) { throw .badToken }
    case .fid:
      if !Self.isInstallation(name) { throw .badPayload("message.fid", "Invalid installation id") }
    case .topic:
      if !name.allSatisfy({ $0.isASCIIWord || "-_.~%".utf8.contains($0) }) {
        throw .badPayload("message.topic", "Malformed topic name")
      }
    case .condition: break
    }
  }

  static func isReserved(_ key: [UInt8]) -> Bool {
    key.elementsEqual("from".utf8) || key.elementsEqual("message_type".utf8)
      || key.starts(with: "google.".utf8) || key.starts(with: "gcm.notification.".utf8)
  }

  private static func isToken(_ name: [UInt8]) -> Bool {
    name.count <= maximumTokenBytes
      && name.allSatisfy { $0.isASCIIWord || "-_:".utf8.contains($0) }
  }

  private static func isInstallation(_ name: [UInt8]) -> Bool {
    name.count == 22 && (UInt8(ascii: "c")...UInt8(ascii: "f")).contains(name[0])
      && name.allSatisfy { $0.isASCIIWord || "-_".utf8.contains($0) }
  }
}
