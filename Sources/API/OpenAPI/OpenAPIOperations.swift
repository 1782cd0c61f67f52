import Devices
import JSON
import Model

/// The arguments and answers of each route. A test compares them with the routes.
enum OpenAPIOperations {
  static let all: [OpenAPIOperation] =
    devices + androidDevices + browsers + users + tags + imports + events + deadLetters + live
    + [document]

  private static let json = ["application/json"]

  private static let document = OpenAPIOperation(
    method: "GET", pattern: "/openapi.json", name: "document", scope: nil,
    summary: "This document", answers: [(200, "OpenAPI 3.1", schema(#"{"type": "object"}"#))])

  private static let devices: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "GET", pattern: "/v1/users/{user}/devices", name: "listDevices", scope: .readOnly,
      summary: "Lists a user's "
        + "devices", answers: [(200, "The devices, the latest binding first", shared("Devices"))],
      own: ["413"]),
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/devices/{token}", name: "bindDevice",
      scope: .appServer,
      summary: "Binds a device, which may replace another one; its former user loses it",
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "required": ["topic"], "additionalProperties": false, "properties": {
            "topic": {"$ref": "#/components/schemas/Topic"},
            "environment": {"$ref": "#/components/schemas/Environment"},
            "replaces": {"$ref": "#/components/schemas/Token"},
            "bound_at_ms": {"$ref": "#/components/schemas/Time"}}}
          """)),
      answers: [(200, "The device is bound", boundDevice)], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/devices/{token}", name: "unbindDevice",
      scope: .appServer, summary: "Unbinds a device from a user",
      query: [("topic", shared("Topic")), ("environment", shared("Environment"))],
      answers: [(200, "The device is not bound", removed("\"removed\": {\"type\": \"integer\"}"))],
      own: ["409"]),
  ]

  private static let androidDevices: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/devices/fcm/{fcm_token}", name: "bindAndroidDevice",
      scope: .appServer,
      summary: "Binds a device with a Firebase token; its former user loses it",
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "required": ["topic"], "additionalProperties": false, "properties": {
            "topic": {"$ref": "#/components/schemas/Topic"},
            "replaces": {"$ref": "#/components/schemas/FCMToken"},
            "bound_at_ms": {"$ref": "#/components/schemas/Time"}}}
          """)),
      answers: [(200, "The device is bound", boundDevice)], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/devices/fcm/{fcm_token}",
      name: "unbindAndroidDevice", scope: .appServer,
      summary: "Unbinds a device with a Firebase token from a user",
      query: [("topic", shared("Topic"))],
      answers: [(200, "The device is not bound", removed("\"removed\": {\"type\": \"integer\"}"))],
      own: ["409"]),
  ]

  private static let browsers: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/devices/webpush/{endpoint}",
      name: "bindSubscription", scope: .appServer,
      summary: "Binds a browser's subscription; its former user loses it",
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "required": ["topic", "keys"], "additionalProperties": false,
            "properties": {
              "topic": {"$ref": "#/components/schemas/Topic"},
              "keys": {"$ref": "#/components/schemas/SubscriptionKeys"},
              "vapid_key": {"$ref": "#/components/schemas/VAPIDKey"},
              "replaces": {"$ref": "#/components/schemas/PushEndpoint"},
              "bound_at_ms": {"$ref": "#/components/schemas/Time"}}}
          """)),
      answers: [(200, "The subscription is bound", boundDevice)], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/devices/webpush/{endpoint}",
      name: "unbindSubscription", scope: .appServer,
      summary: "Unbinds a browser's subscription from a user",
      query: [("topic", shared("Topic"))],
      answers: [
        (200, "The subscription is not bound", removed("\"removed\": {\"type\": \"integer\"}"))
      ],
      own: ["409"]),
  ]

  private static let boundDevice = schema(
    """
    {"type": "object", "required": ["user", "device"], "properties": {
      "user": {"type": "string"}, "new": {"type": "boolean"},
      "replaced": {"type": "boolean"}, "device": {"$ref": "#/components/schemas/Device"}}}
    """)

  static func schema(_ text: String) -> JSONValue { OpenAPISchemas.parsed(text) }
  private static func shared(_ name: String) -> JSONValue { OpenAPI.reference("schemas", name) }

  private static func removed(_ member: String) -> JSONValue {
    schema(
      """
      {"type": "object", "required": ["user", "removed"],
        "properties": {"user": {"type": "string"}, \(member)}}
      """)
  }

  private static let users: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "GET", pattern: "/v1/users/{user}", name: "showUser", scope: .readOnly,
      summary: "Shows a user's devices and "
        + "profile", answers: [(200, "The devices and the profile", shared("User"))],
      own: ["413"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}", name: "forgetUser", scope: .appServer,
      summary: "Erases everything about a user",
      query: [
        (
          "follows",
          shared("Identifiers")
        ),
        ("everywhere", schema(#"{"enum": ["true", "false"]}"#)),
      ],
      answers: [
        (200, "What was erased", schema(#"{"type": "object", "required": ["user", "complete"]}"#)),
        (
          202, "The erasure goes on; follow Location to see how it ends",
          schema(#"{"type": "object", "required": ["user", "complete", "erasure"]}"#)
        ),
      ]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/erasures/{erasure}", name: "showErasure", scope: .readOnly,
      summary: "Shows the progress of a long erasure",
      answers: [(200, "The erasure as of at most 10 seconds ago", shared("Erasure"))]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/users/{user}/profile", name: "showProfile", scope: .readOnly,
      summary: "Shows a user's "
        + "profile", answers: [(200, "All fields of the profile", profileAnswer)],
      own: ["413"]),
    OpenAPIOperation(
      method: "PATCH", pattern: "/v1/users/{user}/profile", name: "changeProfile",
      scope: .appServer, summary: "Sets fields of a profile; null removes a field",
      body: .init(
        types: ["application/json", "application/merge-patch+json"], schema: profilePatch),
      answers: [(200, "All fields of the profile", profileAnswer)]),
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/follows/{streamer}", name: "follow",
      scope: .appServer, summary: "Adds the user to the streamer's followers",
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "additionalProperties": false,
            "properties": {"muted": {"type": "boolean"}}}
          """
        ), isRequired: false),
      answers: [
        (
          200, "The user follows the streamer",
          schema(#"{"type": "object", "required": ["user", "streamer", "new"]}"#)
        )
      ], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/follows/{streamer}", name: "unfollow",
      scope: .appServer, summary: "Removes the user from the streamer's followers",
      answers: [
        (
          200,
          "The user does not follow the streamer", removed("\"removed\": {\"type\": \"boolean\"}")
        )
      ], own: ["409"]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/audiences/{streamer}", name: "showAudience", scope: .readOnly,
      summary: "Counts a streamer's followers",
      query: [("sample", schema(#"{"type": "integer", "minimum": 0, "maximum": 1000}"#))],
      answers: [
        (
          200,
          "The current "
            + "number", schema(#"{"type": "object", "required": ["streamer", "followers"]}"#)
        )
      ]),
  ]

  private static let profileAnswer = schema(
    """
    {"type": "object", "required": ["user", "profile"], "properties": {
      "user": {"type": "string"}, "profile": {"$ref": "#/components/schemas/Profile"}}}
    """)

  private static let languages = LocaleTag.languages.sorted().joined(separator: "|")

  private static let profilePatch = schema(
    """
    {"type": "object", "maxProperties": 32, "propertyNames": {"pattern": "^[!-z~]{1,64}$"},
      "additionalProperties": {"type": ["string", "null"], "maxLength": 1024,
        "pattern": "^[^\\\\u0000]*$"},
      "properties": {
        "locale": {"type": ["string", "null"],
          "description": "A language of ISO 639, with an optional script and region (BCP 47). The \
    spellings that devices use are accepted too.",
          "pattern": "^((\(languages)|[a-z]{3})(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?)?$"},
        "tz": {"$ref": "#/components/schemas/TimeZone"},
        "badge": {"type": ["integer", "null"], "minimum": 0, "maximum": 2147483647},
        "muted": {"type": ["boolean", "null"]},
        "quiet": {"type": ["string", "null"],
          "pattern": "^(([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9])?$"},
        "muted_streamers": {"type": ["array", "null"],
          "items": {"$ref": "#/components/schemas/Identifier"}}}}
    """)

  private static let imports: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "POST", pattern: "/v1/imports", name: "importUsers", scope: .appServer,
      summary: "Writes many users, one on each line, as they arrive; the answer comes at the end",
      query: [
        ("id", shared("EventID")), ("topic", shared("Topic")),
        ("strict", schema(#"{"enum": ["true", "false"]}"#)),
      ],
      body: .init(
        types: ImportRoutes.types,
        schema: schema(#"{"description": "JSON objects, one on each line (see docs/api.md)."}"#)),
      answers: [(200, "All rows that were not refused are written", shared("Import"))],
      isDoneOnce: false),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/imports/{import}", name: "showImport", scope: .readOnly,
      summary: "Shows the progress of an "
        + "import", answers: [(200, "The import as of at most a second ago", shared("Import"))]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/imports/{import}", name: "deleteImport", scope: .appServer,
      summary: "Stops an import and deletes its record; what it has written stays",
      answers: [(204, "The import is no longer known", nil)]),
  ]

  private static let fanOut: [(status: Int, what: String, schema: JSONValue?)] = [
    (200, "The fan-out's state and counters", shared("FanOut"))
  ]

  private static func halt(_ word: String, _ summary: String) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "POST", pattern: "/v1/fanouts/{event}/\(word)", name: "\(word)FanOut", scope: .admin,
      summary: summary,
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "additionalProperties": false, "properties": {
            "reason": \(OpenAPISchemas.reason)}}
          """
        ), isRequired: false),
      answers: fanOut)
  }

  private static let events: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "POST", pattern: "/v1/fanouts", name: "notifyFollowers", scope: .appServer,
      summary: "Writes an event to Kafka, from which workers read it",
      body: .init(
        types: ["application/json", "application/cloudevents+json"],
        schema: OpenAPISchemas.anyEvent),
      answers: [
        (
          202, "Kafka has acknowledged the event",
          schema(#"{"type": "object", "required": ["topic", "partition", "offset"]}"#)
        )
      ]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/fanouts", name: "listFanOuts", scope: .readOnly,
      summary: "Lists the scheduled and the latest fan-outs",
      query: [("limit", schema(#"{"type": "integer", "minimum": 1, "maximum": 1000}"#))],
      answers: [
        (
          200, "The scheduled fan-outs, the furthest ahead first, then the latest first",
          schema(
            """
            {"type": "object", "required": ["fanouts"], "properties": {
              "fanouts": {"type": "array", "items": {"$ref": "#/components/schemas/FanOut"}}}}
            """)
        )
      ]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/fanouts/{event}", name: "showFanOut", scope: .readOnly,
      summary: "Shows the progress of a fan-out", answers: fanOut, own: ["413"]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/fanouts/{event}/recipients/{user}", name: "traceRecipient",
      scope: .readOnly, summary: "Explains why a user did or did not get an event",
      answers: [(200, "The explanation", shared("Trace"))], own: ["413"]),
    halt("pause", "Pauses a fan-out until it is resumed"),
    halt("resume", "Resumes a paused fan-out"),
    halt("cancel", "Cancels a fan-out for good"),
    OpenAPIOperation(
      method: "POST", pattern: "/v1/fanouts/{event}/reschedule", name: "rescheduleFanOut",
      scope: .admin, summary: "Changes when a scheduled event is sent",
      body: .init(
        types: json,
        schema: schema(
          """
          {"type": "object", "additionalProperties": false, "required": ["send_at"], "properties": {
            "send_at": {"$ref": "#/components/schemas/Event/properties/send_at"}}}
          """
        )),
      answers: fanOut),
  ]
}

extension OpenAPIOperations {
  static let tags: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/tags/{tag}", name: "tagUser", scope: .appServer,
      summary: "Gives the user the tag",
      answers: [
        (
          200,
          "The user has the tag", schema(#"{"type": "object", "required": ["user", "tag", "new"]}"#)
        )
      ], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/tags/{tag}", name: "untagUser",
      scope: .appServer, summary: "Takes the tag from the user",
      answers: [
        (
          200, "The user does not have the tag",
          schema(#"{"type": "object", "required": ["user", "tag", "removed"]}"#)
        )
      ], own: ["409"]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/tags/{tag}", name: "showTag", scope: .readOnly,
      summary: "Counts the users with a tag",
      query: [("sample", schema(#"{"type": "integer", "minimum": 0, "maximum": 1000}"#))],
      answers: [
        (
          200,
          "The current number", schema(#"{"type": "object", "required": ["tag", "users"]}"#)
        )
      ]
    ),
    OpenAPIOperation(
      method: "PATCH", pattern: "/v1/tags/{tag}", name: "changeTag", scope: .appServer,
      summary: "Gives a tag to many users, and takes it from many",
      body: .init(
        types: ["application/json"],
        schema: schema(
          """
          {"type": "object", "additionalProperties": false, "properties": {
            "add": \(taggedUsers), "remove": \(taggedUsers)}}
          """)),
      answers: [
        (
          200, "The changes are made",
          schema(#"{"type": "object", "required": ["tag", "added", "removed"]}"#)
        )
      ], own: ["409"]),
  ]

  private static let taggedUsers = """
    {"type": "array", "maxItems": \(DeviceRegistry.maximumTagged),
      "items": {"$ref": "#/components/schemas/Identifier"}}
    """
}

extension OpenAPIOperations {
  /// With `Accept: text/event-stream` each is a stream of such states.
  static let live: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "GET", pattern: "/v1/live/fanouts", name: "watchFanOuts", scope: .readOnly,
      summary: "Shows fan-outs as they go on, those that may expire first",
      query: [("limit", schema(#"{"type": "integer", "minimum": 1, "maximum": 1000}"#))],
      answers: state(with: "\"fanouts\", \"window\"")),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/live/fanouts/{event}", name: "watchFanOut", scope: .readOnly,
      summary: "Shows where the pushes of a fan-out are, and where they were lost",
      answers: state(with: "\"event\", \"state\", \"funnel\", \"outcomes\"")),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/live/health", name: "watchHealth", scope: .readOnly,
      summary: "Shows workers, statistics and what is wrong",
      answers: state(with: "\"workers\", \"stats\", \"alerts\"")),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/live/templates", name: "watchTemplates", scope: .readOnly,
      summary: "Shows the templates of this process as readers see them; with a user, which needs "
        + "the scope app-server, or an event also what these would get",
      query: [("user", shared("Identifier")), ("event", shared("EventID"))],
      answers: state(with: "\"templates\""), own: ["404", "413"]),
  ]

  private static func state(with members: String) -> [(Int, String, JSONValue?)] {
    [
      (
        200, "The state, or with Accept: text/event-stream a stream of states",
        schema(
          """
          {"type": "object", "required": ["now_ms", "as_of_ms", "trouble", \(members)],
            "properties": {
              "now_ms": {"type": "integer"}, "as_of_ms": {"type": "integer"},
              "trouble": {"type": ["string", "null"]}}}
          """)
      )
    ]
  }
}
