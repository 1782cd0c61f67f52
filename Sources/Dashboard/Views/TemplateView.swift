import JSON

/// Templates as the page gets them.
enum TemplateView {
  static func json(_ samples: [TemplateSample]?) -> JSONValue {
    guard let samples else { return .null }
    return .array(
      samples.map { sample in
        .object(
          JSONObject([
            ("name", .string(sample.name)),
            ("locales", .array(sample.texts.map { .object(JSONObject(members(of: $0))) })),
            ("trouble", JSONValue(optional: sample.trouble)),
            (
              "rendered",
              sample.rendered.first.map { .object(JSONObject(members(of: $0))) } ?? .null
            ),
          ]))
      })
  }

  static func members(of text: TemplateSample.Text) -> [(String, JSONValue)] {
    let (title, body) = words(of: text)
    return [
      ("locale", .string(text.locale)), ("platform", .string(text.platform)),
      ("title", JSONValue(optional: title)), ("body", JSONValue(optional: body)),
      ("bytes", .integer(Int64(text.bytes))), ("limit", .integer(Int64(text.limit))),
    ]
  }

  /// The visible text, wherever each platform's payload has it: at `aps.alert`, in an FCM
  /// message's `notification`, in what a browser's page makes of its own.
  private static func words(of text: TemplateSample.Text) -> (title: String?, body: String?) {
    let payload = text.payload.flatMap {
      try? JSONValue.parseWithAnyIntegers(Array($0.utf8))
    }?.object
    guard let payload else { return (nil, nil) }
    if let alert = payload["aps"]?.object?["alert"] {
      return alert.string.map { (nil, $0) } ?? words(in: alert.object)
    }
    let message = payload["message"]?.object ?? payload
    for place in [
      message["android"]?.object?["notification"]?.object, message["notification"]?.object,
      message["data"]?.object, message,
    ] {
      let found = words(in: place)
      if found.title != nil || found.body != nil { return found }
    }
    return (nil, nil)
  }

  private static func words(in object: JSONObject?) -> (title: String?, body: String?) {
    (object?["title"]?.string, object?["body"]?.string)
  }
}
