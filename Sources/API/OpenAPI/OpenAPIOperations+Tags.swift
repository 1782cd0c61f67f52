import Devices
import JSON

extension OpenAPIOperations {
  static let tags: [OpenAPIOperation] = [
    OpenAPIOperation(
      method: "PUT", pattern: "/v1/users/{user}/tags/{tag}", name: "tagUser", scope: .appServer,
      summary: "The user has the tag",
      answers: [
        (200, "The user has it", schema(#"{"type": "object", "required": ["user", "tag", "new"]}"#))
      ], own: ["409"]),
    OpenAPIOperation(
      method: "DELETE", pattern: "/v1/users/{user}/tags/{tag}", name: "untagUser",
      scope: .appServer, summary: "The user has the tag no longer",
      answers: [
        (
          200, "The user does not have it",
          schema(#"{"type": "object", "required": ["user", "tag", "removed"]}"#)
        )
      ], own: ["409"]),
    OpenAPIOperation(
      method: "GET", pattern: "/v1/tags/{tag}", name: "showTag", scope: .readOnly,
      summary: "How many users have a tag",
      query: [("sample", schema(#"{"type": "integer", "minimum": 0, "maximum": 1000}"#))],
      answers: [(200, "Counted now", schema(#"{"type": "object", "required": ["tag", "users"]}"#))]
    ),
    OpenAPIOperation(
      method: "PATCH", pattern: "/v1/tags/{tag}", name: "changeTag", scope: .appServer,
      summary: "Gives many users a tag, and takes it from many",
      body: .init(
        types: ["application/json"],
        schema: schema(
          """
          {"type": "object", "additionalProperties": false, "properties": {
            "add": \(users), "remove": \(users)}}
          """)),
      answers: [
        (
          200, "It is so",
          schema(#"{"type": "object", "required": ["tag", "added", "removed"]}"#)
        )
      ], own: ["409"]),
  ]

  private static let users = """
    {"type": "array", "maxItems": \(DeviceRegistry.maximumTagged),
      "items": {"$ref": "#/components/schemas/Identifier"}}
    """
}
