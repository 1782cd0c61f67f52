/// Names the format of a record that is not JSON by the bytes it begins with, and what the writer
/// has to change.
enum ForeignFormat {
  private static let beginnings: [(bytes: [UInt8], hint: String)] = [
    ([0x1F, 0x8B], "it is compressed with gzip: let the producer compress (compression.type)"),
    (
      [0x28, 0xB5, 0x2F, 0xFD],
      "it is compressed with zstd: let the producer compress (compression.type)"
    ),
    (
      [0x04, 0x22, 0x4D, 0x18],
      "it is compressed with LZ4: let the producer compress (compression.type)"
    ),
    (Array("Obj\u{1}".utf8), "it is a file of Avro: write JSON"),
    ([0xC3, 0x01], "it is Avro (single-object encoding): write JSON"),
    ([0xAC, 0xED, 0x00, 0x05], "it is an object that Java serialized: write JSON"),
    ([0x03, 0x00], "it looks like AWS Glue's schema registry: write JSON without its serializer"),
    ([0x03, 0x05], "it looks like AWS Glue's schema registry: write JSON without its serializer"),
    ([0x3C], "it looks like XML: write JSON"),
  ]
  /// Magic byte and id of a schema.
  private static let registryBytes = 5

  /// Nil for what looks like nothing in particular.
  static func hint(_ bytes: [UInt8]) -> String? {
    if let known = beginnings.first(where: { bytes.starts(with: $0.bytes) }) { return known.hint }
    guard let first = bytes.first else { return nil }
    // Of UTF-16 the second byte is a character; that refusal has words of its own.
    if first == 0, bytes.count > registryBytes, bytes[1] == 0 || bytes[1] > 0x7F {
      let schema = bytes[1..<registryBytes].reduce(0) { $0 << 8 | UInt32($1) }
      return "it begins with the magic byte of a Schema Registry (schema \(schema)): write JSON "
        + "with a plain serializer, not Avro, Protobuf or JSON Schema"
    }
    let isUTF16 =
      bytes.prefix(2).contains(0) || bytes.starts(with: [0xFE, 0xFF])
      || bytes.starts(with: [0xFF, 0xFE])
    if isUTF16 { return nil }
    let isBinary = bytes.prefix(64).contains { $0 < 0x20 && ![0x09, 0x0A, 0x0D].contains($0) }
    if isBinary { return "it looks binary, such as Protobuf, Avro or MessagePack: write JSON" }
    if bytes.starts(with: Array("eyJ".utf8)) { return "it looks like base64: write JSON as it is" }
    return nil
  }
}
