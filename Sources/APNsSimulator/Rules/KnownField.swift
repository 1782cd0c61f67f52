/// The fields that Apple knows, found by length first.
enum KnownField: UInt32 {
  case method, path, authorization, topic, pushType, identifier, expiration, priority, collapse

  init?(_ name: UnsafeRawBufferPointer) {
    switch name.count {
    case 5 where name.equals(":path"): self = .path
    case 7 where name.equals("apns-id"): self = .identifier
    case 7 where name.equals(":method"): self = .method
    case 10 where name.equals("apns-topic"): self = .topic
    case 13 where name.equals("authorization"): self = .authorization
    case 13 where name.equals("apns-priority"): self = .priority
    case 14 where name.equals("apns-push-type"): self = .pushType
    case 15 where name.equals("apns-expiration"): self = .expiration
    case 16 where name.equals("apns-collapse-id"): self = .collapse
    default: return nil
    }
  }
}
